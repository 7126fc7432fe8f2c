//! An address that moves between the control planes.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::net::Ipv4Addr;

use kok_crds::model::Cluster;
use kok_crds::{File, Input, Outcome, Role, read_cluster, read_input};

const FILE: &str = "apiVersion: kubeonkube.clay.io/v1alpha1
kind: Cluster
metadata: {name: c}
spec:
  kubernetesVersion: 1.37.1
  apiEndpoint: {FIELDS}
  hosts:
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}
  - {name: w1, address: 10.0.0.13, roles: [worker]}
";

fn read(fields: &str) -> Result<Cluster, String> {
    read_cluster("c.yaml", &FILE.replace("FIELDS", fields)).map_err(|problems| {
        let told: Vec<String> =
            problems.iter().map(|problem| format!("{problem}: {}", problem.because.as_deref().unwrap_or_default())).collect();
        assert!(problems.iter().all(|problem| problem.hint.is_some() && problem.position.is_some()), "{told:?}");
        told.join("\n")
    })
}

fn of_inventory(variables: &str) -> Input {
    let hosts = "all: {hosts: {cp1: {ip: 10.0.0.11}, w1: {ip: 10.0.0.12}}, \
                 children: {kube_control_plane: {hosts: {cp1: }}, kube_node: {hosts: {w1: }}}}";
    let main = File { name: "hosts.yaml".to_owned(), text: hosts.to_owned(), role: Role::Main { cluster: None } };
    let text = format!("kube_network_plugin: flannel\n{variables}\n");
    read_input(&[main, File { name: "group_vars/all.yml".to_owned(), text, role: Role::Beside }])
}

const KUBE_VIP: &str =
    "kube_vip_enabled: true\nkube_vip_controlplane_enabled: true\nkube_vip_arp_enabled: true\nkube_vip_address: 10.0.0.100";

#[test]
fn it_has_a_number_in_its_network() {
    let cluster = read("vip: 10.0.0.100").unwrap();
    assert_eq!((cluster.virtual_address(), cluster.virtual_router()), (Some(Ipv4Addr::new(10, 0, 0, 100)), Some(100)));
    assert!(cluster.external_endpoint().is_none(), "no load balancer of the user's");
    assert_eq!(read("vip: 10.0.0.100, routerId: 7").unwrap().virtual_router(), Some(7));
    assert_eq!(read("vip: 10.0.1.0").unwrap().virtual_router(), Some(255), "0 is none");
    assert_eq!((read("port: 6443").unwrap().virtual_address(), read("port: 6443").unwrap().virtual_router()), (None, None));
}

#[test]
fn what_it_cannot_be_is_told() {
    for (fields, told) in [
        ("vip: 10.0.0.11", "the host `cp1` has it"),
        ("vip: 10.0.0.13", "the host `w1` has it"),
        ("vip: 10.233.0.9", "the services have"),
        ("vip: 10.233.64.9", "the pods have"),
        ("vip: api.example.com", "without a port or a prefix"),
        ("vip: 10.0.0.100/24", "without a port or a prefix"),
        ("vip: 'fd00::1'", "of IPv4"),
        ("vip: 127.0.0.2", "no host can have"),
        ("vip: 10.0.0.100, routerId: 256", "routerId"),
        ("vip: 10.0.0.100, routerId: 0", "routerId"),
        ("routerId: 7", "no virtual address"),
        ("vip: 10.0.0.100, address: api.example.com", "both a virtual address and a load balancer"),
        ("vip: 10.0.0.100, address: 10.0.0.100, port: 8443", "does not lead to the API at port 8443"),
        ("virtualAddress: 10.0.0.100", "virtualAddress"),
    ] {
        let said = read(fields).unwrap_err();
        assert!(said.contains(told), "{fields}: {said}");
    }
}

#[test]
fn kubesprays_variables_say_the_same_with_a_note() {
    let input = of_inventory(KUBE_VIP);
    assert!(input.problems.is_empty(), "{:?}", input.problems);
    let cluster = input.cluster.unwrap();
    assert_eq!(cluster.virtual_address(), Some(Ipv4Addr::new(10, 0, 0, 100)));
    let notes: Vec<&str> = input.notices.iter().map(|notice| notice.message.as_str()).filter(|text| text.contains("keepalived")).collect();
    assert_eq!(notes, ["the address of `kube_vip_address` moves by keepalived, and not by kube-vip"]);
}

/// As its documentation has it: the address a second time, as the load balancer.
#[test]
fn the_same_address_as_load_balancer_is_none_of_the_users() {
    let external = "loadbalancer_apiserver: {address: '{{ kube_vip_address }}', port: 6443}";
    let input = of_inventory(&format!("{KUBE_VIP}\n{external}"));
    assert!(input.problems.is_empty(), "{:?}", input.problems);
    let cluster = input.cluster.unwrap();
    assert!(cluster.virtual_address().is_some() && cluster.settings.api_endpoint.external.is_none());
    let other = of_inventory(&format!("{KUBE_VIP}\nloadbalancer_apiserver: {{address: 10.0.0.200}}"));
    assert!(other.problems.iter().any(|problem| problem.message.contains("both a virtual address")), "{:?}", other.problems);
}

#[test]
fn what_is_not_switched_on_says_nothing() {
    for variables in [
        "kube_vip_enabled: true",
        "kube_vip_address: 10.0.0.100",
        "kube_vip_enabled: true\nkube_vip_address: 10.0.0.100",
        "kube_vip_controlplane_enabled: true\nkube_vip_address: 10.0.0.100",
        "kube_vip_enabled: false\nkube_vip_controlplane_enabled: true\nkube_vip_address: ''",
    ] {
        let input = of_inventory(variables);
        assert!(input.problems.is_empty(), "{variables}: {:?}", input.problems);
        assert_eq!(input.cluster.unwrap().virtual_address(), None, "{variables}");
        assert!(!input.notices.iter().any(|notice| notice.message.contains("keepalived")), "{variables}");
    }
    let without = of_inventory("kube_vip_enabled: true\nkube_vip_controlplane_enabled: true");
    assert!(without.problems.iter().any(|problem| problem.message.contains("needs `kube_vip_address`")), "{:?}", without.problems);
    let twice = of_inventory(&format!("{KUBE_VIP}\napi_virtual_address: 10.0.0.101"));
    assert!(twice.problems.iter().any(|problem| problem.message.contains("`kube_vip_address` cannot be")), "{:?}", twice.problems);
    for other in ["kube_vip_bgp_enabled", "kube_vip_ddns_enabled"] {
        let asked = of_inventory(&format!("{KUBE_VIP}\n{other}: true"));
        assert!(asked.problems.iter().any(|problem| problem.message.contains(other)), "{:?}", asked.problems);
    }
    let spread = of_inventory(&format!("{KUBE_VIP}\nkube_vip_lb_enable: true"));
    let given = spread.variables.iter().find(|given| given.name == "kube_vip_lb_enable").unwrap();
    assert!(spread.problems.is_empty() && given.outcome == Outcome::NotYet, "clients are not spread, and that is said: {given:?}");
}
