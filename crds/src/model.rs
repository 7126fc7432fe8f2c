//! The typed model of a cluster: what is left of a user's file once it has been read, checked and filled with defaults.
//!
//! A [`Cluster`] that came out of [`crate::read_cluster`] is consistent: names are unique, ranges don't overlap, there is a control plane.
//! Nothing downstream has to check that again.

mod addon;
mod backup;
mod calico;
mod certificates;
mod components;
mod concealed;
mod delivery;
mod disruption;
mod endpoint;
pub(crate) mod etcd;
mod hook;
mod host;
mod kms;
mod mount;
mod network;
mod node_dns;
mod payload;
mod pool;
mod resource;
mod schedule;
mod settings;
mod ssh;
mod time;
mod underway;

use semver::Version;

use crate::position::{Position, Positions};

pub use addon::{Addon, AddonObject, Manifest, NETWORK_ADDON, ObjectName, Prune};
pub use backup::{Backup, BackupFolder, Keep, S3};
pub use calico::{Calico, CalicoBackend, Tunnel};
pub use certificates::{AuthorityName, AuthorityPair, Certificates, EscrowFile, IssuedFolder, KeyAlgorithm, OwnAuthority, Pem, PemSource};
pub use components::{
    Component, Components, Encryption, EncryptionAlgorithm, FeatureGates, KubeletSettings, Patch, Reserved, Security, SwitchedSettings,
    Values, Volume,
};
pub use concealed::Concealed;
pub use delivery::Delivery;
pub use disruption::{Drains, Serial};
pub use endpoint::{API_ENDPOINT_NAME, API_SERVER_PORT, ApiEndpoint, ExternalEndpoint, KubeVip};
pub use etcd::{EtcdOption, EtcdValue};
pub use hook::{Hook, HookPlace, OnFailure};
pub use host::{Host, Roles, Taint, TaintEffect};
pub use kms::KmsPlugin;
pub use mount::{Mount, MountState};
pub use network::{FlannelBackend, Ipv6Network, Network, NetworkPlugin};
pub(crate) use network::{LEAST_MTU, MOST_MTU};
pub use node_dns::{DnsZone, NodeDns};
pub use payload::{Compression, Contents, Held, Member, MemberKind, Payload, PayloadSource};
pub use pool::Pool;
pub use resource::{Account, Content, Fleet, HostResource, HostResources, LocalFile, Rights, TemplateVars, Text, Wish};
pub use schedule::Schedule;
pub use settings::{
    ALL_CHECKS, DEFAULT_OPEN_FILES, EtcdDeployment, FirewallPolicy, HostSettings, KubeProxyMode, Mirror, RegistryMirrors, SelinuxState,
    Settings, TomlScalar,
};
pub use ssh::{Bastion, HostKeyChecking, Ssh, Via};
pub use time::TimeSync;
pub use underway::{Underway, Wave, Way};

/// One Kubernetes cluster as its owner wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// Name of the cluster, a DNS label (RFC 1123).
    pub name: String,
    /// Exact version of Kubernetes, always with its patch number.
    pub kubernetes_version: Version,
    /// Hosts in the order of the file; at least one, and among them at least one control plane.
    pub hosts: Vec<Host>,
    /// Those of the file's hosts that are to be gone: they count for nothing else.
    pub leaving: Vec<Host>,
    /// Names of hosts that are to be gone, whether the file still has them or not.
    pub removed: Vec<String>,
    /// Address ranges and the network plugin.
    pub network: Network,
    /// Where the hosts take their time from.
    pub time: TimeSync,
    /// What is installed besides, the network first if that comes from a manifest.
    pub addons: Vec<Addon>,
    /// What is wanted of the hosts themselves.
    pub resources: HostResources,
    /// What is done on hosts before and after what kokctl does, in the order of the file.
    pub hooks: Vec<Hook>,
    /// The order in which an upgrade takes workers, in that order; those of none come last.
    pub pools: Vec<Pool>,
    /// Whether these are hosts and nothing else: then no host has a role, and only hosts, logins and `resources` count.
    pub fleet: Option<Fleet>,
    /// Settings that were given under `vars`, with their defaults filled in.
    pub settings: Settings,
    /// What was encrypted in the user's files, as far as its text is a secret.
    pub concealed: Concealed,
    /// What has other versions while an upgrade is under way.
    pub underway: Option<Underway>,
    /// Where in the file each value stands; see [`Cluster::position_of`].
    pub positions: Positions,
}

impl Cluster {
    /// The settings of a host: with what it has for itself.
    #[must_use]
    pub fn settings_of(&self, host: &Host) -> &Settings {
        self.settings.of_host(&host.name)
    }

    /// The cluster with the hosts that are to leave it, as it was before.
    #[must_use]
    pub fn before_removal(&self) -> Self {
        let hosts = self.hosts.iter().chain(&self.leaving).cloned().collect();
        Self { hosts, leaving: Vec::new(), ..self.clone() }
    }

    /// The cluster without these hosts, as it is when they are no part of it any more. Where all hosts that serve time are among them, the first control
    /// plane that is left does.
    #[must_use]
    pub fn without(&self, hosts: &[&str]) -> Self {
        let stays = |name: &str| !hosts.contains(&name);
        let left: Vec<Host> = self.hosts.iter().filter(|host| stays(&host.name)).cloned().collect();
        let mut time = self.time.clone();
        time.sources.retain(|name| stays(name));
        if time.sources.is_empty() && !self.time.sources.is_empty() {
            time.sources.extend(left.iter().find(|host| host.roles.control_plane).map(|host| host.name.clone()));
        }
        Self { hosts: left, time, ..self.clone() }
    }

    /// Hosts with the role control-plane, in the order of the file.
    pub fn control_planes(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter().filter(|host| host.roles.control_plane)
    }

    /// Hosts with the role worker, in the order of the file; a control plane can be one too.
    pub fn workers(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter().filter(|host| host.roles.worker)
    }

    /// Hosts that run a member of etcd, in the order of the file.
    pub fn etcd_hosts(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter().filter(|host| host.roles.etcd)
    }

    /// Hosts that are nodes of the cluster, in the order of the file.
    pub fn nodes(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter().filter(|host| host.roles.is_node())
    }

    /// Whether etcd runs as a unit of systemd, on control planes or on hosts of its own, and not as a pod beside each API server. Nobody has
    /// to say so where another host than the control planes has a member.
    #[must_use]
    pub fn has_etcd_units(&self) -> bool {
        let apart = || self.hosts.iter().any(|host| host.roles.etcd != host.roles.control_plane);
        self.settings.etcd_deployment_type.map_or_else(apart, |given| given == EtcdDeployment::Host)
    }

    /// Whether there are several control planes, of which any one may be lost.
    #[must_use]
    pub fn is_highly_available(&self) -> bool {
        self.control_planes().nth(1).is_some()
    }

    /// Nodes without an API server of their own.
    pub fn balanced_hosts(&self) -> impl Iterator<Item = &Host> {
        self.nodes().filter(|host| !host.roles.control_plane)
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
        let origin = || self.hosts.iter().chain(&self.leaving).find(|candidate| candidate.name == host).map(|host| &host.origin);
        self.positions.of_host(host, field).or_else(origin)
    }
}
