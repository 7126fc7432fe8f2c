//! The keys that a control plane encrypts with.

use kok_tasks::documents;
use kok_tasks::encryption::age;
use zeroize::Zeroizing;

use super::keepers::read_in;
use crate::failure::{Failure, Kind};
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
    if !keys.is_empty() {
        return Ok(keys);
    }
    Err(Failure::new(Kind::Host, "the key that secrets are encrypted with can't be read")
        .at(format!("host {host}: /etc/kubernetes/apiserver/encryption.yaml"))
        .because("the file has no key of kokctl's")
        .hint("copy it from another control plane, or from a backup: without it nobody can read what is encrypted"))
}
