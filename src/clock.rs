//! Wall-clock time of the system, the only place that asks for it, and moments as people read them.

use jiff::Timestamp;

/// Seconds of a day.
pub const DAY: i64 = 24 * 60 * 60;
/// Time enough to plan a renewal. Certificates of a year and of three months, the usual ones, are renewed no earlier than that.
pub const SOON: i64 = 30 * DAY;

/// A moment since 1970 in a form of `strftime`; empty where no calendar has it.
pub(crate) fn moment(seconds: i64, form: &str) -> String {
    Timestamp::from_second(seconds).map(|moment| moment.strftime(form).to_string()).unwrap_or_default()
}

/// The day of a moment since 1970.
#[must_use]
pub fn day(seconds: i64) -> String {
    moment(seconds, "%Y-%m-%d")
}

/// The wall clock.
#[derive(Debug, Clone, Copy)]
pub struct Clock;

impl Clock {
    /// Nanoseconds since 1970.
    #[must_use]
    pub fn nanoseconds() -> i128 {
        Timestamp::now().as_nanosecond()
    }

    /// Seconds since 1970.
    #[must_use]
    pub fn seconds() -> i64 {
        Timestamp::now().as_second()
    }

    /// The time as RFC 3339 has it.
    #[must_use]
    pub fn rfc3339() -> String {
        Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// The time as the beginning of a file name that sorts by age.
    #[must_use]
    pub fn compact() -> String {
        Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string()
    }
}
