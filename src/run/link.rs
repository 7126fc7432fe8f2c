//! The connections of a run: one per host for scripts, and one for bulk data where there is some.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kok_crds::model::Cluster;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tracing::{Instrument as _, info};

use super::descriptors::make_room;
use super::keys::wrong_keys;
use super::target::targets;
use crate::event::{EventKind, Events, elapsed};
use crate::failure::{Failure, Kind};
use crate::remote::{Accepted, ConnectError, Connection, Deadlines, Prospect, Target, Transport, jittered};

/// How long a lost connection is tried to be opened again: a host that reboots is back by then.
const PATIENCE: Duration = Duration::from_secs(120);
/// The least pause before the next try, doubled up to the limit: fast enough for a cable that was pulled for a moment, and too slow to
/// trouble a host that comes up.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// The connections to one host. They are opened when they are first asked for, and again when they were lost.
pub struct Link {
    target: Target,
    transport: Transport,
    scripts: Slot,
    bulk: Slot,
    /// How long connecting took.
    pub connect_milliseconds: u64,
    /// How many hosts its cluster has: of so many it may speak.
    cluster_hosts: usize,
    /// For how many seconds a lost connection is tried to be opened again.
    patience_seconds: AtomicU64,
}

impl Link {
    pub(super) async fn open(target: Target, transport: &Transport) -> Result<Self, ConnectError> {
        let began = Instant::now();
        let scripts = Connection::open(&target, &Deadlines::default(), transport).await?;
        let scripts = Slot::with_connection(scripts);
        Ok(Self {
            target,
            transport: transport.clone(),
            scripts,
            bulk: Slot::default(),
            connect_milliseconds: elapsed(began),
            cluster_hosts: 1,
            patience_seconds: AtomicU64::new(PATIENCE.as_secs()),
        })
    }

    /// The same as a host of a cluster.
    fn of_cluster(self, hosts: usize) -> Self {
        Self { cluster_hosts: hosts, ..self }
    }

    /// From now on a host that is away is waited for at least so long: it is started anew, and machines take minutes for that.
    pub fn wait_at_least(&self, patience: Duration) {
        self.patience_seconds.fetch_max(patience.as_secs(), Ordering::Relaxed);
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(self.patience_seconds.load(Ordering::Relaxed))
    }

    /// How many hosts its cluster has, those included that are no part of a run.
    #[must_use]
    pub fn cluster_hosts(&self) -> usize {
        self.cluster_hosts
    }

    /// Trust that was given without anybody having looked has to be seen.
    async fn tell_new_host_key(&self, events: &Events) {
        let held = self.scripts.0.lock().await;
        let Some(Accepted { key, file }) = held.connection.as_ref().and_then(Connection::accepted_host_key) else { return };
        let (host, key, file) = (self.target.name.clone(), key.to_string(), file.display().to_string());
        events.send(EventKind::HostKeyTrusted { host, key, file });
    }

    /// The connection for scripts. If it was lost it is opened again, with the host key verified again, for up to two minutes while the
    /// host can't be reached or does not accept the login that it had accepted; a password is tried once more only, at their end.
    ///
    /// # Errors
    /// [`ConnectError`] of the last try. Nothing was sent then.
    pub async fn scripts(&self) -> Result<Connection, ConnectError> {
        self.scripts.connection(&self.target, &self.transport, self.patience()).await
    }

    /// The connection for bulk data, kept like that for scripts: data that queues on it must not hold up scripts.
    ///
    /// # Errors
    /// [`ConnectError`] if it can't be opened.
    pub async fn bulk(&self) -> Result<Connection, ConnectError> {
        self.bulk.connection(&self.target, &self.transport, self.patience()).await
    }

    /// Where it leads, as failures say it: `host NAME (user@address:port)`.
    #[must_use]
    pub fn place(&self) -> String {
        format!("host {} ({}@{})", self.target.name, self.target.user, self.target.endpoint())
    }

    /// Whether the connection for scripts is known to be gone. Whoever asks for it next opens it again.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        // Somebody who opens it holds the lock: it is being replaced.
        self.scripts.0.try_lock().map_or(true, |held| held.connection.as_ref().is_none_or(Connection::is_lost))
    }
}

/// One connection and its successors. Whoever needs it while somebody opens it waits for that.
#[derive(Default)]
struct Slot(Mutex<Held>);

#[derive(Default)]
struct Held {
    connection: Option<Connection>,
    /// Since when it is tried to be opened again.
    lost_since: Option<Instant>,
    /// Why it is not tried again: a password that is refused once more may lock the account.
    closed: Option<ConnectError>,
}

impl Slot {
    fn with_connection(connection: Connection) -> Self {
        Self(Mutex::new(Held { connection: Some(connection), ..Held::default() }))
    }

    async fn connection(&self, target: &Target, transport: &Transport, patience: Duration) -> Result<Connection, ConnectError> {
        let mut held = self.0.lock().await;
        if let Some(connection) = held.connection.as_ref().filter(|connection| !connection.is_lost()) {
            return Ok(connection.clone());
        }
        if let Some(error) = &held.closed {
            return Err(error.clone());
        }
        // Of a host that is away the connection that was there knows; another one need not wait too.
        let patience = if held.connection.is_some() { held.patience_left(patience) } else { Duration::ZERO };
        let opened = open_patiently(target, transport, patience).await;
        match &opened {
            Ok(connection) => (held.connection, held.lost_since) = (Some(connection.clone()), None),
            Err(error) if error.prospect() != Prospect::Away => held.closed = Some(error.clone()),
            Err(_) => {}
        }
        opened
    }
}

impl Held {
    /// What is left of the patience with a host that is away. Several may ask for it at once, and who has its turn after another one waits no longer for that.
    fn patience_left(&mut self, patience: Duration) -> Duration {
        patience.saturating_sub(self.lost_since.get_or_insert_with(Instant::now).elapsed())
    }
}

/// Opens a connection to a host that had let us in.
async fn open_patiently(target: &Target, transport: &Transport, patience: Duration) -> Result<Connection, ConnectError> {
    let began = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        let error = match Connection::open(target, &Deadlines::default(), transport).await {
            Ok(connection) => return Ok(connection),
            Err(error) => error,
        };
        let Some(wait) = wait_before_next(error.prospect(), began.elapsed(), pause, patience) else { return Err(error) };
        info!(host = target.name, wait_milliseconds = wait.as_millis(), "connects again: {}", error.fault);
        tokio::time::sleep(wait).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// How long to wait before the next try; nothing if there is none. `waited` since the first one.
fn wait_before_next(prospect: Prospect, waited: Duration, pause: Duration, patience: Duration) -> Option<Duration> {
    match prospect {
        Prospect::Away => (waited + pause < patience).then(|| jittered(pause)),
        // Slowly: sshd keeps out for a while who is refused often (PerSourcePenalties).
        Prospect::Closed { tried_password: false } => (waited + LONGEST_PAUSE < PATIENCE).then(|| jittered(LONGEST_PAUSE)),
        // Once, when a host that was restarted is up for certain.
        Prospect::Closed { tried_password: true } => PATIENCE.checked_sub(waited).filter(|rest| !rest.is_zero()),
        Prospect::Final => None,
    }
}

/// The connections to all hosts of a cluster, by host name.
pub type Links = BTreeMap<String, Arc<Link>>;

/// Connects to these hosts at once; of those that can't be reached, or must not be trusted, it says why.
///
/// # Errors
/// All that is wrong with the file, the keys that it names, or the settings of SSH; then nobody was contacted.
pub async fn connect_each(
    cluster: &Cluster,
    wanted: impl Fn(&str) -> bool,
    transport: &Transport,
    events: &Events,
) -> Result<(Links, BTreeMap<String, Failure>), Vec<Failure>> {
    make_room(cluster.hosts.iter().filter(|host| wanted(&host.name)).count()).map_err(|failure| vec![failure])?;
    let mut wrong = wrong_keys(cluster, transport.surroundings().home.as_deref(), &wanted);
    let targets = targets(cluster, wanted, transport.surroundings()).unwrap_or_else(|failures| {
        wrong.extend(failures);
        Vec::new()
    });
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let (mut connecting, mut hosts) = (JoinSet::new(), HashMap::new());
    for target in targets {
        let host = target.name.clone();
        let (all, transport) = (cluster.hosts.len(), transport.clone());
        let task = connecting.spawn(
            async move { (target.name.clone(), Link::open(target, &transport).await.map(|link| link.of_cluster(all))) }.in_current_span(),
        );
        hosts.insert(task.id(), host);
    }
    Ok(opened(connecting, &hosts, events).await)
}

/// What became of each host. A task that ends without a word is its host's failure, which counts as one of that host.
async fn opened(
    mut connecting: JoinSet<(String, Result<Link, ConnectError>)>,
    hosts: &HashMap<tokio::task::Id, String>,
    events: &Events,
) -> (Links, BTreeMap<String, Failure>) {
    let (mut links, mut failures) = (Links::new(), BTreeMap::new());
    while let Some(joined) = connecting.join_next().await {
        match joined {
            Ok((host, Ok(link))) => {
                link.tell_new_host_key(events).await;
                links.insert(host, Arc::new(link));
            }
            Ok((host, Err(error))) => drop(failures.insert(host, Failure::from(error))),
            Err(error) => {
                let host = hosts.get(&error.id()).cloned().unwrap_or_default();
                let failure = Failure::new(Kind::Internal, "connecting to it ended without a word").at(format!("host {host}"));
                failures.insert(host, failure.because(error.to_string()));
            }
        }
    }
    (links, failures)
}

#[cfg(test)]
mod tests;
