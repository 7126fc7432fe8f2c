//! etcd's own certificate authority, where etcd runs as units: its key lies on the hosts of etcd, and nowhere else.

use kok_crds::model::{Cluster, Host};
use kok_pki::{AuthorityKind, trust_one};

use super::owner::is_recorded;
use crate::issued::is_kept_elsewhere;
use crate::observe::{Look, PathState};
use crate::plan::{Refusal, Seen};

const CERTIFICATE: &str = "/etc/kubernetes/pki/etcd/ca.crt";
const KEY: &str = "/etc/kubernetes/pki/etcd/ca.key";

/// The certificate is public; of the key it counts that it is there.
pub(crate) fn looks(host: &Host) -> impl Iterator<Item = Look> {
    let certificate = (host.roles.etcd || host.roles.control_plane).then(|| Look::Content(CERTIFICATE.to_owned()));
    certificate.into_iter().chain(host.roles.etcd.then(|| Look::Path(KEY.to_owned())))
}

/// What a host has of the authority: the certificate, and whether it could sign.
fn authority<'a>(host: &Host, seen: &'a Seen) -> Option<(&'a [u8], bool)> {
    let seen = seen.observations(&host.name);
    let has_key = host.roles.etcd && matches!(seen.paths.get(KEY), Some(PathState::Present(_)));
    seen.contents.get(CERTIFICATE).map(|certificate| (certificate.trim_ascii(), has_key))
}

/// The host whose authority of etcd is the cluster's, and that can sign with it: the first that has its key, and belongs to the cluster.
#[must_use]
pub fn etcd_keeper<'a>(cluster: &'a Cluster, seen: &Seen) -> Option<&'a Host> {
    if !cluster.has_etcd_units() {
        return super::keeper(cluster, seen);
    }
    let elsewhere = is_kept_elsewhere(cluster, AuthorityKind::Etcd);
    let has_key = |host: &&Host| authority(host, seen).is_some_and(|(_, has_key)| has_key || elsewhere);
    cluster.etcd_hosts().filter(|host| is_recorded(cluster, host, seen)).find(has_key)
}

/// All hosts have one authority of etcd, and one of them its key.
pub(super) fn check(cluster: &Cluster, seen: &Seen) -> Option<Refusal> {
    let mut by_authority: Vec<(String, Vec<&str>)> = Vec::new();
    for host in cluster.hosts.iter().filter(|host| is_recorded(cluster, host, seen)) {
        let Some((certificate, _)) = authority(host, seen) else { continue };
        let certificate = String::from_utf8_lossy(certificate);
        match by_authority.iter_mut().find(|(known, _)| trust_one(known, &certificate)) {
            Some((_, hosts)) => hosts.push(&host.name),
            None => by_authority.push((certificate.into_owned(), vec![&host.name])),
        }
    }
    let hosts = || by_authority.iter().flat_map(|(_, hosts)| hosts).copied().collect::<Vec<_>>().join(", ");
    if by_authority.len() > 1 {
        let groups: Vec<String> = by_authority.iter().map(|(_, hosts)| hosts.join(", ")).collect();
        return Some(
            Refusal::new(format!("these hosts have {} certificate authorities of etcd", by_authority.len()))
                .at(format!("host {}", hosts()))
                .because(format!("/etc/kubernetes/pki/etcd/ca.crt is one on {}", groups.join(", another one on ")))
                .hint("correct the addresses; or, if one of these clusters can go, take it down with `kokctl reset` and its own file"),
        );
    }
    let all_asked = cluster.etcd_hosts().all(|host| seen.facts(&host.name).is_some());
    (all_asked && !by_authority.is_empty() && etcd_keeper(cluster, seen).is_none()).then(|| {
        Refusal::new("the cluster has lost the certificate authority of etcd")
            .at(format!("host {}", hosts()))
            .because("/etc/kubernetes/pki/etcd/ca.crt is there, and no host of etcd has its key")
            .hint("restore /etc/kubernetes/pki of one host of etcd from a backup; or, if the cluster can go, take it down with `kokctl reset`")
    })
}
