//! Facts: what a host is, as opposed to what it should become.

mod parse;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

pub use parse::parse;

/// Commands that kubeadm, the kubelet and kokctl run on a host and that a minimal installation may lack, each with the Debian package that
/// has it.
pub const COMMANDS: &[(&str, &str)] = &[
    ("base64", "coreutils"),
    ("flock", "util-linux"),
    ("gzip", "gzip"),
    ("ip", "iproute2"),
    ("iptables", "iptables"),
    ("mount", "mount"),
    ("nft", "nftables"),
    ("nsenter", "util-linux"),
    ("sha256sum", "coreutils"),
    ("stat", "coreutils"),
    ("systemctl", "systemd"),
    ("systemd-run", "systemd"),
    ("tar", "tar"),
];

/// The part of a probe that gathers facts. It reads files and asks no command whose output is meant for people, but for `ip -o`.
pub(crate) const SCRIPT: &str = r#"mark fact-hostname
cat /proc/sys/kernel/hostname
mark fact-machine-id
cat /etc/machine-id 2>/dev/null
mark fact-product-uuid
cat /sys/class/dmi/id/product_uuid 2>/dev/null
mark fact-os-release
cat /etc/os-release 2>/dev/null
mark fact-machine
uname -m
mark fact-kernel
cat /proc/sys/kernel/osrelease
mark fact-cgroup
stat -f -c %t /sys/fs/cgroup
mark fact-memory
cat /proc/meminfo
mark fact-processors
grep -c '^processor' /proc/cpuinfo
mark fact-swaps
cat /proc/swaps
mark fact-listening
cat /proc/net/tcp /proc/net/tcp6 2>/dev/null
mark fact-addresses
ip -o addr show 2>/dev/null
mark fact-space
df -P -k / /usr/local /var/lib /var/lib/containerd /var/lib/etcd /var/lib/kubelet 2>/dev/null
mark fact-commands
for command in base64 flock gzip ip iptables mount nft nsenter sha256sum stat systemctl systemd-run tar chronyc chronyd conntrack; do
  command -v "$command" >/dev/null 2>&1 && echo "$command"
done
mark fact-init
cat /proc/1/comm
mark fact-writable
if ( set -e; mkdir -p -m 700 /run/kokctl; : >/run/kokctl/.probe; rm -f /run/kokctl/.probe ) 2>/dev/null && [ -w /etc ] && [ -w /usr/local ] && [ -w /var/lib ]; then echo yes; fi
mark fact-record
cat /var/lib/kokctl/cluster 2>/dev/null
mark fact-certificate-authority
cat /etc/kubernetes/pki/ca.crt 2>/dev/null
"#;

/// What is known of one host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostFacts {
    /// The kernel's host name.
    pub hostname: String,
    /// `/etc/machine-id`: 32 hexadecimal digits on a healthy host.
    pub machine_id: String,
    /// The firmware's UUID; `None` where there is none or it is not readable.
    pub product_uuid: Option<String>,
    /// `ID` of `/etc/os-release`: `debian`, `ubuntu`, `rocky` …
    pub os_id: String,
    /// `VERSION_ID` of `/etc/os-release`.
    pub os_version: String,
    /// Architecture as Go and the registries spell it: `amd64`, `arm64`; the kernel's word where we know no other.
    pub architecture: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Whether `/sys/fs/cgroup` is a cgroup v2 tree.
    pub cgroup_v2: bool,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Processors.
    pub processors: u32,
    /// Whether any swap is in use.
    pub swap: bool,
    /// TCP ports that something listens on, at whatever address.
    pub listening_ports: BTreeSet<u16>,
    /// Addresses of the host's interfaces.
    pub addresses: BTreeSet<IpAddr>,
    /// Free bytes by mount point, of those file systems that we write to.
    pub free_bytes: BTreeMap<String, u64>,
    /// Which of [`COMMANDS`] (and a few that not every host needs) the host has.
    pub commands: BTreeSet<String>,
    /// Whether pid 1 is systemd.
    pub systemd: bool,
    /// Whether we could write where we have to.
    pub writable: bool,
    /// The name of the cluster that kokctl made this host a part of.
    pub cluster: Option<String>,
    /// The random id of that cluster, by which it is told apart from others of its name.
    pub cluster_id: Option<String>,
    /// The certificate authority of the Kubernetes cluster that this host is a part of, as PEM.
    pub certificate_authority: Option<String>,
    /// Whether scripts of an earlier run still hold the host's lock.
    pub busy: bool,
}

impl HostFacts {
    /// What we expect of a host before we have seen it: enough to know what to look at. Never the base of a change: a plan is made from
    /// facts that were read.
    #[must_use]
    pub fn expected() -> Self {
        Self { architecture: "amd64".to_owned(), ..Self::default() }
    }
}
