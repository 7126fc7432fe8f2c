//! Names of the secret things that a run makes or reads when it needs them.
//!
//! A plan holds these names and never what they stand for. The run turns a name into bytes at the moment a script is sent; neither a plan
//! nor an event nor the journal ever sees them.

use std::fmt;

use crate::encryption::Layout;

/// A secret, or a document that holds one, by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecretName {
    /// One file of a control plane below `/etc/kubernetes`: `pki/ca.key`, `admin.conf` …
    ControlPlaneFile {
        /// The control plane.
        host: String,
        /// Path below `/etc/kubernetes`.
        path: String,
    },
    /// Key or certificate by which who asks a kubelet knows that it is this one.
    KubeletFile {
        /// The kubelet's host.
        host: String,
        /// Path of the file.
        path: String,
    },
    /// A kubeconfig of the group `system:masters`, which may do everything whatever the cluster's rules say.
    SuperAdminKubeconfig {
        /// The control plane whose API server it talks to.
        host: String,
    },
    /// kubeadm's InitConfiguration with the run's bootstrap token.
    BootstrapTokenConfiguration {
        /// The control plane whose API server makes it.
        host: String,
    },
    /// kubeadm's JoinConfiguration of a host with the run's bootstrap token.
    JoinConfiguration {
        /// The host that joins.
        host: String,
    },
    /// The kubeconfig by which a joining host finds the cluster: its address and its certificate authority. No secret, but known only when
    /// the authority exists.
    DiscoveryKubeconfig,
    /// What stands in a file that a user declares for a host.
    HostFile {
        /// The host.
        host: String,
        /// Path of the file.
        path: String,
    },
    /// A variable of the environment of a user's script.
    HookVariable {
        /// The host on which it runs.
        host: String,
        /// The script.
        hook: String,
        /// The variable.
        name: String,
    },
    /// The private key that signs tokens of service accounts, where it is another one than the host has.
    TokenKey {
        /// The control plane that has it; without one this run has made it.
        keeper: Option<String>,
        /// The name of the key that it has to be ([`crate::token_keys::key_id`]).
        key: String,
    },
    /// The API servers' EncryptionConfiguration with its keys.
    EncryptionConfiguration {
        /// The control plane that has the keys; without one there are none yet, and the first is made.
        keeper: Option<String>,
        /// What is written and read with which of them; an empty one for all of the keeper's, or of the first, as the file asks for.
        layout: Layout,
        /// The key of these that is made, for nobody has it yet.
        new: Option<String>,
    },
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ControlPlaneFile { host, path } => write!(f, "{path} of {host}"),
            Self::HostFile { host, path } | Self::KubeletFile { host, path } => write!(f, "{path} of {host}"),
            Self::HookVariable { host, hook, name } => write!(f, "{name} of the hook {hook} of {host}"),
            Self::SuperAdminKubeconfig { host } => write!(f, "super-admin.conf of {host}"),
            Self::BootstrapTokenConfiguration { host } => write!(f, "InitConfiguration of {host} with the bootstrap token"),
            Self::JoinConfiguration { host } => write!(f, "JoinConfiguration of {host}"),
            Self::EncryptionConfiguration { keeper: None, layout, .. } if layout.is_empty() => {
                f.write_str("EncryptionConfiguration with a new key")
            }
            Self::EncryptionConfiguration { layout, keeper: Some(keeper), .. } if layout.is_empty() => {
                write!(f, "EncryptionConfiguration with the keys of {keeper}")
            }
            Self::EncryptionConfiguration { layout, .. } => write!(f, "EncryptionConfiguration with {layout}"),
            Self::TokenKey { keeper: None, .. } => f.write_str("new key of service accounts"),
            Self::TokenKey { keeper: Some(keeper), .. } => write!(f, "key of service accounts of {keeper}"),
            Self::DiscoveryKubeconfig => f.write_str("discovery kubeconfig"),
        }
    }
}
