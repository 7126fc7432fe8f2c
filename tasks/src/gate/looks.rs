//! What has to be looked at before the gate is asked, and where: as little as the disruptions need.

use std::collections::BTreeMap;

use kok_crds::model::{Cluster, Host};

use super::view::{api_server_url, member_url};
use super::{Disruption, View};
use crate::membership::peer_url;
use crate::observe::{EtcdState, Look, Looks};
use crate::plan::Seen;

/// What is looked at on each host at first, all at once. `reaches` says to which hosts there is a connection at all: those of a part of the cluster are
/// not, and what the others say of them has to do.
#[must_use]
pub fn first_looks(cluster: &Cluster, ops: &[&Disruption], reaches: &dyn Fn(&str) -> bool) -> BTreeMap<String, Looks> {
    let mut asked: BTreeMap<String, Looks> = BTreeMap::new();
    if ops.iter().any(|op| op.is_of_etcd()) {
        let (here, elsewhere): (Vec<&Host>, Vec<&Host>) = cluster.etcd_hosts().partition(|host| reaches(&host.name));
        for host in here {
            let looks = asked.entry(host.name.clone()).or_default();
            looks.add(Look::Etcd);
            looks.extend(elsewhere.iter().map(|other| Look::EtcdPeerHealth(member_url(other))));
        }
    }
    for op in ops {
        if let Disruption::RestartApiServer { host } = op {
            let looks = asked.entry(host.clone()).or_default();
            looks.add(Look::ApiServer);
            // Whoever may become the only one asks for the others.
            let others = cluster.control_planes().filter(|other| other.name != *host);
            looks.extend(others.map(|other| Look::ApiEndpoint(api_server_url(cluster, other))));
        }
    }
    if ops.iter().any(|op| op.is_of_nodes()) {
        let speaker = cluster.control_planes().find(|host| reaches(&host.name));
        speaker.into_iter().for_each(|host| asked.entry(host.name.clone()).or_default().add_others(&nodes()));
    }
    asked
}

fn nodes() -> Looks {
    [Look::Kubernetes].into_iter().collect()
}

/// What is still to be looked at after what was seen: what others say of members that are silent, and another API server where one does not say
/// which nodes there are. Nothing if that is known, or if there is nobody left to ask.
#[must_use]
pub fn further_looks(cluster: &Cluster, ops: &[&Disruption], seen: &Seen, reaches: &dyn Fn(&str) -> bool) -> BTreeMap<String, Looks> {
    let mut asked: BTreeMap<String, Looks> = BTreeMap::new();
    if ops.iter().any(|op| op.is_of_etcd()) {
        asked.extend(second_viewpoint(cluster, seen));
    }
    if ops.iter().any(|op| op.is_of_nodes()) && View::from_seen(cluster, seen).nodes.is_empty() {
        let is_asked = |host: &&Host| seen.observations(&host.name).kubernetes.is_some() || seen.is_unreachable(&host.name);
        let other = cluster.control_planes().filter(|host| reaches(&host.name)).find(|host| !is_asked(host));
        other.into_iter().for_each(|host| asked.entry(host.name.clone()).or_default().add_others(&nodes()));
    }
    asked
}

/// A healthy member is asked about all that are silent on their hosts.
fn second_viewpoint(cluster: &Cluster, seen: &Seen) -> Option<(String, Looks)> {
    let state = |host: &Host| seen.observations(&host.name).etcd.as_ref();
    let (speaks, list) = cluster.etcd_hosts().find_map(|host| match state(host) {
        Some(EtcdState::Ready(member)) if member.has_leader && !member.is_learner => Some((host, &member.members)),
        _ => None,
    })?;
    // Who is no member yet has none that could be dead.
    let is_listed = |host: &&Host| list.iter().any(|peer| peer.peer_url == peer_url(host) || peer.name == host.name);
    let silent = cluster.etcd_hosts().filter(is_listed).filter(|host| match state(host) {
        Some(EtcdState::Absent | EtcdState::NotReady(_)) => true,
        Some(EtcdState::Ready(_)) => false,
        None => seen.is_unreachable(&host.name),
    });
    let answers = &seen.observations(&speaks.name).etcd_peers;
    let looks: Looks = silent.map(member_url).filter(|url| !answers.contains_key(url)).map(Look::EtcdPeerHealth).collect();
    (!looks.is_empty()).then(|| (speaks.name.clone(), looks))
}
