//! The typed model of a cluster: what is left of a user's file once it has been read, checked and filled with defaults.
//!
//! A [`Cluster`] that came out of [`crate::read_cluster`] is consistent: names are unique, ranges don't overlap, there is exactly one
//! control plane. Nothing downstream has to check that again.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use ipnet::Ipv4Net;
use semver::Version;

use crate::Secret;
use crate::position::{Position, Positions};

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
    /// Address at which we reach the host and at which its node talks to the others, unique in the cluster.
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
    /// Login name; anyone but `root` needs sudo.
    pub user: Option<String>,
    /// TCP port of the SSH server.
    pub port: Option<u16>,
    /// Path of the private key as the user wrote it; a leading `~/` is left for the caller to expand.
    pub private_key_file: Option<String>,
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
            .field("user", &self.user)
            .field("port", &self.port)
            .field("private_key_file", &self.private_key_file)
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

/// Settings of a cluster that a user gives under `vars`, by the names that Kubespray uses. [`crate::VARIABLES`] has the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Whether the kubelet refuses to start on a host with version 1 control groups.
    pub kubelet_fail_cgroup_v1: bool,
    /// Names of kubeadm's preflight checks whose failure is only a warning.
    pub kubeadm_ignore_preflight_errors: Vec<String>,
    /// How kube-proxy programs the kernel.
    pub kube_proxy_mode: KubeProxyMode,
    /// Connections to track per CPU core; `Some(0)` leaves the kernel's limit alone, `None` leaves kube-proxy's default (32768).
    pub kube_proxy_conntrack_max_per_core: Option<u32>,
    /// Further options of containerd's CRI runtime plugin (`io.containerd.cri.v1.runtime`).
    pub containerd_extra_runtime_args: BTreeMap<String, TomlScalar>,
    /// Most files that containerd, and each container that says nothing else, may have open.
    pub containerd_limit_open_file_num: u64,
    /// Where images are fetched from instead of their own registries; unique by prefix.
    pub containerd_registries_mirrors: Vec<RegistryMirrors>,
    /// What is to become of the hosts.
    pub host: HostSettings,
    /// When the kubelet evicts pods: amounts or percentages that must be left, by eviction signal. Empty for the kubelet's own thresholds;
    /// otherwise a signal that is not named has none.
    pub eviction_hard: BTreeMap<String, String>,
}

/// Mirrors of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryMirrors {
    /// The registry as it stands in names of images, with its port if it has one; `_default` for all that have no mirrors of their own.
    pub prefix: String,
    /// Its mirrors, asked in this order; at least one.
    pub mirrors: Vec<Mirror>,
}

/// A mirror of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// Its URL.
    pub host: String,
    /// What it may be asked for: `pull`, `resolve`, `push`.
    pub capabilities: Vec<String>,
    /// Whether its certificate is not checked.
    pub skip_verify: bool,
    /// Whether the URL is taken as it is, without `/v2` behind it.
    pub override_path: bool,
    /// A certificate authority of its own, as PEM.
    pub ca: Option<String>,
}

/// How hosts are prepared, as far as a user decides it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSettings {
    /// Whether a host gets the name that it has in the file.
    pub override_system_hostname: bool,
    /// Whether `/etc/hosts` of each host names all of them.
    pub populate_inventory_to_hosts_file: bool,
    /// Whether the kubelet refuses to start with swap; then swap is switched off for good.
    pub kubelet_fail_swap_on: bool,
    /// Further kernel parameters by their dotted names.
    pub additional_sysctl: BTreeMap<String, String>,
    /// Further kernel modules, with `_` for `-`, each once.
    pub additional_kernel_modules: Vec<String>,
    /// Whether packages that are missing are installed from the hosts' own repositories; otherwise they are only named.
    pub install_packages: bool,
    /// Proxy for HTTP, as URL.
    pub http_proxy: Option<String>,
    /// Proxy for HTTPS, as URL.
    pub https_proxy: Option<String>,
    /// What is reached without a proxy, instead of what kokctl finds out.
    pub no_proxy: Option<Vec<String>>,
    /// What is reached without a proxy besides.
    pub additional_no_proxy: Vec<String>,
    /// Certificate authorities that programs of the hosts trust besides, as PEM by name.
    pub trusted_certificates: BTreeMap<String, String>,
    /// What to do about a firewall that is active.
    pub firewall: FirewallPolicy,
    /// What SELinux is set to; `None` leaves it, and refuses hosts where it enforces.
    pub preinstall_selinux_state: Option<SelinuxState>,
}

impl HostSettings {
    /// Whether a proxy is set.
    #[must_use]
    pub fn has_proxy(&self) -> bool {
        self.http_proxy.is_some() || self.https_proxy.is_some()
    }
}

impl Default for HostSettings {
    fn default() -> Self {
        Self {
            override_system_hostname: true,
            populate_inventory_to_hosts_file: true,
            kubelet_fail_swap_on: true,
            additional_sysctl: BTreeMap::new(),
            additional_kernel_modules: Vec::new(),
            install_packages: true,
            http_proxy: None,
            https_proxy: None,
            no_proxy: None,
            additional_no_proxy: Vec::new(),
            trusted_certificates: BTreeMap::new(),
            firewall: FirewallPolicy::Refuse,
            preinstall_selinux_state: None,
        }
    }
}

/// What to do about firewalld or ufw where they are active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirewallPolicy {
    /// Refuse a host whose firewall keeps ports closed that the cluster needs.
    Refuse,
    /// Open them.
    Open,
    /// Take no notice of it.
    Ignore,
}

impl FirewallPolicy {
    /// The word that stands for it in a user's file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Open => "open",
            Self::Ignore => "ignore",
        }
    }
}

/// A state of SELinux that kokctl can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelinuxState {
    /// It says what it would forbid.
    Permissive,
    /// It is switched off at the next start, and permissive until then.
    Disabled,
}

impl SelinuxState {
    /// The word of `/etc/selinux/config`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Permissive => "permissive",
            Self::Disabled => "disabled",
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            kubelet_fail_cgroup_v1: true,
            kubeadm_ignore_preflight_errors: Vec::new(),
            kube_proxy_mode: KubeProxyMode::Nftables,
            kube_proxy_conntrack_max_per_core: None,
            containerd_extra_runtime_args: BTreeMap::new(),
            containerd_limit_open_file_num: DEFAULT_OPEN_FILES,
            containerd_registries_mirrors: Vec::new(),
            host: HostSettings::default(),
            eviction_hard: BTreeMap::new(),
        }
    }
}

/// Kubespray's limit, and the kernel's own (`fs.nr_open`): "infinity" makes some programs close a thousand million files one by one.
pub const DEFAULT_OPEN_FILES: u64 = 1_048_576;

/// How kube-proxy programs the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KubeProxyMode {
    /// One nftables table; updates don't grow with the number of services.
    Nftables,
    /// Chains of iptables, kube-proxy's own default.
    Iptables,
}

impl KubeProxyMode {
    /// The word that kube-proxy's configuration uses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nftables => "nftables",
            Self::Iptables => "iptables",
        }
    }
}

/// A value that can stand right of `=` in TOML without further structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TomlScalar {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Text; whoever writes the TOML quotes it.
    String(String),
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
