//! What a probe saw.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use kok_crds::model::ObjectName;

use super::addons::LiveObject;
use super::annotations::Annotations;
use super::api_server::ApiServerState;
use super::cluster_trust::ClusterTrust;
use super::deprecated::DeprecatedApi;
use super::encryption::{EncryptedValues, EncryptionKeys, EncryptionRead};
use super::etcd::EtcdState;
use super::etcd_data::EtcdData;
use super::firewall::Firewall;
use super::ipv6::Ipv6State;
use super::kubernetes::KubernetesState;
use super::neighbour::Neighbour;
use super::older_pods::OlderPods;
use super::pieces::Piece;
use super::pod_network::PodNetwork;
use super::swap::SwapState;
use super::time::TimeTracking;
use super::token_secrets::TokenSecrets;
use super::versions::ProgramVersions;
use super::webhooks::Webhooks;
use super::workload::merged;
use crate::drain::Workload;

/// What is known of one host besides its facts. A key that is missing was never looked at.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observations {
    /// Paths, with the hash of those for which it was asked.
    pub paths: BTreeMap<String, PathState>,
    /// Content of small files that are no secrets; none for a file that is not there.
    pub contents: BTreeMap<String, Vec<u8>>,
    /// Certificates of clients inside kubeconfigs, as PEM; none where it stands in a file of its own, and no entry for a kubeconfig that is
    /// not there.
    pub kubeconfigs: BTreeMap<String, Option<String>>,
    /// Certificates that stand beside their keys, as PEM; none for a file that is not there.
    pub certificates: BTreeMap<String, Option<String>>,
    /// Certificates of authorities inside kubeconfigs, as PEM; none where they stand in a file of their own.
    pub kubeconfig_authorities: BTreeMap<String, Option<String>>,
    /// Where these kubeconfigs lead to: URLs of the API.
    pub kubeconfig_servers: BTreeMap<String, String>,
    /// When programs of the control plane were started that run, in nanoseconds since 1970 by the clock that the host has now.
    pub programs: Option<BTreeMap<String, i128>>,
    /// Which versions of programs run, and which would.
    pub versions: Option<ProgramVersions>,
    /// systemd units.
    pub units: BTreeMap<String, UnitState>,
    /// Kernel parameters; `None` where the kernel has no such parameter.
    pub sysctls: BTreeMap<String, Option<String>>,
    /// Kernel modules.
    pub modules: BTreeMap<String, ModuleState>,
    /// Images of containerd.
    pub images: Option<ImageStore>,
    /// This host's API server.
    pub api_server: Option<ApiServerState>,
    /// This host's member of etcd.
    pub etcd: Option<EtcdState>,
    /// What there is of that member's data.
    pub etcd_data: Option<EtcdData>,
    /// Members of etcd by their URLs, as this control plane reaches them: what each said, `healthy` if it is.
    pub etcd_endpoints: BTreeMap<String, String>,
    /// Members of etcd by their URLs, as this host reaches them that has one itself: what was said, `healthy` if it works.
    pub etcd_peers: BTreeMap<String, String>,
    /// Annotations of nodes.
    pub node_annotations: Option<Annotations>,
    /// Versions of the API that this host's API server was asked for and later ones don't have.
    pub deprecated_apis: Option<Vec<DeprecatedApi>>,
    /// Webhooks of admission that fail closed.
    pub webhooks: Option<Webhooks>,
    /// The keys that this control plane's API server is to encrypt with.
    pub encryption_keys: Option<EncryptionKeys>,
    /// What of them it has read.
    pub encryption_read: Option<EncryptionRead>,
    /// What the values in etcd are encrypted with.
    pub encrypted_values: Option<EncryptedValues>,
    /// Which keys have signed the tokens of service accounts that stand in Secrets.
    pub token_secrets: Option<TokenSecrets>,
    /// Which authorities the cluster tells others to trust; or what was said instead.
    pub cluster_trust: Option<Result<ClusterTrust, String>>,
    /// Pods that were started before a file was changed, or a little later; or what was said instead.
    pub older_pods: Option<Result<OlderPods, String>>,
    /// Load balancers of hosts, by node: whether they have found an API server.
    pub load_balancers: Option<BTreeMap<String, bool>>,
    /// What runs on nodes that were asked for; or what was said instead.
    pub workload: Option<Result<Workload, String>>,
    /// Ways to the API by their URLs, as this control plane takes them: the API server that they lead to.
    pub api_endpoints: BTreeMap<String, ApiServerState>,
    /// The cluster as this host's API server shows it.
    pub kubernetes: Option<KubernetesState>,
    /// What the pods of the network check report, by the node that they run on.
    pub network_check: Option<BTreeMap<String, String>>,
    /// The cluster's last warnings, one a line.
    pub warnings: Option<String>,
    /// What containers of this host's control plane complained of last, by their names.
    pub last_words: Option<BTreeMap<String, String>>,
    /// chronyd's own report.
    pub time: Option<TimeTracking>,
    /// Blocks of ours in files of others, with their marks; empty where there is none.
    pub blocks: BTreeMap<String, String>,
    /// Commands: whether they are there.
    pub commands: BTreeMap<String, bool>,
    /// What was said of pieces that users declare; nothing of one that is not there.
    pub pieces: BTreeMap<Piece, String>,
    /// Paths by the shell pattern that they match.
    pub matching: BTreeMap<String, BTreeSet<String>>,
    /// Swap, now and after the next start.
    pub swap: Option<SwapState>,
    /// The host's firewall.
    pub firewall: Option<Firewall>,
    /// Routes to the pods of other hosts.
    pub pod_network: Option<PodNetwork>,
    /// IPv6.
    pub ipv6: Option<Ipv6State>,
    /// Who has addresses that are to move.
    pub neighbours: BTreeMap<Ipv4Addr, Neighbour>,
    /// Objects of addons that were asked for; `None` for one that does not exist.
    pub addon_objects: BTreeMap<ObjectName, Option<LiveObject>>,
    /// When kubelets were started that this run has looked at, by host, in nanoseconds since 1970 by the host's clock. No probe sees that; who
    /// runs a plan adds it to what one sees.
    pub kubelets_started: BTreeMap<String, i128>,
    /// Whether a file has what this run has sent as a secret, by its path: of those that an order has written. The host compares, so that no
    /// digest of a secret comes back; who runs a plan adds it to what a probe sees.
    pub written: BTreeMap<String, bool>,
    /// The host's monotonic clock when it was probed, in microseconds since boot.
    pub monotonic_microseconds: u64,
    /// The host's wall clock when it was probed, in nanoseconds since 1970.
    pub clock_nanoseconds: i128,
}

/// A kernel module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModuleState {
    /// It is loaded, or built in.
    Loaded,
    /// modprobe would find it, or there is no modprobe that could be asked.
    Loadable,
    /// The kernel has none of this name.
    Missing,
}

impl ModuleState {
    /// The state of a module by a probe's answer: names of those that are loaded, and `can` before those that could be.
    pub(super) fn read(answer: &str, name: &str) -> Self {
        let mut lines = answer.lines();
        match lines.clone().any(|line| line == name) {
            true => Self::Loaded,
            false if lines.any(|line| line.strip_prefix("can ") == Some(name)) => Self::Loadable,
            false => Self::Missing,
        }
    }
}

/// A path on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathState {
    /// Nothing there.
    Missing,
    /// Something there.
    Present(Metadata),
}

impl PathState {
    /// The metadata, if something is there.
    #[must_use]
    pub fn present(&self) -> Option<&Metadata> {
        match self {
            Self::Missing => None,
            Self::Present(metadata) => Some(metadata),
        }
    }
}

/// What kind of thing a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A socket, device or named pipe.
    Other,
}

/// Kind, permissions and content of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// What it is; links are not followed.
    pub kind: Kind,
    /// The permission bits, `07777` at the most.
    pub mode: u32,
    /// Owner.
    pub user: u32,
    /// Group.
    pub group: u32,
    /// Length in bytes.
    pub size: u64,
    /// When the inode changed last, in nanoseconds since 1970.
    pub changed_nanoseconds: i128,
    /// Lower-case hexadecimal, where it was asked for and the file could be read.
    pub sha256: Option<String>,
}

/// A systemd unit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnitState {
    /// `loaded`, `not-found`, `masked` …
    pub load: String,
    /// `active`, `inactive`, `failed`, `activating` …
    pub active: String,
    /// `enabled`, `disabled`, `static` … empty for a unit without a file.
    pub file: String,
    /// Whether the unit's files changed since systemd read them.
    pub needs_reload: bool,
    /// When its main process started, in microseconds since boot; 0 for never.
    pub started_microseconds: u64,
    /// How often systemd has started it again by itself since somebody started it (`NRestarts`).
    pub restarts: u64,
}

impl UnitState {
    /// What systemd says of a unit that it has no file of.
    pub(super) fn not_found() -> Self {
        Self { load: "not-found".to_owned(), active: "inactive".to_owned(), ..Self::default() }
    }
}

/// The images of containerd's `k8s.io` namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageStore {
    /// containerd isn't there or doesn't answer.
    Unavailable,
    /// Images by reference.
    Images(BTreeMap<String, ImageState>),
}

/// One image of containerd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageState {
    /// Digest of its manifest or index.
    pub digest: String,
    /// Whether the kubelet's garbage collection leaves it alone.
    pub pinned: bool,
}

impl Observations {
    pub(crate) const fn nothing() -> Self {
        Self {
            paths: BTreeMap::new(),
            contents: BTreeMap::new(),
            kubeconfigs: BTreeMap::new(),
            certificates: BTreeMap::new(),
            kubeconfig_authorities: BTreeMap::new(),
            kubeconfig_servers: BTreeMap::new(),
            programs: None,
            versions: None,
            units: BTreeMap::new(),
            sysctls: BTreeMap::new(),
            modules: BTreeMap::new(),
            images: None,
            api_server: None,
            etcd: None,
            etcd_data: None,
            etcd_endpoints: BTreeMap::new(),
            etcd_peers: BTreeMap::new(),
            node_annotations: None,
            deprecated_apis: None,
            webhooks: None,
            encryption_keys: None,
            encryption_read: None,
            encrypted_values: None,
            token_secrets: None,
            cluster_trust: None,
            older_pods: None,
            workload: None,
            load_balancers: None,
            api_endpoints: BTreeMap::new(),
            kubernetes: None,
            network_check: None,
            warnings: None,
            last_words: None,
            time: None,
            blocks: BTreeMap::new(),
            commands: BTreeMap::new(),
            pieces: BTreeMap::new(),
            matching: BTreeMap::new(),
            swap: None,
            firewall: None,
            pod_network: None,
            ipv6: None,
            neighbours: BTreeMap::new(),
            addon_objects: BTreeMap::new(),
            kubelets_started: BTreeMap::new(),
            written: BTreeMap::new(),
            monotonic_microseconds: 0,
            clock_nanoseconds: 0,
        }
    }

    /// Takes over what a later probe saw; what it did not look at stays as it was.
    pub fn merge(&mut self, later: Self) {
        self.contents.retain(|path, _| later.paths.get(path) != Some(&PathState::Missing));
        self.kubeconfigs.retain(|path, _| later.paths.get(path) != Some(&PathState::Missing));
        self.kubeconfig_servers.retain(|path, _| later.paths.get(path) != Some(&PathState::Missing));
        self.paths.extend(later.paths);
        self.contents.extend(later.contents);
        self.kubeconfigs.extend(later.kubeconfigs);
        self.certificates.extend(later.certificates);
        self.kubeconfig_authorities.extend(later.kubeconfig_authorities);
        self.kubeconfig_servers.extend(later.kubeconfig_servers);
        self.programs = later.programs.or(self.programs.take());
        self.versions = later.versions.or(self.versions.take());
        self.units.extend(later.units);
        self.sysctls.extend(later.sysctls);
        self.modules.extend(later.modules);
        self.images = later.images.or(self.images.take());
        self.api_server = later.api_server.or(self.api_server.take());
        self.etcd = later.etcd.or(self.etcd.take());
        self.etcd_data = later.etcd_data.or(self.etcd_data.take());
        self.etcd_endpoints.extend(later.etcd_endpoints);
        self.etcd_peers.extend(later.etcd_peers);
        self.api_endpoints.extend(later.api_endpoints);
        self.node_annotations = later.node_annotations.or(self.node_annotations.take());
        self.deprecated_apis = later.deprecated_apis.or(self.deprecated_apis.take());
        self.webhooks = later.webhooks.or(self.webhooks.take());
        self.encryption_keys = later.encryption_keys.or(self.encryption_keys.take());
        self.encryption_read = later.encryption_read.or(self.encryption_read.take());
        self.encrypted_values = later.encrypted_values.or(self.encrypted_values.take());
        self.token_secrets = later.token_secrets.or(self.token_secrets.take());
        self.cluster_trust = later.cluster_trust.or(self.cluster_trust.take());
        self.older_pods = later.older_pods.or(self.older_pods.take());
        self.workload = merged(self.workload.take(), later.workload);
        self.load_balancers = later.load_balancers.or(self.load_balancers.take());
        self.kubernetes = later.kubernetes.or(self.kubernetes.take());
        self.network_check = later.network_check.or(self.network_check.take());
        self.warnings = later.warnings.or(self.warnings.take());
        self.last_words = later.last_words.or(self.last_words.take());
        self.time = later.time.or(self.time.take());
        self.blocks.extend(later.blocks);
        self.commands.extend(later.commands);
        self.pieces.extend(later.pieces);
        self.matching.extend(later.matching);
        self.swap = later.swap.or(self.swap.take());
        self.firewall = later.firewall.or(self.firewall.take());
        self.pod_network = later.pod_network.or(self.pod_network.take());
        self.ipv6 = later.ipv6.or(self.ipv6.take());
        self.neighbours.extend(later.neighbours);
        self.addon_objects.extend(later.addon_objects);
        self.kubelets_started.extend(later.kubelets_started);
        self.written.extend(later.written);
        self.monotonic_microseconds = later.monotonic_microseconds;
        self.clock_nanoseconds = later.clock_nanoseconds;
    }

    /// Whether the main process of `unit` started before the file at `path` was changed, so that it runs with what stood there before.
    /// False where either is unknown or missing, and where the file seems to be of the future: then the wall clock was set back since, and
    /// nobody can tell which was first.
    #[must_use]
    pub fn started_before(&self, unit: &str, path: &str) -> bool {
        self.started_nanoseconds(unit).is_some_and(|started| self.is_older(started, path))
    }

    /// The same of a program that was started at `started`, in nanoseconds since 1970 by the clock that the host has now.
    #[must_use]
    pub fn is_older(&self, started: i128, path: &str) -> bool {
        // Both clocks are read in one probe, but with the kernel's coarse resolution (up to 10 ms each).
        const SLACK_NANOSECONDS: i128 = 20_000_000;
        let Some(PathState::Present(file)) = self.paths.get(path) else { return false };
        let changed = file.changed_nanoseconds;
        changed <= self.clock_nanoseconds + SLACK_NANOSECONDS && started + SLACK_NANOSECONDS < changed
    }

    /// When the main process of `unit` started, in nanoseconds since 1970 by the clock that the host has now. Nothing if it never did, or if
    /// nobody looked.
    #[must_use]
    pub fn started_nanoseconds(&self, unit: &str) -> Option<i128> {
        let started = self.units.get(unit).map(|unit| unit.started_microseconds).filter(|started| *started > 0)?;
        let age = i128::from(self.monotonic_microseconds.saturating_sub(started)) * 1_000;
        Some(self.clock_nanoseconds - age)
    }
}
