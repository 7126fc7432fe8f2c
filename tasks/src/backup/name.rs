//! How a backup's file is called: by its cluster and its moment, so that names sort by age and nothing has to be opened to list them.

use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time};

const END: &str = ".kokctl-backup";
const AGE: &str = ".age";

/// `20261126T201105Z`.
const MOMENT: usize = 16;

/// The name of a backup.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BackupName {
    /// When it was begun, in seconds since 1970.
    pub seconds: i64,
    /// The cluster.
    pub cluster: String,
    /// Whether it is encrypted.
    pub is_encrypted: bool,
}

impl BackupName {
    /// As the file is called.
    #[must_use]
    pub fn file_name(&self) -> String {
        let age = if self.is_encrypted { AGE } else { "" };
        format!("{}-{}{END}{age}", self.cluster, moment(self.seconds))
    }

    /// What a file is by its name; nothing if it is no backup.
    #[must_use]
    pub fn parse(file_name: &str) -> Option<Self> {
        let (rest, is_encrypted) = file_name.strip_suffix(AGE).map_or((file_name, false), |rest| (rest, true));
        let rest = rest.strip_suffix(END)?;
        let (cluster, moment) = rest.rsplit_once('-')?;
        let is_label = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_cluster = !cluster.is_empty() && cluster.len() <= 63 && cluster.bytes().all(is_label);
        let name = Self { seconds: seconds(moment)?, cluster: cluster.to_owned(), is_encrypted };
        // Any other spelling would be another file.
        (is_cluster && name.file_name() == file_name).then_some(name)
    }
}

/// A moment in seconds since 1970, in UTC, as it stands in names: `20261126T201105Z`. Outside of the years from 0 to 9999 it is the first moment of 1970.
#[must_use]
pub fn moment(seconds: i64) -> String {
    let at = OffsetDateTime::from_unix_timestamp(seconds).ok().filter(|at| (0..=9999).contains(&at.year()));
    let at = at.unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (year, month, day) = at.to_calendar_date();
    let (hour, minute, second) = at.to_hms();
    format!("{year:04}{:02}{day:02}T{hour:02}{minute:02}{second:02}Z", u8::from(month))
}

fn seconds(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| {
        let digits = text.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u16>().ok())?
    };
    let small = |from: usize| u8::try_from(number(from, from + 2)?).ok();
    if text.len() != MOMENT || text.get(8..9) != Some("T") || text.get(15..) != Some("Z") {
        return None;
    }
    let month = Month::try_from(small(4)?).ok()?;
    let date = Date::from_calendar_date(i32::from(number(0, 4)?), month, small(6)?).ok()?;
    let time = Time::from_hms(small(9)?, small(11)?, small(13)?).ok()?;
    Some(PrimitiveDateTime::new(date, time).assume_utc().unix_timestamp())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::*;

    #[test]
    fn a_name_says_cluster_and_moment() {
        let name = BackupName { seconds: 1_795_723_865, cluster: "shop-eu-1".to_owned(), is_encrypted: true };
        assert_eq!(name.file_name(), "shop-eu-1-20261126T201105Z.kokctl-backup.age");
        assert_eq!(BackupName::parse(&name.file_name()), Some(name.clone()));
        let plain = BackupName { is_encrypted: false, ..name };
        assert_eq!(BackupName::parse("shop-eu-1-20261126T201105Z.kokctl-backup"), Some(plain));
    }

    #[test]
    fn what_is_called_otherwise_is_no_backup() {
        for other in [
            "",
            "-20261126T201105Z.kokctl-backup",
            "a-20261126T201105Z.kokctl-backup.gz",
            "a-20261126T201105Z.db",
            "A-20261126T201105Z.kokctl-backup",
            "a/b-20261126T201105Z.kokctl-backup",
            "a-20261326T201105Z.kokctl-backup",
            "a-20260230T201105Z.kokctl-backup",
            "a-20261126T241105Z.kokctl-backup",
            "a-+0261126T201105Z.kokctl-backup",
            "a-20261126t201105z.kokctl-backup",
            "a-20261126T201105Z.kokctl-backup.kokctl-part",
            "a-2026112éT201105Z.kokctl-backup",
            ".a-20261126T201105Z.kokctl-backup",
        ] {
            assert_eq!(BackupName::parse(other), None, "{other}");
        }
    }

    #[test]
    fn every_moment_comes_back() {
        for seconds in [0, 59, 86_399, 951_782_400, 1_795_723_865, 253_402_300_799] {
            let name = BackupName { seconds, cluster: "c".to_owned(), is_encrypted: false };
            assert_eq!(BackupName::parse(&name.file_name()).unwrap().seconds, seconds);
        }
        assert_eq!(moment(i64::MAX), "19700101T000000Z");
        assert_eq!(moment(-62_167_219_201), "19700101T000000Z");
    }
}
