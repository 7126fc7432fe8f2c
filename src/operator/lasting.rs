//! Whether a folder outlasts the pod or the machine that it is in, as far as the system tells.

use std::fs;
use std::path::{Path, PathBuf};

/// How Kubernetes calls the folder of an `emptyDir`, below that of its pod.
const EMPTY_DIR: &str = "kubernetes.io~empty-dir";

/// Why what is kept in a folder may be lost with the pod or the machine; nothing if nothing tells so.
pub(super) fn fleeting(folder: &Path) -> Option<&'static str> {
    let table = fs::read_to_string("/proc/self/mountinfo").ok()?;
    // It is made when something is put into it.
    let there = folder.ancestors().find_map(|folder| fs::canonicalize(folder).ok())?;
    of_mounts(&table, &there)
}

/// The same, by the kernel's table of mounts (proc(5), `mountinfo`).
fn of_mounts(table: &str, folder: &Path) -> Option<&'static str> {
    let mounts = table.lines().filter_map(Mount::read).filter(|mount| folder.starts_with(&mount.at));
    // Of two at one place the later one hides the other.
    let mount = mounts.max_by_key(|mount| mount.at.components().count())?;
    match mount.kind {
        "tmpfs" | "ramfs" => Some("is in memory, and goes with the pod or the machine"),
        "overlay" | "aufs" => Some("is a part of the container, and goes with it"),
        _ if mount.root.contains(EMPTY_DIR) => Some("is an emptyDir, and goes with the pod"),
        _ => None,
    }
}

/// A line of the table.
struct Mount<'a> {
    /// Which folder of the file system.
    root: &'a str,
    at: PathBuf,
    /// Of which kind the file system is.
    kind: &'a str,
}

impl<'a> Mount<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let (place, kind) = line.split_once(" - ")?;
        let mut fields = place.split(' ').skip(3);
        let (root, at) = (fields.next()?, fields.next()?);
        Some(Self { root, at: at.replace("\\040", " ").into(), kind: kind.split(' ').next()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a pod has it.
    const TABLE: &str = "\
1034 900 0:150 / / ro,relatime master:1 - overlay overlay ro,lowerdir=/a
1035 1034 0:160 / /proc rw,nosuid - proc proc rw
1036 1034 8:1 /var/lib/kubelet/pods/5c2/volumes/kubernetes.io~empty-dir/state /state rw,relatime - ext4 /dev/sda1 rw
1037 1034 8:16 / /bundle ro,relatime - ext4 /dev/sdb rw
1038 1034 0:170 / /tmp rw - tmpfs tmpfs rw
1039 1034 8:32 / /with\\040space rw - xfs /dev/sdc rw
1040 1036 8:48 / /state/kept rw - ext4 /dev/sdd rw
1041 1038 8:64 / /tmp rw - ext4 /dev/sde rw
";

    #[test]
    fn what_goes_with_the_pod_is_known() {
        let of = |path: &str| of_mounts(TABLE, Path::new(path)).map(|why| why.split(' ').nth(2).unwrap_or_default());
        assert_eq!((of("/state"), of("/state/kokctl")), (Some("emptyDir,"), Some("emptyDir,")));
        assert_eq!(of("/state/kept/kokctl"), None, "a volume in it");
        assert_eq!((of("/bundle/x"), of("/with space/x"), of("/tmp/x")), (None, None, None));
        assert_eq!((of("/state-of-another"), of("/")), (Some("part"), Some("part")));
        assert_eq!(
            of_mounts("5 1 0:9 / / rw - tmpfs tmpfs rw", Path::new("/x")),
            Some("is in memory, and goes with the pod or the machine")
        );
        assert_eq!(of_mounts("no table", Path::new("/x")), None);
    }
}
