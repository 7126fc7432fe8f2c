//! What etcd holds can be read only with the key and in the way that it was written with.

use kok_crds::model::{Cluster, Encryption, Host};

use super::Findings;
use super::running::MANIFEST;
use crate::api_files::{ENCRYPTION, ENCRYPTION_SUMMARY};
use crate::encryption::{Layout, Provider, age, covers};
use crate::list::api_server::has_key;
use crate::observe::PathState;
use crate::plan::{Refusal, Seen};

/// The control plane whose keys all of them have to be able to read: of those that have any the first with the newest key to write with, and the most to read
/// with. While the key is replaced, one that joins gets both by that: nobody writes with the new one before all read it.
#[must_use]
pub fn encryption_keeper<'a>(cluster: &'a Cluster, seen: &Seen) -> Option<&'a Host> {
    let rank = |host: &Host| {
        let layout = layout(seen, host).unwrap_or_default();
        let providers: usize = layout.entries().iter().map(|entry| entry.providers.len()).sum();
        (layout.names().first().map(|name| age(name)), providers)
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
    if !wanted.enabled && known.iter().all(|(_, layout)| !layout.is_empty() && layout.names().is_empty()) {
        return None;
    }
    let is_of_keys = known.iter().all(|(_, layout)| layout.is_as(wanted));
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
    let host = cluster.control_planes().find(|host| seen.observations(&host.name).contents.contains_key(ENCRYPTION_SUMMARY))?;
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
    let runs = |host: &&Host| matches!(seen.observations(&host.name).paths.get(MANIFEST), Some(PathState::Present(_)));
    let known: Vec<(&Host, Layout)> = cluster.control_planes().filter_map(|host| Some((host, layout(seen, host)?))).collect();
    let at = |host: &Host| format!("host {} ({})", host.name, host.address);
    let place = |variable: &str| {
        let position = cluster.position_of(&format!("spec.vars.{variable}")).or(cluster.position_of("spec.vars.kube_encrypt_secret_data"));
        position.map_or_else(|| variable.to_owned(), ToString::to_string)
    };
    if !wanted.enabled {
        // What somebody has written by hand may have keys of which nothing is known here.
        let (host, _) = known.iter().find(|(_, layout)| layout.is_empty() || !layout.names().is_empty())?;
        let refusal = Refusal::new("the cluster encrypts what etcd holds, and the file does not ask for it").at(at(host));
        return Some(refusal.because(format!("without {ENCRYPTION} the API servers could not read what is encrypted")).hint(CHANGES));
    }
    if known.is_empty() {
        // Somebody who was not asked may have a key.
        if cluster.control_planes().any(|host| seen.facts(&host.name).is_none()) {
            return None;
        }
        let host = cluster.control_planes().find(runs)?;
        let refusal =
            Refusal::new("the file asks for encryption, and the cluster that runs does not encrypt").at(place("kube_encrypt_secret_data"));
        return Some(refusal.because(format!("the API server of {} was started without it", host.name)).hint(CHANGES));
    }
    let with = |provider: &Provider| matches!(provider, Provider::Key { algorithm, .. } if *algorithm == wanted.algorithm);
    let (host, layout) = known.iter().find(|(_, layout)| differs(layout, wanted))?;
    let keys = || layout.entries().iter().flat_map(|entry| &entry.providers).filter(|provider| provider.key().is_some());
    let (words, variable) = if !keys().any(with) {
        let is = keys().find_map(|provider| if let Provider::Key { algorithm, .. } = provider { Some(algorithm.as_str()) } else { None });
        let is = is.map_or_else(|| "encrypts nothing any more".to_owned(), |is| format!("encrypts with {is}"));
        (format!("the cluster {is}, the file asks for {}", wanted.algorithm.as_str()), "kube_encryption_algorithm")
    } else if let Some(new) = wanted.resources.iter().find(|name| !layout.providers(name).iter().any(with)) {
        (format!("the cluster does not encrypt {new}, and the file asks for it"), "kube_encryption_resources")
    } else {
        let left_out = layout.resources().find(|name| !wanted.resources.iter().any(|pattern| covers(pattern, name))).unwrap_or_default();
        (format!("the cluster encrypts {left_out}, and the file does not ask for it"), "kube_encryption_resources")
    };
    Some(Refusal::new(words).at(at(host)).because(format!("{} asks for something else", place(variable))).hint(CHANGES))
}

/// Whether a layout neither is what the file asks for nor leads there.
fn differs(layout: &Layout, wanted: &Encryption) -> bool {
    // What somebody has written by hand is his.
    if layout.is_empty() || layout.is_as(wanted) {
        return false;
    }
    let with = |provider: &Provider| matches!(provider, Provider::Key { algorithm, .. } if *algorithm == wanted.algorithm);
    let leads_there = wanted.resources.iter().all(|name| layout.providers(name).iter().any(with));
    layout.is_steady() || !leads_there
}

pub(super) fn check(cluster: &Cluster, seen: &Seen, found: &mut Findings) {
    lost(cluster, seen).or_else(|| other(cluster, seen)).into_iter().for_each(|refusal| found.refuse(refusal));
    replacing_key(cluster, seen).into_iter().for_each(|refusal| found.warn(refusal));
}
