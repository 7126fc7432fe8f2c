//! How a cluster's certificates are made.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::{Position, Secret};

const HOUR: u64 = 3600;

/// How certificates and their keys are made. What is there already stays as it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificates {
    /// The kind of all keys.
    pub key_algorithm: KeyAlgorithm,
    /// How long a certificate is valid that is no authority's; not longer than an authority.
    pub validity: Duration,
    /// How long an authority is valid.
    pub authority_validity: Duration,
    /// How long before its end a certificate is made anew, less than `validity`; a third of its time if nobody says it.
    pub renew_before: Option<Duration>,
    /// Further names and addresses in the certificates of etcd's members, each once.
    pub etcd_names: Vec<String>,
    /// Authorities of the user's, each at most once; the others are made.
    pub authorities: Vec<OwnAuthority>,
    /// Where certificates are that somebody else has issued, for authorities whose keys kokctl does not get.
    pub issued: Option<IssuedFolder>,
    /// Whether each control plane keeps `super-admin.conf`, whose owner no rule of the cluster can stop.
    pub super_admin_kubeconfig: bool,
    /// Where all keys are kept that can't be made anew, if anywhere but on the hosts.
    pub escrow: Option<EscrowFile>,
}

impl Default for Certificates {
    /// Periods as kubeadm's: 365 days, and ten times as many.
    fn default() -> Self {
        Self {
            key_algorithm: KeyAlgorithm::EcdsaP256,
            validity: Duration::from_secs(8760 * HOUR),
            authority_validity: Duration::from_secs(87600 * HOUR),
            renew_before: None,
            etcd_names: Vec::new(),
            authorities: Vec::new(),
            issued: None,
            super_admin_kubeconfig: false,
            escrow: None,
        }
    }
}

impl Certificates {
    /// Whether the cluster has the key of this authority: everywhere but where the user brings its certificate alone.
    #[must_use]
    pub fn has_key(&self, name: AuthorityName) -> bool {
        !self.authorities.iter().any(|own| own.name == name && own.key.is_none())
    }
}

/// A kind of keys, of which kubeadm makes all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyAlgorithm {
    /// ECDSA on the curve P-256.
    EcdsaP256,
    /// ECDSA on the curve P-384.
    EcdsaP384,
    /// RSA with 2048 bits.
    Rsa2048,
    /// RSA with 3072 bits.
    Rsa3072,
    /// RSA with 4096 bits.
    Rsa4096,
}

impl KeyAlgorithm {
    /// All of them, the default first.
    pub const ALL: [Self; 5] = [Self::EcdsaP256, Self::EcdsaP384, Self::Rsa2048, Self::Rsa3072, Self::Rsa4096];

    /// kubeadm's word for it (`encryptionAlgorithm`).
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EcdsaP256 => "ECDSA-P256",
            Self::EcdsaP384 => "ECDSA-P384",
            Self::Rsa2048 => "RSA-2048",
            Self::Rsa3072 => "RSA-3072",
            Self::Rsa4096 => "RSA-4096",
        }
    }

    /// The first minor version of Kubernetes 1.x whose kubeadm knows it, of those that are built.
    #[must_use]
    pub fn first_minor(self) -> u64 {
        match self {
            Self::EcdsaP384 => 34,
            _ => 31,
        }
    }
}

/// One of the certificate authorities of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthorityName {
    /// Signs the API server, its clients and the kubelets.
    Kubernetes,
    /// Signs etcd and its clients.
    Etcd,
    /// Signs the client that the API server is towards aggregated API servers.
    FrontProxy,
}

impl AuthorityName {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Kubernetes, Self::Etcd, Self::FrontProxy];

    /// The field of a user's file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kubernetes => "kubernetes",
            Self::Etcd => "etcd",
            Self::FrontProxy => "frontProxy",
        }
    }
}

/// An authority that the user brings along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnAuthority {
    /// Which one it is.
    pub name: AuthorityName,
    /// Its certificate.
    pub certificate: Pem,
    /// Its private key, unless somebody else keeps it: then all that it signs is issued elsewhere.
    pub key: Option<Pem>,
    /// Both as texts. Empty until somebody has read them.
    pub pair: Option<AuthorityPair>,
}

/// Where a certificate or a key is, and where the user's file says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pem {
    /// Where it is.
    pub source: PemSource,
    /// Where that is said.
    pub origin: Position,
}

/// Where a certificate or a key is.
#[derive(Clone, PartialEq, Eq)]
pub enum PemSource {
    /// In a file, by a path as seen from the folder of the user's file.
    File(String),
    /// In the user's file itself.
    Contents(Secret),
}

impl fmt::Debug for PemSource {
    /// Without the text.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(formatter, "File({path:?})"),
            Self::Contents(_) => formatter.write_str("Contents"),
        }
    }
}

/// Certificate of an authority and the private key that belongs to it, if it is given.
#[derive(Clone, PartialEq, Eq)]
pub struct AuthorityPair {
    /// The certificate in PEM.
    pub certificate: String,
    /// The key in PEM.
    pub key: Option<Secret>,
}

impl fmt::Debug for AuthorityPair {
    /// Without the key.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "AuthorityPair({:?})", self.certificate)
    }
}

/// A folder on the machine where kokctl runs with certificates that somebody else has issued: of each host, what would stand below its
/// `/etc/kubernetes`.
#[derive(Clone, PartialEq, Eq)]
pub struct IssuedFolder {
    /// Its path, as seen from the folder of the user's file.
    pub path: String,
    /// Where that is said.
    pub origin: Position,
    /// What stands in it and was found good, by the name of the host and the path below `/etc/kubernetes`. None until somebody has read it.
    pub files: Option<BTreeMap<String, BTreeMap<String, Secret>>>,
}

impl IssuedFolder {
    /// One file of a host.
    #[must_use]
    pub fn file(&self, host: &str, path: &str) -> Option<&Secret> {
        self.files.as_ref()?.get(host)?.get(path)
    }
}

impl fmt::Debug for IssuedFolder {
    /// Without what it holds.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "IssuedFolder({:?})", self.path)
    }
}

/// A file on the machine where kokctl runs, with the keys of the cluster's authorities.
#[derive(Clone, PartialEq, Eq)]
pub struct EscrowFile {
    /// Its path, as seen from the folder of the user's file.
    pub path: String,
    /// Where that is said.
    pub origin: Position,
    /// What stands in it. Empty until somebody has read it, and where there is none yet.
    pub kept: Option<Secret>,
    /// Whether that comes from elsewhere, as from a backup whose name the path is: then there is no such file, and none is written.
    pub is_lent: bool,
}

impl fmt::Debug for EscrowFile {
    /// Without what it holds.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "EscrowFile({:?})", self.path)
    }
}
