//! Connections to hosts, and what is done over them.
use super::channel::{Collected, Output, Running, Sent};
use super::error::{ConnectError, ConnectFault, RunError};
use super::host_key::HostKeys;
use super::identity::{Identities, Surroundings};
use super::nonce::{NoRandomness, Nonce, jittered};
use super::script::{Script, Start};
use super::session::{Session, StartFault};
use super::socket::Socket;
use super::target::{Deadlines, Target};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncRead;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use zeroize::Zeroizing;

/// Handshakes under way at the same time in this process. Each costs both sides a public-key operation; more of them only make each
/// one later, until sshd's LoginGraceTime or our deadline cuts them off.
static HANDSHAKES: Semaphore = Semaphore::const_new(32);
/// Channels at the same time on one connection: sshd's `MaxSessions` is 10, and two are left for those that are closing.
const CHANNELS: usize = 8;
/// How often a connection is tried that sshd drops before it greets us, as it does above `MaxStartups`.
const ATTEMPTS: u32 = 3;
/// The least wait before the second try, doubled for each further one.
const RETRY: Duration = Duration::from_millis(300);

/// sshd frees a session only after it has handled all requests that arrived with the end of that session, so for a moment it may
/// count more of them than we have. The first wait, doubled up to the limit.
const FULL_PAUSE: Duration = Duration::from_millis(10);
const FULL_PAUSE_LIMIT: Duration = Duration::from_secs(1);

/// One SSH connection to one host. Clones share it; it ends when the last one is dropped.
///
/// Scripts beside each other share the link fairly, but an upload delays what runs beside it: open a second connection for bulk data.
#[derive(Clone)]
pub struct Connection {
    inner: Arc<Inner>,
}

struct Inner {
    session: Session,
    channels: Arc<Semaphore>,
    host: String,
    user: String,
    sudo: bool,
}

/// What came of data that was sent behind a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Streamed {
    /// What the script left. If it failed, not all of the data may have been sent.
    pub output: Output,
    /// How many bytes the source had and their SHA-256; nothing if the script failed before all was sent.
    pub sent: Option<SentData>,
}

/// What was read from a source and sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentData {
    /// How much it was.
    pub bytes: u64,
    /// Its digest.
    pub sha256: [u8; 32],
}

impl Connection {
    /// Connects, verifies the host key, logs in. Identities are read before the host is contacted, and no credential is used before
    /// the host key was accepted. Whether sudo works shows with the first script.
    ///
    /// # Errors
    /// [`ConnectError`] with the phase that failed. Nothing has changed on the host then.
    pub async fn open(target: &Target, deadlines: &Deadlines) -> Result<Self, ConnectError> {
        Self::open_from(target, deadlines, &Surroundings::of_process()).await
    }

    pub(super) async fn open_from(target: &Target, deadlines: &Deadlines, surroundings: &Surroundings) -> Result<Self, ConnectError> {
        let session = connect(target, deadlines, surroundings).await.map_err(|fault| ConnectError {
            host: target.name.clone(),
            address: target.socket(),
            user: target.user.clone(),
            fault: Box::new(fault),
        })?;
        Ok(Self {
            inner: Arc::new(Inner {
                session,
                channels: Arc::new(Semaphore::new(CHANNELS)),
                host: target.name.clone(),
                user: target.user.clone(),
                sudo: target.needs_sudo(),
            }),
        })
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

    /// Runs a script as root and waits for its end, at most `deadline` (counted from now, waiting for a free channel included).
    /// At most 8 run beside each other, more wait. A script that outlives its deadline is not killed and keeps its place among
    /// the 8, because sshd keeps its session: what may take long belongs into a systemd unit.
    ///
    /// # Errors
    /// See [`RunError`]; [`RunError::may_have_run`] tells whether the host has to be probed. A script that fails is an [`Output`].
    pub async fn run(&self, script: Script, deadline: Duration) -> Result<Output, RunError> {
        let nonce = self.nonce()?;
        let text = script.for_run(&nonce);
        let started = self.execute(Start::Run, &nonce, &script, text, tokio::io::empty(), deadline);
        let (collected, _) = started.await?;
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
        let nonce = self.nonce()?;
        let text = script.for_stream(&nonce);
        let (collected, sent) = self.execute(Start::Stream, &nonce, &script, text, source, deadline).await?;
        let output = self.judge(collected)?;
        if output.is_success() && sent.is_none() {
            return Err(self.unknown("the script ended before all data was sent".to_owned()));
        }
        let sent = sent.map(|Sent { bytes, sha256 }| SentData { bytes, sha256 });
        Ok(Streamed { output, sent })
    }

    /// Ends the connection politely. Dropping the last clone ends it too.
    pub async fn close(self) {
        self.inner.session.close().await;
    }

    async fn execute<R: AsyncRead + Unpin>(
        &self,
        start: Start,
        nonce: &Nonce,
        script: &Script,
        text: Zeroizing<String>,
        source: R,
        deadline: Duration,
    ) -> Result<(Collected, Option<Sent>), RunError> {
        let until = Instant::now() + deadline;
        // Cut off before it returns, this has not sent the command.
        let begun = timeout_at(until, self.begin(start, nonce, script.stdout_limit)).await;
        let mut running =
            begun.unwrap_or_else(|_| Err(self.not_started(format!("the host opened no channel within {} s", deadline.as_secs_f64()))))?;
        match timeout_at(until, running.complete(text, source)).await {
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

    async fn begin(&self, start: Start, nonce: &Nonce, stdout_limit: usize) -> Result<Running, RunError> {
        // The semaphore is never closed.
        let permit = Arc::clone(&self.inner.channels).acquire_owned().await;
        let permit = permit.map_err(|error| self.not_started(error.to_string()))?;
        let command = start.command(self.inner.sudo);
        let mut pause = FULL_PAUSE;
        let channel = loop {
            match self.inner.session.start(command).await {
                Ok(channel) => break channel,
                Err(StartFault::Failed(reason)) => return Err(self.not_started(reason)),
                Err(StartFault::Full) if pause > FULL_PAUSE_LIMIT => {
                    return Err(self.not_started("sshd has no session free (MaxSessions)".to_owned()));
                }
                Err(StartFault::Full) => tokio::time::sleep(jittered(pause)).await,
            }
            pause *= 2;
        };
        Ok(Running::new(channel, nonce, stdout_limit, permit))
    }

    fn judge(&self, collected: Collected) -> Result<Output, RunError> {
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

    pub(super) fn nonce(&self) -> Result<Nonce, RunError> {
        Nonce::new().map_err(|NoRandomness| self.not_started("the system gave no randomness".to_owned()))
    }
}

async fn connect(target: &Target, deadlines: &Deadlines, surroundings: &Surroundings) -> Result<Session, ConnectFault> {
    let host_keys = Arc::new(HostKeys::load(target, surroundings.known_hosts_files())?);
    let identities = Identities::gather(target, surroundings).await?;
    let mut attempts = 1;
    loop {
        // The semaphore is never closed; without a permit we would only be less polite.
        let permit = HANDSHAKES.acquire().await.ok();
        let socket = Socket::connect(target.socket(), deadlines.connect).await?;
        match Session::handshake(socket, Arc::clone(&host_keys), deadlines).await {
            Ok(session) => return session.login(&target.user, identities, deadlines).await,
            Err(ConnectFault::Dropped { .. }) if attempts < ATTEMPTS => {}
            Err(ConnectFault::Dropped { said, .. }) => {
                return Err(ConnectFault::Dropped { attempts, said });
            }
            Err(fault) => return Err(fault),
        }
        drop(permit);
        tokio::time::sleep(jittered(RETRY * 2_u32.pow(attempts - 1))).await;
        attempts += 1;
    }
}
