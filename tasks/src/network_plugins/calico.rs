//! Calico: a daemon on each node, which gives addresses out of blocks of the pods' range, carries packets from host to host, and keeps what
//! NetworkPolicies forbid. It installs its own CNI plugins.
//!
//! Objects and environment are those of upstream's documentation ("Configure calico/node", "Felix configuration", "Typha"), for the releases of
//! [`RELEASES`]; what differs between these stands in [`objects`].

mod environment;
mod objects;
mod refused;

use kok_crds::model::{CalicoBackend, Cluster, KubeProxyMode, NetworkPlugin, Tunnel};
use semver::Version;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Leftovers, Module, Object, Plugin, PluginWorkload, STARTING, mtu_of_pods};
use crate::list::network;
use crate::list::{control_plane, images};
use crate::observe::KubernetesState;
use crate::operations::{ApplyManifest, Operation, SOURCE_ANNOTATION};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};
use crate::ports::{Port, tcp, udp};
use crate::templates::render;

/// Step that puts Calico into the cluster.
const INSTALLED: StepName<'static> = network::step("calico");

const NODE: StepName<'static> = images::step("calico-node");
const CNI: StepName<'static> = images::step("calico-cni");
const CONTROLLERS: StepName<'static> = images::step("calico-kube-controllers");
const TYPHA: StepName<'static> = images::step("calico-typha");

const NAMESPACE: &str = "kube-system";
const DAEMONS: &str = "calico-node";
const MAP: &str = "calico-config";
/// The key of that map under which stands what Calico was set up by.
const SETTINGS: &str = "/data/kokctl";

/// The first release whose objects are known here, and the first whose are not.
const RELEASES: [Version; 2] = [Version::new(3, 28, 0), Version::new(3, 32, 0)];

/// The first release whose nftables dataplane upstream supports.
const NFTABLES: Version = Version::new(3, 30, 0);

const CONFLIST: &str = "/etc/cni/net.d/10-calico.conflist";

pub(super) static PLUGIN: Plugin = Plugin {
    kind: NetworkPlugin::Calico,
    called: "calico",
    host_steps: |_, draft| {
        network::configuration_folder(draft);
        Ok(())
    },
    cluster_steps,
    nodes_ready_within: STARTING,
    workloads: &[
        PluginWorkload {
            step: network::step("calico-typha-running"),
            kind: "Deployment",
            namespace: NAMESPACE,
            name: "calico-typha",
            image: TYPHA,
        },
        PluginWorkload { step: network::step("calico-running"), kind: "DaemonSet", namespace: NAMESPACE, name: DAEMONS, image: NODE },
        PluginWorkload {
            step: network::step("calico-controllers-running"),
            kind: "Deployment",
            namespace: NAMESPACE,
            name: "calico-kube-controllers",
            image: CONTROLLERS,
        },
    ],
    images: &[NODE, CNI, CONTROLLERS, TYPHA],
    is_used: |cluster, image| image != TYPHA || cluster.settings.calico.typha_enabled,
    sum: |view| Ok(manifest(view)?.sum()),
    ports,
    modules,
    overhead: |cluster| cluster.settings.calico.overhead(cluster.network.is_dual_stack()),
    taken_by: |cluster| format!("Calico's {}", if cluster.settings.calico.vxlan == Tunnel::Never { "IP in IP" } else { "VXLAN" }),
    takes_shares: false,
    objects: &[
        Object { api_version: "v1", kind: "ConfigMap", namespace: NAMESPACE, name: MAP },
        Object { api_version: "apps/v1", kind: "DaemonSet", namespace: NAMESPACE, name: DAEMONS },
        Object { api_version: "apps/v1", kind: "Deployment", namespace: NAMESPACE, name: "calico-kube-controllers" },
        Object { api_version: "apps/v1", kind: "Deployment", namespace: NAMESPACE, name: "calico-typha" },
    ],
    is_installed,
    refused_change: |cluster, state| refused::changed(cluster, state.object("ConfigMap", NAMESPACE, MAP)?.text(SETTINGS)?),
    interfaces: &["cali", "vxlan.calico", "vxlan-v6.calico", "tunl0"],
    leftovers: LEFTOVERS,
    ..Plugin::USERS_OWN
};

/// Its routes have a number by which they are known (Felix, `RouteTable`: 80), and its sets of addresses begin as its chains do; a set goes once no
/// rule uses it.
const LEFTOVERS: Leftovers = Leftovers {
    script: r#"for link in /sys/class/net/cali*; do [ ! -e "$link" ] || ip link delete "${link##*/}"; done 2>/dev/null
ip address flush dev tunl0 2>/dev/null
for family in -4 -6; do ip $family route flush proto 80 2>/dev/null; done
for tool in iptables ip6tables; do
  if command -v "$tool-save" >/dev/null && "$tool-save" | grep -q cali; then "$tool-save" | grep -v cali | "$tool-restore"; fi
done
if command -v ipset >/dev/null; then ipset list -n | grep '^cali' | while read -r set; do ipset destroy "$set"; done; fi
"#,
    links: &["vxlan.calico", "vxlan-v6.calico"],
    tables: &["ip calico", "ip6 calico"],
    rules: &["cali-", "cali:"],
    paths: &[
        CONFLIST,
        "/etc/cni/net.d/calico-kubeconfig",
        "/opt/cni/bin/calico",
        "/opt/cni/bin/calico-ipam",
        "/var/lib/calico",
        "/var/log/calico",
        "/run/calico",
    ],
};

const BGP: &[Port] = &[tcp(179, 179, "the pods' network")];
const BGP_AND_TYPHA: &[Port] = &[tcp(179, 179, "the pods' network"), tcp(5473, 5473, "Calico's typha")];
const ONLY_TYPHA: &[Port] = &[tcp(5473, 5473, "Calico's typha")];

/// Ports that every node listens on; a typha may be on any node.
fn ports(cluster: &Cluster) -> Vec<Port> {
    let calico = &cluster.settings.calico;
    let fixed = match (calico.backend, calico.typha_enabled) {
        (CalicoBackend::Bird, false) => BGP,
        (CalicoBackend::Bird, true) => BGP_AND_TYPHA,
        (CalicoBackend::Vxlan, true) => ONLY_TYPHA,
        (CalicoBackend::Vxlan, false) => &[],
    };
    let vxlan = (calico.vxlan != Tunnel::Never).then(|| udp(calico.vxlan_port, calico.vxlan_port, "the pods' network"));
    fixed.iter().copied().chain(vxlan).collect()
}

const SETS: Module = Module { name: "ip_set", instead: "; or let Calico and kube-proxy use nftables (kube_proxy_mode: nftables)" };
const IPIP: Module = Module { name: "ipip", instead: "; or choose calico_vxlan_mode instead of calico_ipip_mode" };

/// Its dataplane iptables keeps addresses in sets of the kernel.
fn modules(cluster: &Cluster) -> Vec<Module> {
    let calico = &cluster.settings.calico;
    let sets = (!uses_nftables(cluster)).then_some(SETS);
    sets.into_iter().chain((calico.ipip != Tunnel::Never).then_some(IPIP)).collect()
}

/// Whether it programs nftables: where nobody says, as kube-proxy does.
fn uses_nftables(cluster: &Cluster) -> bool {
    let settings = &cluster.settings;
    settings.calico.nftables.unwrap_or(settings.kube_proxy_mode == KubeProxyMode::Nftables)
}

fn cluster_steps(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<Option<StepId>, Refusal> {
    let installed = draft.add(INSTALLED, Operation::ApplyManifest(manifest(view)?));
    let administrators = view.id(control_plane::ADMINISTRATORS);
    draft.needs(&installed, &administrators, Reason::Because("only administrators may"));
    Ok(Some(installed))
}

#[derive(Serialize)]
struct Calico<'a> {
    objects: Vec<objects::Definition>,
    settings: String,
    images: Images<'a>,
    typha: Option<Typha<'a>>,
    controllers_environment: Value,
    install_environment: Value,
    node_environment: Value,
    alive: Vec<&'static str>,
    ready: Vec<&'static str>,
}

#[derive(Serialize)]
struct Images<'a> {
    node: &'a str,
    cni: &'a str,
    controllers: &'a str,
}

#[derive(Serialize)]
struct Typha<'a> {
    image: &'a str,
    replicas: u32,
    environment: Value,
}

/// Everything of Calico in the cluster.
fn manifest(view: &HostView<'_>) -> Result<ApplyManifest, Refusal> {
    let calico = &view.cluster().settings.calico;
    let version = version(view)?;
    let image = |step: StepName<'_>| Ok::<_, Refusal>(view.image(step.name())?.reference.as_str());
    let environment = environment::Environment::new(view.cluster(), uses_nftables(view.cluster()))?;
    let typha = match calico.typha_enabled {
        true => Some(Typha { image: image(TYPHA)?, replicas: calico.typha_replicas, environment: environment.typha() }),
        false => None,
    };
    let has_bird = calico.backend == CalicoBackend::Bird;
    let probe = |felix, bird| ["/bin/calico-node", felix].into_iter().chain(has_bird.then_some(bird)).collect();
    let context = Calico {
        objects: objects::definitions(&version),
        settings: refused::settings(view.cluster()).to_string(),
        images: Images { node: image(NODE)?, cni: image(CNI)?, controllers: image(CONTROLLERS)? },
        typha,
        controllers_environment: environment.controllers(objects::controllers(&version)),
        install_environment: environment.install(),
        node_environment: environment.node(),
        alive: probe("-felix-live", "-bird-live"),
        ready: probe("-felix-ready", "-bird-ready"),
    };
    let text = render("calico/calico.yaml.j2", &context)?;
    Ok(ApplyManifest { what: "Calico", text, namespace: NAMESPACE, name: DAEMONS })
}

/// The release of the bundle, if it can do what is asked for.
fn version(view: &HostView<'_>) -> Result<Version, Refusal> {
    let (cluster, image) = (view.cluster(), view.image(NODE.name())?);
    let [first, unknown] = &RELEASES;
    let version = Version::parse(&image.version).ok().filter(|version| (first..unknown).contains(&version));
    let Some(version) = version else {
        return Err(Refusal::new(format!("the bundle has Calico {}", image.version))
            .because(format!(
                "this kokctl knows the objects of Calico {}.{} and newer, up to those before {}.{}",
                first.major, first.minor, unknown.major, unknown.minor
            ))
            .hint("take a bundle with such a Calico; `kokctl versions` shows which go with a release of Kubernetes"));
    };
    if uses_nftables(cluster) && version < NFTABLES {
        let field = "spec.vars.kube_proxy_mode";
        let place = cluster.position_of(field).or_else(|| cluster.position_of("spec.network.plugin"));
        return Err(Refusal::new(format!("the bundle has Calico {version}, which can't program nftables"))
            .at(place.map_or_else(|| field.to_owned(), ToString::to_string))
            .because(format!("kube-proxy does, Calico has to do the same, and can from {NFTABLES} on"))
            .hint("write `kube_proxy_mode: iptables` under spec.vars, or take a bundle with a newer Calico"));
    }
    if cluster.settings.calico.backend == CalicoBackend::Bird && image.lacks.iter().any(|part| part == "bird") {
        let field = "spec.vars.calico_network_backend";
        return Err(Refusal::new("the bundle's image of Calico can't speak BGP")
            .at(cluster.position_of(field).map_or_else(|| field.to_owned(), ToString::to_string))
            .because("it has no bird: it was built from source, and not by upstream")
            .hint("take a bundle of upstream's (`kokctl bundle create`), or leave calico_network_backend out for VXLAN"));
    }
    Ok(version)
}

/// A Calico without our mark is the user's own.
fn is_installed(state: &KubernetesState) -> bool {
    state.object("DaemonSet", NAMESPACE, DAEMONS).is_some_and(|daemons| daemons.text(SOURCE_ANNOTATION).is_some())
}

/// The names of the CNI plugin's configuration that its installer fills in.
fn conflist(cluster: &Cluster) -> Value {
    let dual_stack = cluster.network.is_dual_stack();
    let mut ipam = json!({"type": "calico-ipam"});
    if let (true, Some(fields)) = (dual_stack, ipam.as_object_mut()) {
        fields.insert("assign_ipv4".to_owned(), "true".into());
        fields.insert("assign_ipv6".to_owned(), "true".into());
    }
    json!({
        "name": cluster.settings.calico.cni_name,
        "cniVersion": "0.3.1",
        "plugins": [
            {
                "type": "calico",
                "log_level": "info",
                "log_file_path": "/var/log/calico/cni/cni.log",
                "datastore_type": "kubernetes",
                "nodename": "__KUBERNETES_NODE_NAME__",
                // 0: Calico finds out.
                "mtu": mtu_of_pods(cluster).unwrap_or_default(),
                "ipam": ipam,
                "policy": {"type": "k8s"},
                "kubernetes": {"kubeconfig": "__KUBECONFIG_FILEPATH__"},
            },
            {"type": "portmap", "snat": true, "capabilities": {"portMappings": true}},
            {"type": "bandwidth", "capabilities": {"bandwidth": true}},
        ],
    })
}
