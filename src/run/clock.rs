//! Wall-clock time and randomness of the system, the only places that ask for them.

use jiff::Timestamp;

use crate::ui::{Failure, Kind};

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

/// Bytes of the system's random generator.
///
/// # Errors
/// [`Failure`] if the system has none to give.
pub fn random_bytes<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    // The kernel's own, not that of the TLS library: before its first byte that one gathers entropy from the processor's jitter, which costs
    // more than a whole converged host.
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::new(Kind::Internal, "the system's random generator does not answer").because(error.to_string()))?;
    Ok(bytes)
}
