//! What etcd holds can be read only with the key and in the way that it was written with.

use kok_crds::model::{Cluster, Encryption, Host};

use super::Findings;
use super::running::MANIFEST;
use crate::api_files::{self, ENCRYPTION, ENCRYPTION_SUMMARY};
use crate::encryption::{Layout, Provider, age, covers};
use crate::list::api_server::has_key;
use crate::observe::{Kind, PathState};
use crate::plan::{Refusal, Seen};

/// The control plane whose keys all of them have to be able to read: of those that have any the first that goes the file's way, with the newest key to write
/// with and the most to read with. While the key is replaced, one that joins gets both by that: nobody writes with the new one before all read it.
#[must_use]
pub fn encryption_keeper<'a>(cluster: &'a Cluster, seen: &Seen) -> Option<&'a Host> {
    let wanted = &cluster.settings.security.encryption;
    let rank = |host: &Host| {
        let layout = layout(seen, host).unwrap_or_default();
        let providers: usize = layout.entries().iter().map(|entry| entry.providers.len()).sum();
        // Of keys the newest counts; a plugin has no age, and is the newer way where the file asks for it.
        let leads = layout.entries().iter().flat_map(|entry| &entry.providers).any(|provider| provider.is_asked_by(wanted));
        (leads, layout.names().first().map(|name| age(name)), providers)
    };
    let with_key = cluster.control_planes().filter(|host| has_key(seen.observations(&host.name)));
    with_key.reduce(|best, host| if rank(host) > rank(best) { host } else { best })
}

/// What the host's file says; nothing where there is none.
fn layout(seen: &Seen, host: &Host) -> Option<Layout> {
    let observed = seen.observations(&host.name);
    observed.encryption_keys.as_ref().filter(|keys| !keys.digest.is_empty()).map(|keys| keys.layout.clone())
}

/// The key, or how it is encrypted, is being replaced: control planes have two, or not all the same.
#[must_use]
pub fn replacing_key(cluster: &Cluster, seen: &Seen) -> Option<Refusal> {
    let known: Vec<(&Host, Layout)> = cluster.control_planes().filter_map(|host| Some((host, layout(seen, host)?))).collect();
    let (_, first) = known.first()?;
    if first.is_steady() && known.iter().all(|(_, layout)| layout == first) {
        return None;
    }
    let wanted = &cluster.settings.security.encryption;
    // What is left of encryption that has ended is for `apply`.
    if !wanted.enabled && known.iter().all(|(_, layout)| !layout.is_empty() && !layout.encrypts()) {
        return None;
    }
    let is_of_keys = wanted.kms.is_none() && known.iter().all(|(_, layout)| layout.is_as(wanted));
    let has = known.iter().map(|(host, layout)| match is_of_keys {
        true => format!("{} has {}", host.name, layout.names().join(", ")),
        false => format!("{} has {layout}", host.name),
    });
    let has = has.collect::<Vec<_>>().join("; ");
    Some(match is_of_keys {
        true => Refusal::new("the key that secrets are encrypted with is being replaced")
            .because(has)
            .hint("`kokctl secrets rotate-key` goes on with it; `apply` leaves the keys as they are"),
        false => Refusal::new("how etcd's content is encrypted is being changed").because(has).hint(GOES_ON),
    })
}

const GOES_ON: &str = "`kokctl secrets change-encryption` goes on with it; `apply` leaves it as it is";

/// The key is nowhere, though it was: the API servers that run may know it until they are restarted.
pub(crate) fn lost(cluster: &Cluster, seen: &Seen) -> Option<Refusal> {
    // One that is empty has no key either.
    if cluster.control_planes().any(|host| layout(seen, host).is_some() || seen.facts(&host.name).is_none()) {
        return None;
    }
    // Where a plugin alone has encrypted, there is no key to lose: all of the file follows from the cluster's.
    let own = api_files::encryption_summary(cluster);
    let is_of_key = |host: &&Host| {
        let summary = seen.observations(&host.name).contents.get(ENCRYPTION_SUMMARY);
        summary.is_some_and(|summary| cluster.settings.security.encryption.kms.is_none() || *summary != own.as_bytes())
    };
    let host = cluster.control_planes().find(is_of_key)?;
    let refusal = Refusal::new("the key that secrets are encrypted with is on no control plane any more");
    let refusal = refusal.at(format!("host {} ({})", host.name, host.address));
    let because = format!("{ENCRYPTION_SUMMARY} is there and {ENCRYPTION} is not, and no other key could read what etcd holds");
    Some(refusal.because(because).hint(format!(
        "copy {ENCRYPTION} from a backup to that host; without one, read all secrets from an API server that still runs and restart none"
    )))
}

const CHANGES: &str = "`kokctl secrets change-encryption` brings it there while everything runs; or write again what it was";

/// What runs encrypts otherwise than the file asks for, and nothing leads there yet. Some of them at a time could not read what others write, and what etcd
/// has would stay as it is (Kubernetes, "Encrypting Confidential Data at Rest": a key is first added to all servers, and used by them afterwards).
fn other(cluster: &Cluster, seen: &Seen) -> Option<Refusal> {
    let wanted = &cluster.settings.security.encryption;
    // They are on a way that was judged, and their files stay as they are.
    if wanted.reaches.is_some() {
        return None;
    }
    let runs = |host: &&Host| matches!(seen.observations(&host.name).paths.get(MANIFEST), Some(PathState::Present(_)));
    let known: Vec<(&Host, Layout)> = cluster.control_planes().filter_map(|host| Some((host, layout(seen, host)?))).collect();
    let at = |host: &Host| format!("host {} ({})", host.name, host.address);
    let place = |variable| place(cluster, variable);
    if !wanted.enabled {
        // What somebody has written by hand may have keys of which nothing is known here.
        let (host, _) = known.iter().find(|(_, layout)| layout.is_empty() || layout.encrypts())?;
        let refusal = Refusal::new("the cluster encrypts what etcd holds, and the file does not ask for it").at(at(host));
        return Some(refusal.because(format!("without {ENCRYPTION} the API servers could not read what is encrypted")).hint(CHANGES));
    }
    if known.is_empty() {
        // Somebody who was not asked may have a key.
        if cluster.control_planes().any(|host| seen.facts(&host.name).is_none()) {
            return None;
        }
        let host = cluster.control_planes().find(runs)?;
        let refusal = Refusal::new("the file asks for encryption, and the cluster that runs does not encrypt").at(place(ENABLED));
        return Some(refusal.because(format!("the API server of {} was started without it", host.name)).hint(CHANGES));
    }
    if let Some(refusal) = leaves_plugin(&known, wanted) {
        return Some(refusal);
    }
    let (host, layout) = known.iter().find(|(_, layout)| differs(layout, wanted))?;
    let (words, variable) = difference(layout, wanted);
    Some(Refusal::new(words).at(at(host)).because(format!("{} asks for something else", place(variable))).hint(CHANGES))
}

/// Where the file says this of encryption, by its field or variable, or that there is any.
fn place(cluster: &Cluster, (field, variable): (&str, &str)) -> String {
    let [field, of_variable] = [format!("spec.encryption.{field}"), format!("spec.vars.{variable}")];
    let paths = [field.as_str(), of_variable.as_str(), "spec.encryption.enabled", "spec.vars.kube_encrypt_secret_data"];
    paths.iter().find_map(|path| cluster.position_of(path)).map_or_else(|| variable.to_owned(), ToString::to_string)
}

const ENABLED: (&str, &str) = ("enabled", "kube_encrypt_secret_data");
const ALGORITHM: (&str, &str) = ("algorithm", "kube_encryption_algorithm");
const ENDPOINT: (&str, &str) = ("kms.endpoint", "kube_encryption_kms_endpoint");
const RESOURCES: (&str, &str) = ("resources", "kube_encryption_resources");

/// While the file leads away from a plugin, its folder would be taken from API servers that read by it.
fn leaves_plugin(known: &[(&Host, Layout)], wanted: &Encryption) -> Option<Refusal> {
    let is_hidden = |folder: &str| wanted.plugin().is_none_or(|plugin| plugin.folder() != folder);
    let hidden = |layout: &Layout| layout.plugins().find(|plugin| is_hidden(plugin.folder())).map(|plugin| plugin.name.clone());
    let (host, name) = known.iter().find_map(|(host, layout)| Some((host, hidden(layout)?)))?;
    if known.iter().all(|(_, layout)| layout.is_steady()) {
        return None;
    }
    let refusal = Refusal::new("how etcd's content is encrypted is being changed").at(format!("host {} ({})", host.name, host.address));
    let because = format!("what the KMS plugin {name} has encrypted is read by it still, and the file does not name it any more");
    Some(refusal.because(because).hint("`kokctl secrets change-encryption` goes on with it, and has to come to its end first"))
}

/// How a layout differs from what the file asks for, and the field and variable that ask.
fn difference(layout: &Layout, wanted: &Encryption) -> (String, (&'static str, &'static str)) {
    let with = |provider: &Provider| provider.is_asked_by(wanted);
    let writers = || layout.entries().iter().flat_map(|entry| &entry.providers).filter(|provider| **provider != Provider::Identity);
    if !writers().any(with) {
        let is = writers().next().map_or_else(|| "encrypts nothing any more".to_owned(), |is| format!("encrypts with {}", is.word()));
        let same = wanted.kms.as_ref().is_some_and(|plugin| writers().any(|provider| provider.mark() == Some(&plugin.name)));
        let otherwise = if same { ", reached otherwise" } else { "" };
        let variable = if wanted.kms.is_some() { ENDPOINT } else { ALGORITHM };
        return (format!("the cluster {is}, the file asks for {}{otherwise}", wanted.word()), variable);
    }
    let words = match wanted.resources.iter().find(|name| !layout.providers(name).iter().any(with)) {
        Some(new) => format!("the cluster does not encrypt {new}, and the file asks for it"),
        None => {
            let is_left_out = |name: &&str| !wanted.resources.iter().any(|pattern| covers(pattern, name));
            format!("the cluster encrypts {}, and the file does not ask for it", layout.resources().find(is_left_out).unwrap_or_default())
        }
    };
    (words, RESOURCES)
}

/// Whether a layout neither is what the file asks for nor leads there.
fn differs(layout: &Layout, wanted: &Encryption) -> bool {
    // What somebody has written by hand is his.
    if layout.is_empty() || layout.is_as(wanted) {
        return false;
    }
    let with = |provider: &Provider| provider.is_asked_by(wanted);
    let leads_there = wanted.resources.iter().all(|name| layout.providers(name).iter().any(with));
    layout.is_steady() || !leads_there
}

/// The KMS plugin of a control plane does not listen: without it an API server that encrypts by it is not ready.
pub(crate) fn silent_plugins(cluster: &Cluster, seen: &Seen) -> Vec<Refusal> {
    let wanted = &cluster.settings.security.encryption;
    let Some(plugin) = wanted.kms.as_ref().filter(|_| wanted.enabled) else { return Vec::new() };
    let is_missing = |host: &&Host| match seen.observations(&host.name).paths.get(&plugin.socket) {
        Some(PathState::Missing) => true,
        Some(PathState::Present(found)) => matches!(found.kind, Kind::File | Kind::Directory),
        None => false,
    };
    let refusal = |host: &Host| {
        let refusal = Refusal::new(format!("the KMS plugin {} does not listen", plugin.name));
        let refusal = refusal.at(format!("host {} ({})", host.name, host.address));
        let because = format!("{} is no socket, and an API server that encrypts by it is not ready before it is one", plugin.socket);
        refusal.because(because).hint("start the plugin there, as a unit of systemd or a static pod: kokctl does not bring it")
    };
    cluster.control_planes().filter(is_missing).map(refusal).collect()
}

pub(super) fn check(cluster: &Cluster, seen: &Seen, found: &mut Findings) {
    silent_plugins(cluster, seen).into_iter().for_each(|refusal| found.warn(refusal));
    lost(cluster, seen).or_else(|| other(cluster, seen)).into_iter().for_each(|refusal| found.refuse(refusal));
    replacing_key(cluster, seen).into_iter().for_each(|refusal| found.warn(refusal));
}
