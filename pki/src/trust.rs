//! Authorities that are trusted together: all certificates of a file `ca.crt`. While an authority is changed for another, both stand there.

use crate::inspect::{CertificateFacts, inspect_certificate, inspect_certificates, public_key_digest};
use crate::key::PrivateKey;
use crate::verify::is_signed_by;
use crate::{PkiError, SecretText};

/// Certificates of authorities, one at least, in the order of their file. One of them is as good as another to those who verify; only one
/// signs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustBundle(Vec<CertificateFacts>);

impl TrustBundle {
    /// Reads all certificates of a PEM text. Blocks of other types are left out, as Kubernetes does.
    ///
    /// # Errors
    /// [`PkiError::Certificate`] if there is none, or if one of them is malformed.
    pub fn from_pem(pem: &str) -> Result<Self, PkiError> {
        inspect_certificates(pem).map(Self)
    }

    /// The certificates, in the order of the file.
    #[must_use]
    pub fn certificates(&self) -> &[CertificateFacts] {
        &self.0
    }

    /// Whether this certificate is one of them.
    #[must_use]
    pub fn has(&self, certificate: &CertificateFacts) -> bool {
        self.0.iter().any(|own| own.sha256 == certificate.sha256)
    }

    /// Whether both have a certificate in common: who is known to the one by it is known to the other.
    #[must_use]
    pub fn shares_one_with(&self, other: &Self) -> bool {
        other.0.iter().any(|certificate| self.has(certificate))
    }

    /// The one that has signed a certificate, if one of them has. Says nothing about dates.
    #[must_use]
    pub fn signer_of(&self, leaf: &CertificateFacts) -> Option<&CertificateFacts> {
        self.0.iter().find(|authority| is_signed_by(leaf, authority))
    }

    /// The one that signs: that which the key belongs to, or the first, as with kubeadm, where somebody else keeps the key.
    ///
    /// # Errors
    /// [`PkiError::KeyMismatch`] if the key is of none of them.
    pub(crate) fn signer(&self, key: Option<&PrivateKey>) -> Result<&CertificateFacts, PkiError> {
        let first = || self.0.first().ok_or_else(|| PkiError::Certificate("there is none".into()));
        let Some(key) = key else { return first() };
        let digest = public_key_digest(key);
        let own = self.0.iter().find(|authority| authority.public_key_sha256 == digest);
        own.map_or_else(|| Err(PkiError::KeyMismatch(first()?.subject.to_string())), Ok)
    }

    /// The one of them that this private key belongs to.
    ///
    /// # Errors
    /// [`PkiError::PrivateKey`], and [`PkiError::KeyMismatch`] if it is of none of them.
    pub fn signer_with(&self, key_pem: &SecretText) -> Result<&CertificateFacts, PkiError> {
        self.signer(Some(&PrivateKey::from_pem(key_pem.clone())?))
    }

    /// The digests of the public keys, in the form of kubeadm's `--discovery-token-ca-cert-hash`: who joins takes an authority of one of them.
    #[must_use]
    pub fn fingerprints(&self) -> Vec<String> {
        self.0.iter().map(CertificateFacts::fingerprint).collect()
    }
}

/// Whether two files of authorities trust one in common. Of what can't be read, the texts have to be the same.
#[must_use]
pub fn trust_one(a: &str, b: &str) -> bool {
    let both = || Some((TrustBundle::from_pem(a).ok()?, TrustBundle::from_pem(b).ok()?));
    a.trim() == b.trim() || both().is_some_and(|(a, b)| a.shares_one_with(&b))
}

/// Whether one of the authorities of `ca_pem` has signed the first certificate of `leaf_pem`. Says nothing about dates.
///
/// # Errors
/// Those of [`TrustBundle::from_pem`] and [`inspect_certificate`].
pub fn signed_by(ca_pem: &str, leaf_pem: &str) -> Result<bool, PkiError> {
    Ok(TrustBundle::from_pem(ca_pem)?.signer_of(&inspect_certificate(leaf_pem)?).is_some())
}
