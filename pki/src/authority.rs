//! Certificate authorities: made once, and from then on loaded from a control plane and never replaced.

use time::OffsetDateTime;

use crate::inspect::{CertificateFacts, inspect_certificate};
use crate::issue::self_sign;
use crate::key::PrivateKey;
use crate::material::{Content, Material, MaterialFile};
use crate::{AuthorityKind, PkiError, Policy, Randomness, SecretText, TrustBundle};

/// A certificate authority, with its private key unless somebody else keeps that one. It has no `Debug` on purpose.
pub struct Authority {
    certificate_pem: String,
    facts: CertificateFacts,
    key: Option<PrivateKey>,
}

impl Authority {
    /// Makes a new authority.
    ///
    /// # Errors
    /// Those of [`Randomness`].
    pub fn generate(kind: AuthorityKind, policy: &Policy, now: OffsetDateTime, randomness: &mut dyn Randomness) -> Result<Self, PkiError> {
        let key = PrivateKey::generate(policy.algorithm, randomness)?;
        let certificate_pem = self_sign(kind, &key, policy, now, randomness)?;
        let facts = inspect_certificate(&certificate_pem)?;
        Ok(Self { certificate_pem, facts, key: Some(key) })
    }

    /// Loads an authority as it was found; without a key it signs nothing. Of a file with several certificates, that one signs which the key
    /// belongs to; without a key the first counts, as with kubeadm.
    ///
    /// # Errors
    /// [`PkiError::Certificate`], [`PkiError::PrivateKey`], [`PkiError::NotAnAuthority`] if the certificate must not sign others, and
    /// [`PkiError::KeyMismatch`] if the key is another one's.
    pub fn from_pem(certificate_pem: String, key_pem: Option<SecretText>) -> Result<Self, PkiError> {
        let key = key_pem.map(PrivateKey::from_pem).transpose()?;
        let facts = TrustBundle::from_pem(&certificate_pem)?.signer(key.as_ref())?.clone();
        let refuse = |reason| PkiError::NotAnAuthority { subject: facts.subject.to_string(), reason };
        if !facts.is_ca {
            return Err(refuse("its basic constraints don't say CA:TRUE"));
        }
        if !facts.may_sign {
            return Err(refuse("its key usage lacks keyCertSign"));
        }
        Ok(Self { certificate_pem, facts, key })
    }

    /// Loads an authority that somebody else has made for a new cluster. What Kubernetes or kokctl could not work with is refused.
    ///
    /// # Errors
    /// Those of [`Authority::from_pem`], and [`PkiError::NotAnAuthority`] for what else it lacks at `now`.
    pub fn adopt(certificate_pem: String, key_pem: Option<SecretText>, now: OffsetDateTime) -> Result<Self, PkiError> {
        let certificates = certificate_pem.matches("-----BEGIN CERTIFICATE-----").count();
        let authority = Self::from_pem(certificate_pem, key_pem)?;
        let facts = &authority.facts;
        let reason = if certificates > 1 {
            // Kubernetes, pkg/controller/certificates/signer/ca_provider.go: exactly one.
            Some("others stand behind it, and the controller manager takes a file with one; of a chain, give the one that signs")
        } else if now < facts.not_before {
            Some("it is not valid yet")
        } else if now > facts.not_after {
            Some("it has expired")
        } else if !(facts.server_auth && facts.client_auth) {
            // Go asks each authority of a chain for the usages of the leaf.
            Some("its extended key usage does not allow servers and clients")
        } else if authority.key.as_ref().is_some_and(|key| key.pair().algorithm() == &rcgen::PKCS_ED25519) {
            Some("its key is Ed25519, which kubeadm does not read: RSA and ECDSA are")
        } else {
            None
        };
        match reason {
            Some(reason) => Err(PkiError::NotAnAuthority { subject: facts.subject.to_string(), reason }),
            None => Ok(authority),
        }
    }

    /// The certificate in PEM, as it was made or found; with those that stand beside it.
    #[must_use]
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// The private key in PEM, as it was made or found; none where somebody else keeps it.
    #[must_use]
    pub fn key_pem(&self) -> Option<&SecretText> {
        self.key.as_ref().map(PrivateKey::pem)
    }

    /// The certificate of the one that signs, without those that stand beside it.
    #[must_use]
    pub fn signer_pem(&self) -> String {
        let blocks = self.certificate_pem.split_inclusive("-----END CERTIFICATE-----");
        let blocks = blocks.filter_map(|block| Some(format!("{}\n", block.get(block.find("-----BEGIN CERTIFICATE-----")?..)?)));
        let is_own = |block: &String| inspect_certificate(block).is_ok_and(|facts| facts.sha256 == self.facts.sha256);
        blocks.into_iter().find(is_own).unwrap_or_else(|| self.certificate_pem.clone())
    }

    /// What the certificate of the one that signs says.
    #[must_use]
    pub fn facts(&self) -> &CertificateFacts {
        &self.facts
    }

    /// # Errors
    /// [`PkiError::NoKey`] where somebody else keeps it.
    pub(crate) fn key(&self) -> Result<&PrivateKey, PkiError> {
        self.key.as_ref().ok_or_else(|| PkiError::NoKey(self.facts.subject.to_string()))
    }
}

/// What signs for a cluster: three authorities, and the key of service accounts. It has no `Debug` on purpose.
pub struct Authorities {
    kubernetes: Authority,
    etcd: Authority,
    front_proxy: Authority,
    service_account: PrivateKey,
    token_keys: Option<String>,
}

/// Certificate and key of an authority, in PEM. The key is missing where somebody else keeps it; that it is lost is for the caller to find.
pub type FoundAuthority = (String, Option<SecretText>);

/// What was found of a cluster's authorities. Everything is optional; what is missing is made, so the caller leaves out nothing that is in
/// use.
#[derive(Default)]
pub struct FoundAuthorities {
    /// The Kubernetes authority.
    pub kubernetes: Option<FoundAuthority>,
    /// The etcd authority.
    pub etcd: Option<FoundAuthority>,
    /// The front proxy's authority.
    pub front_proxy: Option<FoundAuthority>,
    /// Private key of service accounts.
    pub service_account: Option<SecretText>,
    /// What stands in `sa.pub`: public keys in PEM, of which one is that of `service_account`. While that is being replaced there are more.
    pub token_keys: Option<String>,
}

impl Authorities {
    /// Makes all of them new.
    ///
    /// # Errors
    /// Those of [`Randomness`].
    pub fn generate(policy: &Policy, now: OffsetDateTime, randomness: &mut dyn Randomness) -> Result<Self, PkiError> {
        Self::complete(FoundAuthorities::default(), policy, now, randomness)
    }

    /// Loads what was found and makes only what is missing.
    ///
    /// # Errors
    /// Those of [`Authority::from_pem`] and of [`Randomness`].
    pub fn complete(
        found: FoundAuthorities,
        policy: &Policy,
        now: OffsetDateTime,
        randomness: &mut dyn Randomness,
    ) -> Result<Self, PkiError> {
        let mut authority = |kind, found: Option<FoundAuthority>| match found {
            Some((certificate_pem, key_pem)) => Authority::from_pem(certificate_pem, key_pem),
            None => Authority::generate(kind, policy, now, randomness),
        };
        let kubernetes = authority(AuthorityKind::Kubernetes, found.kubernetes)?;
        let etcd = authority(AuthorityKind::Etcd, found.etcd)?;
        let front_proxy = authority(AuthorityKind::FrontProxy, found.front_proxy)?;
        let service_account = match found.service_account {
            Some(key_pem) => PrivateKey::from_pem(key_pem)?,
            None => PrivateKey::generate(policy.algorithm, randomness)?,
        };
        Ok(Self { kubernetes, etcd, front_proxy, service_account, token_keys: found.token_keys })
    }

    /// The same with another authority in the place of one of the three; without a key that one's own key signs.
    ///
    /// # Errors
    /// Those of [`Authority::from_pem`].
    pub fn with(self, kind: AuthorityKind, certificate_pem: String, key: Option<SecretText>) -> Result<Self, PkiError> {
        let key = key.or_else(|| self.get(kind).key_pem().cloned());
        let authority = Authority::from_pem(certificate_pem, key)?;
        Ok(match kind {
            AuthorityKind::Kubernetes => Self { kubernetes: authority, ..self },
            AuthorityKind::Etcd => Self { etcd: authority, ..self },
            AuthorityKind::FrontProxy => Self { front_proxy: authority, ..self },
        })
    }

    /// One of the three authorities.
    #[must_use]
    pub fn get(&self, kind: AuthorityKind) -> &Authority {
        match kind {
            AuthorityKind::Kubernetes => &self.kubernetes,
            AuthorityKind::Etcd => &self.etcd,
            AuthorityKind::FrontProxy => &self.front_proxy,
        }
    }

    /// The key that signs the tokens of service accounts.
    #[must_use]
    pub fn service_account(&self) -> &PrivateKey {
        &self.service_account
    }

    /// The public keys by which tokens of service accounts are known: what was found, or that of [`Self::service_account`] alone where it is not among these.
    #[must_use]
    pub fn token_keys(&self) -> String {
        let own = self.service_account.public_key_pem();
        let dense = |text: &str| text.split_whitespace().collect::<String>();
        let found = self.token_keys.as_ref().filter(|found| dense(found).contains(&dense(&own)));
        found.cloned().unwrap_or(own)
    }

    /// All of them as they would be found.
    #[must_use]
    pub fn found(&self) -> FoundAuthorities {
        let pair = |authority: &Authority| Some((authority.certificate_pem.clone(), authority.key_pem().cloned()));
        FoundAuthorities {
            kubernetes: pair(&self.kubernetes),
            etcd: pair(&self.etcd),
            front_proxy: pair(&self.front_proxy),
            service_account: Some(self.service_account.pem().clone()),
            token_keys: self.token_keys.clone(),
        }
    }

    /// The files that every control plane of the cluster has alike: the authorities, with the keys that are known, and the keys of service
    /// accounts.
    #[must_use]
    pub fn files(&self) -> Vec<MaterialFile> {
        let mut files = Vec::new();
        for kind in AuthorityKind::ALL {
            let authority = self.get(kind);
            files.push(MaterialFile::new(Material::AuthorityCertificate(kind), Content::Public(authority.certificate_pem.clone())));
            let key = authority.key_pem().cloned().map(|key| MaterialFile::new(Material::AuthorityKey(kind), Content::Secret(key)));
            files.extend(key);
        }
        files.push(MaterialFile::new(Material::ServiceAccountKey, Content::Secret(self.service_account.pem().clone())));
        files.push(MaterialFile::new(Material::ServiceAccountPublicKey, Content::Public(self.token_keys())));
        files
    }
}
