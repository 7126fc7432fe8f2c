//! Data of any length that a host sends.
use super::channel::Output;
use super::connection::{Connection, ScriptWork};
use super::error::RunError;
use super::script::{Script, Start};
use super::sudo::SudoCommand;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// So many packets wait for whoever takes them, before the host is not read any more.
const WAITING: usize = 8;
/// More than a packet of SSH can have, and what came before it that may be a part of a mark.
const PIECE: usize = 1 << 20;

impl Connection {
    /// Runs a script as root, and hands its standard output to `keep` piece by piece, as it comes. Memory does not grow with its length. What it
    /// leaves is as with [`Connection::run`], without standard output; nothing if `keep` wants no more, which it says by `false`.
    ///
    /// While `keep` takes its time the whole connection waits: open one for this alone.
    ///
    /// # Errors
    /// See [`RunError`]. A script that fails is an [`Output`].
    pub async fn fetch(&self, script: Script, mut keep: impl FnMut(&[u8]) -> bool, deadline: Duration) -> Result<Option<Output>, RunError> {
        let until = Instant::now() + deadline;
        self.learn_sudo(until, deadline).await?;
        let nonce = self.nonce()?;
        let command = SudoCommand::starting(Start::Run, &self.inner.privilege, &nonce);
        let (tap, mut pieces) = mpsc::channel(WAITING);
        let work = ScriptWork {
            nonce: &nonce,
            text: script.for_run(&nonce),
            stdout_limit: PIECE,
            at_most: false,
            until,
            deadline,
            tap: Some(tap),
        };
        let running = self.execute(command, work, tokio::io::empty());
        tokio::pin!(running);
        let mut ended = None;
        loop {
            tokio::select! {
                biased;
                piece = pieces.recv() => match piece {
                    Some(piece) if keep(&piece) => {}
                    Some(_) => return Ok(None),
                    None => break,
                },
                result = &mut running, if ended.is_none() => ended = Some(result?),
            }
        }
        let (collected, _) = match ended {
            Some(ended) => ended,
            None => running.await?,
        };
        self.judge(collected).map(Some)
    }
}
