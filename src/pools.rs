//! Pools: how much of one kind may be under way at the same time. All capacities stand here.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Artifacts that a run sends at the same time: one sends as fast as one connection can take it (some 500 MB/s), and the hosts behind one
/// link share it.
pub const STREAMS: usize = 4;

/// Handshakes of this process at the same time: each costs both sides public-key operations, and more of them only make each one later,
/// until LoginGraceTime cuts them off.
pub const HANDSHAKES: usize = 32;

/// Handshakes at the same time through one bastion, which passes on every byte of them.
pub const HANDSHAKES_THROUGH: usize = 8;

/// Connections to one SSH server that have not logged in yet: sshd begins to drop them at random from 10 on (MaxStartups).
pub const LOGINS: usize = 8;

/// The pools of one run.
#[derive(Debug, Clone)]
pub struct Pools {
    streams: Arc<Semaphore>,
}

impl Default for Pools {
    fn default() -> Self {
        Self::with_streams(STREAMS)
    }
}

impl Pools {
    /// With so many streams.
    pub(crate) fn with_streams(streams: usize) -> Self {
        Self { streams: Arc::new(Semaphore::new(streams)) }
    }

    /// The right to send an artifact, if somebody may. It is given back when it is dropped.
    #[must_use]
    pub fn try_stream(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.streams).try_acquire_owned().ok()
    }
}
