//! What a machine needs to run a lab, checked before anything is made.

use std::env;
use std::fs;

use super::LabError;

/// Programs and the Debian package that has each.
const PROGRAMS: [(&str, &str); 11] = [
    ("systemd-nspawn", "systemd-container"),
    ("journalctl", "systemd"),
    ("debootstrap", "debootstrap"),
    ("ip", "iproute2"),
    ("nft", "nftables"),
    ("ssh", "openssh-client"),
    ("ssh-keygen", "openssh-client"),
    ("nsenter", "util-linux"),
    ("unshare", "util-linux"),
    ("setsid", "util-linux"),
    ("setpriv", "util-linux"),
];

/// Names everything that is missing at once, each with what to do.
pub(crate) fn check() -> Result<(), LabError> {
    let mut missing = Vec::new();
    if let Err(LabError::Missing(items)) = check_root() {
        missing.extend(items);
    }
    for (program, package) in PROGRAMS {
        if !is_in_path(program) {
            missing.push(format!("the program {program} is not in PATH: apt-get install {package}"));
        }
    }
    let filesystems = fs::read_to_string("/proc/filesystems").map_err(LabError::io("read /proc/filesystems"))?;
    if !filesystems.lines().any(|line| line.split_whitespace().last() == Some("overlay")) {
        missing.push("the kernel has no overlay file system: modprobe overlay".to_owned());
    }
    if missing.is_empty() { Ok(()) } else { Err(LabError::Missing(missing)) }
}

/// Fails without root.
pub(crate) fn check_root() -> Result<(), LabError> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err(LabError::Missing(vec!["it has to be run as root: namespaces, mounts and cgroups of whole hosts need that".to_owned()]))
}

fn is_in_path(program: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}
