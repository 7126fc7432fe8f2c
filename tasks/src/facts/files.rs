//! The small files that a probe reads with one command, as `path:line`.

use std::collections::BTreeMap;

use crate::observe::ParseError;

pub(super) const HOSTNAME: &str = "/proc/sys/kernel/hostname";
pub(super) const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
pub(super) const KERNEL: &str = "/proc/sys/kernel/osrelease";
/// The machine's name, as `uname -m` says it: from Linux 6.1 on.
pub(super) const MACHINE: &str = "/proc/sys/kernel/arch";
pub(super) const MEMORY: &str = "/proc/meminfo";
pub(super) const PROCESSORS: &str = "/sys/devices/system/cpu/online";
pub(super) const SWAPS: &str = "/proc/swaps";
pub(super) const INIT: &str = "/proc/1/comm";
pub(super) const ROUTES: &str = "/proc/net/route";
pub(super) const MACHINE_ID: &str = "/etc/machine-id";
pub(super) const PRODUCT_UUID: &str = "/sys/class/dmi/id/product_uuid";
pub(super) const OS_RELEASE: &str = "/etc/os-release";
pub(super) const RESOLV_CONF: &str = "/etc/resolv.conf";
pub(super) const RESOLVED: &str = "/run/systemd/resolve/resolv.conf";
pub(super) const SELINUX: &str = "/sys/fs/selinux/enforce";
pub(super) const CLUSTER: &str = "/var/lib/kokctl/cluster";
pub(super) const RECOVERY: &str = crate::recovery::MARKER;
pub(super) const AUTHORITY: &str = "/etc/kubernetes/pki/ca.crt";
pub(super) const HOST_KEYS: &str = "/etc/ssh/ssh_host_*_key.pub";

/// All of them.
pub(super) const FILES: &[&str] = &[
    HOSTNAME,
    BOOT_ID,
    KERNEL,
    MACHINE,
    MEMORY,
    PROCESSORS,
    SWAPS,
    INIT,
    ROUTES,
    MACHINE_ID,
    PRODUCT_UUID,
    OS_RELEASE,
    RESOLV_CONF,
    RESOLVED,
    SELINUX,
    CLUSTER,
    RECOVERY,
    AUTHORITY,
    HOST_KEYS,
];

/// The lines of each file that is there and not empty.
pub(super) struct FileLines<'a>(BTreeMap<&'a str, Vec<&'a str>>);

impl<'a> FileLines<'a> {
    /// Reads `path:line` lines. No path of ours has a colon.
    pub(super) fn read(text: &'a str) -> Self {
        let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (path, line) in text.lines().filter_map(|line| line.split_once(':')) {
            files.entry(path).or_default().push(line);
        }
        Self(files)
    }

    /// Lines of a file; none of one that is not there.
    pub(super) fn lines(&self, path: &str) -> &[&'a str] {
        self.0.get(path).map(Vec::as_slice).unwrap_or_default()
    }

    /// Lines of a file that every Linux has.
    pub(super) fn required(&self, path: &str) -> Result<&[&'a str], ParseError> {
        self.0.get(path).map(Vec::as_slice).ok_or_else(|| ParseError::new(path, "missing"))
    }

    /// The first line of a file, without blanks around it; empty where it is not there.
    pub(super) fn first(&self, path: &str) -> &'a str {
        self.lines(path).first().map(|line| line.trim()).unwrap_or_default()
    }

    /// Lines of all files whose path begins and ends so.
    pub(super) fn matching(&self, start: &str, end: &str) -> impl Iterator<Item = &'a str> {
        let found = self.0.iter().filter(move |(path, _)| path.starts_with(start) && path.ends_with(end));
        found.flat_map(|(_, lines)| lines.iter().copied())
    }
}
