//! Processes, told apart from later ones with the same number.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// A process by its number and the time it started, in clock ticks since boot: together they are not used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProcessId {
    pid: i32,
    started: u64,
}

impl ProcessId {
    /// This process.
    pub(crate) fn own() -> Self {
        let pid = i32::try_from(std::process::id()).unwrap_or(i32::MAX);
        Self { pid, started: stat(pid).map_or(0, |(_, started)| started) }
    }

    /// The process that has this number now.
    pub(crate) fn from_pid(pid: i32) -> Option<Self> {
        stat(pid).map(|(_, started)| Self { pid, started })
    }

    /// Whether it has not ended. One that has ended has given back its mounts and namespaces, also while its parent has not
    /// taken note (a zombie).
    pub(crate) fn is_alive(self) -> bool {
        stat(self.pid).is_some_and(|(state, started)| started == self.started && !matches!(state, 'Z' | 'X'))
    }
}

/// State and start time, fields 3 and 22 of proc_pid_stat(5). The name, field 2, may hold spaces and brackets, so counting begins
/// after the last bracket.
fn stat(pid: i32) -> Option<(char, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

/// Kills process `pid` if `still_meant` says so of it once its number can't be given to another any more.
pub(crate) fn kill(pid: i32, still_meant: impl FnOnce() -> bool) {
    let Some(pid) = Pid::from_raw(pid) else { return };
    // An error means that it has ended: the caller looks again anyway.
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    if still_meant() {
        let _ = pidfd_send_signal(&process, Signal::KILL);
    }
}

/// Numbers of all processes of this machine that can be seen from here.
pub(crate) fn all() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The link that stands for the network namespace of process `pid`.
pub(crate) fn network_namespace(pid: i32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/ns/net"))
}

/// Whether both links lead to the same namespace.
pub(crate) fn same_namespace(one: &Path, other: &Path) -> bool {
    matches!((fs::read_link(one), fs::read_link(other)), (Ok(one), Ok(other)) if one == other)
}
