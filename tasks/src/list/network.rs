//! The pod network, by the plugin that the cluster is to have (`network_plugins`).

use std::collections::BTreeMap;

use super::{Task, control_plane, images, kubelet_join, still_ready};
use crate::network_plugins::{self, Plugin, STARTING};
use crate::operations::{NodesReady, Operation, WorkloadReady};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};
use crate::resources::{Directory, Resource};

const NAME: &str = "network";

pub(super) const TASK: Task = Task { name: NAME, about: "the pod network", plan };

/// What a network plugin calls a step of its own: all plugins are of this task.
pub(crate) const fn step(name: &'static str) -> StepName<'static> {
    StepName::new(NAME, name)
}

/// Step of a host after which the runtime takes its network as ready.
pub(crate) const CONFIGURATION: StepName<'static> = step("configuration");

/// Step after which all nodes are Ready.
pub(super) const NODES_READY: StepName<'static> = StepName::new(NAME, "nodes-ready");

const PROXY_RUNNING: StepName<'static> = StepName::new(NAME, "kube-proxy-running");
const DNS_RUNNING: StepName<'static> = StepName::new(NAME, "coredns-running");

/// Steps after which what carries pods and their names runs everywhere. What of a user's network has to run is not known; nodes say when it does.
pub(super) fn running_steps(view: &HostView<'_>) -> impl Iterator<Item = StepName<'static>> {
    let of_plugin = network_plugins::workloads(view.cluster()).map(|workload| workload.step);
    of_plugin.chain(has_proxy(view).then_some(PROXY_RUNNING)).chain([DNS_RUNNING])
}

fn plugin(view: &HostView<'_>) -> &'static Plugin {
    network_plugins::plugin(&view.cluster().network)
}

/// Whether there will be a network. Without one nodes are not Ready, and pods with addresses of their own wait.
pub(super) fn is_there(view: &HostView<'_>) -> bool {
    network_plugins::carries_pods(&view.cluster().network)
}

/// Whether kube-proxy carries packets for Services; else the network plugin does.
pub(super) fn has_proxy(view: &HostView<'_>) -> bool {
    !view.cluster().settings.kube_proxy_remove
}

/// What tells the network from others, for those who check it: the plugin, and whom pods ask for names.
pub(super) fn sum(view: &HostView<'_>) -> Result<String, Refusal> {
    let plugin = (plugin(view).sum)(view)?;
    let dns = &view.cluster().settings.node_dns;
    Ok(if dns.enabled { format!("{plugin} names={}", dns.address) } else { plugin })
}

/// kube-proxy has the host's network and needs no other.
fn without_plugin(view: &HostView<'_>, draft: &mut Draft<'_>) {
    let at_least = view.cluster().awaited_nodes().count() as u64;
    let workload = WorkloadReady { kind: "DaemonSet", namespace: "kube-system", name: "kube-proxy", at_least };
    let operation = Operation::WorkloadReady(workload);
    let step = draft.add(PROXY_RUNNING, operation.clone());
    draft.within(STARTING);
    let addons = view.id(control_plane::ADDONS);
    draft.follows(&step, &addons, Reason::Because("it has to be in the cluster before it can run"));
    for host in view.cluster().nodes() {
        draft.needs(&step, &images::KUBE_PROXY.on(&host.name), Reason::StartsImage);
        draft.needs(&step, &kubelet_join::node_step(view.cluster(), host), Reason::Because("it runs on every node"));
    }
    still_ready::recheck_after_restarts(view, draft, &step, operation);
}

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let plugin = plugin(view);
    if view.host.roles.is_node() {
        (plugin.host_steps)(view, draft)?;
    }
    if !view.is_speaker() {
        return Ok(());
    }
    match (plugin.cluster_steps)(view, draft)? {
        Some(installed) => nodes_ready(view, draft, &installed),
        None if has_proxy(view) => without_plugin(view, draft),
        None => {}
    }
    Ok(())
}

/// Where the runtime looks for its network.
pub(crate) fn configuration_folder(draft: &mut Draft<'_>) -> StepId {
    let parent = draft.add("folder", Resource::Directory(Directory::new("/etc/cni", 0o755)));
    let folder = draft.add("configuration-folder", Resource::Directory(Directory::new("/etc/cni/net.d", 0o755)));
    draft.needs(&folder, &parent, Reason::Inside);
    folder
}

/// Nodes are Ready once they have a network, and then everything runs.
fn nodes_ready(view: &HostView<'_>, draft: &mut Draft<'_>, installed: &StepId) {
    let plugin = plugin(view);
    let administrators = view.id(control_plane::ADMINISTRATORS);
    let cluster = view.cluster();
    let versions: BTreeMap<String, String> =
        cluster.awaited_nodes().map(|host| (host.name.clone(), cluster.kubelet_version(host).to_string())).collect();
    let count = versions.len() as u64;
    let ready = draft.add(NODES_READY, Operation::NodesReady(NodesReady { versions }));
    draft.within(plugin.nodes_ready_within);
    draft.needs(&ready, &administrators, Reason::Because("only administrators may ask"));
    draft.needs(&ready, installed, Reason::Because("a node without a network is not Ready"));
    still_ready::while_all_go_on(view, draft, &ready, view.cluster().nodes());
    still_ready::once_all_have_asked(view, draft, &ready);
    for host in view.cluster().nodes() {
        draft.needs(&ready, &plugin.node_needs.on(&host.name), Reason::Because("a node without a network is not Ready"));
        if host.roles.control_plane {
            let finalized = control_plane::node_step(view.cluster()).on(&host.name);
            draft.needs(&ready, &finalized, Reason::Because("that restarts the kubelet"));
        } else {
            draft.needs(&ready, &kubelet_join::JOINED.on(&host.name), Reason::Because("that host has to join first"));
        }
    }
    let addons = view.id(control_plane::ADDONS);
    for it in network_plugins::workloads(view.cluster()) {
        let at_least = if it.kind == "DaemonSet" { count } else { 1 };
        let workload = WorkloadReady { kind: it.kind, namespace: it.namespace, name: it.name, at_least };
        running(view, draft, it.step, workload, installed, &ready, it.image);
    }
    if has_proxy(view) {
        let daemons = WorkloadReady { kind: "DaemonSet", namespace: "kube-system", name: "kube-proxy", at_least: count };
        running(view, draft, PROXY_RUNNING, daemons, &addons, &ready, images::KUBE_PROXY);
    }
    let dns = WorkloadReady { kind: "Deployment", namespace: "kube-system", name: "coredns", at_least: 1 };
    running(view, draft, DNS_RUNNING, dns, &addons, &ready, images::COREDNS);
}

fn running(
    view: &HostView<'_>,
    draft: &mut Draft<'_>,
    name_of_step: StepName<'_>,
    workload: WorkloadReady,
    applied: &StepId,
    nodes: &StepId,
    image: StepName<'_>,
) {
    let operation = Operation::WorkloadReady(workload);
    let step = draft.add(name_of_step, operation.clone());
    draft.within(STARTING);
    draft.follows(&step, applied, Reason::Because("it has to be in the cluster before it can run"));
    draft.needs(&step, nodes, Reason::Because("it runs on nodes that are Ready"));
    for host in view.cluster().nodes() {
        draft.needs(&step, &image.on(&host.name), Reason::StartsImage);
    }
    still_ready::recheck_after_restarts(view, draft, &step, operation);
}
