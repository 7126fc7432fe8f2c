//! What the DNS cache of nodes needs of hosts, and what a running cluster can't change about it.

use kok_crds::model::Cluster;

use super::{Findings, Scope};
use crate::list::node_dns::{DAEMON_SET, LINK};
use crate::observe::KubernetesState;
use crate::operations::SOURCE_ANNOTATION;
use crate::plan::{Refusal, Seen};
use crate::speaker::speaker;

/// Where DNS is asked (RFC 1035).
const DNS_PORT: u16 = 53;

/// Where the address of the cache may be written.
const ADDRESS: [&str; 2] = ["spec.vars.nodelocaldns_ip", "spec.network.nodeLocalDNS.address"];

/// Where it is switched.
const ENABLED: [&str; 2] = ["spec.vars.enable_nodelocaldns", "spec.network.nodeLocalDNS.enabled"];

/// Ports that something else has where the cache is to listen, as long as the host has none. A name server at other addresses of the host,
/// as that of systemd-resolved, is in nobody's way.
pub(super) fn taken(scope: &Scope<'_>) -> Vec<String> {
    let (dns, facts) = (&scope.cluster.settings.node_dns, scope.facts);
    if !dns.enabled || !scope.host.roles.is_node() || facts.interfaces.contains_key(LINK) {
        return Vec::new();
    }
    let at_all = [(DNS_PORT, "the node's DNS cache"), (dns.health_port, "the health of the node's DNS cache")];
    let at_all = at_all.into_iter().filter(|(port, _)| facts.ports_at_all_addresses.contains(port));
    let metrics = [(dns.metrics_port, "the metrics of the node's DNS cache")];
    let metrics = metrics.into_iter().filter(|(port, _)| facts.listening_ports.contains(port));
    at_all.chain(metrics).map(|(port, what)| format!("{port} (for {what})")).collect()
}

/// What pods were told when they were started stays so.
pub(super) fn running(cluster: &Cluster, seen: &Seen, found: &mut Findings) {
    let Some(speaker) = speaker(cluster, seen) else { return };
    let state = seen.observations(&speaker.name).kubernetes.as_ref();
    let object = state.and_then(|state: &KubernetesState| state.object("DaemonSet", "kube-system", DAEMON_SET));
    let Some(object) = object else { return };
    let dns = &cluster.settings.node_dns;
    let place = |fields: [&str; 2]| {
        let [in_vars, _] = fields;
        let written = fields.into_iter().find_map(|field| cluster.position_of(field));
        written.map_or_else(|| in_vars.to_owned(), ToString::to_string)
    };
    let wanted = dns.address.to_string();
    let is = object.text("/spec/template/spec/containers/0/livenessProbe/httpGet/host").unwrap_or(&wanted);
    match (dns.enabled, object.text(SOURCE_ANNOTATION).is_some()) {
        (false, false) => {}
        (true, false) => found.refuse(
            Refusal::new(format!("the cluster has a DaemonSet kube-system/{DAEMON_SET} that kokctl has not made"))
                .at(place(ENABLED))
                .because("two caches can't answer at one address, and what others have installed is not overwritten")
                .hint("leave enable_nodelocaldns out; or delete that DaemonSet, its ConfigMap and its ServiceAccount, and apply then"),
        ),
        (true, true) if is != wanted => found.refuse(
            Refusal::new(format!("the DNS cache of the running cluster has the address {is}, the file asks for {}", dns.address))
                .at(place(ADDRESS))
                .because("pods keep the address that they were started with, and would ask nobody")
                .hint(format!("set it back to {is}; or switch the cache off first, restart the pods, and switch it on with the other address")),
        ),
        (true, true) => {}
        (false, true) => found.warn(
            Refusal::new(format!("the DNS cache of each node goes away, and pods that run keep asking it at {is}"))
                .at(place(ENABLED))
                .because("a pod's name servers are those that it was started with; after this run it has to be started anew to find names")
                .hint(
                    "be ready to restart what runs, with `kubectl rollout restart` of Deployments, StatefulSets and DaemonSets in each namespace; \
                     or leave enable_nodelocaldns on",
                ),
        ),
    }
}
