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
    let hosts =
        apart(1).replace("roles: [etcd]", "roles: [etcd], labels: {a: b}, annotations: {a: b}, taints: [{key: a, effect: NoSchedule}]");
    let told = inline(&hosts, "").unwrap_err();
    assert!(told.contains("the host `etcd1` cannot have labels") && told.contains("cannot have taints"), "{told}");
    assert!(told.contains("the host `etcd1` cannot have annotations"), "{told}");
}

#[test]
fn annotations_are_texts_within_what_an_object_may_hold() {
    let with = |annotations: &str| inline(&host("cp1", 1, "control-plane").replace("]}", &format!("], annotations: {annotations}}}")), "");
    let good = with(r#"{example.com/note: "any text, \"even\" this: %$'\n", empty: ""}"#).unwrap();
    assert_eq!(good.hosts[0].annotations["example.com/note"], "any text, \"even\" this: %$'\n");
    let told = with("{-a: b}").unwrap_err();
    assert!(told.contains("`-a` cannot be the key of an annotation"), "{told}");
    assert!(with("{a: [b]}").unwrap_err().contains("cannot be a list"), "{}", with("{a: [b]}").unwrap_err());
    let told = with(&format!("{{a: {}}}", "b".repeat(8 * 1024))).unwrap_err();
    assert!(told.contains("the annotations of a host cannot have 8193 bytes"), "{told}");
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

/// One control plane whose etcd is told this.
fn told_to_etcd(deployment: &str, vars: &str) -> Result<Cluster, String> {
    inline(&host("cp1", 1, "control-plane"), &format!("  vars: {{etcd_deployment_type: {deployment}, {vars}}}\n"))
}

#[test]
fn options_that_lose_data_or_contradict_the_hosts_are_refused_in_both_spellings() {
    let names = [
        "wal-dir",
        "force-new-cluster",
        "unsafe-no-fsync",
        "initial-cluster-token",
        "discovery",
        "discovery-token",
        "auto-tls",
        "peer-auto-tls",
        "config-file",
        "name",
        "data-dir",
        "listen-client-http-urls",
    ];
    for name in names {
        for spelled in [name.to_owned(), format!("ETCD_{}", name.to_uppercase().replace('-', "_"))] {
            let told = told_to_etcd("kubeadm", &format!("etcd_extra_vars: {{{spelled}: x}}")).unwrap_err();
            assert!(told.contains(&format!("`etcd_extra_vars` may not say `{name}`")) && told.contains("f:6:"), "{told}");
        }
    }
}

#[test]
fn an_option_that_etcd_has_not_is_an_error() {
    let told = told_to_etcd("kubeadm", "etcd_extra_vars: {ETCD_EXPERIMENTAL_CORRUPT_CHECK_TIME: 1h, qota-backend-bytes: 1}").unwrap_err();
    assert!(told.contains("write `corrupt-check-time`") && told.contains("did you mean `quota-backend-bytes`?"), "{told}");
    let told = told_to_etcd("host", "etcd_extra_vars: {max-txn-ops: many, pre-vote: perhaps, corrupt-check-time: 5}").unwrap_err();
    assert_eq!(told.matches(" cannot be ").count(), 3, "{told}");
    assert!(told_to_etcd("host", "etcd_extra_vars: {max-txn-ops: 256, pre-vote: \"true\", corrupt-check-time: 5m}").is_ok());
}

#[test]
fn what_only_a_pod_of_kubeadm_can_have_is_refused_where_etcd_is_a_unit() {
    let patch = "\n    kubeadm_patches:\n    - {target: kube-scheduler, patch: {metadata: {labels: {a: b}}}}\n    - {target: etcd, patch: {metadata: {labels: {a: b}}}}\n";
    let with =
        |deployment: &str| inline(&host("cp1", 1, "control-plane"), &format!("  vars:\n    etcd_deployment_type: {deployment}{patch}"));
    assert!(with("kubeadm").is_ok());
    let told = with("host").unwrap_err();
    assert!(told.contains("cannot have the target `etcd`") && told.contains("f:10:16"), "{told}");
    let reading = "etcd_extra_vars: {ETCD_RAFT_READ_TIMEOUT: 10s}";
    assert!(told_to_etcd("kubeadm", reading).is_ok());
    let told = told_to_etcd("host", reading).unwrap_err();
    assert!(told.contains("etcd cannot be told `raft-read-timeout`") && told.contains("f:6:"), "{told}");
}
