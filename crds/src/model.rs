//! The typed model of a cluster: what is left of a user's file once it has been read, checked and filled with defaults.
//!
//! A [`Cluster`] that came out of [`crate::read_cluster`] is consistent: names are unique, ranges don't overlap, there is exactly one
//! control plane. Nothing downstream has to check that again.

mod settings;

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use ipnet::Ipv4Net;
use semver::Version;

use crate::Secret;
use crate::position::{Position, Positions};

pub use settings::{
    DEFAULT_OPEN_FILES, FirewallPolicy, HostSettings, KubeProxyMode, Mirror, RegistryMirrors, SelinuxState, Settings, TomlScalar,
};

/// One Kubernetes cluster as its owner wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// Name of the cluster, a DNS label (RFC 1123).
    pub name: String,
    /// Exact version of Kubernetes, always with its patch number.
    pub kubernetes_version: Version,
    /// Hosts in the order of the file; at least one, and exactly one control plane in this version.
    pub hosts: Vec<Host>,
    /// Address ranges and the network plugin.
    pub network: Network,
    /// Where the hosts take their time from.
    pub time: TimeSync,
    /// Settings that were given under `vars`, with their defaults filled in.
    pub settings: Settings,
    /// Where in the file each value stands; see [`Cluster::position_of`].
    pub positions: Positions,
}

/// One machine of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Name of the host and of its node, a DNS label (RFC 1123), unique in the cluster.
    pub name: String,
    /// Address at which the host's node talks to the others, unique in the cluster; at which we reach the host, unless `ssh` has another.
    pub address: IpAddr,
    /// What the host does in the cluster; at least one role.
    pub roles: Roles,
    /// How to log in, with the cluster's defaults already applied.
    pub ssh: Ssh,
    /// Labels that the node gets besides Kubernetes' own.
    pub labels: BTreeMap<String, String>,
    /// Taints that the node is registered with; unique by key and effect.
    pub taints: Vec<Taint>,
    /// Where the host's entry begins in the file.
    pub origin: Position,
}

/// What a host does in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Roles {
    /// Runs the API server, the controller manager, the scheduler, and so far also etcd.
    pub control_plane: bool,
    /// Runs the workload of users.
    pub worker: bool,
}

impl Roles {
    /// Whether the host runs an etcd member. etcd runs on the control planes so far.
    #[must_use]
    pub fn etcd(self) -> bool {
        self.control_plane
    }
}

/// How to log in to a host or a bastion, as far as the file says it. What it leaves open, the user's ssh_config or a default may fill.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Ssh {
    /// Where SSH reaches the host, an IP address or a DNS name, if that is not the host's own address. A bastion never has it.
    pub address: Option<String>,
    /// Login name; anyone but `root` needs sudo.
    pub user: Option<String>,
    /// TCP port of the SSH server.
    pub port: Option<u16>,
    /// Path of the private key as the user wrote it; a leading `~/` is left for the caller to expand.
    pub private_key_file: Option<String>,
    /// The private key itself, where the user's files hold it. `private_key_file` wins over it.
    pub private_key: Option<Secret>,
    /// Path of the known_hosts file as the user wrote it; a leading `~/` is left for the caller to expand.
    pub known_hosts_file: Option<String>,
    /// The only host key to accept, as OpenSSH prints its fingerprint: `SHA256:` and 43 characters of unpadded base64.
    pub host_key: Option<String>,
    /// What to do with the key of a host that known_hosts does not know.
    pub host_key_checking: Option<HostKeyChecking>,
    /// Password of the login, at most 511 bytes without control characters.
    pub password: Option<Secret>,
    /// What sudo asks the login for, of the same form.
    pub sudo_password: Option<Secret>,
    /// The way to the host.
    pub via: Option<Via>,
}

impl fmt::Debug for Ssh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = |secret: &Option<Secret>| secret.as_ref().map(|_| "(hidden)");
        f.debug_struct("Ssh")
            .field("address", &self.address)
            .field("user", &self.user)
            .field("port", &self.port)
            .field("private_key_file", &self.private_key_file)
            .field("private_key", &hidden(&self.private_key))
            .field("known_hosts_file", &self.known_hosts_file)
            .field("host_key", &self.host_key)
            .field("host_key_checking", &self.host_key_checking)
            .field("password", &hidden(&self.password))
            .field("sudo_password", &hidden(&self.sudo_password))
            .field("via", &self.via)
            .finish()
    }
}

/// What to do with the key of a host of which known_hosts has none. A key that differs from a known one is refused in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostKeyChecking {
    /// Refuse the host.
    Strict,
    /// Trust the key at the first connection and add it to known_hosts.
    AcceptNew,
}

/// The way to a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Via {
    /// Directly, whatever ssh_config says.
    Direct,
    /// Through another SSH server.
    Bastion(Box<Bastion>),
}

/// An SSH server through which a host is reached. Its own `via` leads to it in turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bastion {
    /// An IP address or a DNS name, or what `Host` of an ssh_config calls it.
    pub address: String,
    /// How to log in to it; it never has a `sudo_password`.
    pub ssh: Ssh,
}

/// A taint of a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Taint {
    /// A qualified name, as of a label.
    pub key: String,
    /// May be empty.
    pub value: String,
    /// What happens to pods that don't tolerate the taint.
    pub effect: TaintEffect,
}

/// What a taint does to pods that don't tolerate it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaintEffect {
    /// New pods are not placed on the node.
    NoSchedule,
    /// New pods are placed elsewhere where that is possible.
    PreferNoSchedule,
    /// New pods are not placed on the node, and those that run there are evicted.
    NoExecute,
}

impl TaintEffect {
    /// The word that Kubernetes uses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        }
    }
}

/// Address ranges of a cluster and the plugin that carries its pods' traffic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// The network plugin.
    pub plugin: NetworkPlugin,
    /// Range of the pods' addresses; each node gets a subnet of `node_prefix` bits of it.
    pub pod_cidr: Ipv4Net,
    /// Range of the services' addresses.
    pub service_cidr: Ipv4Net,
    /// Prefix length of a node's share of `pod_cidr`.
    pub node_prefix: u8,
    /// DNS domain of the cluster's services, without a trailing dot.
    pub cluster_domain: String,
}

/// A network plugin that this version installs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkPlugin {
    /// flannel with VXLAN.
    Flannel,
}

impl NetworkPlugin {
    /// The word that stands for the plugin in a user's file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Flannel => "flannel",
        }
    }
}

/// Where the hosts take their time from. At most one of the two lists has entries; with both empty the hosts keep the time sources they
/// have, and it is only checked that their clocks are not far apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeSync {
    /// NTP servers (names or addresses) that every host asks.
    pub servers: Vec<String>,
    /// Names of hosts that serve their own time to all others, for a network without an NTP server.
    pub sources: Vec<String>,
    /// How many seconds the clocks of two hosts may be apart before anything is begun.
    pub max_skew_seconds: u32,
}

impl TimeSync {
    /// Whether kokctl keeps the hosts' clocks, by chrony.
    #[must_use]
    pub fn is_managed(&self) -> bool {
        !self.servers.is_empty() || !self.sources.is_empty()
    }
}

impl Default for TimeSync {
    /// 30 s: clocks further apart can't share certificates and leases safely; k0sctl draws the line there too.
    fn default() -> Self {
        Self { servers: Vec::new(), sources: Vec::new(), max_skew_seconds: 30 }
    }
}

impl Cluster {
    /// Hosts with the role control-plane, in the order of the file.
    pub fn control_planes(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter().filter(|host| host.roles.control_plane)
    }

    /// Hosts with the role worker, in the order of the file; a control plane can be one too.
    pub fn workers(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter().filter(|host| host.roles.worker)
    }

    /// The host of that name.
    #[must_use]
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.hosts.iter().find(|host| host.name == name)
    }

    /// Where the value at `path` stands in the file, for example `spec.kubernetesVersion`, `spec.network.podCIDR` or
    /// `spec.hosts[0].address`. `None` for a value that was left to its default.
    #[must_use]
    pub fn position_of(&self, path: &str) -> Option<&Position> {
        self.positions.get(path)
    }

    /// Where the values of a field stand in the file, whatever they belong to, for example `password`.
    pub fn places_of<'a>(&'a self, field: &'a str) -> impl Iterator<Item = &'a Position> {
        self.positions.named(field)
    }

    /// Where a field of a host stands in the file, for example `address` or `ssh.user`; where the host's entry begins if the field was
    /// left to its default. `None` only for a host that the cluster doesn't have.
    #[must_use]
    pub fn host_position(&self, host: &str, field: &str) -> Option<&Position> {
        let index = self.hosts.iter().position(|candidate| candidate.name == host)?;
        let found = self.positions.get(&format!("spec.hosts[{index}].{field}"));
        found.or_else(|| self.hosts.get(index).map(|host| &host.origin))
    }
}

impl Network {
    /// Address of the service `kubernetes`: the first of the services' range, as the API server chooses it.
    #[must_use]
    pub fn kubernetes_service_ip(&self) -> Ipv4Addr {
        self.service_address(1)
    }

    /// Address of the cluster's DNS service: the tenth of the services' range, as kubeadm chooses it.
    #[must_use]
    pub fn cluster_dns(&self) -> Ipv4Addr {
        self.service_address(10)
    }

    /// How many nodes can get a subnet of the pods' range.
    #[must_use]
    pub fn max_nodes(&self) -> u64 {
        let bits = self.node_prefix.saturating_sub(self.pod_cidr.prefix_len());
        1_u64.checked_shl(u32::from(bits)).unwrap_or(u64::MAX)
    }

    fn service_address(&self, offset: u32) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.service_cidr.network()).saturating_add(offset))
    }
}
