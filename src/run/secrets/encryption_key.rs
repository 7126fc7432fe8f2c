//! The keys that a control plane encrypts with.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kok_crds::model::Cluster;
use kok_pki::FIRST_ENCRYPTION_KEY;
use kok_tasks::documents;
use kok_tasks::encryption::{Layout, age};
use kok_tasks::secret_name::SecretName;
use zeroize::Zeroizing;

use super::Secrets;
use super::escrow::Escrowed;
use super::keepers::read_in;
use crate::failure::{Failure, Kind};
use crate::randomness::random_bytes;
use crate::run::link::Links;

/// As the API server has it. It may be there before any certificate is.
const FOLDER: &str = "/etc/kubernetes/apiserver";
const ENCRYPTION: &str = "encryption.yaml";

/// Keys to encrypt with by their names, of which the first is written with. It has no `Debug` on purpose.
#[derive(Clone, Default)]
pub(super) struct NamedKeys(Vec<(String, Zeroizing<String>)>);

impl NamedKeys {
    /// The key of this name.
    pub(super) fn get(&self, name: &str) -> Option<&Zeroizing<String>> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, key)| key)
    }

    /// Adds one at the end, unless there is one of this name.
    pub(super) fn add(&mut self, name: &str, key: &str) {
        if self.get(name).is_none() {
            self.0.push((name.to_owned(), Zeroizing::new(key.to_owned())));
        }
    }

    /// The same, of which the newest comes first.
    pub(super) fn newest_first(mut self) -> Self {
        self.0.sort_by_key(|(name, _)| std::cmp::Reverse(age(name)));
        self
    }

    /// These, and then the others that are not among them.
    pub(super) fn with(mut self, others: &Self) -> Self {
        others.0.iter().for_each(|(name, key)| self.add(name, key));
        self
    }

    /// Their names, in their order.
    pub(super) fn names(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| name.clone()).collect()
    }

    /// As others take them.
    pub(super) fn pairs(&self) -> Vec<(&str, &str)> {
        self.0.iter().map(|(name, key)| (name.as_str(), key.as_str())).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there are two keys of one name.
    pub(super) fn contradicts(&self, others: &Self) -> bool {
        self.0.iter().any(|(name, key)| others.get(name).is_some_and(|other| other != key))
    }

    /// Whether some of these are not among the others.
    pub(super) fn has_more_than(&self, others: &Self) -> bool {
        self.0.iter().any(|(name, _)| others.get(name).is_none())
    }
}

/// The keys of a control plane that encrypts.
pub(super) async fn read_encryption_keys(host: &str, links: &Links) -> Result<NamedKeys, Failure> {
    let files = read_in(FOLDER, host, links, &[ENCRYPTION]).await?;
    let mut keys = NamedKeys::default();
    for (name, key) in files.first().map(|text| documents::encryption_keys(text)).unwrap_or_default() {
        keys.add(name, key);
    }
    // Where a plugin encrypts there may be none.
    let has_plugin = files.first().is_some_and(|text| !documents::kms_plugins(text).is_empty());
    if !keys.is_empty() || has_plugin {
        return Ok(keys);
    }
    Err(Failure::new(Kind::Host, "the key that secrets are encrypted with can't be read")
        .at(format!("host {host}: /etc/kubernetes/apiserver/encryption.yaml"))
        .because("the file has no key of kokctl's")
        .hint("copy it from another control plane, or from a backup: without it nobody can read what is encrypted"))
}

/// What every provider takes (AES-256, XSalsa20).
const KEY_BYTES: usize = 32;

impl Secrets {
    /// Keys to encrypt with are no matter of certificates: they are those that are there, and one that is new. Their names are taken out of `names`.
    pub(super) async fn encryption(
        &mut self,
        cluster: &Cluster,
        names: &mut BTreeSet<SecretName>,
        escrow: &mut Escrowed<'_>,
        links: &Links,
    ) -> Result<(), Failure> {
        let is_key = |name: &SecretName| matches!(name, SecretName::EncryptionConfiguration { .. });
        let asked: Vec<SecretName> = names.iter().filter(|name| is_key(name)).cloned().collect();
        names.retain(|name| !is_key(name));
        // The same for all hosts that get it.
        let mut made = NamedKeys::default();
        for name in asked {
            let SecretName::EncryptionConfiguration { keeper, layout, new } = &name else { continue };
            let known = match keeper {
                Some(keeper) => read_encryption_keys(keeper, links).await?,
                None => escrow.encryption_keys(),
            };
            let is_first = keeper.is_none() && known.is_empty();
            let first = is_first.then(|| FIRST_ENCRYPTION_KEY.to_owned());
            let all_keys = || first.clone().map_or_else(|| known.names(), |first| vec![first]);
            let as_asked = || Layout::of_file(&cluster.settings.security.encryption, &all_keys());
            let layout = if layout.is_empty() { as_asked() } else { layout.clone() };
            let wanted = layout.names();
            for new in wanted.iter().filter(|name| new.as_ref().or(first.as_ref()) == Some(name)) {
                self.make_encryption_key(new, &known, &mut made)?;
            }
            let all = known.with(&made);
            let mut chosen = NamedKeys::default();
            for wanted in &wanted {
                chosen.add(wanted, all.get(wanted).ok_or_else(|| lacks_key(keeper.as_deref(), wanted))?);
            }
            let text = documents::encryption_configuration(&layout, &chosen.pairs());
            self.by_name.insert(name.clone(), Zeroizing::new(text.map_err(|error| Failure::new(Kind::Internal, error.to_string()))?));
            escrow.uses(&chosen);
        }
        Ok(())
    }

    /// Makes a key to encrypt with, unless it is known or was made for another host.
    fn make_encryption_key(&mut self, name: &str, known: &NamedKeys, made: &mut NamedKeys) -> Result<(), Failure> {
        if known.get(name).is_none() && made.get(name).is_none() {
            self.made += 1;
            made.add(name, &Zeroizing::new(STANDARD.encode(Zeroizing::new(random_bytes::<KEY_BYTES>()?))));
        }
        Ok(())
    }
}

/// A plan counts on a key that its host has lost since.
fn lacks_key(host: Option<&str>, name: &str) -> Failure {
    let failure = Failure::new(Kind::Host, format!("the key {name} is not on {} any more", host.unwrap_or("any control plane")));
    failure.because("its configuration of encryption was changed meanwhile").hint("repeat the command, which looks again")
}
