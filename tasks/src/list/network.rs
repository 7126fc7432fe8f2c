//! The pod network: flannel.

use std::time::Duration;

use kok_crds::model::NetworkPlugin;
use serde::Serialize;
use serde_json::json;

use super::{container_runtime, control_plane, images, kubelet_join};
use crate::identity::endpoint;
use crate::operations::{ApplyManifest, NodesReady, Operation, SubnetReady, WorkloadReady};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId};
use crate::resources::{Directory, File, Resource};
use crate::templates::render;

pub(super) const NAME: &str = "network";

/// Step after which all nodes are Ready.
pub(super) const NODES_READY: &str = "nodes-ready";

/// Steps after which what carries pods and their names runs everywhere.
pub(super) const RUNNING: [&str; 3] = ["flannel-running", "kube-proxy-running", "coredns-running"];

#[derive(Serialize)]
struct Flannel<'a> {
    image: &'a str,
    network_configuration: String,
    api_server_host: String,
    api_server_port: String,
}

/// Everything of flannel in the cluster.
pub(super) fn manifest(view: &HostView<'_>) -> Result<ApplyManifest, Refusal> {
    let network = &view.cluster().network;
    let configuration = json!({
        "Network": network.pod_cidr.to_string(),
        "EnableNFTables": true,
        "Backend": {"Type": network.backend.as_str()},
    });
    let api = endpoint(view.cluster()).ok_or_else(|| Refusal::new("the cluster has no control plane"))?;
    let context = Flannel {
        image: &view.image("flannel")?.reference,
        network_configuration: configuration.to_string(),
        api_server_host: api.host,
        api_server_port: api.port.to_string(),
    };
    let text = render("flannel/flannel.yaml.j2", &context)?;
    Ok(ApplyManifest { what: "flannel", text, namespace: "kube-flannel", name: "kube-flannel-ds" })
}

/// Whether there is a network that is ours. Without one nodes are not Ready, and pods with addresses of their own wait.
pub(super) fn is_ours(view: &HostView<'_>) -> bool {
    view.cluster().network.plugin != NetworkPlugin::None
}

/// kube-proxy has the host's network and needs no other.
fn without_plugin(view: &HostView<'_>, draft: &mut Draft<'_>) {
    let [_, name, _] = RUNNING;
    let at_least = view.cluster().nodes().count() as u64;
    let workload = WorkloadReady { kind: "DaemonSet", namespace: "kube-system", name: "kube-proxy", at_least };
    let step = draft.add(name, Operation::WorkloadReady(workload));
    draft.within(WAIT);
    let addons = view.id(control_plane::NAME, control_plane::ADDONS);
    draft.follows(&step, &addons, Reason::Because("it has to be in the cluster before it can run"));
    for host in view.cluster().nodes() {
        draft.needs(&step, &StepId::new(&host.name, images::NAME, "kube-proxy"), Reason::StartsImage);
        let node = if host.roles.control_plane { "kubelet-finalized" } else { kubelet_join::JOINED };
        let task = if host.roles.control_plane { control_plane::NAME } else { kubelet_join::NAME };
        draft.needs(&step, &StepId::new(&host.name, task, node), Reason::Because("it runs on every node"));
    }
}

pub(super) fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if !view.host.roles.is_node() {
        return Ok(());
    }
    if !is_ours(view) {
        if view.is_speaker() {
            without_plugin(view, draft);
        }
        return Ok(());
    }
    let parent = draft.add("folder", Resource::Directory(Directory { path: "/etc/cni".to_owned(), mode: 0o755 }));
    let folder = draft.add("configuration-folder", Resource::Directory(Directory { path: "/etc/cni/net.d".to_owned(), mode: 0o755 }));
    draft.needs(&folder, &parent, Reason::Inside);
    let subnet = draft.add("subnet", Operation::SubnetReady(SubnetReady));
    draft.within(WAIT);
    draft.needs(&subnet, &StepId::new(&view.speaker()?.name, NAME, "flannel"), Reason::Because("flannel's daemon writes it"));
    draft.needs(&subnet, &view.id(images::NAME, "flannel"), Reason::StartsImage);
    let node = if view.host.roles.control_plane {
        view.id(control_plane::NAME, "kubelet")
    } else {
        view.id(kubelet_join::NAME, kubelet_join::JOINED)
    };
    draft.needs(&subnet, &node, Reason::Because("the host's kubelet starts flannel's daemon"));
    let text = render("flannel/10-flannel.conflist.j2", &())?;
    let file = draft.add("configuration", Resource::File(File::text("/etc/cni/net.d/10-flannel.conflist", text)));
    draft.needs(&file, &folder, Reason::Inside);
    // A pod that is started before its network is there is tried again only after 10 s and more (the kubelet's backOffPeriod).
    draft.needs(&file, &subnet, Reason::Because("the runtime takes the network as ready once the file is there"));
    for plugin in container_runtime::PLUGINS {
        draft.needs(
            &file,
            &view.id(container_runtime::NAME, plugin),
            Reason::Because("the runtime takes the network as ready once the file is there"),
        );
    }
    if view.is_speaker() {
        cluster_wide(view, draft)?;
    }
    Ok(())
}

fn cluster_wide(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let administrators = view.id(control_plane::NAME, control_plane::ADMINISTRATORS);
    let flannel = draft.add("flannel", Operation::ApplyManifest(manifest(view)?));
    draft.needs(&flannel, &administrators, Reason::Because("only administrators may"));
    let nodes: Vec<String> = view.cluster().nodes().map(|host| host.name.clone()).collect();
    let count = nodes.len() as u64;
    let version = view.cluster().kubernetes_version.to_string();
    let ready = draft.add(NODES_READY, Operation::NodesReady(NodesReady { nodes, version }));
    draft.within(WAIT);
    draft.needs(&ready, &administrators, Reason::Because("only administrators may ask"));
    for host in view.cluster().nodes() {
        draft.needs(&ready, &StepId::new(&host.name, NAME, "configuration"), Reason::Because("a node without a network is not Ready"));
        if host.roles.control_plane {
            let finalized = StepId::new(&host.name, control_plane::NAME, "kubelet-finalized");
            draft.needs(&ready, &finalized, Reason::Because("that restarts the kubelet"));
        } else {
            draft.needs(
                &ready,
                &StepId::new(&host.name, kubelet_join::NAME, kubelet_join::JOINED),
                Reason::Because("that host has to join first"),
            );
        }
    }
    let addons = view.id(control_plane::NAME, control_plane::ADDONS);
    let [flannel_running, proxy_running, dns_running] = RUNNING;
    running(view, draft, flannel_running, ("DaemonSet", "kube-flannel", "kube-flannel-ds", count), &flannel, &ready, "flannel");
    running(view, draft, proxy_running, ("DaemonSet", "kube-system", "kube-proxy", count), &addons, &ready, "kube-proxy");
    running(view, draft, dns_running, ("Deployment", "kube-system", "coredns", 1), &addons, &ready, "coredns");
    Ok(())
}

/// Containers of images that are there start within seconds; a busy host takes its time.
const WAIT: Duration = Duration::from_secs(300);

fn running(
    view: &HostView<'_>,
    draft: &mut Draft<'_>,
    step: &str,
    (kind, namespace, name, at_least): (&'static str, &'static str, &'static str, u64),
    applied: &StepId,
    nodes: &StepId,
    image: &str,
) {
    let step = draft.add(step, Operation::WorkloadReady(WorkloadReady { kind, namespace, name, at_least }));
    draft.within(WAIT);
    draft.follows(&step, applied, Reason::Because("it has to be in the cluster before it can run"));
    draft.needs(&step, nodes, Reason::Because("it runs on nodes that are Ready"));
    for host in view.cluster().nodes() {
        draft.needs(&step, &StepId::new(&host.name, images::NAME, image), Reason::StartsImage);
    }
}
