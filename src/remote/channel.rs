//! One command on one channel: feeds its input, reads its output to the end, and judges what came.
use super::budget::Budget;
use super::error::RunError;
use super::frame::{Framer, StderrTail};
use super::gate::{OutputGate, Password, unlock};
use super::nonce::ScriptNonce;
use super::session::{ChannelEvent, ChannelEvents, Gone, Input};
use super::text::last_line;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use zeroize::Zeroizing;

/// How long a channel may stay open behind a script that has ended. A daemon that the script started may hold its standard output
/// for ever, but what the script itself wrote is here by then.
const GRACE: Duration = Duration::from_millis(500);
/// Data is read and sent in pieces of this size: large enough that a read costs little, small enough for many hosts at once.
const PIECE: usize = 256 << 10;

/// How a script ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExitStatus {
    /// By itself, with this code.
    Exited(u32),
    /// Its shell was killed by this signal (`KILL`, `TERM`, …).
    Signaled(String),
}

/// What a script left. Only [`is_success`](Self::is_success) is success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// How it ended.
    pub status: ExitStatus,
    /// The first bytes of its standard output, up to the script's limit.
    pub stdout: Vec<u8>,
    /// Whether there was more.
    pub stdout_truncated: bool,
    /// The last 64 KiB of its standard error.
    pub stderr: Vec<u8>,
    /// Whether there was more before.
    pub stderr_truncated: bool,
    /// The first 4 KiB of what the login wrote to standard output before the script began, for diagnosis.
    pub noise: Vec<u8>,
}

impl Output {
    /// Whether the script ended by itself with code 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.status == ExitStatus::Exited(0)
    }

    /// The last line of standard error, on one line and safe to show: most programs say there why they failed.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        last_line(&self.stderr)
    }
}

/// Everything that a channel has brought.
pub(super) struct Collected {
    framer: Framer,
    stderr: StderrTail,
    pub(super) exit: Option<ExitStatus>,
    refused: bool,
    pub(super) received: u64,
    gate: Option<OutputGate>,
    /// Whether more than may be kept is an end of it.
    at_most: bool,
    /// Who takes the script's output as it comes; it is kept to the end where nobody does.
    tap: Option<mpsc::Sender<Vec<u8>>>,
}

impl Collected {
    pub(super) fn new(nonce: &ScriptNonce, stdout_limit: usize, gate: Option<OutputGate>, budget: &Arc<Budget>) -> Self {
        let (framer, stderr) = (Framer::new(nonce, stdout_limit, budget), StderrTail::new(nonce, budget));
        Self { framer, stderr, exit: None, refused: false, received: 0, gate, at_most: false, tap: None }
    }

    /// Ends with the first byte that can't be kept.
    pub(super) fn at_most(self, at_most: bool) -> Self {
        Self { at_most, ..self }
    }

    /// Whether the host said more than it may.
    pub(super) fn is_too_much(&self) -> bool {
        self.at_most && self.framer.output.truncated
    }

    /// How many bytes of its output were kept.
    pub(super) fn kept(&self) -> usize {
        self.framer.output.bytes.len()
    }

    /// Hands the script's output over as it comes, and waits where that is not taken: what a host sends is then not read either.
    pub(super) fn tapped(self, tap: Option<mpsc::Sender<Vec<u8>>>) -> Self {
        Self { tap, ..self }
    }

    async fn hand_over(&mut self) {
        let Some(tap) = &self.tap else { return };
        let piece = self.framer.output.take();
        if !piece.is_empty() && tap.send(piece).await.is_err() {
            self.tap = None;
        }
    }

    fn take(&mut self, event: ChannelEvent) {
        self.received += event.bytes();
        match event {
            ChannelEvent::Stdout(data) => {
                if let Some(gate) = &mut self.gate {
                    gate.push(&data);
                }
                self.framer.push(&data);
            }
            ChannelEvent::Stderr(data) => self.stderr.push(&data),
            ChannelEvent::Exited(code) => self.exit = Some(ExitStatus::Exited(code)),
            ChannelEvent::Signaled(name) => self.exit = Some(ExitStatus::Signaled(name)),
            ChannelEvent::Refused => self.refused = true,
        }
    }

    fn is_complete(&self) -> bool {
        self.refused || (self.framer.ended() && self.exit.is_some())
    }

    /// The script's result, or why there is none. `gone` is why the channel ended if nothing else tells.
    pub(super) fn judge(mut self, host: &str, user: &str, gone: String) -> Result<Output, RunError> {
        self.framer.finish();
        let (said_before, stderr) = self.stderr.split();
        let host = host.to_owned();
        if self.refused {
            return Err(RunError::NotStarted { host, reason: "the SSH server does not run commands".to_owned() });
        }
        let Some(status) = self.exit else {
            return Err(RunError::Unknown { host, reason: gone });
        };
        if !self.framer.began() {
            let output = last_line(&said_before).or_else(|| last_line(&self.framer.noise.bytes));
            return Err(not_begun(host, user, &status, output));
        }
        if matches!(status, ExitStatus::Exited(_)) && !self.framer.ended() {
            let output = last_line(&stderr.bytes).map_or_else(String::new, |output| format!(": {output}"));
            return Err(RunError::Unknown { host, reason: format!("the shell gave up inside the script{output}") });
        }
        Ok(Output {
            status,
            stdout: self.framer.output.bytes,
            stdout_truncated: self.framer.output.truncated,
            stderr: stderr.bytes,
            stderr_truncated: stderr.truncated,
            noise: self.framer.noise.bytes,
        })
    }
}

/// The command ended before our shell said its first word. Which of its parts failed is told by the exit code alone: texts differ
/// between versions, and between sudo and sudo-rs.
fn not_begun(host: String, user: &str, status: &ExitStatus, output: Option<String>) -> RunError {
    let user = user.to_owned();
    match status {
        // sudo says 1 when it refuses; login shells say 1 (csh), 126 or 127 when there is no sudo.
        ExitStatus::Exited(1 | 126 | 127) if user != "root" => RunError::SudoRefused { host, user, with_password: false, output },
        _ => RunError::NoShell { host, user, output },
    }
}

/// A command that was started.
pub(super) struct Running {
    input: Input,
    done: oneshot::Receiver<Drained>,
}

/// What the task that reads a channel hands over.
struct Drained {
    collected: Collected,
    /// The channel's place, if the channel is still open although the script has ended.
    open: Option<OwnedSemaphorePermit>,
}

impl Running {
    /// Reads the channel from now on, in a task of its own, whatever becomes of this value.
    pub(super) fn new((input, events): (Input, ChannelEvents), collected: Collected, permit: OwnedSemaphorePermit) -> Self {
        let (sender, done) = oneshot::channel();
        tokio::spawn(tracing::Instrument::in_current_span(drain(events, collected, sender, permit)));
        Self { input, done }
    }

    /// Sends the script and what follows it, and waits for the end. Says how much data that was; without it, the command ended before all was sent.
    pub(super) async fn complete<R: AsyncRead + Unpin>(
        &mut self,
        password: Option<Password>,
        script: Zeroizing<String>,
        source: R,
    ) -> io::Result<Option<(Collected, Option<u64>)>> {
        let Self { input, done } = self;
        let feed = feed(input, password, script, source);
        tokio::pin!(feed);
        let mut fed = None;
        let drained = loop {
            tokio::select! {
                // In this order, or a feed that is through might be missed.
                biased;
                end = &mut feed, if fed.is_none() => fed = Some(end?),
                drained = &mut *done => break drained,
            }
        };
        let Ok(Drained { collected, open }) = drained else {
            return Ok(None);
        };
        if let Some(permit) = open {
            // The command has ended, so sshd frees its session when it reads this, before it reads our next request.
            let _ = tokio::time::timeout(GRACE, input.close()).await;
            drop(permit);
        }
        Ok(Some((collected, fed.flatten())))
    }

    /// Ends the command's input. The command, if it still runs, is not killed, and its channel is read until it ends.
    ///
    /// The channel is not closed: russh forgets a channel that we close first, and we would never learn when sshd, which waits for
    /// the command, has a session free again.
    pub(super) fn abandon(self) {
        tokio::spawn(async move {
            // The session may be stuck or gone; then there is nothing to end.
            let _ = tokio::time::timeout(GRACE, self.input.end()).await;
        });
    }
}

/// Hands over what came when the channel has ended, or a moment after the script has. If nobody waits any more it still reads to
/// the end, so that nothing this channel brings can block the others.
async fn drain(mut events: ChannelEvents, mut collected: Collected, done: oneshot::Sender<Drained>, permit: OwnedSemaphorePermit) {
    let ended = loop {
        let next = if collected.is_complete() {
            match tokio::time::timeout(GRACE, events.next()).await {
                Ok(next) => next,
                Err(_) => break false,
            }
        } else {
            events.next().await
        };
        match next {
            Some(event) => {
                collected.take(event);
                collected.hand_over().await;
                if collected.is_too_much() {
                    let _ = done.send(Drained { collected, open: None });
                    // Whoever hears of that ends the connection; until then it must not stop.
                    while events.next().await.is_some() {}
                    return drop(permit);
                }
            }
            None => break true,
        }
    };
    collected.tap = None;
    let open = (!ended).then_some(permit);
    if let Err(Drained { open: Some(_permit), .. }) = done.send(Drained { collected, open }) {
        while events.next().await.is_some() {}
    }
}

/// Sends all there is, and says how much data that was. Nothing if the channel ended before.
async fn feed<R: AsyncRead + Unpin>(
    input: &Input,
    password: Option<Password>,
    script: Zeroizing<String>,
    mut source: R,
) -> io::Result<Option<u64>> {
    if let Some(password) = password
        && let Err(Gone) = unlock(input, password).await
    {
        return Ok(None);
    }
    if !script.is_empty()
        && let Err(Gone) = input.send(script.as_bytes().to_vec()).await
    {
        return Ok(None);
    }
    let mut bytes = 0;
    loop {
        let mut piece = Vec::with_capacity(PIECE);
        let read = source.read_buf(&mut piece).await?;
        if read == 0 {
            break;
        }
        bytes += read as u64;
        if let Err(Gone) = input.send(piece).await {
            return Ok(None);
        }
    }
    if let Err(Gone) = input.end().await {
        return Ok(None);
    }
    Ok(Some(bytes))
}
