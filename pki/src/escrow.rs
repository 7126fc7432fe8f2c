//! A text with everything of a cluster that can't be made a second time: the keys of its authorities, of its service accounts, and those
//! that etcd's content is encrypted with.
//!
//! It is YAML; what it has below `authorities` is what a Cluster takes as its own authorities.

use serde::Deserialize;
use zeroize::Zeroizing;

use crate::kubeconfig::push_quoted;
use crate::{Authorities, AuthorityKind, FoundAuthorities, KeyAlgorithm, PkiError, Policy, Randomness, SecretText};

/// What the first line of content says. Another version of the form gets another number.
const FORMAT: &str = "kokctl-escrow-1";

const HEAD: &str = "# The keys of a Kubernetes cluster, kept by kokctl. Whoever reads this file owns the cluster, and what it holds can't be made again.\n";

/// What is kept of a cluster. It has no `Debug` on purpose.
pub struct Escrow {
    cluster: String,
    authorities: Authorities,
    encryption_keys: Vec<EncryptionKey>,
}

/// A key that etcd's content is encrypted with.
pub struct EncryptionKey {
    /// Its name, which stands before all that is encrypted with it.
    pub name: String,
    /// The key, in base64.
    pub secret: SecretText,
}

/// The name of a cluster's first key, and of the only one where a text says none.
pub const FIRST_ENCRYPTION_KEY: &str = "kokctl";

/// The form. No field has a default but keys that not every cluster has, and the last one has none: a text that was cut off is none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    format: String,
    cluster: String,
    #[serde(rename = "encryptionKey")]
    encryption_key: Option<Zeroizing<String>>,
    #[serde(rename = "encryptionKeys", default)]
    encryption_keys: Vec<Named>,
    authorities: Three,
    #[serde(rename = "serviceAccount")]
    service_account: Key,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
    key: Zeroizing<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Three {
    kubernetes: Pair,
    etcd: Pair,
    #[serde(rename = "frontProxy")]
    front_proxy: Pair,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    certificate: String,
    /// None where somebody else keeps it.
    key: Option<Zeroizing<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    key: Zeroizing<String>,
}

/// Everything is there, so nothing is made.
struct Nothing;

impl Randomness for Nothing {
    fn fill(&mut self, _: &mut [u8]) -> Result<(), PkiError> {
        Err(PkiError::Randomness("none is needed".to_owned()))
    }

    fn key_pair(&mut self, _: KeyAlgorithm) -> Result<rcgen::KeyPair, PkiError> {
        Err(PkiError::Randomness("none is needed".to_owned()))
    }
}

impl Escrow {
    /// Reads such a text. Each key has to be that of its certificate.
    ///
    /// # Errors
    /// [`PkiError::Escrow`], and those of [`Authorities::complete`]; none quotes the text.
    pub fn parse(text: &SecretText) -> Result<Self, PkiError> {
        let options = serde_saphyr::options! { with_snippet: false, emit_comments: false };
        let form: Form = serde_saphyr::from_str_with_options(text.expose(), options).map_err(|error| {
            let line = error.location().map_or(0, |location| location.line());
            PkiError::Escrow(format!("line {line} is not as kokctl writes it, or the end is missing"))
        })?;
        if form.format != FORMAT {
            return Err(PkiError::Escrow(format!("its format is not {FORMAT}")));
        }
        let pair = |pair: Pair| Some((pair.certificate, pair.key.map(SecretText::from_zeroizing)));
        let found = FoundAuthorities {
            kubernetes: pair(form.authorities.kubernetes),
            etcd: pair(form.authorities.etcd),
            front_proxy: pair(form.authorities.front_proxy),
            service_account: Some(SecretText::from_zeroizing(form.service_account.key)),
            token_keys: None,
        };
        let authorities = Authorities::complete(found, &Policy::default(), time::OffsetDateTime::UNIX_EPOCH, &mut Nothing)?;
        let first = form.encryption_key.map(|key| Named { name: FIRST_ENCRYPTION_KEY.to_owned(), key });
        let keys = first.into_iter().chain(form.encryption_keys);
        let encryption_keys = keys.map(|it| EncryptionKey { name: it.name, secret: SecretText::from_zeroizing(it.key) }).collect();
        Ok(Self { cluster: form.cluster, authorities, encryption_keys })
    }

    /// Name of the cluster.
    #[must_use]
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// Its authorities.
    #[must_use]
    pub fn authorities(&self) -> &Authorities {
        &self.authorities
    }

    /// What etcd's content is encrypted with; none where nothing is. The first is the one that is encrypted with, others were before, or are going to be.
    #[must_use]
    pub fn encryption_keys(&self) -> &[EncryptionKey] {
        &self.encryption_keys
    }
}

/// The text that keeps these, with keys to encrypt with by their names. The same keys make the same text; one of the first name alone is written as it was
/// before keys could be replaced.
#[must_use]
pub fn escrow(cluster: &str, authorities: &Authorities, encryption_keys: &[(&str, &str)]) -> SecretText {
    let pairs = AuthorityKind::ALL.map(|kind| (field(kind), authorities.get(kind)));
    let length: usize = pairs.iter().map(|(_, it)| it.certificate_pem().len() + it.key_pem().map_or(0, |key| key.expose().len())).sum();
    // Reserved at once: a growing string would leave copies of the keys behind. An escaped character takes ten bytes at the most.
    let of_encryption: usize = encryption_keys.iter().map(|(name, key)| 32 + name.len() + key.len()).sum();
    let room = 4096 + 10 * (length + of_encryption + cluster.len() + authorities.service_account().pem().expose().len());
    let mut text = String::with_capacity(room);
    text.push_str(HEAD);
    push(&mut text, "", "format", FORMAT);
    push(&mut text, "", "cluster", cluster);
    match encryption_keys {
        [] => {}
        [(FIRST_ENCRYPTION_KEY, key)] => push(&mut text, "", "encryptionKey", key),
        several => {
            text.push_str("encryptionKeys:\n");
            for (name, key) in several {
                push(&mut text, "- ", "name", name);
                push(&mut text, "  ", "key", key);
            }
        }
    }
    text.push_str("authorities:\n");
    for (name, authority) in pairs {
        text.push_str(&format!("  {name}:\n"));
        push(&mut text, "    ", "certificate", authority.certificate_pem());
        authority.key_pem().into_iter().for_each(|key| push(&mut text, "    ", "key", key.expose()));
    }
    text.push_str("serviceAccount:\n");
    push(&mut text, "  ", "key", authorities.service_account().pem().expose());
    SecretText::new(text)
}

/// What a Cluster calls an authority.
fn field(kind: AuthorityKind) -> &'static str {
    match kind {
        AuthorityKind::Kubernetes => "kubernetes",
        AuthorityKind::Etcd => "etcd",
        AuthorityKind::FrontProxy => "frontProxy",
    }
}

fn push(text: &mut String, indent: &str, name: &str, value: &str) {
    text.push_str(indent);
    text.push_str(name);
    text.push_str(": ");
    push_quoted(text, value);
    text.push('\n');
}
