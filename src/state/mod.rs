//! What kokctl keeps on the machine that it runs on: a lock per cluster, a folder per run.

mod controller;
mod escrow;
mod journal;
mod record;
mod runs;
mod snapshot;
mod timeline;
mod who;

use std::env;
use std::fs::{self, File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::PathBuf;

pub use controller::{Controller, controller};
pub use escrow::{Keeping, Kept, beside};
pub use journal::Journal;
pub use record::{Ending, Fate, Record, StepRecord};
pub use runs::{Story, find_run, read_run, run_names};
pub use snapshot::{KeptSnapshot, SnapshotFile, SnapshotPlace, snapshots_of};
pub use timeline::{HostTime, Link, Timeline};
pub use who::who;

use crate::failure::{Failure, Kind};

/// The folder of kokctl's state: `$XDG_STATE_HOME/kokctl`, by default below the home directory (XDG Base Directory Specification).
///
/// # Errors
/// [`Failure`] where neither is known.
pub fn folder() -> Result<PathBuf, Failure> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    state.map(|state| state.join("kokctl")).ok_or_else(|| {
        Failure::new(Kind::Internal, "it is not known where to keep the journal")
            .because("neither XDG_STATE_HOME nor HOME is set")
            .hint("set one of them")
    })
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
    pub fn take(cluster: &str) -> Result<Self, Failure> {
        let folder = folder()?.join("clusters").join(cluster);
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
                    .hint("wait until it has ended"))
            }
            Err(TryLockError::Error(error)) => Err(failure(error)),
        }
    }
}
