//! Calico, as Kubespray's users have it: Kubespray's sample inventory with names and addresses filled in, and kube-proxy's mode on the command line,
//! for this machine's kernel has no IPVS. etcd is a unit of systemd there, each node has a DNS cache.

use crate::calico_story::{bgp, policy, sample};
use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::{self, Kind, control_planes, kubectl};
use crate::cluster_support::{bare, connection_costs, hosts, kubelets, node_dns, ok, snapshot};
use crate::highly_available_story::units;
use crate::networks_cases::both;
use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab, LabSpec};

const HOSTS: usize = 5;
const PLANES: usize = 3;

#[test]
fn kubesprays_sample() {
    let lab = Lab::up(LabSpec::unique(HOSTS).control_planes(PLANES)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = sample::write(&lab);
    let mut clock = Clock::start();
    connection_costs::log_every_command(&lab);
    let before = snapshot::bare_state(&lab);
    sample::hosts_are_known(&kokctl);
    sample::is_refused_without_ipvs(&lab, &kokctl);
    bgp::needs_upstreams_image(&lab, &kokctl);
    let kokctl = sample::by_iptables(kokctl);
    clock.lap("what is refused");
    let said = kokctl.converge("apply");
    assert!(said.contains(&format!("is ready: {HOSTS} hosts, ")), "{said}");
    clock.lap("apply");
    let kind = Kind { version: DEFAULT_KUBERNETES_VERSION, domain: "cluster.local", has_load_balancers: true, tainted: None };
    cluster::is_complete(&lab, &kind);
    control_planes(&lab).iter().for_each(|host| units::is_a_member(&lab, host, &control_planes(&lab)));
    addresses_are_of_blocks(&lab);
    node_dns::answers_pods(&lab);
    clock.lap("checks of the cluster");
    policy::allows_and_denies(&lab);
    clock.lap("a NetworkPolicy");
    connection_costs::costs_one_connection_each(&lab, || kokctl.has_nothing_to_do());
    sample::another_pool_is_refused(&lab, &kokctl);
    clock.lap("apply again");
    let worker = lab.host("worker2").unwrap();
    worker.power_off().unwrap();
    worker.power_on().unwrap();
    kubelets::say_that_they_are_ready(&lab);
    cluster::is_complete(&lab, &kind);
    kokctl.has_nothing_to_do();
    clock.lap("a host that is restarted");
    assert_eq!(kokctl.verb("reset", &["--yes", "--no-snapshot"]).code, 0);
    bare::assert_bare(&lab);
    snapshot::assert_same(&before, &snapshot::bare_state(&lab), "reset has to leave what was there before");
    clock.lap("reset");
}

/// Addresses of both families, a typha between the nodes and the API server, and no tunnel between hosts that are neighbours.
#[test]
fn both_families_by_routes_with_typha() {
    let lab = Lab::up(LabSpec::unique(3).dual_stack()).unwrap_or_else(|error| panic!("{error}"));
    let mut clock = Clock::start();
    let before = snapshot::bare_state(&lab);
    let vars = "    kube_proxy_mode: iptables\n    typha_enabled: true\n    calico_vxlan_mode: CrossSubnet\n    calico_mtu: 1400\n";
    let kokctl = sample::with_vars(&lab, vars);
    kokctl.converge("apply");
    clock.lap("apply");
    cluster::assert_complete(&lab, DEFAULT_KUBERNETES_VERSION);
    assert_eq!(kubectl(&lab, "-n kube-system get deployment calico-typha -o jsonpath='{.status.availableReplicas}'"), "1");
    both::pods_and_services_answer(&lab);
    for host in hosts(&lab) {
        let routes = ok(&host, "ip -4 route show root 10.233.64.0/18; ip -6 route show root fd85:ee78:d8a6:8607::1:0/112");
        let to_others = routes.lines().filter(|line| line.contains(" via ") && line.contains(" dev host0 ")).count();
        assert_eq!(to_others, 2 * (hosts(&lab).len() - 1), "{}: {routes}", host.name());
        assert_eq!(ok(&host, "cat /sys/class/net/cali*/mtu | sort -u"), "1400", "{}", host.name());
    }
    clock.lap("checks of the cluster");
    kokctl.has_nothing_to_do();
    assert_eq!(kokctl.verb("reset", &["--yes", "--no-snapshot"]).code, 0);
    bare::assert_bare(&lab);
    snapshot::assert_same(&before, &snapshot::bare_state(&lab), "reset has to leave what was there before");
    clock.lap("apply again, and reset");
}

/// Calico gives them, and no node has a share of the pods' range.
fn addresses_are_of_blocks(lab: &Lab) {
    assert_eq!(kubectl(lab, "get nodes -o jsonpath='{.items[*].spec.podCIDR}'"), "");
    let pool = kubectl(lab, "get ippools.crd.projectcalico.org -o jsonpath='{.items[*].spec.cidr} {.items[*].spec.blockSize}'");
    assert_eq!(pool, "10.233.64.0/18 26");
    for host in hosts(lab) {
        let routes = ok(&host, "ip -4 route show root 10.233.64.0/18");
        let to_others = routes.lines().filter(|line| line.contains(" dev vxlan.calico ")).count();
        assert_eq!(to_others, HOSTS - 1, "{}: {routes}", host.name());
    }
}
