//! Facts: what a host is, as opposed to what it should become.

mod files;
mod parse;
mod script;
mod storage;
mod targets;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use ipnet::Ipv4Net;
use serde::Serialize;

pub use parse::parse;
pub(crate) use script::script;
pub use storage::{FOLDERS, Storage, Unwritable};
pub use targets::{TARGETS, Writer, WrittenFolder};

/// Commands that kubeadm, the kubelet and kokctl run on a host and that a minimal installation may lack, each with the package that has it:
/// of Debian, and of the RHEL family.
pub const COMMANDS: &[Program] = &[
    Program { name: "base64", debian: "coreutils", rhel: "coreutils" },
    Program { name: "flock", debian: "util-linux", rhel: "util-linux" },
    Program { name: "gzip", debian: "gzip", rhel: "gzip" },
    Program { name: "ip", debian: "iproute2", rhel: "iproute" },
    Program { name: "iptables", debian: "iptables", rhel: "iptables-nft" },
    Program { name: "mount", debian: "mount", rhel: "util-linux" },
    Program { name: "nft", debian: "nftables", rhel: "nftables" },
    Program { name: "nsenter", debian: "util-linux", rhel: "util-linux" },
    Program { name: "sha256sum", debian: "coreutils", rhel: "coreutils" },
    Program { name: "stat", debian: "coreutils", rhel: "coreutils" },
    Program { name: "systemctl", debian: "systemd", rhel: "systemd" },
    Program { name: "systemd-run", debian: "systemd", rhel: "systemd" },
    Program { name: "tar", debian: "tar", rhel: "tar" },
];

/// What keeps a clock where `spec.time` asks for it.
pub const CHRONY: Program = Program { name: "chronyc", debian: "chrony", rhel: "chrony" };

/// What fetches files on hosts that fetch for themselves.
pub const CURL: Program = Program { name: "curl", debian: "curl", rhel: "curl" };

/// What moves an address between control planes.
pub const KEEPALIVED: Program = Program { name: "keepalived", debian: "keepalived", rhel: "keepalived" };

/// What makes the file of all trusted authorities on Debian and Ubuntu.
pub const TRUST_DEBIAN: Program = Program { name: "update-ca-certificates", debian: "ca-certificates", rhel: "ca-certificates" };

/// The same in the family of RHEL.
pub const TRUST_RHEL: Program = Program { name: "update-ca-trust", debian: "ca-certificates", rhel: "ca-certificates" };

/// Commands without which kokctl could not even install the others: its own scripts are made of them.
pub const INDISPENSABLE: &[&str] = &["base64", "flock", "mount", "sha256sum", "stat", "systemctl", "systemd-run"];

/// What tells one host from another: where a command is only asked for, not needed.
const OTHER_COMMANDS: &[&str] =
    &["apt-get", "dnf", "chronyc", "conntrack", "curl", "keepalived", "update-ca-certificates", "update-ca-trust"];

/// A command and the packages that have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Program {
    /// Name of the command.
    pub name: &'static str,
    /// Debian's and Ubuntu's package.
    pub debian: &'static str,
    /// The package of RHEL and its relatives.
    pub rhel: &'static str,
}

/// How much is asked of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// What is declared for hosts goes by: system, programs, memory, addresses, names. Rooms, mounts and ports stay empty.
    Machine,
    /// All of it, as whoever runs Kubernetes there has to know. The kernel's lists of sockets alone cost a host some 10 ms.
    Node,
}

/// What is known of one host.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostFacts {
    /// The kernel's host name.
    pub hostname: String,
    /// What is another one after each start of the host.
    pub boot_id: Option<String>,
    /// `/etc/machine-id`: 32 hexadecimal digits on a healthy host.
    pub machine_id: String,
    /// The firmware's UUID; `None` where there is none or it is not readable.
    pub product_uuid: Option<String>,
    /// `ID` of `/etc/os-release`: `debian`, `ubuntu`, `rocky` …
    pub os_id: String,
    /// `ID_LIKE` of `/etc/os-release`: `debian`, `rhel centos fedora` …
    pub os_like: Vec<String>,
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
    /// Memory that programs could still get without swap, in bytes.
    pub available_bytes: u64,
    /// Processors that are switched on.
    pub processors: u32,
    /// Swap that is on, in bytes that are in use, by its device or file.
    pub swaps: BTreeMap<String, u64>,
    /// TCP ports that something listens on, at whatever address.
    pub listening_ports: BTreeSet<u16>,
    /// Those of them that something listens on at all addresses of the host.
    pub ports_at_all_addresses: BTreeSet<u16>,
    /// Network interfaces by name.
    pub interfaces: BTreeMap<String, Interface>,
    /// IPv4 routes of the main table, the default route left out.
    pub routes: Vec<Route>,
    /// Name servers of `/etc/resolv.conf`, in its order.
    pub name_servers: Vec<IpAddr>,
    /// Name servers that systemd-resolved asks, where it runs.
    pub resolved_servers: Vec<IpAddr>,
    /// Public SSH host keys, each as type and base64.
    pub ssh_host_keys: BTreeSet<String>,
    /// The file system below each of [`FOLDERS`], whether or not the folder exists already.
    pub storage: BTreeMap<String, Storage>,
    /// Which of [`COMMANDS`] (and a few that not every host needs) the host has.
    pub commands: BTreeSet<String>,
    /// Packages of missing commands that the host's package manager could install, of those that were asked about (`Look::Installable`).
    pub installable: BTreeSet<String>,
    /// Whether Debian's package manager has no lists of packages yet, and so can't say what it could install.
    pub without_package_lists: bool,
    /// Whether dpkg was interrupted and refuses to work until it is told to go on.
    pub dpkg_interrupted: bool,
    /// Whether pid 1 is systemd.
    pub systemd: bool,
    /// Folders in which we have to write and can't.
    pub unwritable: Vec<Unwritable>,
    /// What SELinux does.
    pub selinux: SelinuxMode,
    /// The name of the cluster that kokctl made this host a part of.
    pub cluster: Option<String>,
    /// The random id of that cluster, by which it is told apart from others of its name.
    pub cluster_id: Option<String>,
    /// What says there that a recovery of etcd has begun, if one has.
    pub recovery: Option<String>,
    /// The certificate authority of the Kubernetes cluster that this host is a part of, as PEM.
    pub certificate_authority: Option<String>,
    /// Whether scripts of an earlier run still hold the host's lock.
    pub busy: bool,
    /// The units of jobs among them.
    pub jobs: Vec<String>,
}

/// A network interface.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Interface {
    /// Its hardware address, where it has one.
    pub mac: Option<String>,
    /// Its addresses.
    pub addresses: BTreeSet<IpAddr>,
    /// Those of them that it gives up again, or has given up, or can't use (ip-address(8): temporary, deprecated, tentative, dadfailed).
    pub passing: BTreeSet<IpAddr>,
    /// Bytes of the largest packet that it sends.
    pub mtu: Option<u32>,
}

/// An IPv4 route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Route {
    /// Where it leads.
    pub to: Ipv4Net,
    /// The interface that it uses.
    pub interface: String,
    /// The router that it leads by; `None` where whoever is meant is reached directly.
    pub via: Option<Ipv4Addr>,
}

/// What SELinux does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SelinuxMode {
    /// It is not there, or switched off.
    #[default]
    Disabled,
    /// It says what it would forbid.
    Permissive,
    /// It forbids.
    Enforcing,
}

impl HostFacts {
    /// What we expect of a host before we have seen it: enough to know what to look at. Never the base of a change: a plan is made from
    /// facts that were read.
    #[must_use]
    pub fn expected() -> Self {
        let commands =
            COMMANDS.iter().map(|program| program.name).chain(["chronyc", "curl", "keepalived", "apt-get"]).map(str::to_owned).collect();
        Self { architecture: "amd64".to_owned(), os_id: "debian".to_owned(), commands, ..Self::default() }
    }

    /// The same of a host of RHEL's family, which keeps some things in other places.
    #[must_use]
    pub fn expected_of_rhel_family() -> Self {
        Self { os_id: "rhel".to_owned(), ..Self::expected() }
    }

    /// Addresses of all interfaces.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.interfaces.values().flat_map(|interface| interface.addresses.iter().copied())
    }

    /// The interface that has this address.
    #[must_use]
    pub fn interface_of(&self, address: IpAddr) -> Option<&Interface> {
        self.interfaces.values().find(|interface| interface.addresses.contains(&address))
    }
}
