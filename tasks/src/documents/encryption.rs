//! The API servers' EncryptionConfiguration: how it is written, and what is found in one.

use kok_crds::model::KmsPlugin;
use serde::Serialize;

use crate::encryption::{Entry, Layout, Provider};
use crate::templates::{TemplateError, render};

#[derive(Serialize)]
struct Document<'a> {
    entries: Vec<ResourcesDocument<'a>>,
}

#[derive(Serialize)]
struct ResourcesDocument<'a> {
    resources: &'a [String],
    providers: Vec<ProviderDocument<'a>>,
}

/// Without keys and plugin it is what is not encrypted.
#[derive(Default, Serialize)]
struct ProviderDocument<'a> {
    algorithm: &'static str,
    keys: Vec<KeyDocument<'a>>,
    plugin: Option<PluginDocument<'a>>,
}

#[derive(Serialize)]
struct KeyDocument<'a> {
    name: &'a str,
    secret: &'a str,
}

#[derive(Serialize)]
struct PluginDocument<'a> {
    name: &'a str,
    endpoint: String,
    timeout: String,
}

impl<'a> PluginDocument<'a> {
    fn from_plugin(plugin: &'a KmsPlugin) -> Self {
        Self { name: &plugin.name, endpoint: plugin.endpoint(), timeout: format!("{}ms", plugin.timeout_millis) }
    }
}

/// The API servers' EncryptionConfiguration of this layout, with these keys by their names: a secret. Keys that are not among them are left out.
///
/// # Errors
/// [`TemplateError`] for a defect of the template.
pub fn encryption_configuration(layout: &Layout, keys: &[(&str, &str)]) -> Result<String, TemplateError> {
    let entries = layout.entries().iter().map(|entry| ResourcesDocument { resources: &entry.resources, providers: providers(entry, keys) });
    render("kube-apiserver/encryption.yaml.j2", &Document { entries: entries.collect() })
}

/// Keys of one algorithm that follow each other stand in one list.
fn providers<'a>(entry: &'a Entry, keys: &[(&'a str, &'a str)]) -> Vec<ProviderDocument<'a>> {
    let mut documents: Vec<ProviderDocument<'_>> = Vec::new();
    for provider in &entry.providers {
        match provider {
            Provider::Identity => documents.push(ProviderDocument::default()),
            Provider::Kms(plugin) => {
                documents.push(ProviderDocument { plugin: Some(PluginDocument::from_plugin(plugin)), ..Default::default() })
            }
            Provider::Key { algorithm, name } => {
                let key = keys.iter().find(|(known, _)| known == name).map(|(name, secret)| KeyDocument { name, secret });
                match documents.last_mut().filter(|last| last.algorithm == algorithm.as_str()) {
                    Some(last) => last.keys.extend(key),
                    None => {
                        let keys = key.into_iter().collect();
                        documents.push(ProviderDocument { algorithm: algorithm.as_str(), keys, plugin: None });
                    }
                }
            }
        }
    }
    documents
}

/// The keys of an EncryptionConfiguration that kokctl has written, by their names and in their order, each once. None, if one of them has no text.
#[must_use]
pub fn encryption_keys(configuration: &str) -> Vec<(&str, &str)> {
    let (mut keys, mut name): (Vec<(&str, &str)>, _) = (Vec::new(), None);
    for line in configuration.lines().map(str::trim) {
        if let Some(value) = line.strip_prefix("- name: ") {
            name = Some(unquoted(value));
        } else if let Some(value) = line.strip_prefix("secret: ") {
            let key = name.take().map(|name| (name, unquoted(value)));
            // It may stand in the entry of other resources, too.
            keys.extend(key.filter(|key| !keys.contains(key)));
        }
    }
    if keys.iter().all(|(name, key)| !name.is_empty() && !key.is_empty()) { keys } else { Vec::new() }
}

/// The KMS plugins of an EncryptionConfiguration, by names and sockets, each once; in the form that kokctl writes.
#[must_use]
pub fn kms_plugins(configuration: &str) -> Vec<(&str, &str)> {
    let (mut plugins, mut name) = (Vec::new(), "");
    for line in configuration.lines().map(str::trim) {
        if let Some(value) = line.strip_prefix("name: ") {
            name = unquoted(value);
        } else if let Some(socket) = line.strip_prefix("endpoint: ").and_then(|value| KmsPlugin::socket_of(unquoted(value))) {
            let plugin = (name, socket);
            plugins.extend((!plugins.contains(&plugin)).then_some(plugin));
        }
    }
    plugins
}

fn unquoted(value: &str) -> &str {
    value.trim().trim_matches('"')
}
