//! Names of keys to encrypt with. They stand before all that is encrypted, and say which key is the newer one.

pub use kok_pki::FIRST_ENCRYPTION_KEY;

/// When a key was made, in seconds since 1970, as its name says; 0 of the first one of a cluster.
#[must_use]
pub fn age(name: &str) -> u64 {
    name.strip_prefix(FIRST_ENCRYPTION_KEY).and_then(|rest| rest.strip_prefix('-')?.parse().ok()).unwrap_or_default()
}

/// The name of a key that is made now, and newer than all of these, whatever clocks say.
#[must_use]
pub fn new_name<'a>(now_seconds: i64, known: impl Iterator<Item = &'a str>) -> String {
    let newest = known.map(age).max().unwrap_or_default();
    let now = u64::try_from(now_seconds).unwrap_or_default().max(newest.saturating_add(1));
    format!("{FIRST_ENCRYPTION_KEY}-{now}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_newer_than_those_before_it() {
        let first = new_name(1_795_723_865, ["kokctl"].into_iter());
        assert_eq!(first, "kokctl-1795723865");
        assert_eq!(new_name(1_795_723_865, ["kokctl", first.as_str()].into_iter()), "kokctl-1795723866");
        // The clock was set back.
        assert_eq!(new_name(5, [first.as_str()].into_iter()), "kokctl-1795723866");
        assert_eq!(["kokctl", "kokctl-7", "somebody's", "kokctl-x"].map(age), [0, 7, 0, 0]);
    }
}
