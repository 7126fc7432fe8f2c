//! Connections to hosts, and what is done over them.
use super::budget::Budget;
use super::channel::{Collected, Output, Running};
use super::dial::Journey;
use super::error::{ConnectError, RunError};
use super::gate::Password;
use super::host_key::Accepted;
use super::log::log_end;
use super::nonce::{NoRandomness, ScriptNonce, jittered};
use super::script::{GO, Script, Start};
use super::session::{SshSession, StartFault};
use super::sudo::{Privilege, SudoAnswer, SudoCommand};
use super::target::{Deadlines, Target};
use super::transport::Transport;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OnceCell, Semaphore, mpsc};
use tokio::time::{Instant, timeout_at};
use tracing::{Instrument as _, debug, debug_span, info, info_span};
use zeroize::Zeroizing;

/// Channels at the same time on one connection: sshd's `MaxSessions` is 10, and two are left for those that are closing.
const CHANNELS: usize = 8;
/// sshd frees a session only after it has handled all requests that arrived with the end of that session, so for a moment it may
/// count more of them than we have. The first wait, doubled up to the limit.
const FULL_PAUSE: Duration = Duration::from_millis(10);
const FULL_PAUSE_LIMIT: Duration = Duration::from_secs(1);

/// What the question to sudo leaves is a few lines.
const SUDO_OUTPUT: usize = 4 << 10;

/// What is to be run, and until when.
pub(super) struct ScriptWork<'a> {
    pub(super) nonce: &'a ScriptNonce,
    pub(super) text: Zeroizing<String>,
    pub(super) stdout_limit: usize,
    /// Whether the connection ends where there is more.
    pub(super) at_most: bool,
    pub(super) until: Instant,
    /// As it was asked for, for messages.
    pub(super) deadline: Duration,
    /// Who takes the output as it comes.
    pub(super) tap: Option<mpsc::Sender<Vec<u8>>>,
}

/// One SSH connection to one host. Clones share it; it ends when the last one is dropped.
///
/// Scripts beside each other share the link fairly, but an upload delays what runs beside it: open a second connection for bulk data.
#[derive(Clone)]
pub struct Connection {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    session: SshSession,
    channels: Arc<Semaphore>,
    host: String,
    user: String,
    pub(super) privilege: Privilege,
    /// The memory for what it answers.
    answers: Arc<Budget>,
}

/// What came of data that was sent behind a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Streamed {
    /// What the script left. If it failed, not all of the data may have been sent.
    pub output: Output,
    /// How many bytes the source had; nothing if the script failed before all was sent.
    pub sent: Option<u64>,
}

impl Connection {
    /// Connects, verifies the host key, logs in. Identities are read before the host is contacted, and no credential is used before
    /// the host key was accepted. Whether sudo works shows with the first script.
    ///
    /// # Errors
    /// [`ConnectError`] with the phase that failed. Nothing has changed on the host then.
    pub async fn open(target: &Target, deadlines: &Deadlines, transport: &Transport) -> Result<Self, ConnectError> {
        let journey = Journey { deadlines, transport };
        let span = info_span!("connect", host = target.name, address = target.endpoint());
        let began = Instant::now();
        let session =
            journey.connect(target).instrument(span.clone()).await.map_err(|fault| ConnectError::from_hop_fault(target, fault))?;
        span.in_scope(|| info!(milliseconds = began.elapsed().as_millis(), "connected"));
        let privilege = match &target.sudo_password {
            _ if !target.needs_sudo() => Privilege::Root,
            None => Privilege::Sudo,
            Some(secret) => Privilege::SudoWith(secret.clone(), OnceCell::new()),
        };
        let channels = Arc::new(Semaphore::new(CHANNELS));
        let (host, user, answers) = (target.name.clone(), target.user.clone(), Arc::clone(&transport.limits().answers));
        let inner = Inner { session, channels, host, user, privilege, answers };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The host key that was not known before and has been added to known_hosts, if that was asked for.
    #[must_use]
    pub fn accepted_host_key(&self) -> Option<&Accepted> {
        self.inner.session.host_keys().accepted()
    }

    /// The host's name in the cluster.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.inner.host
    }

    /// Whether the link is known to be gone. A dead link is noticed within 20 s.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.inner.session.is_lost()
    }

    /// Bytes to and from a port that the host reaches, as `ssh -W` has it; or why there is no way to it.
    ///
    /// # Errors
    /// In words: nobody answers there, or sshd does not forward.
    pub async fn forward(
        &self,
        address: &str,
        port: u16,
        after: Duration,
    ) -> Result<impl AsyncRead + AsyncWrite + Send + Unpin + use<>, String> {
        self.inner.session.forward(address, port, after).await
    }

    /// Runs a script as root and waits for its end, at most `deadline` (counted from now, waiting for a free channel included).
    /// At most 8 run beside each other, more wait. A script that outlives its deadline is not killed and keeps its place among
    /// the 8, because sshd keeps its session: what may take long belongs into a systemd unit.
    ///
    /// # Errors
    /// See [`RunError`]; [`RunError::may_have_run`] tells whether the host has to be probed. A script that fails is an [`Output`].
    pub async fn run(&self, script: Script, deadline: Duration) -> Result<Output, RunError> {
        let until = Instant::now() + deadline;
        self.learn_sudo(until, deadline).await?;
        let nonce = self.nonce()?;
        let command = SudoCommand::starting(Start::Run, &self.inner.privilege, &nonce);
        let work = ScriptWork {
            nonce: &nonce,
            text: script.for_run(&nonce),
            stdout_limit: script.stdout_limit,
            at_most: script.at_most,
            until,
            deadline,
            tap: None,
        };
        let (collected, _) = self.execute(command, work, tokio::io::empty()).await?;
        self.judge(collected)
    }

    /// Runs a script as root with `source` as its standard input. Exactly one of the script's commands should read it; what that
    /// leaves is thrown away, and all others get `</dev/null`. Memory does not grow with the length of the source.
    ///
    /// A source that ends early is no different on the host from one that ends: the script must recognise the end of its data, by
    /// a digest or its format.
    ///
    /// # Errors
    /// See [`RunError`]. A script that fails is an [`Output`].
    pub async fn stream<R: AsyncRead + Unpin>(&self, script: Script, source: R, deadline: Duration) -> Result<Streamed, RunError> {
        let until = Instant::now() + deadline;
        self.learn_sudo(until, deadline).await?;
        let nonce = self.nonce()?;
        let command = SudoCommand::starting(Start::Stream, &self.inner.privilege, &nonce);
        let work = ScriptWork {
            nonce: &nonce,
            text: script.for_stream(&nonce),
            stdout_limit: script.stdout_limit,
            at_most: script.at_most,
            until,
            deadline,
            tap: None,
        };
        let (collected, sent) = self.execute(command, work, source).await?;
        let output = self.judge(collected)?;
        if output.is_success() && sent.is_none() {
            return Err(self.unknown("the script ended before all data was sent".to_owned()));
        }
        Ok(Streamed { output, sent })
    }

    /// Ends the connection politely. Dropping the last clone ends it too.
    pub async fn close(self) {
        self.inner.session.close().await;
    }

    /// Finds out once whether sudo asks for the password that we have.
    pub(super) async fn learn_sudo(&self, until: Instant, deadline: Duration) -> Result<(), RunError> {
        let Privilege::SudoWith(secret, known) = &self.inner.privilege else {
            return Ok(());
        };
        let learning = known.get_or_try_init(|| async {
            let nonce = self.nonce()?;
            let command = SudoCommand::asking(secret, &nonce);
            let work = ScriptWork {
                nonce: &nonce,
                text: Zeroizing::default(),
                stdout_limit: SUDO_OUTPUT,
                at_most: false,
                until,
                deadline,
                tap: None,
            };
            let (collected, _) = self.execute(command, work, tokio::io::empty()).await.map_err(RunError::nothing_ran)?;
            let output = self.judge(collected).map_err(RunError::nothing_ran)?;
            let answer = SudoAnswer::read(&output, &nonce);
            info!(host = self.inner.host, user = self.inner.user, "sudo {}", answer.in_words());
            Ok::<_, RunError>(answer)
        });
        let SudoAnswer::Refused { with_password, output: reason } = learning.await? else {
            return Ok(());
        };
        let (host, user) = (self.inner.host.clone(), self.inner.user.clone());
        Err(RunError::SudoRefused { host, user, with_password: *with_password, output: reason.clone() })
    }

    /// Has a command run on a channel of its own. What it said is in no log: it may be a secret.
    pub(super) async fn execute<R: AsyncRead + Unpin>(
        &self,
        command: SudoCommand,
        work: ScriptWork<'_>,
        source: R,
    ) -> Result<(Collected, Option<u64>), RunError> {
        let (began, script_bytes) = (Instant::now(), work.text.len());
        let span = debug_span!("channel", host = self.inner.host);
        let ended = self.converse(command, work, source).instrument(span.clone()).await;
        span.in_scope(|| log_end(&ended, began, script_bytes));
        ended
    }

    async fn converse<R: AsyncRead + Unpin>(
        &self,
        command: SudoCommand,
        work: ScriptWork<'_>,
        source: R,
    ) -> Result<(Collected, Option<u64>), RunError> {
        let ScriptWork { nonce, mut text, stdout_limit, at_most, until, deadline, tap } = work;
        let SudoCommand { text: command, gate, password } = command;
        if matches!(&password, Some(Password { granted: Some(_), .. })) {
            text.insert_str(0, &format!("{GO}\n"));
        }
        let collected = Collected::new(nonce, stdout_limit, gate, &self.inner.answers).at_most(at_most).tapped(tap);
        // Cut off before it returns, this has not sent the command.
        let begun = timeout_at(until, self.begin(&command, collected)).await;
        let mut running =
            begun.unwrap_or_else(|_| Err(self.not_started(format!("the host opened no channel within {} s", deadline.as_secs_f64()))))?;
        match timeout_at(until, running.complete(password, text, source)).await {
            Ok(Ok(Some((collected, _)))) if collected.is_too_much() => {
                self.inner.session.close().await;
                Err(RunError::TooMuch { host: self.inner.host.clone(), limit: stdout_limit, kept: collected.kept() })
            }
            Ok(Ok(Some(result))) => Ok(result),
            Ok(Ok(None)) => Err(self.unknown("the task that read the channel is gone".to_owned())),
            Ok(Err(source)) => {
                running.abandon();
                Err(RunError::Source { host: self.inner.host.clone(), source })
            }
            Err(_) => {
                running.abandon();
                Err(RunError::Deadline { host: self.inner.host.clone(), after: deadline })
            }
        }
    }

    async fn begin(&self, command: &str, collected: Collected) -> Result<Running, RunError> {
        if self.inner.channels.available_permits() == 0 {
            debug!("waits for one of {CHANNELS} channels");
        }
        // The semaphore is never closed.
        let permit = Arc::clone(&self.inner.channels).acquire_owned().await;
        let permit = permit.map_err(|error| self.not_started(error.to_string()))?;
        let mut pause = FULL_PAUSE;
        let channel = loop {
            match self.inner.session.start(command).await {
                Ok(channel) => break channel,
                Err(StartFault::Failed(reason)) => return Err(self.not_started(reason)),
                Err(StartFault::Full) if pause > FULL_PAUSE_LIMIT => {
                    return Err(self.not_started("sshd has no session free (MaxSessions)".to_owned()));
                }
                Err(StartFault::Full) => {
                    debug!("waits for sshd to have a session free");
                    tokio::time::sleep(jittered(pause)).await;
                }
            }
            pause *= 2;
        };
        debug!("opened");
        Ok(Running::new(channel, collected, permit))
    }

    pub(super) fn judge(&self, collected: Collected) -> Result<Output, RunError> {
        let gone =
            if self.is_lost() { self.inner.session.lost_reason() } else { "the channel was closed without an exit status".to_owned() };
        collected.judge(&self.inner.host, &self.inner.user, gone)
    }

    fn not_started(&self, reason: String) -> RunError {
        RunError::NotStarted { host: self.inner.host.clone(), reason }
    }

    fn unknown(&self, reason: String) -> RunError {
        RunError::Unknown { host: self.inner.host.clone(), reason }
    }

    pub(super) fn nonce(&self) -> Result<ScriptNonce, RunError> {
        ScriptNonce::new().map_err(|NoRandomness| self.not_started("the system gave no randomness".to_owned()))
    }
}
