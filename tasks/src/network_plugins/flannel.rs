//! flannel: a daemon on each node, which writes down the node's subnet and carries packets from host to host by one of its backends.

use kok_crds::model::{Cluster, FlannelBackend, NetworkPlugin};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Leftovers, Module, Neighbours, Object, Plugin, PluginProgram, PluginWorkload, STARTING, mtu_of_hosts};
use crate::identity::endpoint;
use crate::list::network::{self, CONFIGURATION};
use crate::list::{container_runtime, control_plane, images, kubelet_join};
use crate::observe::KubernetesState;
use crate::operations::{ApplyManifest, Operation, SOURCE_ANNOTATION, SubnetReady};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};
use crate::ports::{Port, udp};
use crate::resources::{File, Resource};
use crate::templates::render;

/// Step that puts flannel into the cluster.
const INSTALLED: StepName<'static> = network::step("flannel");

const IMAGE: StepName<'static> = images::step("flannel");

const PROGRAM: StepName<'static> = container_runtime::step("flannel-plugin");

const NAMESPACE: &str = "kube-flannel";
const DAEMONS: &str = "kube-flannel-ds";
const MAP: &str = "kube-flannel-cfg";

const CONFLIST: &str = "/etc/cni/net.d/10-flannel.conflist";

pub(super) static PLUGIN: Plugin = Plugin {
    kind: NetworkPlugin::Flannel,
    called: "flannel",
    host_steps,
    cluster_steps,
    node_needs: CONFIGURATION,
    after_boot: Some(Operation::SubnetReady(SubnetReady)),
    nodes_ready_within: STARTING,
    workloads: &[PluginWorkload {
        step: network::step("flannel-running"),
        kind: "DaemonSet",
        namespace: NAMESPACE,
        name: DAEMONS,
        image: IMAGE,
    }],
    images: &[IMAGE],
    programs: &[PluginProgram { step: PROGRAM, archive: "flannel-cni-plugin", name: "flannel" }],
    sum: |view| Ok(manifest(view)?.sum()),
    ports,
    modules: |cluster| (cluster.network.backend == FlannelBackend::Wireguard).then_some(WIREGUARD).into_iter().collect(),
    overhead: |cluster| cluster.network.backend.overhead(cluster.network.is_dual_stack()),
    taken_by: |cluster| format!("flannel's backend {}", cluster.network.backend.as_str()),
    neighbours: |network| (network.backend == FlannelBackend::HostGw).then_some(NEIGHBOURS),
    one_interface: Some("flannel has one interface for both families"),
    objects: &[
        Object { api_version: "v1", kind: "ConfigMap", namespace: NAMESPACE, name: MAP },
        Object { api_version: "apps/v1", kind: "DaemonSet", namespace: NAMESPACE, name: DAEMONS },
    ],
    is_installed,
    refused_change,
    interfaces: &["flannel"],
    leftovers: LEFTOVERS,
    ..Plugin::USERS_OWN
};

/// What flannel's encrypted links are made of. It makes no other by itself, and without one its daemon does not start.
const WIREGUARD: Module = Module { name: "wireguard", instead: "; or choose another backend than wireguard (spec.network.backend)" };

const NEIGHBOURS: Neighbours = Neighbours { who: "flannel's backend host-gw", instead: "`vxlan` (or `wireguard`) at spec.network.backend" };

/// Without links of its own, flannel has routes through the other hosts, which no link takes along.
const LEFTOVERS: Leftovers = Leftovers {
    script: r#"for pods in $(sed -n -e 's/^FLANNEL_NETWORK=//p' -e 's/^FLANNEL_IPV6_NETWORK=//p' /run/flannel/subnet.env 2>/dev/null); do
  case $pods in *:*) family=-6;; *) family=-4;; esac
  ip $family route show root "$pods" | while read -r to by address _; do
    [ "$by" != via ] || ip $family route delete "$to" via "$address"
  done
done
"#,
    links: &["flannel.1", "flannel-v6.1", "flannel-wg", "flannel-wg-v6"],
    tables: &["ip flannel-ipv4", "ip6 flannel-ipv6"],
    rules: &["FLANNEL"],
    paths: &[CONFLIST, "/opt/cni/bin/flannel", "/run/flannel"],
};

const VXLAN: &[Port] = &[udp(8472, 8472, "the pods' network")];
const WIREGUARD_PORTS: &[Port] = &[udp(51820, 51820, "the pods' network")];
/// flannel takes the next one for IPv6; for VXLAN it takes the same.
const WIREGUARD_PORTS_OF_BOTH: &[Port] = &[udp(51820, 51821, "the pods' network")];

fn ports(cluster: &Cluster) -> Vec<Port> {
    let network = &cluster.network;
    match network.backend {
        FlannelBackend::HostGw => Vec::new(),
        FlannelBackend::Vxlan => VXLAN.to_vec(),
        FlannelBackend::Wireguard if network.is_dual_stack() => WIREGUARD_PORTS_OF_BOTH.to_vec(),
        FlannelBackend::Wireguard => WIREGUARD_PORTS.to_vec(),
    }
}

fn host_steps(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let folder = network::configuration_folder(draft);
    let subnet = draft.add("subnet", Operation::SubnetReady(SubnetReady));
    draft.within(STARTING);
    draft.needs(&subnet, &INSTALLED.on(&view.speaker()?.name), Reason::Because("flannel's daemon writes it"));
    draft.needs(&subnet, &view.id(IMAGE), Reason::StartsImage);
    let node = if view.host.roles.control_plane { control_plane::KUBELET } else { kubelet_join::JOINED };
    draft.needs(&subnet, &view.id(node), Reason::Because("the host's kubelet starts flannel's daemon"));
    let text = render("flannel/10-flannel.conflist.j2", &Conflist { mtu: mtu_of_pods(view) })?;
    let file = draft.add(CONFIGURATION, Resource::File(File::text(CONFLIST, text)));
    draft.needs(&file, &folder, Reason::Inside);
    // A pod that is started before its network is there is tried again only after 10 s and more (the kubelet's backOffPeriod).
    draft.needs(&file, &subnet, Reason::Because("the runtime takes the network as ready once the file is there"));
    for program in [container_runtime::CNI_PLUGINS, PROGRAM] {
        draft.needs(&file, &view.id(program), Reason::Because("the runtime takes the network as ready once the file is there"));
    }
    Ok(())
}

fn cluster_steps(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<Option<StepId>, Refusal> {
    let installed = draft.add(INSTALLED, Operation::ApplyManifest(manifest(view)?));
    let administrators = view.id(control_plane::ADMINISTRATORS);
    draft.needs(&installed, &administrators, Reason::Because("only administrators may"));
    Ok(Some(installed))
}

#[derive(Serialize)]
struct Conflist {
    mtu: Option<u32>,
}

/// What flannel's plugin is told. It takes 50 bytes of the host's packet for VXLAN, and what goes in packets of IPv6 needs more.
fn mtu_of_pods(view: &HostView<'_>) -> Option<u32> {
    let network = &view.cluster().network;
    let overhead = network.backend.overhead(network.is_dual_stack());
    let of_host = || view.facts.interface_of(view.host.address)?.mtu?.checked_sub(overhead.into());
    let needs_more = network.is_dual_stack() && overhead > network.backend.overhead(false);
    network.mtu.map(u32::from).or_else(|| if needs_more { of_host() } else { None })
}

#[derive(Serialize)]
struct Flannel<'a> {
    image: &'a str,
    network_configuration: String,
    api_server_host: String,
    api_server_port: String,
}

/// Everything of flannel in the cluster.
fn manifest(view: &HostView<'_>) -> Result<ApplyManifest, Refusal> {
    let network = &view.cluster().network;
    let mut backend = json!({"Type": network.backend.as_str()});
    // An MTU of flannel's is the host's packet, of which its backend takes a part.
    if let (Some(mtu), Some(fields)) = (mtu_of_hosts(view.cluster()), backend.as_object_mut()) {
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
        image: &view.image(IMAGE.name())?.reference,
        network_configuration: configuration.to_string(),
        api_server_host: api.host,
        api_server_port: api.port.to_string(),
    };
    let text = render("flannel/flannel.yaml.j2", &context)?;
    Ok(ApplyManifest { what: "flannel", text, namespace: NAMESPACE, name: DAEMONS })
}

/// A flannel without our mark is the user's own.
fn is_installed(state: &KubernetesState) -> bool {
    state.object("DaemonSet", NAMESPACE, DAEMONS).is_some_and(|daemons| daemons.text(SOURCE_ANNOTATION).is_some())
}

/// Links and routes of the one backend would stay beside those of the other, and pods keep the packet size that they were started with.
fn refused_change(cluster: &Cluster, state: &KubernetesState) -> Option<Refusal> {
    let map = state.object("ConfigMap", NAMESPACE, MAP)?;
    let configuration: Value = serde_json::from_str(map.text("/data/net-conf.json")?).ok()?;
    let is = configuration.pointer("/Backend/Type")?.as_str()?;
    let desired = cluster.network.backend.as_str();
    if is != desired {
        return Some(other_backend(cluster, is, desired));
    }
    let overhead = u64::from(cluster.network.backend.overhead(cluster.network.is_dual_stack()));
    let is = configuration.pointer("/Backend/MTU").and_then(Value::as_u64).map(|mtu| mtu.saturating_sub(overhead));
    let desired = cluster.network.mtu.map(u64::from);
    (is != desired).then(|| other_mtu(cluster, is, desired))
}

fn place(cluster: &Cluster, field: &str) -> String {
    cluster.position_of(field).map_or_else(|| field.to_owned(), ToString::to_string)
}

fn other_backend(cluster: &Cluster, is: &str, desired: &str) -> Refusal {
    let field = "spec.network.backend";
    Refusal::new(format!("flannel's backend in the running cluster is {is}, the file asks for {desired}"))
        .at(place(cluster, field))
        .because("apply can't change it: links and routes of the old one would stay on the hosts, and pods keep its packet size")
        .hint(format!("set {field} back to {is}; a cluster gets another one when it is made anew"))
}

fn other_mtu(cluster: &Cluster, is: Option<u64>, desired: Option<u64>) -> Refusal {
    let field = "spec.network.mtu";
    let named = |mtu: Option<u64>| mtu.map_or_else(|| "what the hosts' interfaces leave".to_owned(), |mtu| format!("{mtu} bytes"));
    let back = is.map_or_else(|| format!("leave {field} out"), |mtu| format!("set {field} back to {mtu}"));
    Refusal::new(format!("the largest packet of pods in the running cluster is {}, the file asks for {}", named(is), named(desired)))
        .at(place(cluster, field))
        .because("apply can't change it: flannel's link, the bridge and the pods that run keep what they were started with")
        .hint(format!("{back}; a cluster gets another one when it is made anew"))
}
