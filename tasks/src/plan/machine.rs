//! Whether the machine that answers for a host that leaves is the one whose node leaves.

use std::collections::BTreeMap;

use kok_crds::model::Cluster;

use super::make::Seen;
use super::refusal::Refusal;
use super::reset::is_ours;
use crate::observe::NodeState;

/// Another machine would be cleaned than the one whose node goes, or the one would go on without its node: said before anything is begun. One whose node is
/// silent, and in whose place another machine stands, is gone.
pub(super) fn another(cluster: &Cluster, name: &str, nodes: &BTreeMap<String, NodeState>, seen: &Seen) -> Option<Refusal> {
    let (host, facts) = (cluster.host(name)?, seen.facts(name)?);
    if facts.machine_id.is_empty() {
        return None;
    }
    let at = |refusal: Refusal| refusal.at(format!("host {name} ({})", host.address));
    if let Some((other, _)) = nodes.iter().find(|(other, node)| *other != name && node.machine_id == facts.machine_id) {
        let refusal =
            Refusal::new(format!("the machine that answers for {name} is the node {other}")).because("it has the machine-id of that one");
        return Some(at(refusal.hint(format!("correct the address of {name} in the file"))));
    }
    let node = nodes.get(name).filter(|node| !node.silent && !node.machine_id.is_empty() && node.machine_id != facts.machine_id)?;
    let is_elsewhere = node.addresses.iter().all(|address| facts.interface_of(*address).is_none());
    (is_elsewhere || is_ours(cluster, host, seen)).then(|| {
        let address = node.addresses.first().map(|address| format!(" at {address}")).unwrap_or_default();
        let refusal = Refusal::new(format!("another machine answers for {name} than the one that is its node"))
            .because(format!("the node is the machine {}{address}, which still speaks with the API; the one that answers is {}", node.machine_id, facts.machine_id))
            .hint(format!(
                "correct the address of {name} in the file; or, if another machine is to take its place, switch the old one off, and wait a minute until the \
                 cluster has given it up"
            ));
        at(refusal)
    })
}
