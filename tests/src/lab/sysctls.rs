//! Settings of the whole machine that hosts need and can't make themselves; changed while any lab is up.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::{LabError, cgroups, lock, paths};

/// What a setting has to be.
#[derive(Clone, Copy)]
enum Wanted {
    /// This, or more.
    AtLeast(i64),
    /// This and nothing else.
    Exactly(i64),
}

impl Wanted {
    fn value(self) -> i64 {
        match self {
            Self::AtLeast(value) | Self::Exactly(value) => value,
        }
    }

    fn is_met_by(self, value: i64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::Exactly(wanted) => value == wanted,
        }
    }
}

/// Each systemd, containerd and kubelet takes several inotify instances of the one user that is root on all hosts; Linux allows
/// 128 for all. 8192 is enough for 20 hosts with clusters on them, and an instance that is not used costs nothing.
/// Watches are counted the same way: a kubelet takes thousands.
///
/// The other three have no namespace, so a host may not write them, and the kubelet ends if it can't set them: it wants exactly these
/// values (kubelet, `setupKernelTunables`).
const SETTINGS: [(&str, Wanted); 5] = [
    ("fs/inotify/max_user_instances", Wanted::AtLeast(8192)),
    ("fs/inotify/max_user_watches", Wanted::AtLeast(1_048_576)),
    ("vm/overcommit_memory", Wanted::Exactly(1)),
    ("kernel/panic", Wanted::Exactly(10)),
    ("kernel/panic_on_oops", Wanted::Exactly(1)),
];

/// Announces lab `lab` to this machine: makes its first cgroup and makes the settings, in one step as seen by other labs.
///
/// The values from before are on disk before the first one is changed.
pub(crate) fn raise(lab: &str) -> Result<(), LabError> {
    let folder = Path::new(paths::MACHINE_FOLDER);
    let _lock = lock::lock_folder(folder, &|| {})?;
    cgroups::create(lab, cgroups::NETWORK)?;
    let record = folder.join("sysctls.json");
    if !record.exists() {
        let mut before = BTreeMap::new();
        for (name, _) in SETTINGS {
            before.insert(name.to_owned(), read(name)?);
        }
        write_record(&record, &before)?;
    }
    for (name, wanted) in SETTINGS {
        if !wanted.is_met_by(read(name)?) {
            write(name, wanted.value())?;
        }
    }
    Ok(())
}

/// Puts the settings back if no lab is left on this machine, and removes what labs share.
pub(crate) fn put_back() -> Result<(), LabError> {
    let folder = Path::new(paths::MACHINE_FOLDER);
    if !folder.exists() {
        return Ok(());
    }
    let _lock = lock::lock_folder(folder, &|| {})?;
    if !cgroups::labs()?.is_empty() {
        return Ok(());
    }
    cgroups::remove_top()?;
    let record = folder.join("sysctls.json");
    if let Ok(text) = fs::read(&record) {
        let before: BTreeMap<String, i64> =
            serde_json::from_slice(&text).map_err(|source| LabError::Record { path: record.clone(), source })?;
        for (name, wanted) in SETTINGS {
            // Whoever changed it meanwhile, for all labs, is to keep what they set.
            if let Some(value) = before.get(name)
                && read(name)? == wanted.value()
            {
                write(name, *value)?;
            }
        }
    }
    fs::remove_dir_all(folder).map_err(LabError::io(format!("remove {}", folder.display())))
}

fn write_record(path: &Path, before: &BTreeMap<String, i64>) -> Result<(), LabError> {
    let partial = path.with_extension("partial");
    let what = || format!("write {}", path.display());
    let text = serde_json::to_vec(before).map_err(|source| LabError::Record { path: path.to_owned(), source })?;
    fs::write(&partial, text).map_err(LabError::io(what()))?;
    fs::rename(&partial, path).map_err(LabError::io(what()))
}

fn read(name: &str) -> Result<i64, LabError> {
    let path = format!("/proc/sys/{name}");
    let text = fs::read_to_string(&path).map_err(LabError::io(format!("read {path}")))?;
    text.trim().parse().map_err(|error| LabError::io(format!("read {path}"))(std::io::Error::other(error)))
}

fn write(name: &str, value: i64) -> Result<(), LabError> {
    let path = format!("/proc/sys/{name}");
    fs::write(&path, value.to_string()).map_err(LabError::io(format!("set {path} to {value}")))
}
