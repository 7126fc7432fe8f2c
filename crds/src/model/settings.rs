//! Settings that a user gives under `vars`.

use std::collections::BTreeMap;

use semver::Version;

use super::backup::Backup;
use super::calico::Calico;
use super::certificates::Certificates;
use super::components::{Components, Security};
use super::delivery::Delivery;
use super::disruption::{Drains, Serial};
use super::endpoint::ApiEndpoint;
use super::node_dns::NodeDns;

/// What kubeadm takes for all of its preflight checks. It refuses names beside it.
pub const ALL_CHECKS: &str = "all";

/// Settings of a cluster that a user gives under `vars`, by the names that Kubespray uses. [`crate::VARIABLES`] has the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Whether the kubelet refuses to start on a host with version 1 control groups.
    pub kubelet_fail_cgroup_v1: bool,
    /// Names of kubeadm's preflight checks whose failure is only a warning; or [`ALL_CHECKS`] and nothing else.
    pub kubeadm_ignore_preflight_errors: Vec<String>,
    /// How kube-proxy programs the kernel.
    pub kube_proxy_mode: KubeProxyMode,
    /// Whether something else than kube-proxy carries packets for Services.
    pub kube_proxy_remove: bool,
    /// Connections to track per CPU core; `Some(0)` leaves the kernel's limit alone, `None` leaves kube-proxy's default (32768).
    pub kube_proxy_conntrack_max_per_core: Option<u32>,
    /// Whether nodes get shares of the pods' range; a network of the user's may not want them.
    pub node_shares: bool,
    /// The way to the API.
    pub api_endpoint: ApiEndpoint,
    /// Which containerd; `None` is the newest of the bundle.
    pub containerd_version: Option<Version>,
    /// Further options of containerd's CRI runtime plugin (`io.containerd.cri.v1.runtime`).
    pub containerd_extra_runtime_args: BTreeMap<String, TomlScalar>,
    /// Most files that containerd, and each container that says nothing else, may have open.
    pub containerd_limit_open_file_num: u64,
    /// Where images are fetched from instead of their own registries; unique by prefix.
    pub containerd_registries_mirrors: Vec<RegistryMirrors>,
    /// Addresses that stand in for upstream's servers when a bundle is fetched, by the server's name.
    pub upstream_mirrors: BTreeMap<String, String>,
    /// Whether kokctl sends what is installed, or hosts fetch it.
    pub delivery: Delivery,
    /// How many workers may be away at a time.
    pub serial: Serial,
    /// How pods leave nodes.
    pub drains: Drains,
    /// What is to become of the hosts.
    pub host: HostSettings,
    /// How Calico is set up, where it is the network plugin.
    pub calico: Calico,
    /// The DNS cache of each node.
    pub node_dns: NodeDns,
    /// How etcd runs, if anybody says so; [`super::Cluster::has_etcd_units`] knows it in any case.
    pub etcd_deployment_type: Option<EtcdDeployment>,
    /// What components are told.
    pub components: Components,
    /// Logins, rights, audit and encryption.
    pub security: Security,
    /// How certificates are made.
    pub certificates: Certificates,
    /// How backups are made.
    pub backup: Backup,
    /// The settings of hosts that have something of their own, whole, by the hosts' names: [`Settings::of_host`] asks.
    pub of_hosts: BTreeMap<String, Settings>,
}

impl Settings {
    /// The settings of a host: with its own kernel parameters, modules, proxies, authorities, mirrors and so on where it has some.
    #[must_use]
    pub fn of_host(&self, host: &str) -> &Self {
        self.of_hosts.get(host).unwrap_or(self)
    }

    /// Whether failures of all of kubeadm's preflight checks are only warnings.
    #[must_use]
    pub fn ignores_all_preflight_errors(&self) -> bool {
        self.kubeadm_ignore_preflight_errors.iter().any(|name| name == ALL_CHECKS)
    }

    /// The settings of the cluster, and those of each host that has something of its own.
    pub fn each(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.of_hosts.values())
    }

    /// Takes over what each host may have for itself.
    pub(crate) fn take_own(&mut self, own: &Self) {
        // These are of the whole cluster: kubelets get the first from one document, and the others name hosts to each other.
        let HostSettings { kubelet_fail_swap_on, override_system_hostname, populate_inventory_to_hosts_file, .. } = self.host;
        let host = own.host.clone();
        self.host = HostSettings { kubelet_fail_swap_on, override_system_hostname, populate_inventory_to_hosts_file, ..host };
        self.delivery = own.delivery;
        self.containerd_extra_runtime_args.clone_from(&own.containerd_extra_runtime_args);
        self.containerd_limit_open_file_num = own.containerd_limit_open_file_num;
        self.containerd_registries_mirrors.clone_from(&own.containerd_registries_mirrors);
    }
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
            kube_proxy_remove: false,
            kube_proxy_conntrack_max_per_core: None,
            node_shares: true,
            api_endpoint: ApiEndpoint::default(),
            containerd_version: None,
            containerd_extra_runtime_args: BTreeMap::new(),
            containerd_limit_open_file_num: DEFAULT_OPEN_FILES,
            containerd_registries_mirrors: Vec::new(),
            upstream_mirrors: BTreeMap::new(),
            delivery: Delivery::Push,
            serial: Serial::default(),
            drains: Drains::default(),
            host: HostSettings::default(),
            calico: Calico::default(),
            node_dns: NodeDns::default(),
            etcd_deployment_type: None,
            components: Components::default(),
            security: Security::default(),
            certificates: Certificates::default(),
            backup: Backup::default(),
            of_hosts: BTreeMap::new(),
        }
    }
}

/// How etcd runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EtcdDeployment {
    /// As a pod beside each API server, by kubeadm.
    Kubeadm,
    /// As a unit of systemd, wherever the hosts have the role.
    Host,
}

impl EtcdDeployment {
    /// Kubespray's word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kubeadm => "kubeadm",
            Self::Host => "host",
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
    /// The kernel's IPVS, which Kubernetes has deprecated in 1.35 (KEP-5495).
    Ipvs,
}

impl KubeProxyMode {
    /// The word that kube-proxy's configuration uses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nftables => "nftables",
            Self::Iptables => "iptables",
            Self::Ipvs => "ipvs",
        }
    }

    /// The field of kube-proxy's configuration that one below `MODE.` is; others are what they are called. With IPVS, kube-proxy reads of packets
    /// whose sender it changes in the part of iptables (kubernetes/kubernetes, `pkg/proxy/ipvs`).
    #[must_use]
    pub fn field(self, name: &str) -> String {
        match (name.strip_prefix("MODE."), self) {
            (None, _) => name.to_owned(),
            (Some(rest), Self::Ipvs) if rest.starts_with("masquerade") => format!("iptables.{rest}"),
            (Some(rest), mode) => format!("{}.{rest}", mode.as_str()),
        }
    }

    /// Whether it reads a field of kube-proxy's configuration: those of IPVS it reads in that mode alone.
    #[must_use]
    pub fn reads(self, name: &str) -> bool {
        self == Self::Ipvs || !name.starts_with("ipvs.")
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
