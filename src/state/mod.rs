//! What kokctl keeps on the machine that it runs on: a lock per cluster, a folder per run.

mod controller;
mod escrow;
mod journal;
mod record;
mod rehearsals;
mod runs;
mod snapshot;
mod timeline;

use std::fs::{self, File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use crate::failure::{Cause, Failure, HeldBy, Kind};
pub use controller::Controller;
pub use escrow::{Keeping, Kept, beside};
pub use journal::Journal;
pub use record::{Ending, Fate, Record, StepRecord};
pub use rehearsals::LastRehearsal;
pub use runs::Story;
pub use snapshot::{KeptSnapshot, SnapshotFile, SnapshotPlace};
pub use timeline::{CriticalStep, HostTime, Timeline};

/// The folder of kokctl's state. It need not be there: what is put into it makes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateFolder(PathBuf);

impl StateFolder {
    /// This one.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The folder of all runs.
    fn runs(&self) -> PathBuf {
        self.0.join("runs")
    }

    fn cluster(&self, cluster: &str) -> PathBuf {
        self.0.join("clusters").join(cluster)
    }
}

/// Holds the lock of a cluster on this machine; another run on it is refused until this is dropped, or the process ends.
#[derive(Debug)]
pub struct ClusterLock {
    _file: File,
}

impl ClusterLock {
    /// Takes the lock of a cluster.
    ///
    /// # Errors
    /// [`Failure`] naming the process that has it.
    pub fn take(state: &StateFolder, cluster: &str) -> Result<Self, Failure> {
        let folder = state.cluster(cluster);
        let path = folder.join("lock");
        let failure = |error: std::io::Error| {
            let failure = Failure::new(Kind::Internal, format!("{} can't be locked", path.display())).because(error.to_string());
            failure.hint("let that folder be yours and writable; XDG_STATE_HOME names another place")
        };
        fs::create_dir_all(&folder).map_err(failure)?;
        let mut file = File::options().create(true).truncate(false).read(true).write(true).open(&path).map_err(failure)?;
        match file.try_lock() {
            Ok(()) => {
                let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| write!(file, "process {}", std::process::id()));
                Ok(Self { _file: file })
            }
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                Err(Failure::new(Kind::Host, format!("another kokctl is at work on the cluster {cluster}"))
                    .at(path.display().to_string())
                    .because(format!("{holder} of this machine holds its lock"))
                    .due(Cause::Held(HeldBy { by: format!("{holder} of this machine"), since: None }))
                    .hint("wait until it has ended"))
            }
            Err(TryLockError::Error(error)) => Err(failure(error)),
        }
    }
}
