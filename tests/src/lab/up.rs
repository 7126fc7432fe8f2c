//! Bringing a lab up.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::boot::{self, Boot};
use super::folder::LabFolder;
use super::lock::{self, Lock};
use super::process::ProcessId;
use super::record::{HostRecord, LabRecord};
use super::{Host, Image, LabError, LabSpec, StageReport, cgroups, disk, journal, keys, network, requirements, root, sysctls, teardown};

/// Makes the lab; what is made is recorded before, and taken down again on failure.
pub(crate) fn up(spec: LabSpec, progress: StageReport<'_>) -> Result<(LabFolder, LabRecord), LabError> {
    spec.check()?;
    requirements::check()?;
    let mut roots = BTreeMap::new();
    for host in &spec.hosts {
        if let std::collections::btree_map::Entry::Vacant(entry) = roots.entry(host.image) {
            entry.insert(root::ensure(host.image, progress)?);
        }
    }
    teardown::down_orphans(progress)?;
    let folder = LabFolder::by_name(&spec.name)?;
    let lock = lock::lock_folder(folder.path(), &|| progress("another program is at work on this lab: waiting for it"))?;
    match (folder.record().exists(), cgroups::exists(&spec.name, None)?) {
        (false, false) => {}
        // As after a restart of the machine: the hosts' disks are there.
        (true, false) => return Err(LabError::NotRunning(spec.name)),
        (_, true) => return Err(LabError::Exists(spec.name)),
    }
    let record = LabRecord::new(spec, ProcessId::own());
    match make(&folder, &record, &roots) {
        Ok(()) => Ok((folder, record)),
        Err(error) => {
            journal::keep_after_failure(&folder, &record);
            undo(&folder, lock, progress);
            Err(error)
        }
    }
}

fn undo(folder: &LabFolder, lock: Lock, progress: StageReport<'_>) {
    if let Err(error) = teardown::down_locked(folder, lock) {
        // The error that led here says more; this one must not hide it.
        progress(&format!("cleaning up failed, run `lab down --name {}`: {error}", folder.name()));
    }
}

fn make(folder: &LabFolder, record: &LabRecord, roots: &BTreeMap<Image, PathBuf>) -> Result<(), LabError> {
    record.write(folder)?;
    sysctls::raise(folder.name())?;
    let deepest = record.hosts.iter().map(|host| host.depth).max().unwrap_or_default();
    network::start(folder, deepest)?;
    keys::make_client(folder, record)?;
    keys::write(&folder.start_script(), boot::START, 0o755)?;
    let hosts: Vec<&HostRecord> = record.hosts.iter().collect();
    for_all(&hosts, |host| roots.get(&host.image).map_or(Ok(()), |root| disk::make_disk(folder, host, root)))?;
    keys::write_known_hosts(folder, record)?;
    // Nobody can see whether a host is up before its bastion is.
    for depth in 0..=deepest {
        let hosts: Vec<&HostRecord> = record.hosts.iter().filter(|host| host.depth == depth).collect();
        for_all(&hosts, |host| Boot::start(folder, host)?.wait(&Host::new(folder.clone(), (*host).clone())))?;
    }
    Ok(())
}

/// `work` of all items, some of them at once, for a hundred hosts that boot side by side only keep each other waiting. The first
/// error ends it, when what had begun is done.
fn for_all<T: Sync>(items: &[T], work: impl Fn(&T) -> Result<(), LabError> + Sync) -> Result<(), LabError> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    let one_after_the_other = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = work(item) {
                next.store(items.len(), Ordering::Relaxed);
                failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(error);
            }
        }
    };
    // What boots also waits: for its disk, for its own timeouts. So it is more at once than there are processors.
    let at_once = thread::available_parallelism().map_or(1, usize::from) * 4;
    thread::scope(|scope| (0..at_once.min(items.len())).for_each(|_| drop(scope.spawn(one_after_the_other))));
    failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn all_is_done_or_the_first_error_said() {
        let items: Vec<usize> = (0..100).collect();
        let sum = AtomicUsize::new(0);
        let add = |item: &usize| {
            sum.fetch_add(*item, Ordering::Relaxed);
            Ok(())
        };
        for_all(&items, add).unwrap();
        assert_eq!(sum.into_inner(), 4950);
        let error = for_all(&items, |item| if *item < 50 { Ok(()) } else { Err(LabError::NotRunning(item.to_string())) });
        assert!(matches!(error, Err(LabError::NotRunning(_))), "{error:?}");
    }
}
