//! What etcd holds can be read only with the key and in the way that it was written with.

use kok_crds::model::{Cluster, Host};

use super::Findings;
use super::running::MANIFEST;
use crate::api_files::{ENCRYPTION, ENCRYPTION_SUMMARY};
use crate::encryption::age;
use crate::list::api_server::has_key;
use crate::observe::PathState;
use crate::plan::{Refusal, Seen};

/// The control plane whose keys all of them have to be able to read: of those that have any the first with the newest key to write with, and the most keys.
/// While the key is replaced, one that joins gets both by that: nobody writes with the new one before all read it.
#[must_use]
pub fn encryption_keeper<'a>(cluster: &'a Cluster, seen: &Seen) -> Option<&'a Host> {
    let names = |host: &Host| seen.observations(&host.name).encryption_keys.as_ref().map(|keys| keys.names.as_slice()).unwrap_or_default();
    let rank = |host: &Host| (names(host).first().map(|name| age(name)), names(host).len());
    let with_key = cluster.control_planes().filter(|host| has_key(seen.observations(&host.name)));
    with_key.reduce(|best, host| if rank(host) > rank(best) { host } else { best })
}

/// The key is being replaced: control planes have two, or not all the same.
#[must_use]
pub fn replacing_key(cluster: &Cluster, seen: &Seen) -> Option<Refusal> {
    let named = |host: &Host| {
        let keys = seen.observations(&host.name).encryption_keys.clone().filter(|keys| !keys.names.is_empty())?;
        Some((host.name.clone(), keys.names))
    };
    let known: Vec<(String, Vec<String>)> = cluster.control_planes().filter_map(named).collect();
    let (_, first) = known.first()?;
    if first.len() == 1 && known.iter().all(|(_, names)| names == first) {
        return None;
    }
    let has = known.iter().map(|(host, names)| format!("{host} has {}", names.join(", "))).collect::<Vec<_>>().join("; ");
    let refusal = Refusal::new("the key that secrets are encrypted with is being replaced").because(has);
    Some(refusal.hint("`kokctl secrets rotate-key` goes on with it; `apply` leaves the keys as they are"))
}

/// The key is nowhere, though it was: the API servers that run may know it until they are restarted.
fn lost(cluster: &Cluster, seen: &Seen) -> Option<Refusal> {
    if cluster.control_planes().any(|host| has_key(seen.observations(&host.name)) || seen.facts(&host.name).is_none()) {
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

/// An API server that has no key yet can't read what another one encrypts, so all of several have to begin at once, or before there are
/// any (Kubernetes, "Encrypting Confidential Data at Rest": a key is first added to all servers, and used by them afterwards).
fn split(cluster: &Cluster, seen: &Seen) -> Option<Refusal> {
    let wanted = &cluster.settings.security.encryption;
    let runs = |host: &Host| matches!(seen.observations(&host.name).paths.get(MANIFEST), Some(PathState::Present(_)));
    let reads = |host: &Host, name: &str| {
        let said = seen.observations(&host.name).contents.get(ENCRYPTION_SUMMARY).map(|text| String::from_utf8_lossy(text).into_owned());
        let resources = said.as_deref().and_then(|text| text.split_whitespace().nth(1)).unwrap_or_default();
        resources.split(',').any(|known| known == name)
    };
    if !wanted.enabled || !cluster.is_highly_available() {
        return None;
    }
    let running: Vec<&Host> = cluster.control_planes().filter(|host| runs(host)).collect();
    // What one of them encrypts already is to be read by the others as soon as can be.
    let begun = |name: &&String| running.is_empty() || running.iter().any(|host| reads(host, name));
    let new = wanted.resources.iter().find(|name| !begun(name))?;
    let place = cluster.position_of("spec.vars.kube_encryption_resources").or(cluster.position_of("spec.vars.kube_encrypt_secret_data"));
    let refusal = Refusal::new(format!("{new} can't be encrypted from now on in this cluster"));
    let refusal = refusal.at(place.map_or_else(|| "kube_encrypt_secret_data".to_owned(), ToString::to_string));
    let because = "its control planes are changed one after the other, and those without the key could not read what the first one writes";
    Some(refusal.because(because).hint("set the variable back; with several control planes this version encrypts from the founding on"))
}

pub(super) fn check(cluster: &Cluster, seen: &Seen, found: &mut Findings) {
    let wanted = &cluster.settings.security.encryption;
    lost(cluster, seen).into_iter().chain(split(cluster, seen)).for_each(|refusal| found.refuse(refusal));
    replacing_key(cluster, seen).into_iter().for_each(|refusal| found.warn(refusal));
    for host in cluster.control_planes().filter(|host| has_key(seen.observations(&host.name))) {
        let observed = seen.observations(&host.name);
        let at = format!("host {} ({})", host.name, host.address);
        if !wanted.enabled {
            found.refuse(
                Refusal::new("the cluster encrypts what etcd holds, and the file does not ask for it")
                    .at(at)
                    .because(format!("without {ENCRYPTION} the API servers could not read what is encrypted"))
                    .hint("write `kube_encrypt_secret_data: true`; to end it, all that is encrypted has to be written anew first"),
            );
            return;
        }
        let said = observed.contents.get(ENCRYPTION_SUMMARY).map(|text| String::from_utf8_lossy(text).into_owned());
        let algorithm = said.as_deref().and_then(|text| text.split_whitespace().next());
        if let Some(is) = algorithm.filter(|is| *is != wanted.algorithm.as_str()) {
            let refusal = Refusal::new(format!("the cluster encrypts with {is}, the file asks for {}", wanted.algorithm.as_str()));
            let refusal = refusal.at(at).because("what is encrypted could not be read any more");
            found.refuse(refusal.hint(format!("write `kube_encryption_algorithm: {is}`")));
            return;
        }
        let encrypted = said.as_deref().and_then(|text| text.split_whitespace().nth(1)).unwrap_or_default().split(',');
        if let Some(left_out) = encrypted.filter(|name| !name.is_empty()).find(|name| !wanted.resources.iter().any(|kept| kept == name)) {
            let refusal = Refusal::new(format!("the cluster encrypts {left_out}, and the file does not ask for it")).at(at);
            let refusal = refusal.because("those that are encrypted could not be read any more");
            found.refuse(refusal.hint(format!("add {left_out} to `kube_encryption_resources`")));
            return;
        }
    }
}
