//! Hosts that say of themselves to be part of this cluster are part of one cluster.

use std::collections::BTreeMap;

use kok_crds::model::Cluster;

use super::Findings;
use crate::plan::{Refusal, Seen};

/// See [`check`].
pub(super) fn ownership(cluster: &Cluster, seen: &Seen, found: &mut Findings) {
    if let Some(refusal) = check(cluster, seen) {
        found.refuse(refusal);
    }
}

/// Two clusters of one name have different ids: a file in which hosts of both stand is wrong.
pub(super) fn check(cluster: &Cluster, seen: &Seen) -> Option<Refusal> {
    let mut by_id: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for host in &cluster.hosts {
        let Some(facts) = seen.facts(&host.name).filter(|facts| facts.cluster.as_ref() == Some(&cluster.name)) else { continue };
        if let Some(id) = &facts.cluster_id {
            by_id.entry(id).or_default().push(&host.name);
        }
    }
    (by_id.len() > 1).then(|| {
        let groups: Vec<String> = by_id.iter().map(|(id, hosts)| format!("{} has the id {id}", hosts.join(", "))).collect();
        Refusal::new(format!("these hosts belong to {} clusters of the name {}", by_id.len(), cluster.name))
            .at(format!("host {}", by_id.values().flatten().copied().collect::<Vec<_>>().join(", ")))
            .because(groups.join("; "))
            .hint("correct the addresses; or, if one of these clusters can go, take it down with `kokctl reset` and its own file")
    })
}
