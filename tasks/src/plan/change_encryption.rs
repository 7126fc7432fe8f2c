//! Where a cluster that runs is to come to that does not encrypt what etcd holds as its file asks for it: it encrypts nothing yet, or is to encrypt nothing any
//! more, or other resources, or by another algorithm. It goes there by the stages of a key that is replaced ([`super::rotate_key`]).

mod plugin;

use std::collections::BTreeSet;

use kok_crds::listed;
use kok_crds::model::{Cluster, Encryption, Host};

use super::make::Seen;
use super::refusal::Refusal;
use super::rotate_key::{at, keys, others, reaches, says_nothing, silent};
use crate::encryption::{Layout, LayoutTarget, Provider, age, covers, new_name};
use crate::operations::key_of;
use crate::preconditions;

/// The way to how the file asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncryptionChange {
    /// Where it leads to.
    pub target: LayoutTarget,
    /// Whether API servers have to be started anew first, for they were started without any encryption, would not read another file, or can't reach the plugin.
    pub starts: bool,
    /// As what they are started, if that is not yet how the file asks for it: they encrypt as they did, and can reach the plugin.
    pub before: Option<Encryption>,
    /// Whether there is nothing to do: it neither encrypts nor is asked to.
    pub is_idle: bool,
}

/// Decides that. Where one control plane was asked for what is encrypted in etcd ([`crate::observe::Look::EncryptedValues`]), also whether all of it can be read.
///
/// # Errors
/// [`Refusal`]s where it can't be changed now: all control planes have to answer, with API servers that say what they have read.
pub fn encryption_change(cluster: &Cluster, seen: &Seen, now_seconds: i64) -> Result<EncryptionChange, Vec<Refusal>> {
    let refusals = preconditions::check_reset(cluster, seen);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let mut refusals: Vec<Refusal> = cluster.control_planes().filter_map(|host| unfit(seen, host)).collect();
    refusals.extend(preconditions::silent_plugins(cluster, seen));
    let of_all = || {
        let keys = preconditions::lost_encryption_key(cluster, seen).or_else(|| others(cluster, seen)).or_else(|| unknown(cluster, seen));
        keys.or_else(|| plugin::other_folder(cluster, seen))
    };
    if refusals.is_empty() {
        refusals.extend(of_all());
    }
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let change = chosen(cluster, seen, now_seconds);
    match plugin::twice(cluster, seen, &change.target) {
        Some(refusal) => Err(vec![refusal]),
        None => Ok(change),
    }
}

fn chosen(cluster: &Cluster, seen: &Seen, now_seconds: i64) -> EncryptionChange {
    let wanted = &cluster.settings.security.encryption;
    let layouts: Vec<&Layout> = cluster.control_planes().map(|host| &keys(seen, host).layout).collect();
    if !wanted.enabled {
        let is_idle = layouts.iter().all(|layout| layout.is_empty());
        return EncryptionChange { target: LayoutTarget::default(), starts: false, before: None, is_idle };
    }
    let key = || {
        let names: Vec<String> = layouts.iter().flat_map(|layout| layout.names()).collect();
        let is_usable = |name: &&String| layouts.iter().all(|layout| may_stay(layout, cluster, name));
        let newest = names.iter().max_by_key(|name| age(name)).filter(is_usable);
        let name = newest.cloned().unwrap_or_else(|| new_name(now_seconds, names.iter().map(String::as_str)));
        Provider::Key { algorithm: wanted.algorithm, name }
    };
    let writer = wanted.kms.clone().map_or_else(key, Provider::Kms);
    let target = LayoutTarget { resources: wanted.resources.clone(), writer: Some(writer) };
    let starts = |host: &Host| !keys(seen, host).reloads || !reaches(&target, seen, host);
    let starts = cluster.control_planes().any(starts);
    let before = plugin::before(cluster, &target, seen).filter(|_| starts);
    EncryptionChange { target, starts, before, is_idle: false }
}

/// Whether what is encrypted with a key is only what is to be, and as it is to be: of a value nobody sees of what kind it is, so that another key has to show
/// what was written anew.
fn may_stay(layout: &Layout, cluster: &Cluster, key: &str) -> bool {
    let wanted = &cluster.settings.security.encryption;
    layout.entries().iter().all(|entry| {
        let known = entry.providers.iter().find(|provider| provider.key() == Some(key));
        let is_asked = |name: &String| wanted.resources.iter().any(|pattern| covers(pattern, name));
        known.is_none_or(|provider| provider.is_asked_by(wanted) && entry.resources.iter().all(is_asked))
    })
}

/// Values that are encrypted with a key which no control plane has: whatever is changed, nobody could read them.
fn unknown(cluster: &Cluster, seen: &Seen) -> Option<Refusal> {
    let marks = |host| keys(seen, host).layout.entries().iter().flat_map(|entry| entry.providers.iter().filter_map(Provider::mark));
    let known: BTreeSet<&str> = cluster.control_planes().flat_map(marks).collect();
    let (host, values) =
        cluster.control_planes().find_map(|host| Some((host, seen.observations(&host.name).encrypted_values.as_ref()?)))?;
    let values = match values {
        Ok(values) => values,
        Err(reason) => {
            let refusal = at(host, "etcd does not say what its values are encrypted with").because(reason.clone());
            return Some(refusal.hint("repeat the command when `kokctl etcd status` shows all members").passing());
        }
    };
    let (mark, count) = values.encrypted.iter().find(|(mark, _)| !known.contains(key_of(mark)))?;
    let is_of_plugin = mark.starts_with("k8s:enc:kms:");
    let who = if is_of_plugin { "by the KMS plugin" } else { "with" };
    let what = if is_of_plugin { "which no control plane names" } else { "a key that no control plane has" };
    let refusal = Refusal::new(format!("values in etcd are encrypted {who} {}, {what}", key_of(mark)));
    let refusal = refusal.at(format!("etcd, read on host {} ({})", host.name, host.address)).because(format!("{count} begin with {mark}"));
    let back = if is_of_plugin { "the plugin, as a provider that reads," } else { "the key" };
    Some(refusal.hint(format!(
        "put {back} back into {} of all control planes, from a backup or the escrow; or delete these objects, if nobody needs them",
        crate::api_files::ENCRYPTION
    )))
}

fn unfit(seen: &Seen, host: &Host) -> Option<Refusal> {
    if let Some(refusal) = silent(seen, host) {
        return Some(refusal);
    }
    let keys = keys(seen, host);
    if keys.layout.is_empty() && !keys.digest.is_empty() {
        let refusal = at(host, "its EncryptionConfiguration says more than kokctl writes");
        let because = "another provider than secretbox, aesgcm, aescbc, kms v2 and identity, or a form that is not kokctl's";
        return Some(refusal.because(because).hint(format!("change {} by hand", crate::api_files::ENCRYPTION)));
    }
    // One that was started without encryption has nothing to say yet.
    if keys.reloads { says_nothing(seen, host) } else { None }
}

/// In words: what is encrypted by what, on the first control plane and as the file asks for it.
#[must_use]
pub fn encryption_words(cluster: &Cluster, seen: &Seen) -> (String, String) {
    let has = cluster.control_planes().next().map(|host| keys(seen, host).layout.clone()).unwrap_or_default();
    let wanted = &cluster.settings.security.encryption;
    let asked = format!("{} by {}", listed(wanted.resources.iter().map(String::as_str)), wanted.word());
    let is = if has.is_empty() { "nothing".to_owned() } else { has.to_string() };
    (is, if wanted.enabled { asked } else { "nothing".to_owned() })
}
