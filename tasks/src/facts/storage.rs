//! The file systems that kokctl, containerd, the kubelet and etcd write to.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::observe::ParseError;

/// A folder that is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folder {
    /// Absolute path.
    pub path: &'static str,
    /// Bytes that a fresh host needs there: measured on hosts of this version's bundle, with room for a second version beside the first.
    pub bytes: u64,
    /// Whether only a member of etcd needs it.
    pub etcd: bool,
    /// Whether only a node needs it.
    pub node: bool,
    /// Whether programs are run from there.
    pub programs: bool,
}

const fn folder(path: &'static str, megabytes: u64) -> Folder {
    Folder { path, bytes: megabytes * 1_000_000, etcd: false, node: false, programs: false }
}

/// Folders that are written to, in the order in which the probe asks for them.
pub const FOLDERS: &[Folder] = &[
    folder("/", 0),
    folder("/etc", 20),
    Folder { node: true, programs: true, ..folder("/opt", 200) },
    folder("/run", 20),
    Folder { programs: true, ..folder("/usr/local", 800) },
    folder("/var/lib", 0),
    Folder { node: true, ..folder("/var/lib/containerd", 2_500) },
    Folder { etcd: true, ..folder("/var/lib/etcd", 500) },
    folder("/var/lib/kokctl", 20),
    Folder { node: true, ..folder("/var/lib/kubelet", 200) },
    folder("/var/log", 200),
];

/// Every place at which a file system that holds one of [`FOLDERS`] can be mounted.
pub(super) const MOUNT_POINTS: &[&str] = &[
    "/",
    "/etc",
    "/opt",
    "/run",
    "/usr",
    "/usr/local",
    "/var",
    "/var/lib",
    "/var/lib/containerd",
    "/var/lib/etcd",
    "/var/lib/kokctl",
    "/var/lib/kubelet",
    "/var/log",
    "/sys/fs/cgroup",
];

/// A folder in which files are to be put, and can't be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unwritable {
    /// Absolute path.
    pub folder: String,
    /// Where its file system is mounted.
    pub mount: String,
    /// Whether that is mounted read-only. If it is not, the folder itself forbids it.
    pub read_only: bool,
}

/// The folder, its mount and the options of that, a line each.
pub(super) fn unwritable(text: &str) -> Vec<Unwritable> {
    let read = |line: &str| {
        let mut fields = line.split_ascii_whitespace().map(str::to_owned);
        let (folder, mount, options) = (fields.next()?, fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        Some(Unwritable { folder, mount, read_only: options.split(',').any(|option| option == "ro") })
    };
    text.lines().filter_map(read).collect()
}

/// The file system below a folder.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    /// Where it is mounted.
    pub mount: String,
    /// Bytes that root can still write.
    pub free_bytes: u64,
    /// Bytes that it has in all.
    pub total_bytes: u64,
    /// Files that can still be made; `None` where the file system does not count them.
    pub free_inodes: Option<u64>,
    /// Whether it is mounted read-only.
    pub read_only: bool,
    /// Whether no program may be run from it.
    pub no_exec: bool,
}

/// A line of /proc/self/mounts: what, where, type, options.
pub(super) struct MountLine<'a> {
    pub(super) kind: &'a str,
    options: &'a str,
}

impl MountLine<'_> {
    fn has(&self, option: &str) -> bool {
        self.options.split(',').any(|candidate| candidate == option)
    }
}

/// Mounts by their place; of several at one place the last one counts, for it lies on top.
pub(super) fn mounts<'a>(lines: &[&'a str]) -> BTreeMap<&'a str, MountLine<'a>> {
    let read = |line| {
        let mut fields = str::split_ascii_whitespace(line).skip(1);
        Some((fields.next()?, MountLine { kind: fields.next()?, options: fields.next()? }))
    };
    lines.iter().copied().filter_map(read).collect()
}

/// `df --output=avail,size,itotal,iavail,target`: a heading, and one line for each of [`FOLDERS`].
pub(super) fn storage(text: &str, mounts: &BTreeMap<&str, MountLine<'_>>) -> Result<BTreeMap<String, Storage>, ParseError> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).skip(1).collect();
    if lines.len() != FOLDERS.len() {
        return Err(ParseError::new("fact-space", text));
    }
    let one = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let kibibytes: u64 = fields.next()?.parse().ok()?;
        let size: u64 = fields.next()?.parse().ok()?;
        let (total, free) = (fields.next()?, fields.next()?);
        // btrfs and FAT say 0 or `-`: they make inodes as they need them.
        let counted = total.parse::<u64>().is_ok_and(|total| total > 0);
        let mount = fields.collect::<Vec<_>>().join(" ");
        let found = mounts.get(mount.as_str());
        Some(Storage {
            free_bytes: kibibytes.saturating_mul(1024),
            total_bytes: size.saturating_mul(1024),
            free_inodes: counted.then(|| free.parse().ok()).flatten(),
            read_only: found.is_some_and(|mount| mount.has("ro")),
            no_exec: found.is_some_and(|mount| mount.has("noexec")),
            mount,
        })
    };
    let pairs = FOLDERS.iter().zip(lines);
    pairs.map(|(folder, line)| Ok((folder.path.to_owned(), one(line).ok_or_else(|| ParseError::new("fact-space", line))?))).collect()
}
