//! Host keys in messages, and why one was not accepted.
use russh::keys::{HashAlg, PublicKey};
use std::fmt;
use std::io;
use std::path::PathBuf;

/// A host key as people compare it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPrint {
    /// The key's type, such as `ssh-ed25519`.
    pub algorithm: String,
    /// `SHA256:…`, as `ssh-keygen -l` prints it.
    pub fingerprint: String,
}

impl KeyPrint {
    pub(super) fn from_key(key: &PublicKey) -> Self {
        Self { algorithm: key.algorithm().to_string(), fingerprint: key.fingerprint(HashAlg::Sha256).to_string() }
    }
}

impl fmt::Display for KeyPrint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.algorithm, self.fingerprint)
    }
}

/// A line of a known_hosts file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownHostsPlace {
    /// The file.
    pub file: PathBuf,
    /// The line, counted from 1.
    pub line: usize,
}

impl fmt::Display for KnownHostsPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// Why a host key was not accepted. Nothing was sent to the host but the key exchange.
#[derive(Debug, thiserror::Error)]
pub enum HostKeyFault {
    /// Nothing is recorded for the host.
    #[error("its host key is not known")]
    Unknown {
        /// What the host showed.
        shown: KeyPrint,
        /// The host as known_hosts writes it.
        lookup: String,
        /// The files that were searched.
        files: Vec<PathBuf>,
    },
    /// Other keys are recorded for the host. The host was reinstalled, or somebody stands between.
    #[error("its host key has changed")]
    Changed {
        /// What the host showed.
        shown: KeyPrint,
        /// The host as known_hosts writes it.
        lookup: String,
        /// What is recorded, and where.
        recorded: Vec<(KeyPrint, KnownHostsPlace)>,
    },
    /// The key is marked `@revoked`.
    #[error("its host key is revoked")]
    Revoked {
        /// What the host showed.
        shown: KeyPrint,
        /// Where it is revoked.
        place: KnownHostsPlace,
    },
    /// The fingerprint that the cluster file pins is another one.
    #[error("its host key is not the pinned one")]
    NotPinned {
        /// What the host showed.
        shown: KeyPrint,
        /// What was pinned.
        pinned: String,
    },
    /// Only a `@cert-authority` line speaks of the host, and host certificates are not supported.
    #[error("its host key can only be verified by a certificate, which kokctl does not support")]
    OnlyAuthority {
        /// What the host showed.
        shown: KeyPrint,
        /// Where the authority stands.
        place: KnownHostsPlace,
    },
    /// The pinned fingerprint is none.
    #[error("its pinned host key is not a SHA256 fingerprint")]
    BadPin {
        /// What was pinned.
        pinned: String,
    },
    /// A known_hosts file is there but can't be read.
    #[error("the known_hosts file can't be read")]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A new key was to be accepted and could not be added to known_hosts, so it was not accepted.
    #[error("its host key is new and can't be added to known_hosts")]
    NotRecorded {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A `@revoked` line for this host can't be understood, so nobody knows what must be refused.
    #[error("a revoked key of the host can't be read")]
    BrokenRevocation {
        /// The line.
        place: KnownHostsPlace,
    },
}
