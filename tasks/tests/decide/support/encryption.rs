//! What API servers of the model encrypt in etcd, and with what.

use std::collections::BTreeMap;

use kok_crds::model::EncryptionAlgorithm;
use kok_tasks::encryption::{Entry, Layout, Provider, covers};
use kok_tasks::observe::StoredValues;
use kok_tasks::operations::RewriteEncrypted;

use super::world::World;

/// How many values there are of each resource, by what they are encrypted with.
pub(crate) type Stored = BTreeMap<(String, Provider), u64>;

/// A key of the usual algorithm.
pub(crate) fn secretbox(name: &str) -> Provider {
    Provider::Key { algorithm: EncryptionAlgorithm::Secretbox, name: name.to_owned() }
}

/// What a probe counts of them.
pub(super) fn counted(stored: &Stored) -> StoredValues {
    let mut values = StoredValues::default();
    for ((resource, provider), count) in stored {
        let of = match provider {
            Provider::Identity => values.plain.entry(resource.clone()),
            Provider::Key { algorithm, name } => values.encrypted.entry(format!("k8s:enc:{}:v1:{name}:", algorithm.as_str())),
        };
        *of.or_default() += count;
    }
    values
}

impl World {
    /// Who is asked reads everything, and writes as its own API server goes.
    pub(super) fn rewrite(&mut self, host: &str, rewrite: &RewriteEncrypted) {
        self.uses_api(host, true);
        let layout = self.hosts[host].keys_in_use();
        let mut stored = Stored::new();
        for ((resource, provider), count) in &self.api.stored {
            let is_meant = rewrite.resources.iter().chain(&rewrite.others).any(|pattern| covers(pattern, resource));
            let writer = if is_meant { layout.providers(resource).first().unwrap() } else { provider };
            *stored.entry((resource.clone(), writer.clone())).or_default() += count;
        }
        self.api.stored = stored;
    }

    /// Every API server reads everything that there is, and what any of them writes next; and each writes something of everything.
    pub(crate) fn is_readable(&mut self, after: &str) {
        let planes: Vec<String> = self.cluster.control_planes().map(|host| host.name.clone()).collect();
        let uses: BTreeMap<&String, Layout> = planes.iter().map(|host| (host, self.hosts[host].keys_in_use())).collect();
        let resources: Vec<String> = self.api.stored.keys().map(|(resource, _)| resource.clone()).collect();
        for (layout, resource) in uses.values().flat_map(|layout| resources.iter().map(move |resource| (layout, resource))) {
            let writer = layout.providers(resource).first().unwrap().clone();
            *self.api.stored.entry((resource.clone(), writer)).or_default() += 1;
        }
        for ((reader, layout), (resource, provider)) in uses.iter().flat_map(|it| self.api.stored.keys().map(move |stored| (it, stored))) {
            assert!(
                layout.providers(resource).contains(provider),
                "{reader} can't read {resource} by {provider:?} after {after}: {layout}"
            );
        }
    }
}

/// What an EncryptionConfiguration says that kokctl has written, line by line.
pub(super) fn layout(text: &str) -> Layout {
    let mut entries: Vec<Entry> = Vec::new();
    let mut by = None;
    for line in text.lines() {
        let (key, value) = line.split_once(": ").unwrap_or((line.trim_end_matches(':'), ""));
        match key {
            "- resources" => entries.push(Entry { resources: serde_json::from_str(value).unwrap(), providers: Vec::new() }),
            "  - identity" => entries.last_mut().unwrap().providers.push(Provider::Identity),
            "      - name" => {
                let name = value.trim_matches('"').to_owned();
                entries.last_mut().unwrap().providers.push(Provider::Key { algorithm: by.unwrap(), name });
            }
            _ => {
                let name = key.strip_prefix("  - ").map(|name| name.trim_matches('"'));
                by = EncryptionAlgorithm::ALL.into_iter().find(|algorithm| Some(algorithm.as_str()) == name).or(by);
            }
        }
    }
    Layout::new(entries)
}
