//! Networks that no other test has: the plain bridge and flannel for addresses of both families, a network and Services that a manifest brings,
//! and a load balancer that is not ours before the control planes.

use std::fs;

use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::{self, Kind};
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{bare, connection_costs, hosts, node_dns, ok, snapshot};
use crate::highly_available_story::endpoint;
use crate::networks_cases::{balanced, both, flannel, manifest, moving, take_over};
use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab, LabSpec};

#[test]
fn the_bridge_carries_both_families() {
    let lab = Lab::up(LabSpec::unique(2).dual_stack()).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    connection_costs::log_every_command(&lab);
    let before = snapshot::bare_state(&lab);
    let manifest = fs::read_to_string(kokctl.manifest()).unwrap();
    let manifest = manifest.replace("plugin: flannel\n", "plugin: bridge\n");
    let own = format!("roles: [worker], annotations: {{example.com/note: {}}}, vars: {{kubelet_max_pods: 50}}", serde_json::json!(NOTE));
    let worker = manifest.replacen("roles: [worker]", &own, 1);
    assert_ne!(worker, manifest);
    let vars = format!("kube_proxy_mode: iptables\n    kube_apiserver_port: {}\n    kubelet_node_custom_flags: [--v=3]", both::PORT);
    kokctl.write_manifest(&format!("{}\n    {vars}\n", worker.trim_end()));
    node_dns::switch_on(&kokctl);
    kokctl.converge("apply");
    clock.lap("apply");
    cluster::assert_complete(&lab, DEFAULT_KUBERNETES_VERSION);
    kube_proxy_goes_by_iptables(&lab);
    the_worker_has_a_kubelet_of_its_own(&lab);
    the_worker_is_annotated(&lab);
    both::nodes_have_addresses(&lab);
    both::pods_and_services_answer(&lab);
    clock.lap("pods and services");
    both::the_api_server_is_known(&lab);
    connection_costs::costs_one_connection_each(&lab, || kokctl.has_nothing_to_do());
    clock.lap("apply again");
    take_over::leaves_the_network_alone(&lab, &kokctl);
    clock.lap("another controller takes the hosts over");
    assert_eq!(kokctl.verb("reset", &["--yes"]).code, 0);
    bare::assert_bare(&lab);
    snapshot::assert_same(&before, &snapshot::bare_state(&lab), "reset has to leave what was there before");
    clock.lap("reset");
}

/// Its ranges, its domain and its packets' size are a user's own; a node has fewer addresses than usual.
#[test]
fn flannel_by_vxlan_and_by_routes_of_hosts() {
    let lab = Lab::up(LabSpec::unique(2).dual_stack()).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    let before = snapshot::bare_state(&lab);
    let kind = Kind { version: DEFAULT_KUBERNETES_VERSION, domain: flannel::DOMAIN, has_load_balancers: false, tainted: None };
    flannel::is_refused_without_wireguard(&lab, &kokctl);
    for backend in ["vxlan", "host-gw"] {
        flannel::ask_for(&lab, &kokctl, backend);
        kokctl.converge("apply");
        clock.lap(&format!("apply with {backend}"));
        cluster::is_complete(&lab, &kind);
        flannel::has_what_was_asked_for(&lab, backend);
        both::nodes_have_addresses(&lab);
        both::pods_and_services_answer(&lab);
        kokctl.has_nothing_to_do();
        flannel::another_is_refused(&lab, &kokctl, backend);
        clock.lap("pods and services");
        assert_eq!(kokctl.verb("reset", &["--yes", "--no-snapshot"]).code, 0);
        bare::assert_bare(&lab);
        snapshot::assert_same(&before, &snapshot::bare_state(&lab), "reset has to leave what was there before");
        clock.lap("reset");
    }
}

/// First no network at all, then one that carries Services too, and then kube-proxy.
#[test]
fn a_manifest_brings_network_and_services() {
    let lab = Lab::up(LabSpec::unique(2)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    manifest::nothing_is_a_choice_too(&lab, &kokctl);
    clock.lap("apply without a network");
    manifest::images_and_plugin_are_brought(&lab, &kokctl);
    manifest::carries_services(&lab, &kokctl);
    cluster::assert_complete(&lab, DEFAULT_KUBERNETES_VERSION);
    kokctl.has_nothing_to_do();
    clock.lap("apply with a network and its checks");
    manifest::kube_proxy_comes_instead(&lab, &kokctl);
    cluster::assert_complete(&lab, DEFAULT_KUBERNETES_VERSION);
    kokctl.has_nothing_to_do();
    clock.lap("apply with kube-proxy and its checks");
}

/// Two control planes are enough, since etcd is on the worker. So is the load balancer, for no host of the lab has less to do.
#[test]
fn a_load_balancer_of_the_owner() {
    let lab = Lab::up(LabSpec::unique(3).control_planes(2)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    balanced::by_haproxy(&lab, &kokctl);
    kokctl.converge("apply");
    clock.lap("apply");
    cluster::is_complete(
        &lab,
        &Kind { version: DEFAULT_KUBERNETES_VERSION, domain: "cluster.local", has_load_balancers: false, tainted: None },
    );
    endpoint::is_named(&lab, &balanced::endpoint(&lab));
    balanced::nothing_of_ours_stands_beside(&lab);
    kokctl.has_nothing_to_do();
    clock.lap("checks of the cluster");
    balanced::answers_without_any_one(&lab);
    clock.lap("a control plane without power");
}

/// An address for clients outside, by keepalived out of the bundle.
#[test]
fn an_address_that_moves() {
    let lab = Lab::up(LabSpec::unique(4).control_planes(3)).unwrap_or_else(|error| panic!("{error}"));
    let mut clock = Clock::start();
    let kokctl = moving::kokctl(&lab);
    clock.lap("packages are fetched");
    moving::what_is_not_free_is_refused(&lab, &kokctl);
    clock.lap("what is not free is refused");
    kokctl.converge("apply");
    clock.lap("apply");
    cluster::assert_complete(&lab, DEFAULT_KUBERNETES_VERSION);
    kokctl.has_nothing_to_do();
    moving::answers_outside(&lab, &kokctl, moving::ADDRESS);
    clock.lap("checks of the cluster");
    let client = moving::Client::begin(&lab, moving::ADDRESS);
    moving::moves_when_its_host_dies(&lab, &client);
    clock.lap("its host dies");
    moving::moves_when_its_api_server_ends(&lab, &client);
    client.end();
    clock.lap("its API server ends");
    moving::moves_when_what_watches_ends(&lab);
    clock.lap("what watches over it ends");
    moving::changes_and_goes(&lab, &kokctl);
    clock.lap("another address, and none");
}

/// Any text may be one's annotation, and none is taken for anything else on its way.
const NOTE: &str = "7, by the door's \"left\" $(id)\nANNOTATIONS\n";

fn the_worker_is_annotated(lab: &Lab) {
    let node = cluster::kubectl_json(lab, "get node worker1");
    assert_eq!(node["metadata"]["annotations"]["example.com/note"], NOTE, "{node}");
}

/// What the file says of one host, and of workers, the control plane's kubelet is not told.
fn the_worker_has_a_kubelet_of_its_own(lab: &Lab) {
    let pods = |node: &str| cluster::kubectl(lab, &format!("get node {node} -o jsonpath='{{.status.capacity.pods}}'"));
    assert_eq!([pods("cp1"), pods("worker1")], ["110", "50"]);
    let told = |node: &str| ok(&lab.host(node).unwrap(), "tr '\\0' '\\n' </proc/$(pgrep -x kubelet)/cmdline | grep -cx -e --v=3; true");
    assert_eq!([told("cp1"), told("worker1")], ["0", "1"]);
}

/// It says so itself, and has left no table of its other mode.
fn kube_proxy_goes_by_iptables(lab: &Lab) {
    let configuration = cluster::kubectl(lab, "-n kube-system get configmap kube-proxy -o jsonpath='{.data.config\\.conf}'");
    assert!(configuration.lines().any(|line| line == "mode: iptables"), "{configuration}");
    for host in hosts(lab) {
        assert_eq!(ok(&host, "curl -s http://127.0.0.1:10249/proxyMode"), "iptables");
        assert!(!ok(&host, "nft list tables").contains("kube-proxy"), "{}", host.name());
    }
}
