//! What a probe is asked to look at.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use ipnet::IpNet;
use kok_crds::model::ObjectName;

use super::pieces::Piece;
use super::versions::CONTROLLERS;
use crate::facts::Program;

/// One thing to look at on a host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Look {
    /// Kind, mode and owner of a path, and the target of a symbolic link.
    Path(String),
    /// As [`Look::Path`], with the sha256 of the file. If that differs from `expected` and the file is small, its content comes along, so that
    /// a plan can show the difference. Never ask for the content of a secret: use `expected: None`.
    File {
        /// Absolute path.
        path: String,
        /// The sha256 that makes the content uninteresting.
        expected: Option<String>,
    },
    /// Two files of which the second is a copy of the first as it was written: where they differ and are small, the contents of both, so that
    /// a plan can show the difference. Never ask for a secret. Needs a [`Look::File`] for each.
    Edited {
        /// Absolute path.
        path: String,
        /// Absolute path of the copy.
        copy: String,
    },
    /// As [`Look::File`] for a large file: it is hashed again only when its size, times or inode moved since it was hashed last.
    LargeFile(String),
    /// The whole content of a small file that is no secret, such as a certificate.
    Content(String),
    /// The client's certificate inside a kubeconfig. It is public; the key beside it never leaves the host.
    KubeconfigCertificate(String),
    /// The certificates of authorities inside a kubeconfig, by which it knows the API server.
    KubeconfigAuthorities(String),
    /// The first certificate of a file in which its key may stand, too. The key never leaves the host.
    Certificate(String),
    /// When API server, controller manager and scheduler of this control plane were started that run.
    Programs,
    /// Which versions run of kubelet, containerd, etcd and the programs of the control plane, and which would run after their next start.
    Versions,
    /// Load, active and enabled state of a systemd unit and when it started.
    Unit(String),
    /// A kernel parameter, by its dotted name.
    Sysctl(String),
    /// Whether a kernel module is loaded or built in.
    KernelModule(String),
    /// The images that containerd holds for Kubernetes.
    Images,
    /// Whether this host's API server is ready.
    ApiServer,
    /// Nodes and objects of the cluster, asked from this host's API server.
    Kubernetes,
    /// What the cluster's nodes are annotated with, asked from this host's API server.
    NodeAnnotations,
    /// Which versions of the API this host's API server was asked for that later ones don't have.
    DeprecatedApis,
    /// Webhooks of admission that fail closed, and whether anybody answers for them, asked from this host's API server.
    Webhooks,
    /// Whether the load balancers of hosts without an API server have found one, asked from this host's API server.
    LoadBalancers,
    /// Whether an API server of the cluster answers at this URL, asked from this host once its own is ready.
    ApiEndpoint(String),
    /// What this host's etcd says of itself and the other members.
    Etcd,
    /// What there is of the data of this host's member, whether or not it runs.
    EtcdData,
    /// Whether the member of etcd at a URL answers this control plane, as long as that has no API server.
    EtcdEndpoint(String),
    /// Whether the member of etcd at a URL answers this host, which has one itself: what somebody else says of a member that is silent.
    EtcdPeerHealth(String),
    /// The pods of this node, and the budgets that protect them, asked from this host's API server.
    Workload(String),
    /// What the pods of the network check on these nodes say of the others, asked through this host's API server.
    NetworkCheck(Vec<String>),
    /// The cluster's last warnings, for those who wait for it too long.
    Warnings,
    /// What etcd and the API server of this host complained of last, for those who wait for them too long.
    LastWords,
    /// The names of the keys that this control plane's API server is to encrypt with.
    EncryptionKeys,
    /// Which keys to encrypt with this host's API server has read.
    EncryptionRead,
    /// With which keys the values in etcd are encrypted. All of it is read.
    EncryptedValues,
    /// Which keys have signed the tokens of service accounts that stand in Secrets, asked from this host's API server.
    TokenSecrets,
    /// Which authorities the cluster tells others to trust, asked from this host's API server.
    ClusterTrust,
    /// Pods that were started before this file of the host was changed, asked from its API server.
    OlderPods(String),
    /// What chronyd says of its synchronisation.
    TimeTracking,
    /// Lines of a file from [`super::BLOCK_BEGIN`] to [`super::BLOCK_END`], both included.
    Block(String),
    /// Whether a command is there.
    Command(String),
    /// Whether the package of a command could be installed, if that is missing: a fact, known where facts are asked for.
    Installable(Program),
    /// The paths that match a shell pattern.
    Matching(String),
    /// What of swap is on, and what would switch it on.
    Swap,
    /// What the host's firewall lets in.
    Firewall,
    /// Routes into a range of pods, and whether packets of pods get the host's address on their way out of it.
    PodNetwork(Vec<IpNet>),
    /// IPv6: whether it is there, its routes, and what interfaces make of advertisements.
    Ipv6,
    /// Whether somebody in the host's network has an address that is to move.
    Neighbour(Ipv4Addr),
    /// A piece that a user declares.
    Piece(Piece),
    /// An object of an addon, asked from this host's API server.
    AddonObject(ObjectName),
}

/// Everything one probe looks at, grouped by kind so that each kind costs one command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Looks {
    pub(super) paths: BTreeSet<String>,
    pub(super) files: BTreeMap<String, Option<String>>,
    pub(super) edited: BTreeSet<(String, String)>,
    pub(super) large: BTreeSet<String>,
    pub(super) contents: BTreeSet<String>,
    pub(super) kubeconfigs: BTreeSet<String>,
    pub(super) kubeconfig_authorities: BTreeSet<String>,
    pub(super) certificates: BTreeSet<String>,
    pub(super) programs: bool,
    pub(super) versions: bool,
    pub(super) units: BTreeSet<String>,
    pub(super) sysctls: BTreeSet<String>,
    pub(super) modules: BTreeSet<String>,
    pub(super) images: bool,
    pub(super) api_server: bool,
    pub(super) kubernetes: bool,
    pub(super) node_annotations: bool,
    pub(super) deprecated: bool,
    pub(super) webhooks: bool,
    pub(super) load_balancers: bool,
    pub(super) api_endpoints: BTreeSet<String>,
    pub(super) etcd: bool,
    pub(super) etcd_data: bool,
    pub(super) etcd_endpoints: BTreeSet<String>,
    pub(super) etcd_peers: BTreeSet<String>,
    pub(super) workload: BTreeSet<String>,
    pub(super) network_check: Option<Vec<String>>,
    pub(super) warnings: bool,
    pub(super) last_words: bool,
    pub(super) encryption_keys: bool,
    pub(super) encryption_read: bool,
    pub(super) encrypted_values: bool,
    pub(super) token_secrets: bool,
    pub(super) cluster_trust: bool,
    pub(super) older_pods: BTreeSet<String>,
    pub(super) time: bool,
    pub(super) blocks: BTreeSet<String>,
    pub(super) commands: BTreeSet<String>,
    pub(super) installable: BTreeSet<Program>,
    pub(super) patterns: BTreeSet<String>,
    pub(super) swap: bool,
    pub(super) firewall: bool,
    pub(super) pod_network: Option<Vec<IpNet>>,
    pub(super) ipv6: bool,
    pub(super) neighbours: BTreeSet<Ipv4Addr>,
    pub(super) addon_objects: BTreeSet<ObjectName>,
    pub(super) pieces: BTreeSet<Piece>,
}

impl Looks {
    /// Adds one thing to look at; the same thing twice costs nothing.
    pub fn add(&mut self, look: Look) {
        match look {
            Look::Path(path) => drop(self.paths.insert(path)),
            Look::File { path, expected } => {
                self.paths.insert(path.clone());
                self.files.insert(path, expected);
            }
            Look::Edited { path, copy } => drop(self.edited.insert((path, copy))),
            Look::LargeFile(path) => {
                self.paths.insert(path.clone());
                self.large.insert(path);
            }
            Look::Content(path) => drop(self.contents.insert(path)),
            Look::KubeconfigCertificate(path) => drop(self.kubeconfigs.insert(path)),
            Look::KubeconfigAuthorities(path) => drop(self.kubeconfig_authorities.insert(path)),
            Look::Certificate(path) => drop(self.certificates.insert(path)),
            Look::Programs => self.programs = true,
            Look::Versions => self.versions = true,
            Look::Unit(name) => drop(self.units.insert(name)),
            Look::Sysctl(name) => drop(self.sysctls.insert(name)),
            Look::KernelModule(name) => drop(self.modules.insert(name)),
            Look::Images => self.images = true,
            Look::ApiServer => self.api_server = true,
            Look::Kubernetes => self.kubernetes = true,
            Look::NodeAnnotations => self.node_annotations = true,
            Look::DeprecatedApis => self.deprecated = true,
            Look::Webhooks => self.webhooks = true,
            Look::LoadBalancers => self.load_balancers = true,
            Look::ApiEndpoint(url) => drop(self.api_endpoints.insert(url)),
            Look::Etcd => self.etcd = true,
            Look::EtcdData => self.etcd_data = true,
            Look::EtcdEndpoint(url) => drop(self.etcd_endpoints.insert(url)),
            Look::EtcdPeerHealth(url) => drop(self.etcd_peers.insert(url)),
            Look::Workload(node) => drop(self.workload.insert(node)),
            Look::NetworkCheck(askers) => self.network_check = Some(askers),
            Look::Warnings => self.warnings = true,
            Look::LastWords => self.last_words = true,
            Look::EncryptionKeys => self.encryption_keys = true,
            Look::EncryptionRead => self.encryption_read = true,
            Look::EncryptedValues => self.encrypted_values = true,
            Look::TokenSecrets => self.token_secrets = true,
            Look::ClusterTrust => self.cluster_trust = true,
            Look::OlderPods(path) => drop(self.older_pods.insert(path)),
            Look::TimeTracking => self.time = true,
            Look::Block(path) => drop(self.blocks.insert(path)),
            Look::Command(name) => drop(self.commands.insert(name)),
            Look::Installable(program) => drop(self.installable.insert(program)),
            Look::Matching(pattern) => drop(self.patterns.insert(pattern)),
            Look::Swap => self.swap = true,
            Look::Firewall => self.firewall = true,
            Look::PodNetwork(ranges) => self.pod_network = Some(ranges),
            Look::Ipv6 => self.ipv6 = true,
            Look::Neighbour(address) => drop(self.neighbours.insert(address)),
            Look::AddonObject(name) => drop(self.addon_objects.insert(name)),
            Look::Piece(piece) => drop(self.pieces.insert(piece)),
        }
    }

    /// Takes over what is not looked at yet.
    pub fn add_others(&mut self, other: &Self) {
        for look in other.iter() {
            match look {
                Look::File { path, .. } if self.files.contains_key(&path) => {}
                look => self.add(look),
            }
        }
    }

    /// The same without what one API server is asked of the whole cluster. Whether this host's own is ready is of this host.
    #[must_use]
    pub fn without_cluster(self) -> Self {
        Self {
            kubernetes: false,
            node_annotations: false,
            load_balancers: false,
            deprecated: false,
            webhooks: false,
            cluster_trust: false,
            older_pods: BTreeSet::new(),
            workload: BTreeSet::new(),
            network_check: None,
            warnings: false,
            api_endpoints: BTreeSet::new(),
            addon_objects: BTreeSet::new(),
            ..self
        }
    }

    /// Every single look, paths first: for whatever answers a probe in another way than by its script.
    pub fn iter(&self) -> impl Iterator<Item = Look> {
        let asked = |asked: bool, look: Look| asked.then_some(look).into_iter();
        let paths = self.paths.iter().cloned().map(Look::Path);
        let files = self.files.iter().map(|(path, expected)| Look::File { path: path.clone(), expected: expected.clone() });
        let edited = self.edited.iter().cloned().map(|(path, copy)| Look::Edited { path, copy });
        let large = self.large.iter().cloned().map(Look::LargeFile);
        let contents = self.contents.iter().cloned().map(Look::Content);
        let contents = contents.chain(self.kubeconfigs.iter().cloned().map(Look::KubeconfigCertificate));
        let contents = contents.chain(self.kubeconfig_authorities.iter().cloned().map(Look::KubeconfigAuthorities));
        let contents = contents.chain(self.certificates.iter().cloned().map(Look::Certificate));
        let units = self.units.iter().cloned().map(Look::Unit);
        let kernel = self.sysctls.iter().cloned().map(Look::Sysctl).chain(self.modules.iter().cloned().map(Look::KernelModule));
        let cluster = asked(self.api_server, Look::ApiServer).chain(asked(self.kubernetes, Look::Kubernetes));
        let cluster = cluster.chain(asked(self.node_annotations, Look::NodeAnnotations));
        let cluster = cluster.chain(asked(self.deprecated, Look::DeprecatedApis)).chain(asked(self.webhooks, Look::Webhooks));
        let cluster = cluster.chain(asked(self.load_balancers, Look::LoadBalancers)).chain(asked(self.etcd, Look::Etcd));
        let cluster = cluster.chain(asked(self.etcd_data, Look::EtcdData)).chain(asked(self.encryption_keys, Look::EncryptionKeys));
        let cluster = cluster.chain(asked(self.encryption_read, Look::EncryptionRead));
        let cluster =
            cluster.chain(asked(self.encrypted_values, Look::EncryptedValues)).chain(asked(self.token_secrets, Look::TokenSecrets));
        let cluster = cluster.chain(asked(self.cluster_trust, Look::ClusterTrust));
        let cluster = cluster.chain(self.older_pods.iter().cloned().map(Look::OlderPods));
        let cluster = cluster.chain(self.api_endpoints.iter().cloned().map(Look::ApiEndpoint));
        let cluster = cluster.chain(self.workload.iter().cloned().map(Look::Workload));
        let cluster = cluster.chain(self.network_check.clone().map(Look::NetworkCheck));
        let cluster = cluster.chain(self.addon_objects.iter().cloned().map(Look::AddonObject));
        let cluster = cluster.chain(self.etcd_endpoints.iter().cloned().map(Look::EtcdEndpoint));
        let cluster = cluster.chain(self.etcd_peers.iter().cloned().map(Look::EtcdPeerHealth));
        let services = asked(self.images, Look::Images).chain(asked(self.time, Look::TimeTracking));
        let services = services.chain(asked(self.programs, Look::Programs)).chain(asked(self.versions, Look::Versions));
        let host = asked(self.swap, Look::Swap).chain(asked(self.firewall, Look::Firewall));
        let host = host.chain(self.pod_network.clone().map(Look::PodNetwork)).chain(asked(self.ipv6, Look::Ipv6));
        let host = host.chain(self.neighbours.iter().copied().map(Look::Neighbour));
        let host = host.chain(self.blocks.iter().cloned().map(Look::Block));
        let host = host.chain(self.pieces.iter().cloned().map(Look::Piece));
        let host = host.chain(self.installable.iter().copied().map(Look::Installable));
        let host = host.chain(self.commands.iter().cloned().map(Look::Command)).chain(self.patterns.iter().cloned().map(Look::Matching));
        paths.chain(files).chain(edited).chain(large).chain(contents).chain(units).chain(kernel).chain(services).chain(host).chain(cluster)
    }

    /// Whether the API server is asked.
    #[must_use]
    pub fn asks_kubernetes(&self) -> bool {
        self.kubernetes
    }

    /// Whether it is asked whether programs of the control plane or the kubelet work, of which logs say why they don't ([`Look::LastWords`]).
    #[must_use]
    pub fn have_last_words(&self) -> bool {
        self.api_server || self.etcd || self.programs || self.units.contains("kubelet.service")
    }

    /// Whether these are the words of what is asked for: of a kubelet that does not run nothing else comes up, and what etcd and the API
    /// server complained of at some time says nothing of a kubelet. Controllers complain as long as the API server beside them does not answer.
    #[must_use]
    pub fn have_last_words_of(&self, program: &str) -> bool {
        match program {
            _ if CONTROLLERS.contains(&program) => self.programs && !self.api_server,
            "kubelet" if self.units.contains("kubelet.service") => true,
            _ => self.api_server || self.etcd,
        }
    }

    /// Whether anything is asked that begins with the question whether the API server is ready.
    pub(super) fn asks_api_server(&self) -> bool {
        let kinds =
            [self.api_server, self.kubernetes, self.node_annotations, self.load_balancers, self.network_check.is_some(), self.warnings];
        kinds.contains(&true)
            || self.deprecated
            || self.webhooks
            || self.encryption_read
            || self.encrypted_values
            || self.token_secrets
            || self.cluster_trust
            || !self.older_pods.is_empty()
            || !self.workload.is_empty()
            || !self.addon_objects.is_empty()
            || !self.api_endpoints.is_empty()
    }

    /// Whether there is nothing to look at.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Extend<Look> for Looks {
    fn extend<I: IntoIterator<Item = Look>>(&mut self, looks: I) {
        for look in looks {
            self.add(look);
        }
    }
}

impl FromIterator<Look> for Looks {
    fn from_iter<I: IntoIterator<Item = Look>>(looks: I) -> Self {
        let mut all = Self::default();
        all.extend(looks);
        all
    }
}
