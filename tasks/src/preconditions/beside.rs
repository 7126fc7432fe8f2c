//! What keeps a file from being applied, whatever becomes of hosts that leave before.

use kok_crds::model::Cluster;

use super::{Examined, FOUNDING, MOVED, Weight, bootstrap, control_planes, examine, moved};
use crate::plan::{Refusal, Seen};

/// Why `apply` would refuse the cluster whatever becomes of these hosts, which leave it before: said before they do.
#[must_use]
pub fn check_beside(cluster: &Cluster, seen: &Seen, leaving: &[String]) -> Vec<Refusal> {
    // What the founding says of a member that is to leave is why it leaves, and the list of members becomes another one; and so are another role and another
    // address.
    let counts = |examined: &Examined| match &examined.host {
        Some(host) => !leaving.contains(host),
        None => ![FOUNDING, MOVED].contains(&examined.name),
    };
    let findings = examine(cluster, seen).into_iter().filter(counts).flat_map(|examined| examined.findings);
    let refusals = findings.filter(|finding| finding.weight == Weight::Refusal).map(|finding| finding.refusal);
    let of_hosts = bootstrap::of_hosts(cluster, seen).into_iter().chain(control_planes::changed(cluster, seen));
    let of_others = of_hosts.chain(moved::all(cluster, seen)).filter(|(host, _)| !leaving.contains(host)).map(|(_, refusal)| refusal);
    let names: Vec<&str> = leaving.iter().map(String::as_str).collect();
    refusals.chain(of_others).chain(bootstrap::apart(&cluster.without(&names), seen)).collect()
}
