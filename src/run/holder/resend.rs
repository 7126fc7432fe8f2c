//! A script that may be sent again, whatever became of it: what a host is taken by.

use std::time::Duration;

use kok_tasks::holder::BUSY;
use tokio::time::Instant;

use super::super::event::{EventKind, Events};
use crate::remote::{ExitStatus, Output, RunError};
use crate::ui::Failure;

/// How long after its first break a link is worth another try. Opening it again has a limit of its own, which is the same.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often a script is sent at the most, as often as a host is asked about one order: a link that breaks this often will break again.
const TRIES: u32 = 5;

/// The least pause before the next try, doubled each time: a link that is only about to be known as lost must not use up the tries.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// What became of one try.
#[derive(Debug)]
pub(super) enum Sent {
    /// The host answered.
    Answered(Output),
    /// The link broke, before or after the script reached the host.
    Lost(Failure),
    /// It would end the same way again.
    Failed(Failure),
}

impl Sent {
    pub(super) fn of(result: Result<Output, RunError>) -> Self {
        match result {
            Ok(output) => Self::Answered(output),
            Err(error @ (RunError::NotStarted { .. } | RunError::Unknown { .. })) => Self::Lost(error.into()),
            Err(error) => Self::Failed(error.into()),
        }
    }
}

/// Sends a script to a host until it is answered, and says so when the link breaks and when it is there again.
///
/// # Errors
/// [`Failure`] of the last try.
pub(super) async fn resend<F: Future<Output = Sent>>(host: &str, events: &Events, send: impl Fn() -> F) -> Result<Output, Failure> {
    let (mut lost, mut pause, mut tries): (Option<Instant>, Duration, u32) = (None, FIRST_PAUSE, 0);
    loop {
        tries += 1;
        let sent = send().await;
        let is_last = tries == TRIES || lost.is_some_and(|since| since.elapsed() >= PATIENCE);
        match sent {
            // What was sent before the link broke may be at work still, and leaves the place to nobody else until it ends.
            Sent::Answered(output) if lost.is_some() && output.status == ExitStatus::Exited(BUSY) && !is_last => {}
            Sent::Answered(output) => {
                if let Some(since) = lost {
                    let after_milliseconds = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
                    events.send(EventKind::HostBack { host: host.to_owned(), after_milliseconds, restarted: false });
                }
                return Ok(output);
            }
            Sent::Lost(failure) if is_last => return Err(failure),
            Sent::Lost(failure) => {
                if lost.is_none() {
                    events.send(EventKind::HostLost { host: host.to_owned(), because: failure.one_line() });
                    lost = Some(Instant::now());
                }
            }
            Sent::Failed(failure) => return Err(failure),
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
}

#[cfg(test)]
mod tests;
