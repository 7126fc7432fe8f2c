//! Taking labs down, also those that were never finished.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

use super::folder::LabFolder;
use super::lock::{self, Lock};
use super::record::LabRecord;
use super::{LabError, StageReport, cgroups, network, paths, requirements, sysctls};

/// How long others may go on making files in a folder that is being removed.
const REMOVE_DEADLINE: Duration = Duration::from_secs(5);

/// The names of all labs of which there is anything on this machine: a folder or a cgroup.
///
/// # Errors
/// When the machine's cgroups can't be read.
pub fn names() -> Result<BTreeSet<String>, LabError> {
    let mut names = cgroups::labs()?;
    if let Ok(entries) = fs::read_dir(paths::state()?) {
        names.extend(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()));
    }
    Ok(names)
}

/// Takes a lab down and leaves nothing of it: processes, namespaces, mounts, cgroups, files. A lab that is not there is no error.
///
/// Also ends whatever else was started in the lab's network. Kernel settings are put back with the last lab of the machine.
///
/// # Errors
/// When something can't be removed; calling again goes on where this stopped.
pub fn down(name: &str) -> Result<(), LabError> {
    requirements::check_root()?;
    let folder = LabFolder::by_name(name)?;
    let lock = lock::lock_folder(folder.path(), &|| {})?;
    down_locked(&folder, lock)
}

pub(crate) fn down_locked(folder: &LabFolder, lock: Lock) -> Result<(), LabError> {
    // While the network's process is there: it tells what belongs to the lab's network.
    network::kill_guests(folder)?;
    cgroups::destroy(folder.name(), None)?;
    remove_folder(folder)?;
    drop(lock);
    remove_empty_parents();
    sysctls::put_back()
}

/// A program of an `up` that was killed, such as ssh-keygen, may still be writing its last file.
fn remove_folder(folder: &LabFolder) -> Result<(), LabError> {
    let deadline = Instant::now() + REMOVE_DEADLINE;
    loop {
        match fs::remove_dir_all(folder.path()) {
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty && Instant::now() < deadline => {}
            other => return other.map_err(LabError::io(format!("remove {}", folder.path().display()))),
        }
    }
}

/// Takes down the labs whose owner has died: of tests that were killed, and of `up` that was.
pub(crate) fn down_orphans(progress: StageReport<'_>) -> Result<(), LabError> {
    for name in names()? {
        let Ok(folder) = LabFolder::by_name(&name) else { continue };
        let orphaned = || LabRecord::read(&folder).is_ok_and(|record| record.owner.is_some_and(|owner| !owner.is_alive()));
        if !orphaned() {
            continue;
        }
        let lock = lock::lock_folder(folder.path(), &|| {})?;
        // Somebody else may have taken it down meanwhile, and even made a new one.
        if orphaned() {
            progress(&format!("taking down lab {name}, whose program has died"));
            down_locked(&folder, lock)?;
        }
    }
    Ok(())
}

/// The folder of all labs and its parent, if they are empty and thus ours to remove.
fn remove_empty_parents() {
    if let Ok(state) = paths::state() {
        for folder in state.ancestors().take(2) {
            let _ = fs::remove_dir(folder);
        }
    }
}
