//! What a KMS plugin asks of the way: API servers reach it before a file names it and as long as one does, and no file names it twice.

use std::collections::BTreeSet;

use kok_crds::listed;
use kok_crds::model::{Cluster, Encryption, Host, KmsPlugin};

use super::super::make::Seen;
use super::super::refusal::Refusal;
use super::super::rotate_key::{KeyStage, at, keys, reaches};
use crate::encryption::{Layout, LayoutTarget, Provider};

/// As what API servers are started before anything else, where that is not yet how the file asks for it: they encrypt as they did, and reach the plugin that
/// they are led to, or that what they have to read is encrypted by. What they have in their files counts, and is not touched.
pub(super) fn before(cluster: &Cluster, target: &LayoutTarget, seen: &Seen) -> Option<Encryption> {
    let wanted = &cluster.settings.security.encryption;
    let layouts = || cluster.control_planes().map(|host| &keys(seen, host).layout);
    let Some(plugin) = target.plugin() else {
        // Somebody has thought of a key on the way to a plugin.
        let reaches = layouts().flat_map(Layout::plugins).next().cloned()?;
        return Some(Encryption { reaches: Some(reaches), ..wanted.clone() });
    };
    let is_blind = |host: &Host| keys(seen, host).is_read && !reaches(target, seen, host);
    // Where none encrypts they are started with the file that is laid for them.
    if !cluster.control_planes().any(is_blind) {
        return None;
    }
    let of_key = |provider: &Provider| if let Provider::Key { algorithm, .. } = provider { Some(*algorithm) } else { None };
    let algorithm = layouts().flat_map(Layout::entries).flat_map(|entry| &entry.providers).find_map(of_key);
    let resources: BTreeSet<&str> = layouts().flat_map(Layout::resources).collect();
    Some(Encryption {
        enabled: true,
        algorithm: algorithm.unwrap_or(wanted.algorithm),
        kms: None,
        reaches: Some(plugin.clone()),
        resources: resources.into_iter().map(str::to_owned).collect(),
    })
}

/// Values that one plugin has encrypted and another one is to encrypt, with its socket elsewhere: an API server is shown one folder.
pub(super) fn other_folder(cluster: &Cluster, seen: &Seen) -> Option<Refusal> {
    let wanted = cluster.settings.security.encryption.kms.as_ref().filter(|_| cluster.settings.security.encryption.enabled)?;
    let elsewhere = |plugin: &&KmsPlugin| plugin.folder() != wanted.folder();
    let other = |host: &Host| keys(seen, host).layout.plugins().find(elsewhere).cloned();
    let (host, other) = cluster.control_planes().find_map(|host| Some((host, other(host)?)))?;
    let folder = other.folder();
    let what = format!("its API server reaches the KMS plugin {} in {folder}, and the file names {}", other.name, wanted.folder());
    let refusal =
        at(host, &what).because("until all is written anew API servers need both plugins, and they are shown one folder of sockets");
    Some(
        refusal
            .hint(format!("have the new plugin listen in {folder}, beside the other one; or go by a key of the cluster's own in between")),
    )
}

/// A plugin that would stand in two entries of a file on the way: who encrypts and what is encrypted can't change at once then.
pub(super) fn twice(cluster: &Cluster, seen: &Seen, target: &LayoutTarget) -> Option<Refusal> {
    let (host, plugin) = cluster.control_planes().find_map(|host| Some((host, named_twice(&keys(seen, host).layout, target)?)))?;
    let layout = &keys(seen, host).layout;
    let resources = match layout.is_empty() {
        true => target.resources.join(", "),
        false => listed(layout.resources()),
    };
    let refusal = at(host, &format!("the KMS plugin {plugin} would have to stand in two places of its EncryptionConfiguration"));
    let because = "what is encrypted changes together with a plugin, or under it, and API servers take each plugin once";
    Some(refusal.because(because).hint(format!(
        "do one after the other: `resources: [{resources}]` by an `algorithm`, without `kms`; then the resources that are wanted; then the plugin"
    )))
}

fn named_twice(layout: &Layout, target: &LayoutTarget) -> Option<String> {
    let (mut layout, mut stage) = (layout.clone(), Some(KeyStage::Laid));
    while let Some(now) = stage {
        layout = layout.after(target, now);
        if let Some(plugin) = layout.plugin_twice() {
            return Some(plugin.name.clone());
        }
        stage = now.next();
    }
    None
}
