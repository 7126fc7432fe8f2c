//! What the log says of a channel. What was sent and what came back is in no log: either may be a secret.
use super::channel::{Collected, ExitStatus};
use super::error::RunError;
use tokio::time::Instant;
use tracing::debug;

/// Says how a channel ended: when, how, and how many bytes went both ways.
pub(super) fn log_end(ended: &Result<(Collected, Option<u64>), RunError>, began: Instant, script_bytes: usize) {
    let milliseconds = began.elapsed().as_millis();
    match ended {
        Ok((collected, sent)) => {
            debug!(exit = in_words(collected.exit.as_ref()), milliseconds, script_bytes, sent, received = collected.received, "closed");
        }
        Err(error) => debug!(milliseconds, script_bytes, "without an answer: {}", in_a_word(error)),
    }
}

fn in_words(exit: Option<&ExitStatus>) -> String {
    match exit {
        Some(ExitStatus::Exited(code)) => code.to_string(),
        Some(ExitStatus::Signaled(name)) => name.clone(),
        None => "none".to_owned(),
    }
}

/// Without what the host has said.
fn in_a_word(error: &RunError) -> &'static str {
    match error {
        RunError::NotStarted { .. } => "not started",
        RunError::SudoRefused { .. } => "sudo refused",
        RunError::NoShell { .. } => "no shell",
        RunError::Unknown { .. } => "the connection or the shell was lost",
        RunError::Deadline { .. } => "its time was over",
        RunError::TooMuch { .. } => "it said too much",
        RunError::Source { .. } => "the data can't be read",
    }
}
