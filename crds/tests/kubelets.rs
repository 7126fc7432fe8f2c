//! What kubelets of single hosts, of workers and of control planes are told otherwise than all.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use kok_crds::model::{Cluster, KubeletSettings};
use kok_crds::{File, Problem, Role, read_cluster, read_input};
use serde_json::json;

fn read(vars: &str, of_hosts: [&str; 3]) -> Result<Cluster, Vec<Problem>> {
    let host = |(index, name, roles): (usize, &str, &str)| {
        format!("  - {{name: {name}, address: 10.0.0.1{index}, roles: [{roles}], vars: {{{}}}}}\n", of_hosts[index])
    };
    let hosts: String = [(0, "cp1", "control-plane"), (1, "w1", "worker"), (2, "w2", "worker")].map(host).concat();
    let head = "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {name: demo}\nspec:\n  kubernetesVersion: 1.37.1\n";
    read_cluster("cluster.yaml", &format!("{head}  hosts:\n{hosts}  vars: {{{vars}}}\n"))
}

fn kubelet(cluster: &Cluster, host: &str) -> KubeletSettings {
    cluster.settings.components.kubelet_of(cluster.host(host).unwrap())
}

#[test]
fn a_host_has_its_own() {
    let own = "kubelet_max_pods: 250, system_memory_reserved: 2Gi, kubelet_custom_flags: [--v=4], eviction_hard: {memory.available: 1Gi}";
    let all = "kubelet_max_pods: 120, system_cpu_reserved: 500m, eviction_hard: {nodefs.available: 5%}";
    let cluster = read(all, ["", own, "kubelet_max_pods: 110, eviction_hard: {}"]).unwrap();
    let max_pods = |host| kubelet(&cluster, host).fields["maxPods"].clone();
    assert_eq!(["cp1", "w1", "w2"].map(max_pods), [120, 250, 110].map(|pods| json!(pods)));
    let worker = kubelet(&cluster, "w1");
    let amounts: Vec<_> = worker.system_reserved.amounts.into_iter().collect();
    assert_eq!(amounts, [("cpu", "500m"), ("memory", "2Gi")].map(|(name, amount)| (name.to_owned(), amount.to_owned())));
    assert_eq!(worker.options["v"], json!("4"));
    let evicts = |host| kubelet(&cluster, host).evictions().map(|thresholds| thresholds.keys().cloned().collect::<Vec<_>>());
    assert_eq!(evicts("w1"), Some(vec!["memory.available".to_owned()]), "its map is its whole word");
    assert_eq!(evicts("cp1"), Some(vec!["nodefs.available".to_owned()]));
    assert_eq!(evicts("w2"), None, "an empty one leaves it to the kubelet");
}

#[test]
fn workers_and_control_planes_have_theirs() {
    let vars = "kubelet_config_extra_args: {maxPods: 120}, kubelet_node_config_extra_args: {maxPods: 130}, kube_reserved: true, \
                kubelet_node_custom_flags: [--v=3], kube_master_cpu_reserved: 300m";
    let cluster = read(vars, ["", "", "kubelet_max_pods: 140"]).unwrap();
    let max_pods = |host| kubelet(&cluster, host).fields["maxPods"].clone();
    assert_eq!(["cp1", "w1", "w2"].map(max_pods), [120, 130, 140].map(|pods| json!(pods)));
    let reserved = |host| kubelet(&cluster, host).kube_reserved.amounts.get("cpu").cloned();
    assert_eq!(["cp1", "w1"].map(reserved), [Some("300m".to_owned()), None]);
    assert_eq!(["cp1", "w1"].map(|host| kubelet(&cluster, host).options.contains_key("v")), [false, true]);
}

/// What is said for all holds beside it, also where every host says something.
#[test]
fn options_and_fields_add_up() {
    for third in ["", "kubelet_custom_flags: [--v=5]"] {
        let cluster = read("kubelet_custom_flags: [--root-dir=/srv, --v=3]", [third, "kubelet_custom_flags: [--v=4]", third]).unwrap();
        let options = |host| kubelet(&cluster, host).options;
        assert_eq!((&options("w1")["v"], &options("w1")["root-dir"]), (&json!("4"), &json!("/srv")));
        assert_eq!(options("w2")["v"], json!(if third.is_empty() { "3" } else { "5" }));
    }
    let alike = read("kubelet_custom_flags: [--root-dir=/srv, --v=3]", ["kubelet_custom_flags: [--v=4]"; 3]).unwrap();
    let options = kubelet(&alike, "w1").options;
    assert_eq!((&options["v"], &options["root-dir"]), (&json!("4"), &json!("/srv")));
}

/// A switch that is off on one host is off there, though it is on for all.
#[test]
fn a_host_can_take_something_back() {
    let cluster = read("system_reserved: true", ["", "system_reserved: false", "kubelet_max_pods: 120"]).unwrap();
    assert_eq!(["cp1", "w1"].map(|host| kubelet(&cluster, host).system_reserved.enabled), [Some(true), Some(false)]);
}

/// Also where one of the values is what holds anyway.
#[test]
fn what_is_more_than_a_kubelets_is_of_all_hosts() {
    let different = [
        ["kubelet_flexvolumes_plugins_dir: /opt/volumes", ""],
        ["kube_proxy_mode: iptables", ""],
        ["kube_proxy_mode: nftables", "kube_proxy_mode: iptables"],
        ["kube_log_level: 3", "kube_log_level: 4"],
    ];
    for [one, other] in different {
        let problems = read("", [one, other, ""]).unwrap_err();
        assert!(problems[0].message.ends_with("is not the same on all hosts"), "{one}: {}", problems[0]);
    }
}

#[test]
fn a_value_that_is_wrong_is_told_of_with_its_place() {
    let problems = read("", ["", "kubelet_max_pods: many", "kubelet_max_pods: 120"]).unwrap_err();
    let messages: Vec<_> = problems.iter().map(|problem| (problem.message.as_str(), problem.position.as_ref().unwrap().line)).collect();
    assert_eq!(messages, [("`kubelet_max_pods` cannot be the text `many`", 8)]);
}

/// As files of groups and hosts say it beside an inventory.
#[test]
fn groups_and_hosts_of_an_inventory_have_theirs() {
    let file = |name: &str, text: &str, role| File { name: name.to_owned(), text: text.to_owned(), role };
    let hosts = "all: {hosts: {a: {ip: 10.0.0.1}, b: {ip: 10.0.0.2}, c: {ip: 10.0.0.3}}, \
                 children: {kube_control_plane: {hosts: {a: }}, kube_node: {hosts: {b: , c: }}, etcd: {hosts: {a: }}}}";
    let input = read_input(&[
        file("hosts.yaml", hosts, Role::Main { cluster: None }),
        file("group_vars/all.yml", "kube_version: 1.37.1\nkube_network_plugin: flannel\nkubelet_max_pods: 120\n", Role::Beside),
        file("group_vars/kube_node.yml", "kubelet_max_pods: 200\n", Role::Beside),
        file("host_vars/c.yml", "kubelet_custom_flags: [--v=4]\nsystem_cpu_reserved: 1\n", Role::Beside),
    ]);
    let problems: Vec<_> = input.problems.iter().map(ToString::to_string).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let cluster = input.cluster.unwrap();
    assert_eq!(["a", "b", "c"].map(|host| kubelet(&cluster, host).fields["maxPods"].clone()), [120, 200, 200].map(|pods| json!(pods)));
    assert_eq!(["b", "c"].map(|host| kubelet(&cluster, host).options.contains_key("v")), [false, true]);
    assert_eq!(kubelet(&cluster, "c").system_reserved.amounts["cpu"], "1");
    let of = |name: &str| input.variables.iter().filter(|given| given.name == name).count();
    assert_eq!((of("kubelet_max_pods"), of("kubelet_custom_flags")), (2, 1), "a line for each value");
}
