//! Which backups of a cluster stay, and which may go.

use std::collections::BTreeSet;

use kok_crds::model::Keep;
use time::OffsetDateTime;

use super::name::BackupName;

/// Those of these backups of one cluster that nothing speaks for, the oldest first. Every one that stays, stays for a reason of its own: it is among the last
/// ones, or the last one of its day, its week (from Monday on) or its month, in UTC.
///
/// The newest one is never among them. Of what is later than `now`, a clock that was wrong has made the name: it stays, and takes nobody's place, or what was
/// just made would go for it.
#[must_use]
pub fn surplus<'a>(backups: &'a [BackupName], keep: &Keep, now: i64) -> Vec<&'a BackupName> {
    let mut past: Vec<&BackupName> = backups.iter().filter(|backup| backup.seconds <= now).collect();
    // Of two of one second the order is that of their names, so that the answer is always the same.
    past.sort_unstable_by(|a, b| b.cmp(a));
    if keep.is_all() {
        return Vec::new();
    }
    let last = past.iter().take(usize::try_from(keep.last.unwrap_or_default()).unwrap_or(usize::MAX).max(1)).copied();
    let mut stay: BTreeSet<&BackupName> = last.collect();
    for (most, period) in [(keep.daily, day as fn(i64) -> i64), (keep.weekly, week), (keep.monthly, month)] {
        stay.extend(of_periods(&past, most.unwrap_or_default(), period));
    }
    past.into_iter().rev().filter(|backup| !stay.contains(backup)).collect()
}

/// The newest one of each of so many periods in which there is any, from the newest period on.
fn of_periods<'a>(newest_first: &[&'a BackupName], most: u32, period: fn(i64) -> i64) -> Vec<&'a BackupName> {
    let mut found: Vec<(i64, &BackupName)> = Vec::new();
    for backup in newest_first {
        let period = period(backup.seconds);
        if found.last().is_none_or(|(last, _)| *last != period) {
            found.push((period, backup));
        }
    }
    found.into_iter().take(usize::try_from(most).unwrap_or(usize::MAX)).map(|(_, backup)| backup).collect()
}

const DAY: i64 = 86_400;

fn day(seconds: i64) -> i64 {
    seconds.div_euclid(DAY)
}

/// The first day of 1970 was a Thursday.
fn week(seconds: i64) -> i64 {
    (day(seconds) + 3).div_euclid(7)
}

fn month(seconds: i64) -> i64 {
    let date = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    i64::from(date.year()) * 12 + i64::from(u8::from(date.month()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::*;

    /// Those that go of backups with these moments, at a time after all of them.
    fn gone(moments: &[&str], keep: Keep) -> Vec<String> {
        gone_at(moments, keep, "20991231T235959Z")
    }

    fn gone_at(moments: &[&str], keep: Keep, now: &str) -> Vec<String> {
        let name = |moment: &str| BackupName::parse(&format!("c-{moment}.kokctl-backup")).unwrap();
        let backups: Vec<BackupName> = moments.iter().map(|moment| name(moment)).collect();
        surplus(&backups, &keep, name(now).seconds).into_iter().map(|backup| super::super::moment(backup.seconds)).collect()
    }

    const NONE: Keep = Keep { last: None, daily: None, weekly: None, monthly: None };

    #[test]
    fn where_nothing_is_said_all_stay() {
        assert_eq!(gone(&["20260101T000000Z", "20260102T000000Z"], NONE), [""; 0]);
        assert_eq!(gone(&[], Keep { last: Some(1), ..NONE }), [""; 0]);
    }

    #[test]
    fn the_last_ones_stay_and_fewer_than_these_are_all() {
        let moments = ["20260103T000000Z", "20260101T000000Z", "20260102T000000Z"];
        assert_eq!(gone(&moments, Keep { last: Some(2), ..NONE }), ["20260101T000000Z"]);
        assert_eq!(gone(&moments, Keep { last: Some(1), ..NONE }), ["20260101T000000Z", "20260102T000000Z"]);
        for last in [3, 4, u32::MAX] {
            assert_eq!(gone(&moments, Keep { last: Some(last), ..NONE }), [""; 0], "{last}");
        }
    }

    #[test]
    fn of_one_day_the_last_one_stays() {
        let moments = ["20260101T000000Z", "20260101T120000Z", "20260101T235959Z", "20260102T000000Z", "20260105T060000Z"];
        let daily = |days| gone(&moments, Keep { daily: Some(days), ..NONE });
        assert_eq!(daily(3), ["20260101T000000Z", "20260101T120000Z"]);
        // Days without a backup don't count.
        assert_eq!(daily(2), ["20260101T000000Z", "20260101T120000Z", "20260101T235959Z"]);
        assert_eq!(daily(1).len(), 4);
    }

    #[test]
    fn weeks_begin_on_monday_and_months_on_their_first_day() {
        // The 4th of January 2026 was a Sunday.
        let moments = ["20260103T000000Z", "20260104T235959Z", "20260105T000000Z", "20260131T000000Z", "20260201T000000Z"];
        assert_eq!(gone(&moments, Keep { weekly: Some(9), ..NONE }), ["20260103T000000Z", "20260131T000000Z"]);
        assert_eq!(gone(&moments, Keep { monthly: Some(9), ..NONE }), ["20260103T000000Z", "20260104T235959Z", "20260105T000000Z"]);
    }

    #[test]
    fn one_that_anything_speaks_for_stays() {
        let moments = ["20251231T000000Z", "20260101T000000Z", "20260101T010000Z", "20260101T020000Z"];
        let keep = Keep { last: Some(2), daily: Some(1), weekly: None, monthly: Some(2) };
        assert_eq!(gone(&moments, keep), ["20260101T000000Z"]);
        // The newest one stays where nothing but periods are kept, and where the number is none.
        assert_eq!(gone(&moments, Keep { last: Some(0), ..NONE }).len(), 3);
    }

    #[test]
    fn a_clock_that_went_back_takes_nothing_away() {
        let moments = ["20260101T000000Z", "20260102T000000Z", "20300101T000000Z", "20300102T000000Z"];
        // What was just made is the newest that counts.
        assert_eq!(gone_at(&moments, Keep { last: Some(1), ..NONE }, "20260102T000000Z"), ["20260101T000000Z"]);
        assert_eq!(gone_at(&moments, Keep { last: Some(2), ..NONE }, "20260102T000000Z"), [""; 0]);
        assert_eq!(gone_at(&moments, Keep { last: Some(1), ..NONE }, "20250101T000000Z"), [""; 0]);
    }
}
