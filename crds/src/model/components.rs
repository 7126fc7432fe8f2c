//! What the components of Kubernetes are told, as far as a user decides it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value as Json;

use super::{Host, KmsPlugin};
use crate::syntax::duration::duration;

/// Values by name: options of a program, or fields of a configuration with dots between those of maps.
pub type Values = BTreeMap<String, Json>;

/// What components are told besides what kubeadm and kokctl tell them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Components {
    /// The API server.
    pub api_server: Component,
    /// The controller manager.
    pub controller_manager: Component,
    /// The scheduler.
    pub scheduler: Component,
    /// Fields of the scheduler's configuration; none if it has no file of its own.
    pub scheduler_configuration: Values,
    /// Options of etcd.
    pub etcd: Values,
    /// The kubelets of all nodes.
    pub kubelet: KubeletSettings,
    /// What kubelets of nodes that are no control planes are told besides, or otherwise.
    pub kubelet_of_workers: KubeletSettings,
    /// What those of control planes are told besides, or otherwise.
    pub kubelet_of_control_planes: KubeletSettings,
    /// What those of single hosts are told besides, or otherwise, by the hosts' names.
    pub kubelet_of_hosts: BTreeMap<String, KubeletSettings>,
    /// Where the kubelet sends traces.
    pub kubelet_tracing: SwitchedSettings,
    /// Fields of kube-proxy's configuration; those below `MODE.` belong to the part of its mode.
    pub kube_proxy: Values,
    /// Feature gates.
    pub feature_gates: FeatureGates,
    /// Patches of what kubeadm writes, in the order of the file.
    pub patches: Vec<Patch>,
}

impl Components {
    /// All that is said of kubelets.
    pub fn kubelets(&self) -> impl Iterator<Item = &KubeletSettings> {
        [&self.kubelet, &self.kubelet_of_workers, &self.kubelet_of_control_planes].into_iter().chain(self.kubelet_of_hosts.values())
    }

    /// What the kubelet of a host is told: what is said of all, of those with its roles, and of its own, the latter over the former.
    #[must_use]
    pub fn kubelet_of(&self, host: &Host) -> KubeletSettings {
        let of_role = if host.roles.control_plane { &self.kubelet_of_control_planes } else { &self.kubelet_of_workers };
        let of_host = self.kubelet_of_hosts.get(&host.name);
        of_host.into_iter().fold(self.kubelet.clone().with(of_role), KubeletSettings::with)
    }
}

/// What a kubelet is told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KubeletSettings {
    /// Fields of its configuration.
    pub fields: Values,
    /// Its options.
    pub options: Values,
    /// When it evicts pods: amounts or percentages that must be left, by eviction signal. Without a word, and empty, it has its own thresholds;
    /// otherwise a signal that is not named has none.
    pub eviction_hard: Option<BTreeMap<String, String>>,
    /// What is kept for the kubelet and containerd.
    pub kube_reserved: Reserved,
    /// What is kept for the other programs of a host.
    pub system_reserved: Reserved,
}

impl KubeletSettings {
    /// The thresholds at which it evicts pods, if they are not its own.
    #[must_use]
    pub fn evictions(&self) -> Option<&BTreeMap<String, String>> {
        self.eviction_hard.as_ref().filter(|thresholds| !thresholds.is_empty())
    }

    /// How often it tells how its node is (`nodeStatusUpdateFrequency`; the kubelet's own default is 10 s).
    #[must_use]
    pub fn status_update_frequency(&self) -> Duration {
        let frequency = self.fields.get("nodeStatusUpdateFrequency").and_then(Json::as_str).and_then(duration);
        frequency.filter(|time| !time.is_zero()).unwrap_or(Duration::from_secs(10))
    }

    /// These settings, and over them those of `other`, of which each field, option and amount counts with its whole value. What it says of
    /// evictions counts as a whole.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        let over = |values: &mut Values, with: &Values| {
            // A whole map replaces what is said of its parts.
            let is_part = |known: &str| with.keys().any(|name| known.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('.')));
            values.retain(|known, _| !is_part(known));
            values.extend(with.iter().map(|(name, value)| (name.clone(), value.clone())));
        };
        over(&mut self.fields, &other.fields);
        over(&mut self.options, &other.options);
        if other.eviction_hard.is_some() {
            self.eviction_hard.clone_from(&other.eviction_hard);
        }
        for (settings, with) in [(&mut self.kube_reserved, &other.kube_reserved), (&mut self.system_reserved, &other.system_reserved)] {
            settings.enabled = with.enabled.or(settings.enabled);
            settings.amounts.extend(with.amounts.iter().map(|(name, amount)| (name.clone(), amount.clone())));
        }
        self
    }
}

/// A component that runs as a static pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Component {
    /// Its options, without `--`.
    pub options: Values,
    /// Folders and files of the host that it sees.
    pub volumes: Vec<Volume>,
}

/// A folder or a file of the host that a static pod sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// Its name in the pod, a DNS label.
    pub name: String,
    /// Where it is on the host.
    pub host_path: String,
    /// Where the pod sees it.
    pub mount_path: String,
    /// Whether the pod may only read it.
    pub read_only: bool,
    /// What it has to be, in the words of Kubernetes (`DirectoryOrCreate`).
    pub path_type: Option<String>,
}

/// Amounts that pods can't have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reserved {
    /// Whether something is kept also where no amount is said; without a word it is not.
    pub enabled: Option<bool>,
    /// Amounts by resource.
    pub amounts: BTreeMap<String, String>,
}

/// Feature gates. A component that has some of its own has none of all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeatureGates {
    /// Those of all components.
    pub all: BTreeMap<String, bool>,
    /// Those of the API server.
    pub api_server: BTreeMap<String, bool>,
    /// Those of the controller manager.
    pub controller_manager: BTreeMap<String, bool>,
    /// Those of the scheduler.
    pub scheduler: BTreeMap<String, bool>,
    /// Those of the kubelet.
    pub kubelet: BTreeMap<String, bool>,
    /// Those of kube-proxy.
    pub kube_proxy: BTreeMap<String, bool>,
    /// Those of kubeadm itself.
    pub kubeadm: BTreeMap<String, bool>,
}

impl FeatureGates {
    /// The gates of a component: its own, or those of all.
    #[must_use]
    pub fn own_or_all<'a>(&'a self, own: &'a BTreeMap<String, bool>) -> &'a BTreeMap<String, bool> {
        if own.is_empty() { &self.all } else { own }
    }
}

/// A patch of what kubeadm writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// What it is applied to, in kubeadm's words.
    pub target: &'static str,
    /// How, in kubeadm's words: `strategic`, `merge` or `json`.
    pub kind: &'static str,
    /// The patch.
    pub patch: Json,
}

/// Settings that count only where they are switched on together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SwitchedSettings {
    /// Whether they count.
    pub enabled: bool,
    /// The settings by name.
    pub values: Values,
}

impl SwitchedSettings {
    /// A setting that is text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).and_then(Json::as_str)
    }
}

/// Who gets in, what he may do, what is written down of it, and what is encrypted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Security {
    /// Logins by OpenID Connect: options of the API server, and `authority`, a certificate.
    pub oidc: SwitchedSettings,
    /// Logins that another server decides: `url`, `skip-verify`, `authority`.
    pub token_webhook: SwitchedSettings,
    /// Another server that decides what somebody may do: `url`, `skip-verify`.
    pub authorization_webhook: SwitchedSettings,
    /// The API server's AuthenticationConfiguration: `apiVersion`, `jwt`, `anonymous`.
    pub authentication: SwitchedSettings,
    /// Its AuthorizationConfiguration: `apiVersion`, `authorizers`.
    pub authorization: SwitchedSettings,
    /// The log of who asked for what: options of the API server, `hostpath`, and `rules`, a policy's.
    pub audit: SwitchedSettings,
    /// The server that gets it as well: options of the API server, `url` and `cluster`, more about that server.
    pub audit_webhook: SwitchedSettings,
    /// Configuration of admission plugins by their names.
    pub admission: SwitchedSettings,
    /// A standard for the pods of all namespaces: `enforce`, `audit`, `warn`, their versions, and who is exempt.
    pub pod_security: SwitchedSettings,
    /// Encryption of what etcd keeps.
    pub encryption: Encryption,
    /// Where the API server sends traces: `endpoint`, `samplingRatePerMillion`.
    pub tracing: SwitchedSettings,
    /// Whether `cluster-info`, the cluster's address and authority, is closed to strangers, to whom kubeadm shows it.
    pub private_cluster_info: bool,
}

/// Encryption of what etcd keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encryption {
    /// Whether anything is encrypted.
    pub enabled: bool,
    /// How, by a key of the cluster's own. It says nothing where a plugin encrypts.
    pub algorithm: EncryptionAlgorithm,
    /// The plugin that encrypts instead of such a key.
    pub kms: Option<KmsPlugin>,
    /// A plugin that API servers can reach and do not use yet: they are on the way to it.
    pub reaches: Option<KmsPlugin>,
    /// What, by the plural names of resources.
    pub resources: Vec<String>,
}

impl Encryption {
    /// The plugin whose socket API servers are shown.
    #[must_use]
    pub fn plugin(&self) -> Option<&KmsPlugin> {
        self.kms.as_ref().or(self.reaches.as_ref()).filter(|_| self.enabled)
    }

    /// In a word, what encrypts.
    #[must_use]
    pub fn word(&self) -> String {
        self.kms.as_ref().map_or_else(|| self.algorithm.as_str().to_owned(), |plugin| format!("the KMS plugin {}", plugin.name))
    }
}

impl Default for Encryption {
    fn default() -> Self {
        let resources = vec!["secrets".to_owned()];
        Self { enabled: false, algorithm: EncryptionAlgorithm::Secretbox, kms: None, reaches: None, resources }
    }
}

/// A provider of the API server's EncryptionConfiguration that has a key of its own; each takes one of 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EncryptionAlgorithm {
    /// XSalsa20 and Poly1305; what Kubernetes advises for a key of one's own.
    Secretbox,
    /// AES-GCM with a random nonce.
    Aesgcm,
    /// AES-CBC with PKCS#7 padding.
    Aescbc,
}

impl EncryptionAlgorithm {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Secretbox, Self::Aesgcm, Self::Aescbc];

    /// Its name in an EncryptionConfiguration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Secretbox => "secretbox",
            Self::Aesgcm => "aesgcm",
            Self::Aescbc => "aescbc",
        }
    }
}
