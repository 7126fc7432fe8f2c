//! Whether a backup that a schedule asks for is there.

use kok_crds::model::Schedule;

/// So long a timer may wait for its turn, and a backup be on its way.
const GRACE_SECONDS: i64 = 3_600;

/// What a schedule has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// There is the newest one that there should be; the next is due then, in seconds since 1970. None where the schedule has no further moment.
    At(Option<i64>),
    /// One should have been made at that moment, in seconds since 1970, and was not.
    Overdue(i64),
    /// None was ever made.
    Never,
}

/// What a schedule has come to by `now`, when the newest backup that is whole was made at `newest`. Of a moment later than `now` a clock that was wrong has
/// made the name: it counts as one of now.
#[must_use]
pub fn due(schedule: &Schedule, newest: Option<i64>, now: i64) -> Due {
    let Some(newest) = newest else { return Due::Never };
    match schedule.next(newest.min(now)) {
        Some(moment) if moment.saturating_add(GRACE_SECONDS) < now => Due::Overdue(moment),
        next => Due::At(next),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::*;

    #[test]
    fn one_is_overdue_an_hour_after_its_time() {
        let schedule = Schedule::parse("0 3 * * *").unwrap();
        let three = 1_795_737_600 + 3 * 3_600;
        let made = three - 86_400 + 20;
        assert_eq!(due(&schedule, Some(made), three - 1), Due::At(Some(three)));
        assert_eq!(due(&schedule, Some(made), three + GRACE_SECONDS), Due::At(Some(three)));
        assert_eq!(due(&schedule, Some(made), three + GRACE_SECONDS + 1), Due::Overdue(three));
        assert_eq!(due(&schedule, Some(three + 5), three + GRACE_SECONDS + 1), Due::At(Some(three + 86_400)));
        assert_eq!(due(&schedule, Some(three + 90 * 86_400), three + 5), Due::At(Some(three + 86_400)), "a clock was wrong");
        assert_eq!(due(&schedule, None, three), Due::Never);
    }
}
