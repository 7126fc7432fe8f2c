//! Bringing a lab up.

use std::path::Path;
use std::thread;

use super::boot::{self, Boot};
use super::folder::LabFolder;
use super::lock::{self, Lock};
use super::process::ProcessId;
use super::record::{HostRecord, LabRecord};
use super::{Host, LabError, LabSpec, Progress, cgroups, journal, keys, network, requirements, root, sysctls, teardown};

/// Makes the lab; what is made is recorded before, and taken down again on failure.
pub(crate) fn up(spec: LabSpec, progress: Progress<'_>) -> Result<(LabFolder, LabRecord), LabError> {
    spec.check()?;
    requirements::check()?;
    let root = root::ensure(progress)?;
    teardown::down_orphans(progress)?;
    let folder = LabFolder::of(&spec.name)?;
    let lock = lock::lock_folder(folder.path(), &|| progress("another program is at work on this lab: waiting for it"))?;
    match (folder.record().exists(), cgroups::exists(&spec.name, None)?) {
        (false, false) => {}
        // As after a restart of the machine: the hosts' disks are there.
        (true, false) => return Err(LabError::NotRunning(spec.name)),
        (_, true) => return Err(LabError::Exists(spec.name)),
    }
    let record = LabRecord::new(spec, ProcessId::own());
    match make(&folder, &record, &root) {
        Ok(()) => Ok((folder, record)),
        Err(error) => {
            journal::keep_after_failure(&folder, &record);
            undo(&folder, lock, progress);
            Err(error)
        }
    }
}

fn undo(folder: &LabFolder, lock: Lock, progress: Progress<'_>) {
    if let Err(error) = teardown::down_locked(folder, lock) {
        // The error that led here says more; this one must not hide it.
        progress(&format!("cleaning up failed, run `lab down --name {}`: {error}", folder.name()));
    }
}

fn make(folder: &LabFolder, record: &LabRecord, root: &Path) -> Result<(), LabError> {
    record.write(folder)?;
    sysctls::raise(folder.name())?;
    network::start(folder)?;
    keys::make_client(folder, record)?;
    keys::write(&folder.start_script(), boot::START, 0o755)?;
    let hosts: Vec<Result<Boot, LabError>> = for_all(&record.hosts, |host| {
        boot::make_disk(folder, host, root)?;
        Boot::start(folder, host)
    });
    let boots = hosts.into_iter().collect::<Result<Vec<_>, _>>()?;
    keys::write_known_hosts(folder, record)?;
    let pairs: Vec<(&HostRecord, Boot)> = record.hosts.iter().zip(boots).collect();
    for_all(&pairs, |(host, boot)| boot.wait(&Host::new(folder.clone(), (*host).clone()))).into_iter().collect()
}

/// `work` of all items at once; the results in the order of the items.
fn for_all<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> Result<R, LabError> + Sync) -> Vec<Result<R, LabError>> {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = items.iter().map(|item| scope.spawn(move || work(item))).collect();
        let joined = |thread: thread::ScopedJoinHandle<'_, Result<R, LabError>>| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().map(joined).collect()
    })
}
