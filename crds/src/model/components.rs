//! What the components of Kubernetes are told, as far as a user decides it.

use std::collections::BTreeMap;

use serde_json::Value as Json;

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
    /// Fields of the kubelet's configuration.
    pub kubelet: Values,
    /// Options of the kubelet.
    pub kubelet_options: Values,
    /// Where the kubelet sends traces.
    pub kubelet_tracing: Group,
    /// What is kept for the kubelet and containerd.
    pub kube_reserved: Reserved,
    /// What is kept for the other programs of a host.
    pub system_reserved: Reserved,
    /// Fields of kube-proxy's configuration; those below `MODE.` belong to the part of its mode.
    pub kube_proxy: Values,
    /// Feature gates.
    pub feature_gates: FeatureGates,
    /// Patches of what kubeadm writes, in the order of the file.
    pub patches: Vec<Patch>,
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
    /// Whether something is kept also where no amount is said.
    pub enabled: bool,
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
    pub fn of<'a>(&'a self, own: &'a BTreeMap<String, bool>) -> &'a BTreeMap<String, bool> {
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
pub struct Group {
    /// Whether they count.
    pub enabled: bool,
    /// The settings by name.
    pub values: Values,
}

impl Group {
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
    pub oidc: Group,
    /// Logins that another server decides: `url`, `skip-verify`, `authority`.
    pub token_webhook: Group,
    /// Another server that decides what somebody may do: `url`, `skip-verify`.
    pub authorization_webhook: Group,
    /// The API server's AuthenticationConfiguration: `apiVersion`, `jwt`, `anonymous`.
    pub authentication: Group,
    /// Its AuthorizationConfiguration: `apiVersion`, `authorizers`.
    pub authorization: Group,
    /// The log of who asked for what: options of the API server, `hostpath`, and `rules`, a policy's.
    pub audit: Group,
    /// The server that gets it as well: options of the API server, `url` and `cluster`, more about that server.
    pub audit_webhook: Group,
    /// Configuration of admission plugins by their names.
    pub admission: Group,
    /// A standard for the pods of all namespaces: `enforce`, `audit`, `warn`, their versions, and who is exempt.
    pub pod_security: Group,
    /// Encryption of what etcd keeps.
    pub encryption: Encryption,
    /// Where the API server sends traces: `endpoint`, `samplingRatePerMillion`.
    pub tracing: Group,
}

/// Encryption of what etcd keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encryption {
    /// Whether anything is encrypted.
    pub enabled: bool,
    /// How.
    pub algorithm: EncryptionAlgorithm,
    /// What, by the plural names of resources.
    pub resources: Vec<String>,
}

impl Default for Encryption {
    fn default() -> Self {
        Self { enabled: false, algorithm: EncryptionAlgorithm::Secretbox, resources: vec!["secrets".to_owned()] }
    }
}

/// A provider of the API server's EncryptionConfiguration that has a key of its own; each takes one of 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
