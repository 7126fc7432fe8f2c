//! What is kept beside the hosts: a lock for each cluster, journals, snapshots.

use std::path::{Path, PathBuf};

use crate::event::Sink;
use crate::failure::Failure;
use crate::state::{ClusterLock, Journal, SnapshotPlace, StateFolder};

/// Where a caller of the engine keeps what is not on the hosts.
pub trait Store: Send + Sync {
    /// Takes the lock of a cluster: no other run of this store is at work on it until it is dropped.
    ///
    /// # Errors
    /// [`Failure`] naming who has it.
    fn lock(&self, cluster: &str) -> Result<Lock, Failure>;

    /// Opens the journal of a run. `complain` hears when it can't be written any more.
    ///
    /// # Errors
    /// [`Failure`] if it can't be opened.
    fn journal(&self, run: &str, complain: Box<dyn Fn(&str) + Send>) -> Result<Box<dyn Sink>, Failure>;

    /// Where snapshots of a cluster are kept, unless their user names another place.
    fn snapshots_of(&self, cluster: &str) -> PathBuf;

    /// Where backups of a cluster are kept by a caller whose user names no place. It need not be there.
    fn backups_of(&self, cluster: &str) -> PathBuf;

    /// Where the snapshot of a run is kept.
    ///
    /// # Errors
    /// [`Failure`] if that place can't be made.
    fn snapshot_place(&self, cluster: &str, run: &str, wanted: Option<&Path>) -> Result<SnapshotPlace, Failure>;
}

/// The lock of a cluster, held until it is dropped. Whatever changes a cluster has it.
pub struct Lock {
    _held: Box<dyn Send + Sync>,
}

impl Lock {
    /// What is held.
    pub fn new(held: impl Send + Sync + 'static) -> Self {
        Self { _held: Box::new(held) }
    }
}

/// A folder on this machine.
#[derive(Debug, Clone)]
pub struct FolderStore(StateFolder);

impl FolderStore {
    /// In this folder.
    #[must_use]
    pub fn new(folder: StateFolder) -> Self {
        Self(folder)
    }
}

impl Store for FolderStore {
    fn lock(&self, cluster: &str) -> Result<Lock, Failure> {
        ClusterLock::take(&self.0, cluster).map(Lock::new)
    }

    fn journal(&self, run: &str, complain: Box<dyn Fn(&str) + Send>) -> Result<Box<dyn Sink>, Failure> {
        Ok(Box::new(Journal::create(&self.0, run, complain)?))
    }

    fn snapshots_of(&self, cluster: &str) -> PathBuf {
        self.0.snapshots_of(cluster)
    }

    fn backups_of(&self, cluster: &str) -> PathBuf {
        self.0.backups_of(cluster)
    }

    fn snapshot_place(&self, cluster: &str, run: &str, wanted: Option<&Path>) -> Result<SnapshotPlace, Failure> {
        SnapshotPlace::for_run(&self.0, cluster, run, wanted)
    }
}
