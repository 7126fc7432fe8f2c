//! A DNS cache on each node: CoreDNS at an address of the node itself, which kubelets give to pods instead of that of the cluster's DNS.
//!
//! Its packets never leave the node and no rule translates them, so it needs none in the kernel, whatever kube-proxy's mode.

use std::collections::BTreeMap;
use std::time::Duration;

use kok_crds::model::{Cluster, Host, NodeDns};
use serde::Serialize;

use super::{Task, control_plane, images, kubelet_join, still_ready};
use crate::change::Verdict;
use crate::observe::{KubernetesState, PathState};
use crate::operations::{ApplyManifest, NODE_DNS_UNIT_FILE, NodeDnsLink, Operation, RemoveNodeDns, WorkloadReady};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};
use crate::resources::{File, Resource, Unit, UnitGoal};
use crate::templates::render;

const NAME: &str = "node-dns";

pub(super) const TASK: Task = Task { name: NAME, about: "a DNS cache on each node, where it is wanted", plan };

/// Step that makes the link at whose address a node's cache listens.
const LINK_STEP: StepName<'static> = StepName::new(NAME, "link");

/// Step of the speaker after which every node has a cache that answers.
pub(super) const RUNNING: StepName<'static> = StepName::new(NAME, "running");

/// Step of the speaker after which those nodes have one that were there before the run.
const SERVING: StepName<'static> = StepName::new(NAME, "serving");

/// Step of the speaker after which there is no cache of ours.
const REMOVED: StepName<'static> = StepName::new(NAME, "removed");

/// What makes the address after a start of the host.
const UNIT: &str = "kokctl-node-dns.service";

/// Of the host. Kubespray's has that name too.
pub(crate) const LINK: &str = "nodelocaldns";

/// The DaemonSet, and everything that belongs to it.
pub(crate) const DAEMON_SET: &str = "nodelocaldns";

/// Containers of an image that is there start within seconds; a busy host takes its time.
const WAIT: Duration = Duration::from_secs(300);

#[derive(Serialize)]
struct Zone<'a> {
    names: &'a [String],
    servers: Vec<String>,
    cache_seconds: u32,
}

#[derive(Serialize)]
struct Corefile<'a> {
    zones: Vec<Zone<'a>>,
    address: String,
    cluster_domain: &'a str,
    cluster_dns: String,
    metrics: String,
    health_port: u16,
}

#[derive(Serialize)]
struct Manifest<'a> {
    image: &'a str,
    corefile: String,
    address: String,
    health_port: u16,
    metrics_port: String,
    requests: &'a BTreeMap<String, String>,
    limits: &'a BTreeMap<String, String>,
}

#[derive(Serialize)]
struct Service {
    link: &'static str,
    address: String,
}

fn settings<'a>(view: &HostView<'a>) -> &'a NodeDns {
    &view.cluster().settings.node_dns
}

/// Whether nodes are to have one.
pub(super) fn is_on(view: &HostView<'_>) -> bool {
    settings(view).enabled
}

fn corefile(cluster: &Cluster) -> Result<String, Refusal> {
    let dns = &cluster.settings.node_dns;
    let zone = |zone: &'_ kok_crds::model::DnsZone| zone.servers.iter().map(ToString::to_string).collect::<Vec<_>>();
    let zones = dns.zones.iter().map(|own| Zone { names: &own.names, servers: zone(own), cache_seconds: own.cache_seconds });
    let at = if dns.metrics_at_host { "{$HOST_IP}" } else { "" };
    let context = Corefile {
        zones: zones.collect(),
        address: dns.address.to_string(),
        cluster_domain: &cluster.network.cluster_domain,
        cluster_dns: cluster.network.cluster_dns().to_string(),
        metrics: format!("{at}:{}", dns.metrics_port),
        health_port: dns.health_port,
    };
    Ok(render("node-dns/Corefile.j2", &context)?)
}

fn manifest(view: &HostView<'_>) -> Result<ApplyManifest, Refusal> {
    let dns = settings(view);
    let context = Manifest {
        image: &view.release_image("coredns")?.reference,
        corefile: corefile(view.cluster())?,
        address: dns.address.to_string(),
        health_port: dns.health_port,
        metrics_port: dns.metrics_port.to_string(),
        requests: &dns.requests,
        limits: &dns.limits,
    };
    let text = render("node-dns/node-dns.yaml.j2", &context)?;
    Ok(ApplyManifest { what: "the nodes' DNS cache", text, namespace: "kube-system", name: DAEMON_SET })
}

fn workload(at_least: usize) -> WorkloadReady {
    WorkloadReady { kind: "DaemonSet", namespace: "kube-system", name: DAEMON_SET, at_least: at_least as u64 }
}

/// Names of the hosts that were nodes before the run.
fn nodes_before(view: &HostView<'_>) -> Vec<String> {
    let Some(state) = view.kubernetes() else { return Vec::new() };
    view.cluster().nodes().filter(|host| state.node(&host.name).is_some()).map(|host| host.name.clone()).collect()
}

/// Whether the cache has to answer before kubelets give its address to pods: where it is new to a cluster that works. It never waits for a
/// node that is not Ready: that one's kubelet may be what the run is to mend.
fn comes_first(view: &HostView<'_>) -> bool {
    let (Some(state @ KubernetesState::Ready { nodes, .. }), true) = (view.kubernetes(), is_on(view)) else { return false };
    let is_new = state.object("DaemonSet", "kube-system", DAEMON_SET).is_none_or(|_| {
        let seen = view.speaker().map(|speaker| view.seen.observations(&speaker.name));
        seen.is_ok_and(|seen| workload(0).diff(seen) != Verdict::Same)
    });
    is_new && !nodes.is_empty() && nodes.values().all(|node| node.ready)
}

/// Says that a step gives pods of a node the cache's address.
pub(super) fn needed_by(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    let Ok(speaker) = view.speaker() else { return };
    if comes_first(view) && nodes_before(view).contains(&view.host.name) {
        let reason = Reason::Because("pods that are started from then on ask the node's cache");
        draft.needs(step, &SERVING.on(&speaker.name), reason);
    }
}

/// The step after which a host's kubelet has its configuration.
fn kubelet_of(view: &HostView<'_>, host: &str) -> StepId {
    let is_plane = view.cluster().control_planes().any(|plane| plane.name == host);
    let name = if is_plane { control_plane::KUBELET } else { kubelet_join::JOINED };
    name.on(host)
}

/// Says that a step starts pods that have to ask the cache.
pub(super) fn asked_by_pods_of(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    if is_on(view) {
        for host in nodes_before(view) {
            draft.needs(step, &kubelet_of(view, &host), Reason::Because("its pods are to ask the node's DNS cache"));
        }
    }
}

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if !is_on(view) {
        removal(view, draft);
        return Ok(());
    }
    if view.host.roles.is_node() {
        of_host(view, draft)?;
    }
    if view.is_speaker() {
        of_cluster(view, draft)?;
    }
    Ok(())
}

fn of_host(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let service = Service { link: LINK, address: settings(view).address.to_string() };
    let text = render("node-dns/kokctl-node-dns.service.j2", &service)?;
    let file = draft.add("unit", Resource::File(File::text(NODE_DNS_UNIT_FILE, text)));
    let unit = Unit { name: UNIT.to_owned(), goal: UnitGoal::Running, reads: vec![NODE_DNS_UNIT_FILE.to_owned()] };
    let unit = draft.add("service", Resource::Unit(unit));
    draft.follows(&unit, &file, Reason::Reads);
    let link = draft.add(LINK_STEP, Operation::NodeDnsLink(NodeDnsLink { unit: UNIT, link: LINK, wanted: true }));
    draft.needs(&link, &unit, Reason::Because("the unit makes it"));
    Ok(())
}

fn of_cluster(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let first = comes_first(view);
    let applied = draft.add("daemon-set", Operation::ApplyManifest(manifest(view)?));
    let mut waits = vec![(RUNNING, view.cluster().awaited_nodes().map(|host| host.name.clone()).collect::<Vec<_>>())];
    if first {
        waits.push((SERVING, nodes_before(view)));
    } else {
        draft.needs(&applied, &view.id(control_plane::ADMINISTRATORS), Reason::Because("only administrators may"));
    }
    for (name, hosts) in waits {
        let operation = Operation::WorkloadReady(workload(hosts.len()));
        let step = draft.add(name, operation.clone());
        draft.within(WAIT);
        draft.follows(&step, &applied, Reason::Because("it has to be in the cluster before it can run"));
        for host in hosts {
            draft.needs(&step, &images::COREDNS.on(&host), Reason::StartsImage);
            draft.needs(&step, &LINK_STEP.on(&host), Reason::Because("it listens at the address of that link"));
            if name == RUNNING {
                draft.needs(&step, &kubelet_of(view, &host), Reason::Because("it runs on every node"));
            }
        }
        if name == RUNNING {
            still_ready::recheck_after_restarts(view, draft, &step, operation);
        }
    }
    Ok(())
}

/// Kubelets first, then the cache, then its address: pods that are started meanwhile ask the cluster's DNS. While the cluster does not say
/// whether it has the cache, what is left on a host says that it may.
fn removal(view: &HostView<'_>, draft: &mut Draft<'_>) {
    let Ok(speaker) = view.speaker() else { return };
    let has_unit = |host: &Host| matches!(view.seen.observations(&host.name).paths.get(NODE_DNS_UNIT_FILE), Some(PathState::Present(_)));
    let daemon_set = view.kubernetes().and_then(|state| state.object("DaemonSet", "kube-system", DAEMON_SET));
    let is_ours = daemon_set.is_some_and(|object| object.text(crate::operations::SOURCE_ANNOTATION).is_some());
    if view.is_speaker() && (is_ours || view.cluster().nodes().any(has_unit)) {
        let removed = draft.add(REMOVED, Operation::RemoveNodeDns(RemoveNodeDns { name: DAEMON_SET }));
        draft.needs(&removed, &view.id(control_plane::ADMINISTRATORS), Reason::Because("only administrators may"));
        for host in hosts_that_ask(view) {
            draft.needs(&removed, &kubelet_of(view, &host), Reason::Because(TOLD));
        }
    }
    if view.host.roles.is_node() && has_unit(view.host) {
        let gone = draft.add("link-removed", Operation::NodeDnsLink(NodeDnsLink { unit: UNIT, link: LINK, wanted: false }));
        draft.needs(&gone, &REMOVED.on(&speaker.name), Reason::Because("the cache answers there until then"));
        draft.needs(&gone, &kubelet_of(view, &view.host.name), Reason::Because(TOLD));
    }
}

/// Why a kubelet comes before what it names.
const TOLD: &str = "until then, its pods are told to ask the cache";

/// Hosts whose pods may be told to ask it: all, unless the cluster says which of them it has.
fn hosts_that_ask(view: &HostView<'_>) -> Vec<String> {
    match view.kubernetes() {
        Some(KubernetesState::Ready { .. }) => nodes_before(view),
        _ => view.cluster().nodes().map(|host| host.name.clone()).collect(),
    }
}
