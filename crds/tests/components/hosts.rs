//! What hosts are told, in which version, and in which file it is said.

use kok_crds::{File, Role, read_input};

use super::{ONE, problems};

#[test]
fn some_labels_are_not_a_users() {
    let worker = |labels: &str| {
        format!(
            "{{name: cp1, address: 10.0.0.11, roles: [control-plane]}}, {{name: w1, address: 10.0.0.12, roles: [worker], labels: {{{labels}}}}}"
        )
    };
    for (labels, word) in [
        ("node-role.kubernetes.io/control-plane: ''", "this host is none"),
        ("kubernetes.io/hostname: other", "the host's name, `w1`"),
        ("kubernetes.io/os: windows", "`linux`"),
        ("kubernetes.io/arch: s390", "that of the host's machine"),
    ] {
        let told = problems("1.37.1", &worker(labels), "{}");
        assert!(told.contains(word) && told.contains("the node `w1` cannot have the label") && told.contains("f:6:"), "{labels}: {told}");
    }
    let right = "node-role.kubernetes.io/ingress: '', kubernetes.io/hostname: w1, topology.kubernetes.io/zone: a, node-restriction.kubernetes.io/b: c";
    assert_eq!(problems("1.37.1", &worker(right), "{}"), "");
}

/// The kubelets of hosts and groups are judged by what they are told in the end.
#[test]
fn what_one_host_is_told_is_judged_with_what_all_are() {
    let hosts = "{name: cp1, address: 10.0.0.11, roles: [control-plane]}, {name: w1, address: 10.0.0.12, roles: [worker], vars: {kubelet_image_gc_high_threshold: 60}}";
    let told = problems("1.37.1", hosts, "kubelet_max_pods: 100");
    assert!(told.contains("from 60 % of the disk on, and down to 80 %") && told.contains("f:6:"), "{told}");
    assert_eq!(problems("1.37.1", hosts, "kubelet_image_gc_low_threshold: 50"), "");
    // Only control planes have the ports of the controller manager.
    let own = |host: &str| {
        hosts.replace("kubelet_image_gc_high_threshold: 60", "").replace(host, &format!("{host}, vars: {{kubelet_healthz_port: 10257}}"))
    };
    assert!(problems("1.37.1", &own("roles: [control-plane]"), "{}").contains("the controller manager"));
    assert_eq!(problems("1.37.1", &own("roles: [worker]").replace(", vars: {}", ""), "{}"), "");
}

/// Of other minor versions nothing is known: what they know is not refused, and what no version takes is.
#[test]
fn other_versions_are_not_judged_by_these_tables() {
    let vars = "kube_feature_gates: [SomeGate=true]\nkube_kubeadm_apiserver_extra_args: {some-option: 1}\nkubelet_config_extra_args: {someField: 1}\n\
                tls_cipher_suites: [TLS_X]\nkube_apiserver_enable_admission_plugins: [Some]";
    assert_eq!(problems("1.35.2", ONE, vars), "");
    assert!(problems("1.35.2", ONE, "etcd_heartbeat_interval: 250").contains("five times"));
    // A gate that one version has and the next has given up.
    let [older, newer] = ["1.36.3", "1.37.1"].map(|version| problems(version, ONE, "kube_feature_gates: [APIServerTracing=true]"));
    assert_eq!(older, "");
    assert!(newer.contains("no feature gate of Kubernetes 1.37"), "{newer}");
}

/// In an inventory it is told with the file and the line of the variable.
#[test]
fn inventories_are_told_at_their_variables() {
    let file = |name: &str, text: &str, role| File { name: name.to_owned(), text: text.to_owned(), role };
    let hosts = "all: {hosts: {a: {ip: 10.0.0.1}, b: {ip: 10.0.0.2}}, children: {kube_control_plane: {hosts: {a: }}, kube_node: {hosts: {b: }}, etcd: {hosts: {a: }}}}";
    let input = read_input(&[
        file("hosts.yaml", hosts, Role::Main { cluster: None }),
        file("group_vars/all.yml", "kube_version: 1.37.1\nkube_network_plugin: flannel\ntls_cipher_suites:\n- NULL_SHA\n", Role::Beside),
        file("group_vars/kube_node.yml", "kubelet_max_pods: 200\nkubelet_image_gc_low_threshold: 99\n", Role::Beside),
        file("host_vars/b.yml", "node_labels: {kubernetes.io/os: bsd}\n", Role::Beside),
    ]);
    let told: String = input.problems.iter().map(|problem| format!("{problem}\n")).collect();
    for part in [
        "`NULL_SHA` is no cipher",
        "group_vars/all.yml:",
        "down to 99 %",
        "group_vars/kube_node.yml:2:",
        "`kubernetes.io/os=bsd`",
        "host_vars/b.yml:1:",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
}

/// What is done for the one would be done to the other.
#[test]
fn two_hosts_are_not_reached_at_one_address() {
    let hosts = |one: &str, other: &str| {
        format!(
            "{{name: cp1, address: 10.0.0.11, roles: [control-plane], {one}}}, {{name: w1, address: 10.0.0.12, roles: [worker], {other}}}"
        )
    };
    let ssh = |more: &str| format!("ssh: {{address: gate.example{more}}}");
    let told = problems("1.37.1", &hosts(&ssh(""), &ssh("")), "{}");
    assert!(told.contains("two hosts are reached by SSH at `gate.example`") && told.contains("`cp1` and `w1`"), "{told}");
    let told = problems("1.37.1", &hosts("labels: {}", "ssh: {address: 10.0.0.11}"), "{}");
    assert!(told.contains("two hosts are reached by SSH at `10.0.0.11`"), "{told}");
    for other in [ssh(", port: 2222"), ssh(", bastion: {address: 10.0.0.1}")] {
        let told = problems("1.37.1", &hosts(&ssh(""), &other), "{}");
        assert_eq!(told, "", "{other}");
    }
}
