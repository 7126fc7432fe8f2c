//! What API servers of the model encrypt in etcd, and with what.

use std::collections::BTreeMap;

use kok_crds::model::{EncryptionAlgorithm, KmsPlugin};
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

/// What is told of a provider by a value that it has encrypted: of a plugin its name.
pub(crate) fn mark(provider: &Provider) -> Provider {
    match provider {
        Provider::Kms(plugin) => Provider::Kms(KmsPlugin { name: plugin.name.clone(), socket: String::new(), timeout_millis: 0 }),
        _ => provider.clone(),
    }
}

/// What a probe counts of them.
pub(super) fn counted(stored: &Stored) -> StoredValues {
    let mut values = StoredValues::default();
    for ((resource, provider), count) in stored {
        let of = match provider {
            Provider::Identity => values.plain.entry(resource.clone()),
            Provider::Key { algorithm, name } => values.encrypted.entry(format!("k8s:enc:{}:v1:{name}:", algorithm.as_str())),
            Provider::Kms(plugin) => values.encrypted.entry(format!("k8s:enc:kms:v2:{}:", plugin.name)),
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
            *stored.entry((resource.clone(), mark(writer))).or_default() += count;
        }
        self.api.stored = stored;
    }

    /// Every API server reads everything that there is, and what any of them writes next; and each writes something of everything.
    pub(crate) fn is_readable(&mut self, after: &str) {
        let planes: Vec<String> = self.cluster.control_planes().map(|host| host.name.clone()).collect();
        let uses: BTreeMap<&String, Layout> = planes.iter().map(|host| (host, self.hosts[host].keys_in_use())).collect();
        let resources: Vec<String> = self.api.stored.keys().map(|(resource, _)| resource.clone()).collect();
        for (layout, resource) in uses.values().flat_map(|layout| resources.iter().map(move |resource| (layout, resource))) {
            let writer = mark(layout.providers(resource).first().unwrap());
            *self.api.stored.entry((resource.clone(), writer)).or_default() += 1;
        }
        for ((reader, layout), (resource, provider)) in uses.iter().flat_map(|it| self.api.stored.keys().map(move |stored| (it, stored))) {
            assert!(
                layout.providers(resource).iter().map(mark).any(|known| known == *provider),
                "{reader} can't read {resource} by {provider:?} after {after}: {layout}"
            );
        }
    }
}

/// The folder with the socket of a plugin that the API server is shown by this configuration, or by this manifest.
pub(super) fn plugin_folder(text: &str) -> Option<String> {
    let (before, _) = text.split_once("\"name\":\"kokctl-kms\"").or_else(|| text.split_once("name: kokctl-kms"))?;
    let (_, path) = before.rsplit_once("mountPath")?;
    path.trim_start_matches(['"', ':', ' ']).split(['"', '\n']).next().map(str::to_owned)
}

/// What an EncryptionConfiguration says that kokctl has written, line by line.
pub(super) fn layout(text: &str) -> Layout {
    let mut entries: Vec<Entry> = Vec::new();
    let (mut by, mut plugin) = (None, String::new());
    for line in text.lines() {
        let (key, value) = line.split_once(": ").unwrap_or((line.trim_end_matches(':'), ""));
        match key {
            "- resources" => entries.push(Entry { resources: serde_json::from_str(value).unwrap(), providers: Vec::new() }),
            "  - identity" => entries.last_mut().unwrap().providers.push(Provider::Identity),
            "      - name" => {
                let name = value.trim_matches('"').to_owned();
                entries.last_mut().unwrap().providers.push(Provider::Key { algorithm: by.unwrap(), name });
            }
            "      name" => plugin = value.trim_matches('"').to_owned(),
            "      endpoint" => {
                let socket = value.trim_matches('"').strip_prefix("unix://").unwrap().to_owned();
                let plugin = KmsPlugin { name: plugin.clone(), socket, timeout_millis: KmsPlugin::TIMEOUT_MILLIS };
                entries.last_mut().unwrap().providers.push(Provider::Kms(plugin));
            }
            _ => {
                let name = key.strip_prefix("  - ").map(|name| name.trim_matches('"'));
                by = EncryptionAlgorithm::ALL.into_iter().find(|algorithm| Some(algorithm.as_str()) == name).or(by);
            }
        }
    }
    Layout::new(entries)
}
