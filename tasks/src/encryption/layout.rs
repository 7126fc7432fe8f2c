//! What an EncryptionConfiguration says, without its keys, and the way from one to another on which every API server can read at every moment what any of them
//! writes (Kubernetes, "Encrypting Confidential Data at Rest": of several providers the first writes, and all of them read; of several entries the first
//! counts that names a resource).

use std::fmt;

use kok_crds::listed;
use kok_crds::model::{Encryption, KmsPlugin};

use super::provider::Provider;
use crate::plan::KeyStage;

/// How some resources are written and read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    /// By their plural names, with their group behind a dot; `*.GROUP` and `*.*` for all of one and of any.
    pub resources: Vec<String>,
    /// The first writes.
    pub providers: Vec<Provider>,
}

/// An EncryptionConfiguration without its keys; empty where there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Layout(Vec<Entry>);

/// Where a layout is to come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LayoutTarget {
    /// What is encrypted.
    pub resources: Vec<String>,
    /// By what; nothing where nothing is to be encrypted any more.
    pub writer: Option<Provider>,
}

/// Whether a name of resources means another one, too.
#[must_use]
pub fn covers(pattern: &str, resource: &str) -> bool {
    let group = |name: &str| name.split_once('.').map(|(_, group)| group.to_owned()).unwrap_or_default();
    pattern == resource || pattern == "*.*" || (resource != "*.*" && pattern.starts_with("*.") && group(pattern) == group(resource))
}

/// How much a name means: entries of one kind of resources stand before those that mean more.
fn breadth(resource: &str) -> usize {
    match resource {
        "*.*" => 2,
        wide if wide.starts_with("*.") => 1,
        _ => 0,
    }
}

impl LayoutTarget {
    /// Whether a resource is to be encrypted.
    fn covers(&self, resource: &str) -> bool {
        self.writer.is_some() && self.resources.iter().any(|pattern| covers(pattern, resource))
    }

    fn writer_of(&self, resource: &str) -> Provider {
        self.writer.clone().filter(|_| self.covers(resource)).unwrap_or(Provider::Identity)
    }

    /// The plugin that is to encrypt.
    #[must_use]
    pub fn plugin(&self) -> Option<&KmsPlugin> {
        match &self.writer {
            Some(Provider::Kms(plugin)) => Some(plugin),
            _ => None,
        }
    }

    /// The name of the key that is to encrypt.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.writer.as_ref().and_then(Provider::key)
    }

    /// The same provider, where the plugin that is to encrypt is reached otherwise than before: two of one name are refused by API servers.
    fn renewed(&self, provider: &Provider) -> Provider {
        match (provider, self.plugin()) {
            (Provider::Kms(known), Some(plugin)) if known.name == plugin.name => Provider::Kms(plugin.clone()),
            _ => provider.clone(),
        }
    }
}

impl Layout {
    /// One of these entries.
    #[must_use]
    pub fn new(entries: Vec<Entry>) -> Self {
        Self(entries)
    }

    /// What a file asks for, with these keys, of which the first writes; what was written before there was one can be read.
    #[must_use]
    pub fn of_file(encryption: &Encryption, names: &[String]) -> Self {
        let key = |name: &String| Provider::Key { algorithm: encryption.algorithm, name: name.clone() };
        let writers = match &encryption.kms {
            Some(plugin) => vec![Provider::Kms(plugin.clone())],
            None => names.iter().map(key).collect(),
        };
        let providers = writers.into_iter().chain([Provider::Identity]).collect();
        Self(vec![Entry { resources: encryption.resources.clone(), providers }])
    }

    /// Its entries.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names of its keys, each once.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.each_once(Provider::key)
    }

    /// The names that stand before what is encrypted by it, each once, the writer's first.
    #[must_use]
    pub fn marks(&self) -> Vec<String> {
        self.each_once(Provider::mark)
    }

    fn each_once(&self, name: impl Fn(&Provider) -> Option<&str>) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in self.0.iter().flat_map(|entry| entry.providers.iter().filter_map(&name)) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// Its plugins.
    pub fn plugins(&self) -> impl Iterator<Item = &KmsPlugin> {
        self.0.iter().flat_map(|entry| &entry.providers).filter_map(|provider| match provider {
            Provider::Kms(plugin) => Some(plugin),
            _ => None,
        })
    }

    /// Whether anything of it encrypts, or can read what is encrypted.
    #[must_use]
    pub fn encrypts(&self) -> bool {
        self.0.iter().flat_map(|entry| &entry.providers).any(|provider| *provider != Provider::Identity)
    }

    /// All that it names.
    pub fn resources(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|entry| entry.resources.iter().map(String::as_str))
    }

    /// How a resource is written and read: what no entry names is not encrypted.
    #[must_use]
    pub fn providers(&self, resource: &str) -> &[Provider] {
        let exact = self.0.iter().find(|entry| entry.resources.iter().any(|name| name == resource));
        let wide = || self.0.iter().find(|entry| entry.resources.iter().any(|name| covers(name, resource)));
        exact.or_else(wide).map_or(&[Provider::Identity], |entry| entry.providers.as_slice())
    }

    /// Whether nothing is on its way: one entry, one key, and what was not encrypted can be read.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.0.len() < 2
            && self
                .0
                .iter()
                .all(|entry| matches!(entry.providers.as_slice(), [Provider::Key { .. } | Provider::Kms(_), Provider::Identity]))
    }

    /// Whether everything that a file asks for can be read and written as it asks, by whatever keys, and nothing else is encrypted.
    #[must_use]
    pub fn is_as(&self, encryption: &Encryption) -> bool {
        let is_asked = |provider: &Provider| provider.is_asked_by(encryption);
        let mut resources: Vec<&str> = self.resources().collect();
        let mut asked: Vec<&str> = encryption.resources.iter().map(String::as_str).collect();
        resources.sort_unstable();
        asked.sort_unstable();
        let writes = |entry: &Entry| {
            entry.providers.split_last().is_some_and(|(last, keys)| *last == Provider::Identity && keys.iter().all(is_asked))
        };
        encryption.enabled
            && self.0.len() == 1
            && resources == asked
            && self.0.iter().all(|entry| writes(entry) && entry.providers.len() > 1)
    }

    /// The layout after a stage on the way to a target.
    #[must_use]
    pub fn after(&self, target: &LayoutTarget, stage: KeyStage) -> Self {
        let mut resources: Vec<&str> = target.resources.iter().map(String::as_str).collect();
        let others: Vec<&str> = self.resources().filter(|name| !resources.contains(name)).collect();
        // What is not encrypted needs no entry; but a file without any is none.
        let is_last = stage == KeyStage::Alone && target.writer.is_some();
        resources.extend(others.into_iter().filter(|_| !is_last));
        let mut entries: Vec<Entry> = Vec::new();
        for breadth_now in 0..=2 {
            let first = entries.len();
            for resource in resources.iter().filter(|resource| breadth(resource) == breadth_now) {
                let has: Vec<Provider> = self.providers(resource).iter().map(|provider| target.renewed(provider)).collect();
                let providers = after(&has, target.writer_of(resource), stage);
                let own = entries.iter_mut().skip(first).find(|entry| entry.providers == providers);
                match own {
                    Some(entry) => entry.resources.push((*resource).to_owned()),
                    None => entries.push(Entry { resources: vec![(*resource).to_owned()], providers }),
                }
            }
        }
        // What is written and read in one way needs one entry, and a plugin may stand in no more.
        let all = entries.iter().flat_map(|entry| entry.resources.clone()).collect();
        match entries.split_first() {
            Some((first, others)) if others.iter().all(|entry| entry.providers == first.providers) => {
                Self(vec![Entry { resources: all, providers: first.providers.clone() }])
            }
            _ => Self(entries),
        }
    }

    /// The same without plugins whose sockets are not in this folder.
    #[must_use]
    pub fn reachable(&self, folder: Option<&str>) -> Self {
        let is_near = |provider: &Provider| !matches!(provider, Provider::Kms(plugin) if Some(plugin.folder()) != folder);
        let near = |entry: &Entry| Entry { providers: entry.providers.iter().filter(|it| is_near(it)).cloned().collect(), ..entry.clone() };
        Self(self.0.iter().map(near).collect())
    }

    /// A plugin that stands in two entries, which no API server takes: names of plugins are there once in a whole file (Kubernetes,
    /// `ValidateEncryptionConfiguration`).
    #[must_use]
    pub fn plugin_twice(&self) -> Option<&KmsPlugin> {
        let mut known = Vec::new();
        self.plugins().find(|plugin| {
            let is_known = known.contains(&&plugin.name);
            known.push(&plugin.name);
            is_known
        })
    }
}

/// The providers of a resource after a stage that leads to this one as the writer.
fn after(has: &[Provider], writer: Provider, stage: KeyStage) -> Vec<Provider> {
    let mut providers: Vec<Provider> = match stage {
        KeyStage::Laid | KeyStage::Read if has.contains(&writer) => has.to_vec(),
        KeyStage::Laid | KeyStage::Read => {
            // What is not encrypted is told by no mark: it is read by whoever is last, unless it is what is written.
            let is_last = |provider: &Provider| *provider == Provider::Identity && has.first() != Some(provider);
            let kept = has.iter().filter(|provider| !is_last(provider)).cloned();
            kept.chain([writer]).collect()
        }
        KeyStage::First | KeyStage::Rewritten if has.first() == Some(&writer) => has.to_vec(),
        KeyStage::First | KeyStage::Rewritten => {
            let others: Vec<Provider> =
                has.iter().filter(|provider| **provider != writer && **provider != Provider::Identity).cloned().collect();
            [writer].into_iter().chain(others).collect()
        }
        KeyStage::Alone => vec![writer],
    };
    if !providers.contains(&Provider::Identity) {
        providers.push(Provider::Identity);
    }
    providers
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |provider: &Provider| match provider {
            Provider::Key { algorithm, name } => format!("{} {name}", algorithm.as_str()),
            _ => provider.word(),
        };
        for (index, entry) in self.0.iter().enumerate() {
            let providers: Vec<String> = entry.providers.iter().map(word).collect();
            let before = if index == 0 { "" } else { "; " };
            write!(f, "{before}{}: {}", listed(entry.resources.iter().map(String::as_str)), providers.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
