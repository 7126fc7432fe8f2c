//! Where etcd runs: beside the API servers, or on hosts that have the role.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use kok_crds::model::{Cluster, EtcdDeployment};
use kok_crds::{File, Role, read_cluster, read_input};

fn inline(hosts: &str, spec: &str) -> Result<Cluster, String> {
    let text = format!(
        "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: a}}\nspec:\n  kubernetesVersion: 1.37.1\n{spec}  hosts:\n{hosts}"
    );
    read_cluster("f", &text).map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

fn host(name: &str, number: u8, roles: &str) -> String {
    format!("    - {{name: {name}, address: 10.0.0.{number}, roles: [{roles}]}}\n")
}

/// Two control planes, a worker, and as many hosts of etcd.
fn apart(members: u8) -> String {
    let first = [host("cp1", 1, "control-plane"), host("cp2", 2, "control-plane"), host("worker1", 3, "worker")].concat();
    (1..=members).fold(first, |all, number| all + &host(&format!("etcd{number}"), 10 + number, "etcd"))
}

fn inventory(etcd: &str, vars: &str) -> Result<Cluster, String> {
    let text = format!(
        "all: {{hosts: {{a: {{ip: 10.0.0.1}}, b: {{ip: 10.0.0.2}}, c: {{ip: 10.0.0.3}}}}, vars: {{kube_network_plugin: flannel, \
         kube_version: 1.37.1{vars}}}, children: {{kube_control_plane: {{hosts: {{a: }}}}, kube_node: {{hosts: {{b: }}}}, etcd: {{hosts: {{{etcd}}}}}}}}}"
    );
    let input = read_input(&[File { name: "hosts.yaml".to_owned(), text, role: Role::Main { cluster: None } }]);
    input.cluster.ok_or_else(|| input.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

#[test]
fn hosts_of_their_own_make_it_a_unit() {
    let cluster = inline(&apart(3), "").unwrap();
    let members: Vec<&str> = cluster.etcd_hosts().map(|host| host.name.as_str()).collect();
    assert_eq!(members, ["etcd1", "etcd2", "etcd3"]);
    assert!(cluster.has_etcd_units());
    let nodes: Vec<&str> = cluster.nodes().map(|host| host.name.as_str()).collect();
    assert_eq!(nodes, ["cp1", "cp2", "worker1"], "what runs etcd alone is no node");
    assert_eq!(cluster.balanced_hosts().map(|host| host.name.as_str()).collect::<Vec<_>>(), ["worker1"]);
}

#[test]
fn without_the_role_control_planes_have_it() {
    let hosts = host("cp1", 1, "control-plane") + &host("worker1", 2, "worker");
    let cluster = inline(&hosts, "").unwrap();
    assert!(cluster.hosts[0].roles.etcd && !cluster.hosts[1].roles.etcd && !cluster.has_etcd_units());
    let cluster = inline(&hosts, "  etcd: {deployment: host}\n").unwrap();
    assert!(cluster.has_etcd_units(), "the same hosts, as units");
    assert_eq!(cluster.settings.etcd_deployment_type, Some(EtcdDeployment::Host));
}

#[test]
fn kubeadms_etcd_is_beside_each_api_server() {
    for spec in ["  vars: {etcd_deployment_type: kubeadm}\n", "  etcd: {deployment: kubeadm}\n"] {
        let told = inline(&apart(3), spec).unwrap_err();
        assert!(told.contains("etcd cannot run as `kubeadm` runs it") && told.contains("write `etcd_deployment_type: host`"), "{told}");
        assert!(told.contains("f:6:"), "where it is written: {told}");
    }
    assert!(inline(&apart(3), "  vars: {etcd_deployment_type: docker}\n").unwrap_err().contains("`host` for a unit of systemd"));
}

#[test]
fn members_are_odd_and_control_planes_need_not_be() {
    let told = inline(&apart(2), "").unwrap_err();
    assert!(told.contains("2 hosts have the role `etcd`") && told.contains("f:11:"), "{told}");
    let both = host("cp1", 1, "control-plane, etcd") + &host("cp2", 2, "control-plane") + &host("w", 3, "worker, etcd");
    assert!(inline(&both, "").unwrap_err().contains("2 hosts have the role `etcd`"));
    let third = both + &host("etcd1", 4, "etcd");
    assert_eq!(inline(&third, "").unwrap().etcd_hosts().count(), 3, "on a control plane, a worker and a host of its own");
}

#[test]
fn what_is_no_node_has_no_labels() {
    let hosts = apart(1).replace("roles: [etcd]", "roles: [etcd], labels: {a: b}, taints: [{key: a, effect: NoSchedule}]");
    let told = inline(&hosts, "").unwrap_err();
    assert!(told.contains("the host `etcd1` cannot have labels") && told.contains("cannot have taints"), "{told}");
}

#[test]
fn the_group_of_an_inventory_says_it_too() {
    let cluster = inventory("c: ", "").unwrap();
    assert!(cluster.has_etcd_units() && cluster.host("c").unwrap().roles.etcd && !cluster.host("a").unwrap().roles.etcd);
    assert!(!cluster.host("c").unwrap().roles.is_node());
    assert!(inventory("c: ", ", etcd_deployment_type: kubeadm").unwrap_err().contains("etcd cannot run as `kubeadm` runs it"));
    assert!(!inventory("a: ", "").unwrap().has_etcd_units(), "kubeadm's way, where nobody says another");
    assert!(inventory("a: ", ", etcd_deployment_type: host").unwrap().has_etcd_units());
    assert!(inventory("a: , b: , c: ", "").unwrap().has_etcd_units(), "on control planes and on others");
}
