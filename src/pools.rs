//! Pools: how much of one kind may be under way at the same time. All capacities stand here.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Artifacts that a run sends at the same time: one sends as fast as one connection can take it (some 500 MB/s), and the hosts behind one
/// link share it.
pub const STREAMS: usize = 4;

/// Control planes and members of etcd of a cluster in use that are given artifacts at the same time: each unpacks hundreds of megabytes beside its member,
/// which flushes every write to the same disk, and etcd is as quick as the quicker half of them.
pub const STREAMS_IN_USE: usize = 1;

/// Handshakes of this process at the same time: each costs both sides public-key operations, and more of them only make each one later,
/// until LoginGraceTime cuts them off.
pub const HANDSHAKES: usize = 32;

/// Handshakes at the same time through one bastion, which passes on every byte of them.
pub const HANDSHAKES_THROUGH: usize = 8;

/// Connections to one SSH server that have not logged in yet: sshd begins to drop them at random from 10 on (MaxStartups).
pub const LOGINS: usize = 8;

/// Members of etcd that a run disturbs at the same time: a second one is lost by whatever the first one did not survive.
pub const ETCD: usize = 1;

/// API servers, and kubelets of control planes, that a run disturbs at the same time.
pub const CONTROL_PLANES: usize = 1;

/// The pools of one run.
#[derive(Debug, Clone)]
pub struct Pools {
    streams: Arc<Semaphore>,
    streams_in_use: Arc<Semaphore>,
    etcd: Arc<Semaphore>,
    control_planes: Arc<Semaphore>,
    workers: Arc<Semaphore>,
}

/// What is disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pool {
    /// A member of etcd.
    Etcd,
    /// A control plane, but for its member.
    ControlPlanes,
    /// A worker.
    Workers,
}

impl Default for Pools {
    fn default() -> Self {
        Self::with_streams(STREAMS)
    }
}

impl Pools {
    /// With so many streams.
    pub(crate) fn with_streams(streams: usize) -> Self {
        Self::of_sizes(streams, 1)
    }

    fn of_sizes(streams: usize, workers: usize) -> Self {
        let pool = |capacity| Arc::new(Semaphore::new(capacity));
        Self {
            streams: pool(streams),
            streams_in_use: pool(STREAMS_IN_USE),
            etcd: pool(ETCD),
            control_planes: pool(CONTROL_PLANES),
            workers: pool(workers),
        }
    }

    /// For a run on one cluster, of which so many workers may be away at the same time: what another run disturbs is of another cluster.
    #[must_use]
    pub fn of_cluster(self, serial: usize) -> Self {
        Self { streams: self.streams, ..Self::of_sizes(0, serial) }
    }

    /// The right to disturb something, if somebody may. It is given back when it is dropped.
    #[must_use]
    pub fn try_disturb(&self, pool: Pool) -> Option<OwnedSemaphorePermit> {
        let pool = match pool {
            Pool::Etcd => &self.etcd,
            Pool::ControlPlanes => &self.control_planes,
            Pool::Workers => &self.workers,
        };
        Arc::clone(pool).try_acquire_owned().ok()
    }

    /// The right to send an artifact, if somebody may. It is given back when it is dropped.
    #[must_use]
    pub fn try_stream(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.streams).try_acquire_owned().ok()
    }

    /// The right to give an artifact to a control plane or member of etcd that is in use, if somebody may. It is given back when it is dropped.
    #[must_use]
    pub fn try_stream_in_use(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.streams_in_use).try_acquire_owned().ok()
    }
}
