//! Times as programs in Go write them.

use std::time::Duration;

/// Names of units and how many nanoseconds they have.
const UNITS: [(&str, f64); 7] = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9)];

/// What Go's `time.ParseDuration` makes of a text; nothing if it takes it not, or if it is negative.
#[must_use]
pub fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, behind) = rest.split_at(end);
        let unit = UNITS.into_iter().filter_map(|(unit, length)| Some((behind.strip_prefix(unit)?, length)));
        // `ms` begins as `m` does: of the units that fit, the longest counts.
        let Some((next, length)) = unit.min_by_key(|(rest, _)| rest.len()) else { return (text == "0").then_some(Duration::ZERO) };
        let seconds = number.parse::<f64>().ok()? * length / 1e9;
        sum = sum.checked_add(Duration::try_from_secs_f64(seconds).ok()?)?;
        rest = next;
    }
    (!text.is_empty()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn times_are_those_of_go() {
        let good = [("0", 0), ("0s", 0), ("10s", 10_000), ("1m0s", 60_000), ("1h30m", 5_400_000), ("1.5h", 5_400_000), ("100ms", 100)];
        for (text, milliseconds) in good {
            assert_eq!(duration(text).map(|time| time.as_millis()), Some(milliseconds), "{text}");
        }
        assert_eq!(duration("2us").map(|time| time.as_nanos()), Some(2_000));
        for bad in ["", "10", "s", "-1s", "1d", "1m 2s", "1..2s", "one"] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }
}
