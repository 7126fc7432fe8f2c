//! The files that kubeadm keeps below `/etc/kubernetes`.

use crate::{AuthorityKind, KubeconfigUser, Leaf, SecretText};

/// Mode of a certificate: public, but only root replaces it. kubeadm's choice.
const CERTIFICATE_MODE: u32 = 0o644;
/// Mode of everything that holds a private key, and of `sa.pub`, which kubeadm writes as it writes keys.
const KEY_MODE: u32 = 0o600;

/// A file that kubeadm knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Material {
    /// Certificate of an authority.
    AuthorityCertificate(AuthorityKind),
    /// Private key of an authority.
    AuthorityKey(AuthorityKind),
    /// Certificate of a leaf.
    LeafCertificate(Leaf),
    /// Private key of a leaf.
    LeafKey(Leaf),
    /// Private key that signs the tokens of service accounts.
    ServiceAccountKey,
    /// Public key that verifies the tokens of service accounts.
    ServiceAccountPublicKey,
    /// A kubeconfig with its credentials inside.
    Kubeconfig(KubeconfigUser),
}

impl Material {
    /// Every file, authorities first.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let authorities = AuthorityKind::ALL.into_iter().flat_map(|kind| [Self::AuthorityCertificate(kind), Self::AuthorityKey(kind)]);
        let leaves = Leaf::ALL.into_iter().flat_map(|leaf| [Self::LeafCertificate(leaf), Self::LeafKey(leaf)]);
        authorities
            .chain([Self::ServiceAccountKey, Self::ServiceAccountPublicKey])
            .chain(leaves)
            .chain(KubeconfigUser::ALL.into_iter().map(Self::Kubeconfig))
            .collect()
    }

    /// Path relative to `/etc/kubernetes`.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::AuthorityCertificate(kind) => authority_paths(kind).0,
            Self::AuthorityKey(kind) => authority_paths(kind).1,
            Self::LeafCertificate(leaf) => leaf_paths(leaf).0,
            Self::LeafKey(leaf) => leaf_paths(leaf).1,
            Self::ServiceAccountKey => "pki/sa.key",
            Self::ServiceAccountPublicKey => "pki/sa.pub",
            Self::Kubeconfig(user) => kubeconfig_path(user),
        }
    }

    /// Permission bits of the file; its owner is root.
    #[must_use]
    pub fn mode(self) -> u32 {
        match self {
            Self::AuthorityCertificate(_) | Self::LeafCertificate(_) => CERTIFICATE_MODE,
            _ => KEY_MODE,
        }
    }
}

/// One file with its content.
#[derive(Clone)]
pub struct MaterialFile {
    /// Which file it is.
    pub material: Material,
    /// What stands in it.
    pub content: Content,
}

impl MaterialFile {
    pub(crate) fn new(material: Material, content: Content) -> Self {
        Self { material, content }
    }

    /// Path relative to `/etc/kubernetes`.
    #[must_use]
    pub fn path(&self) -> &'static str {
        self.material.path()
    }

    /// Permission bits of the file.
    #[must_use]
    pub fn mode(&self) -> u32 {
        self.material.mode()
    }
}

/// What stands in a file. It has no `Debug`, since it may hold a key.
#[derive(Clone)]
pub enum Content {
    /// Anyone may read it.
    Public(String),
    /// It holds a private key.
    Secret(SecretText),
}

impl Content {
    /// The text, for the one place that writes it to where it belongs.
    #[must_use]
    pub fn expose(&self) -> &str {
        match self {
            Self::Public(text) => text,
            Self::Secret(secret) => secret.expose(),
        }
    }

    /// Whether it holds a private key.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        matches!(self, Self::Secret(_))
    }
}

fn authority_paths(kind: AuthorityKind) -> (&'static str, &'static str) {
    match kind {
        AuthorityKind::Kubernetes => ("pki/ca.crt", "pki/ca.key"),
        AuthorityKind::Etcd => ("pki/etcd/ca.crt", "pki/etcd/ca.key"),
        AuthorityKind::FrontProxy => ("pki/front-proxy-ca.crt", "pki/front-proxy-ca.key"),
    }
}

fn leaf_paths(leaf: Leaf) -> (&'static str, &'static str) {
    match leaf {
        Leaf::ApiServer => ("pki/apiserver.crt", "pki/apiserver.key"),
        Leaf::ApiServerKubeletClient => ("pki/apiserver-kubelet-client.crt", "pki/apiserver-kubelet-client.key"),
        Leaf::ApiServerEtcdClient => ("pki/apiserver-etcd-client.crt", "pki/apiserver-etcd-client.key"),
        Leaf::FrontProxyClient => ("pki/front-proxy-client.crt", "pki/front-proxy-client.key"),
        Leaf::EtcdServer => ("pki/etcd/server.crt", "pki/etcd/server.key"),
        Leaf::EtcdPeer => ("pki/etcd/peer.crt", "pki/etcd/peer.key"),
        Leaf::EtcdHealthcheckClient => ("pki/etcd/healthcheck-client.crt", "pki/etcd/healthcheck-client.key"),
    }
}

fn kubeconfig_path(user: KubeconfigUser) -> &'static str {
    match user {
        KubeconfigUser::Admin => "admin.conf",
        KubeconfigUser::SuperAdmin => "super-admin.conf",
        KubeconfigUser::ControllerManager => "controller-manager.conf",
        KubeconfigUser::Scheduler => "scheduler.conf",
        KubeconfigUser::Kubelet => "kubelet.conf",
    }
}
