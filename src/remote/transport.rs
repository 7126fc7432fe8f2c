//! What connections have in common: the limits of a process, and what one run knows of keys, bastions and known_hosts.
use super::budget::Budget;
use super::dial::Bastions;
use super::identity::Surroundings;
use super::known_hosts_files::KnownHostsFiles;
use super::target::Target;
use super::unlock::UnlockedKeys;
use crate::pools::{self, LOGINS};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::Semaphore;

/// How much of one kind may be under way, whoever wants it: all runs of a process share one.
#[derive(Debug)]
pub struct Limits {
    /// Handshakes under way at the same time, with servers that have greeted.
    pub(super) handshakes: Semaphore,
    /// The other half, for whoever comes first: to wait for a greeting before we say anything costs a round trip. Servers that never greet
    /// can hold no more than these.
    pub(super) eager: Semaphore,
    /// The servers, by the way to them: how many connections to each may not have logged in yet.
    servers: Mutex<BTreeMap<String, Weak<Semaphore>>>,
    pub(super) answers: Arc<Budget>,
}

impl Default for Limits {
    fn default() -> Self {
        let half = || Semaphore::new(pools::HANDSHAKES / 2);
        Self { handshakes: half(), eager: half(), servers: Mutex::default(), answers: Arc::default() }
    }
}

impl Limits {
    /// The places of a server: its own sshd counts who has not logged in yet, however many other servers there are. They are kept as long as
    /// somebody connects there.
    pub(super) fn places(&self, target: &Target) -> Arc<Semaphore> {
        let (mut way, mut hop) = (target.endpoint(), target);
        while let Some(bastion) = &hop.bastion {
            way.push_str(&format!(" by {}", bastion.endpoint()));
            hop = bastion;
        }
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = servers.get(&way).and_then(Weak::upgrade) {
            return known;
        }
        servers.retain(|_, places| places.strong_count() > 0);
        let places = Arc::new(Semaphore::new(LOGINS));
        servers.insert(way, Arc::downgrade(&places));
        places
    }
}

/// By what hosts are reached: the surroundings of a run, and what it has learnt of secrets, which ends with it. Cheap to clone.
#[derive(Clone)]
pub struct Transport {
    inner: Arc<Inner>,
}

struct Inner {
    surroundings: Surroundings,
    limits: Arc<Limits>,
    bastions: Bastions,
    unlocked: UnlockedKeys,
    known_hosts: KnownHostsFiles,
}

impl Transport {
    /// One that knows nothing yet.
    #[must_use]
    pub fn new(surroundings: Surroundings, limits: Arc<Limits>) -> Self {
        let (bastions, unlocked, known_hosts) = (Bastions::default(), UnlockedKeys::default(), KnownHostsFiles::default());
        Self { inner: Arc::new(Inner { surroundings, limits, bastions, unlocked, known_hosts }) }
    }

    /// What identifies whoever connects.
    #[must_use]
    pub fn surroundings(&self) -> &Surroundings {
        &self.inner.surroundings
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.inner.limits
    }

    pub(super) fn bastions(&self) -> &Bastions {
        &self.inner.bastions
    }

    pub(super) fn unlocked(&self) -> &UnlockedKeys {
        &self.inner.unlocked
    }

    pub(super) fn known_hosts(&self) -> &KnownHostsFiles {
        &self.inner.known_hosts
    }
}
