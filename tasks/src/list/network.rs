//! The pod network: flannel, or what the user's manifest installs.

use std::time::Duration;

use kok_crds::model::{NETWORK_ADDON, Network, NetworkPlugin};
use serde::Serialize;
use serde_json::json;

use super::{Task, addons, bridge, container_runtime, control_plane, images, kubelet_join, still_ready};
use crate::identity::endpoint;
use crate::operations::{ApplyManifest, NodesReady, Operation, SubnetReady, WorkloadReady};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};
use crate::resources::{Directory, File, Resource};
use crate::templates::render;

const NAME: &str = "network";

pub(super) const TASK: Task = Task { name: NAME, about: "the pod network", plan };

/// Step of a host after which the runtime takes its network as ready.
pub(super) const CONFIGURATION: StepName<'static> = StepName::new(NAME, "configuration");

/// Step that puts flannel into the cluster.
const FLANNEL: StepName<'static> = StepName::new(NAME, "flannel");

/// Step after which all nodes are Ready.
pub(super) const NODES_READY: StepName<'static> = StepName::new(NAME, "nodes-ready");

/// Steps after which what carries pods and their names runs everywhere.
const RUNNING: [StepName<'static>; 3] =
    [StepName::new(NAME, "flannel-running"), StepName::new(NAME, "kube-proxy-running"), StepName::new(NAME, "coredns-running")];

/// Those of them that there are. What of a user's network has to run is not known; nodes say when it does.
pub(super) fn running_steps(view: &HostView<'_>) -> impl Iterator<Item = StepName<'static>> {
    let [flannel, proxy, dns] = RUNNING;
    [is_flannel(view).then_some(flannel), has_proxy(view).then_some(proxy), Some(dns)].into_iter().flatten()
}

#[derive(Serialize)]
struct Flannel<'a> {
    image: &'a str,
    network_configuration: String,
    api_server_host: String,
    api_server_port: String,
}

/// What flannel means by an MTU: the host's packet, of which its backend takes a part.
pub(crate) fn mtu_of_hosts(network: &Network) -> Option<u32> {
    network.mtu.map(|mtu| u32::from(mtu) + u32::from(network.overhead()))
}

/// What flannel's plugin is told. It takes 50 bytes of the host's packet for VXLAN, and what goes in packets of IPv6 needs more.
fn mtu_of_pods(view: &HostView<'_>) -> Option<u32> {
    let network = &view.cluster().network;
    let of_host = || view.facts.interface_of(view.host.address)?.mtu?.checked_sub(network.overhead().into());
    let needs_more = network.is_dual_stack() && network.overhead() > network.backend.overhead(false);
    network.mtu.map(u32::from).or_else(|| if needs_more { of_host() } else { None })
}

#[derive(Serialize)]
struct Conflist {
    mtu: Option<u32>,
}

/// Everything of flannel in the cluster.
pub(super) fn manifest(view: &HostView<'_>) -> Result<ApplyManifest, Refusal> {
    let network = &view.cluster().network;
    let mut backend = json!({"Type": network.backend.as_str()});
    if let (Some(mtu), Some(fields)) = (mtu_of_hosts(network), backend.as_object_mut()) {
        // host-gw does not read it; there it says to later runs what the plugin was told.
        fields.insert("MTU".to_owned(), mtu.into());
    }
    let mut configuration = json!({
        "Network": network.pod_cidr.to_string(),
        "EnableNFTables": true,
        "Backend": backend,
    });
    if let (Some(ipv6), Some(fields)) = (network.ipv6, configuration.as_object_mut()) {
        fields.insert("EnableIPv6".to_owned(), true.into());
        fields.insert("IPv6Network".to_owned(), ipv6.pod_cidr.to_string().into());
    }
    let api = endpoint(view.cluster())
        .ok_or_else(|| Refusal::new("the cluster has no control plane").hint("give a host `roles: [control-plane]`"))?;
    let context = Flannel {
        image: &view.image("flannel")?.reference,
        network_configuration: configuration.to_string(),
        api_server_host: api.host,
        api_server_port: api.port.to_string(),
    };
    let text = render("flannel/flannel.yaml.j2", &context)?;
    Ok(ApplyManifest { what: "flannel", text, namespace: "kube-flannel", name: "kube-flannel-ds" })
}

/// Whether there will be a network. Without one nodes are not Ready, and pods with addresses of their own wait.
pub(super) fn is_there(view: &HostView<'_>) -> bool {
    view.cluster().network.plugin != NetworkPlugin::None
}

/// Whether that is flannel, which we bring.
pub(super) fn is_flannel(view: &HostView<'_>) -> bool {
    view.cluster().network.plugin == NetworkPlugin::Flannel
}

/// Whether kube-proxy carries packets for Services; else the network plugin does.
pub(super) fn has_proxy(view: &HostView<'_>) -> bool {
    !view.cluster().settings.kube_proxy_remove
}

/// What tells the network from others, for those who check it: the plugin, and whom pods ask for names.
pub(super) fn sum(view: &HostView<'_>) -> Result<String, Refusal> {
    let plugin = sum_of_plugin(view)?;
    let dns = &view.cluster().settings.node_dns;
    Ok(if dns.enabled { format!("{plugin} names={}", dns.address) } else { plugin })
}

fn sum_of_plugin(view: &HostView<'_>) -> Result<String, Refusal> {
    if view.cluster().network.plugin == NetworkPlugin::Bridge {
        return Ok(format!("bridge {}", view.cluster().network.mtu.unwrap_or_default()));
    }
    let addon = view.cluster().addons.iter().find(|addon| addon.name == NETWORK_ADDON);
    addon.map_or_else(|| Ok(manifest(view)?.sum()), |addon| Ok(addons::operation(view, addon).source))
}

/// kube-proxy has the host's network and needs no other.
fn without_plugin(view: &HostView<'_>, draft: &mut Draft<'_>) {
    let [_, name, _] = RUNNING;
    let at_least = view.cluster().nodes().count() as u64;
    let workload = WorkloadReady { kind: "DaemonSet", namespace: "kube-system", name: "kube-proxy", at_least };
    let operation = Operation::WorkloadReady(workload);
    let step = draft.add(name, operation.clone());
    draft.within(WAIT);
    let addons = view.id(control_plane::ADDONS);
    draft.follows(&step, &addons, Reason::Because("it has to be in the cluster before it can run"));
    for host in view.cluster().nodes() {
        draft.needs(&step, &images::KUBE_PROXY.on(&host.name), Reason::StartsImage);
        draft.needs(&step, &kubelet_join::node_step(view.cluster(), host), Reason::Because("it runs on every node"));
    }
    still_ready::again(view, draft, &step, operation);
}

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if view.host.roles.is_node() {
        match view.cluster().network.plugin {
            NetworkPlugin::Flannel => of_flannel(view, draft)?,
            NetworkPlugin::Bridge => {
                let folder = folder(draft);
                bridge::of_host(view, draft, &folder)?;
            }
            NetworkPlugin::Manifest | NetworkPlugin::None => {}
        }
    }
    if !view.is_speaker() {
        return Ok(());
    }
    match view.cluster().network.plugin {
        NetworkPlugin::None if has_proxy(view) => without_plugin(view, draft),
        NetworkPlugin::None => {}
        NetworkPlugin::Manifest => nodes_ready(view, draft, &view.id(addons::NETWORK)),
        NetworkPlugin::Bridge => {
            let shares = bridge::of_cluster(view, draft)?;
            nodes_ready(view, draft, &shares);
        }
        NetworkPlugin::Flannel => {
            let flannel = draft.add(FLANNEL, Operation::ApplyManifest(manifest(view)?));
            let administrators = view.id(control_plane::ADMINISTRATORS);
            draft.needs(&flannel, &administrators, Reason::Because("only administrators may"));
            nodes_ready(view, draft, &flannel);
        }
    }
    Ok(())
}

/// Where the runtime looks for its network.
fn folder(draft: &mut Draft<'_>) -> StepId {
    let parent = draft.add("folder", Resource::Directory(Directory { path: "/etc/cni".to_owned(), mode: 0o755 }));
    let folder = draft.add("configuration-folder", Resource::Directory(Directory { path: "/etc/cni/net.d".to_owned(), mode: 0o755 }));
    draft.needs(&folder, &parent, Reason::Inside);
    folder
}

fn of_flannel(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let folder = folder(draft);
    let subnet = draft.add("subnet", Operation::SubnetReady(SubnetReady));
    draft.within(WAIT);
    draft.needs(&subnet, &FLANNEL.on(&view.speaker()?.name), Reason::Because("flannel's daemon writes it"));
    draft.needs(&subnet, &view.id(images::FLANNEL), Reason::StartsImage);
    let node = if view.host.roles.control_plane { control_plane::KUBELET } else { kubelet_join::JOINED };
    draft.needs(&subnet, &view.id(node), Reason::Because("the host's kubelet starts flannel's daemon"));
    let text = render("flannel/10-flannel.conflist.j2", &Conflist { mtu: mtu_of_pods(view) })?;
    let file = draft.add(CONFIGURATION, Resource::File(File::text("/etc/cni/net.d/10-flannel.conflist", text)));
    draft.needs(&file, &folder, Reason::Inside);
    // A pod that is started before its network is there is tried again only after 10 s and more (the kubelet's backOffPeriod).
    draft.needs(&file, &subnet, Reason::Because("the runtime takes the network as ready once the file is there"));
    for plugin in container_runtime::PLUGINS {
        draft.needs(&file, &view.id(plugin), Reason::Because("the runtime takes the network as ready once the file is there"));
    }
    Ok(())
}

/// Nodes are Ready once they have a network, and then everything runs.
fn nodes_ready(view: &HostView<'_>, draft: &mut Draft<'_>, installed: &StepId) {
    let administrators = view.id(control_plane::ADMINISTRATORS);
    let nodes: Vec<String> = view.cluster().nodes().map(|host| host.name.clone()).collect();
    let count = nodes.len() as u64;
    let version = view.cluster().kubernetes_version.to_string();
    let ready = draft.add(NODES_READY, Operation::NodesReady(NodesReady { nodes, version }));
    draft.within(if view.cluster().network.plugin.is_ours() { WAIT } else { PULLING });
    draft.needs(&ready, &administrators, Reason::Because("only administrators may ask"));
    draft.needs(&ready, installed, Reason::Because("a node without a network is not Ready"));
    still_ready::while_all_go_on(view, draft, &ready, view.cluster().nodes());
    for host in view.cluster().nodes() {
        let step = if view.cluster().network.plugin.is_ours() { CONFIGURATION } else { container_runtime::PLUGINS[0] };
        draft.needs(&ready, &step.on(&host.name), Reason::Because("a node without a network is not Ready"));
        if host.roles.control_plane {
            let finalized = control_plane::node_step(view.cluster()).on(&host.name);
            draft.needs(&ready, &finalized, Reason::Because("that restarts the kubelet"));
        } else {
            draft.needs(&ready, &kubelet_join::JOINED.on(&host.name), Reason::Because("that host has to join first"));
        }
    }
    let addons = view.id(control_plane::ADDONS);
    let [flannel_running, proxy_running, dns_running] = RUNNING;
    if is_flannel(view) {
        let daemons = WorkloadReady { kind: "DaemonSet", namespace: "kube-flannel", name: "kube-flannel-ds", at_least: count };
        running(view, draft, flannel_running, daemons, installed, &ready, images::FLANNEL);
    }
    if has_proxy(view) {
        let daemons = WorkloadReady { kind: "DaemonSet", namespace: "kube-system", name: "kube-proxy", at_least: count };
        running(view, draft, proxy_running, daemons, &addons, &ready, images::KUBE_PROXY);
    }
    let dns = WorkloadReady { kind: "Deployment", namespace: "kube-system", name: "coredns", at_least: 1 };
    running(view, draft, dns_running, dns, &addons, &ready, images::COREDNS);
}

/// A user's network is in images that nodes have to fetch.
const PULLING: Duration = Duration::from_secs(600);

/// Containers of images that are there start within seconds; a busy host takes its time.
const WAIT: Duration = Duration::from_secs(300);

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
    draft.within(WAIT);
    draft.follows(&step, applied, Reason::Because("it has to be in the cluster before it can run"));
    draft.needs(&step, nodes, Reason::Because("it runs on nodes that are Ready"));
    for host in view.cluster().nodes() {
        draft.needs(&step, &image.on(&host.name), Reason::StartsImage);
    }
    still_ready::again(view, draft, &step, operation);
}
