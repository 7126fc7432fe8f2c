//! A script that may be sent again, whatever became of it: what a host is taken by.

use std::time::Duration;

use kok_tasks::holder::{BUSY, TAKE_SECONDS};
use tokio::time::Instant;

use super::boot_of;
use crate::event::{EventKind, Events};
use crate::failure::Failure;
use crate::remote::{ExitStatus, Output, RunError};

/// How long after its first break a link is worth another try. Opening it again has a limit of its own, which is the same.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often a link may break, as often as a host is asked about one order: a link that breaks this often will break again.
const BREAKS: u32 = 5;

/// The least pause before the next try, doubled up to the limit: a link that is only about to be known as lost must not use up the tries.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// How long after a channel has ended without a word the link may be found to be gone: a host that goes down ends its sessions first.
const NOTICE: Duration = Duration::from_secs(5);
const NOTICE_PAUSE: Duration = Duration::from_millis(50);

/// What was sent before the link broke has ended by then, or has never begun.
const OWN_SCRIPT: Duration = Duration::from_secs(TAKE_SECONDS);

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
    /// What a script came to. One without an end broke with its link, if that is gone; where it is not, as with a shell that gives up or a
    /// server that runs no commands, it would end the same way again.
    pub(super) async fn from_result(result: Result<Output, RunError>, is_lost: impl Fn() -> bool) -> Self {
        match result {
            Ok(output) => Self::Answered(output),
            Err(error @ (RunError::NotStarted { .. } | RunError::Unknown { .. })) if is_noticed(&is_lost).await => Self::Lost(error.into()),
            Err(error) => Self::Failed(error.into()),
        }
    }
}

async fn is_noticed(is_lost: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while !is_lost() {
        if began.elapsed() >= NOTICE {
            return false;
        }
        tokio::time::sleep(NOTICE_PAUSE).await;
    }
    true
}

/// Sends a script to a host until it is answered, and says so when the link breaks and when it is there again. A host that is taken says its
/// boot id: another one than `boot`, which it had when it was probed, means that it was started anew.
///
/// # Errors
/// [`Failure`] of the last try.
pub(super) async fn resend<F: Future<Output = Sent>>(
    host: &str,
    boot: Option<&str>,
    events: &Events,
    send: impl Fn() -> F,
) -> Result<Output, Failure> {
    let (mut lost, mut pause, mut breaks): (Option<Instant>, Duration, u32) = (None, FIRST_PAUSE, 0);
    loop {
        match (send().await, lost) {
            // What was sent before the link broke may be at work still, and leaves the place to nobody else until it ends.
            (Sent::Answered(output), Some(since))
                if output.status == ExitStatus::Exited(BUSY) && since.elapsed() + LONGEST_PAUSE < OWN_SCRIPT => {}
            (Sent::Answered(output), lost) => {
                if let Some(since) = lost {
                    let after_milliseconds = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
                    let restarted = output.is_success() && boot.is_some_and(|boot| boot_of(&output) != boot);
                    events.send(EventKind::HostBack { host: host.to_owned(), after_milliseconds, restarted });
                }
                return Ok(output);
            }
            (Sent::Lost(failure), since) => {
                breaks += 1;
                if breaks == BREAKS || since.is_some_and(|since| since.elapsed() >= PATIENCE) {
                    return Err(failure);
                }
                if since.is_none() {
                    events.send(EventKind::HostLost { host: host.to_owned(), because: failure.one_line() });
                    lost = Some(Instant::now());
                }
            }
            (Sent::Failed(failure), _) => return Err(failure),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests;
