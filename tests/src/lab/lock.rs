//! Advisory locks on files and folders that may be removed while others wait for them.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::LabError;

/// Holds a lock until dropped or until the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// Takes the lock on the folder `path`, making the folder if it is not there; calls `waiting` once if somebody else has it.
///
/// The one who holds the lock may remove the folder: those who wait then make a new one.
pub(crate) fn lock_folder(path: &Path, waiting: &dyn Fn()) -> Result<Lock, LabError> {
    let what = || format!("lock {}", path.display());
    let mut told = false;
    loop {
        fs::create_dir_all(path).map_err(LabError::io(format!("make the folder {}", path.display())))?;
        let Ok(file) = File::open(path) else { continue };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => {
                if !told {
                    waiting();
                    told = true;
                }
                flock(&file, FlockOperation::LockExclusive).map_err(|error| LabError::io(what())(error.into()))?;
            }
            other => other.map_err(|error| LabError::io(what())(error.into()))?,
        }
        let held = file.metadata().map_err(LabError::io(what()))?;
        if fs::metadata(path).is_ok_and(|now| (now.dev(), now.ino()) == (held.dev(), held.ino())) {
            return Ok(Lock { _file: file });
        }
    }
}
