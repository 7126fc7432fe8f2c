//! Hosts whose nodes the cluster knows by another address: the machine has moved, or another one stands there.

use std::net::IpAddr;

use kok_crds::model::{Cluster, Host};

use super::Findings;
use crate::observe::{KubernetesState, NodeState};
use crate::plan::{Refusal, Seen};
use crate::present::moved_from;
use crate::speaker::speaker;

/// See [`all`].
pub(super) fn check(cluster: &Cluster, seen: &Seen, found: &mut Findings) {
    all(cluster, seen).into_iter().for_each(|(_, refusal)| found.refuse(refusal));
}

/// Hosts of the file that answer at another address than that of their node, with what is said of each: routes, certificates and the list of etcd's members
/// have the old one.
pub(super) fn all(cluster: &Cluster, seen: &Seen) -> Vec<(String, Refusal)> {
    let state = speaker(cluster, seen).and_then(|host| seen.observations(&host.name).kubernetes.as_ref());
    let Some(KubernetesState::Ready { nodes, .. }) = state else { return Vec::new() };
    // Of those with a member that is a unit, more is said elsewhere.
    let is_unit = |host: &Host| cluster.has_etcd_units() && (host.roles.control_plane || host.roles.etcd);
    let moved = cluster.nodes().filter(|host| !is_unit(host) && seen.facts(&host.name).is_some()).filter_map(|host| {
        let node = nodes.get(&host.name)?;
        Some((host, node, moved_from(host, node)?))
    });
    let moved: Vec<(&Host, &NodeState, IpAddr)> = moved.collect();
    let names: Vec<&str> = moved.iter().map(|(host, ..)| host.name.as_str()).collect();
    let names = names.join(" ");
    moved.iter().map(|(host, node, from)| (host.name.clone(), refusal(cluster, (host, node, *from), &names, seen))).collect()
}

fn refusal(cluster: &Cluster, (host, node, from): (&Host, &NodeState, IpAddr), names: &str, seen: &Seen) -> Refusal {
    let (name, to) = (&host.name, host.address);
    let machine = seen.facts(name).map(|facts| facts.machine_id.as_str()).unwrap_or_default();
    let place = cluster.host_position(name, "address").map_or_else(|| "spec.hosts".to_owned(), ToString::to_string);
    if machine == node.machine_id {
        return Refusal::new(format!("{name} has moved from {from} to {to}: it is the same machine"))
            .at(place)
            .because(format!("both have the machine-id {machine}, and the cluster knows it by {from}"))
            .hint(format!(
                "`kokctl replace -f FILE {names}` drains it, takes it out and lets it join anew by {to}; or set its address back to {from}, if it has \
                 that one still"
            ));
    }
    Refusal::new(format!("another machine stands at {to} than the node {name}, which is at {from}"))
        .at(place)
        .because(format!("the node has the machine-id {}, and the host {machine}", node.machine_id))
        .hint(format!(
            "correct the address; or, if this machine is to take the place of the old one: switch that one off, and `kokctl replace -f FILE {name}` a minute \
             later"
        ))
}
