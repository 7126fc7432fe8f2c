//! Times for people.

/// A time as people read it: `0.4 s`, `52.7 s`, `3 min 05 s`, `1 h 02 min`.
#[must_use]
pub fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0..60 => format!("{}.{} s", seconds, milliseconds % 1000 / 100),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_exact_as_they_are_short() {
        let told = [0, 449, 52_799, 60_000, 185_000, 3_599_999, 3_720_000].map(duration);
        assert_eq!(told, ["0.0 s", "0.4 s", "52.7 s", "1 min 00 s", "3 min 05 s", "59 min 59 s", "1 h 02 min"]);
    }
}
