//! Wall-clock time of the system, the only place that asks for it.

use jiff::Timestamp;

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
