//! Nodes with what the inventory says of single hosts, and members of etcd beside their API servers.

use kok_tests::lab::{Host, Lab, Power};

use crate::cluster_support::cluster::{kubectl, kubectl_json};
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{hosts, kubelets, ok};
use crate::highly_available_story::any;
use crate::lab_support::wait_for;

pub const LABELLED: &str = "cp2";
pub const TAINTED: &str = "cp3";

pub fn are_labelled_and_tainted(lab: &Lab) {
    let with = |label: &str| kubectl(lab, &format!("get nodes -l {label} -o name"));
    assert_eq!(with("example.com/zone=north"), format!("node/{LABELLED}"));
    let node = kubectl_json(lab, &format!("get node {TAINTED}"));
    let taint = serde_json::json!([{"key": "example.com/dedicated", "value": "store", "effect": "NoSchedule"}]);
    assert_eq!(node["spec"]["taints"], taint, "{node}");
}

/// A label and a taint that somebody has taken away come back, and nothing else is done.
pub fn get_back_what_was_taken(lab: &Lab, kokctl: &Kokctl<'_>) {
    kubectl(lab, &format!("label node {LABELLED} example.com/zone-"));
    kubectl(lab, &format!("taint node {TAINTED} example.com/dedicated-"));
    let said = kokctl.converge("apply");
    assert!(said.contains(" hosts, 2 changes, "), "{said}");
    are_labelled_and_tainted(lab);
}

/// Most members are still etcd, and the API answers on each of their hosts.
pub fn any_may_be_lost(lab: &Lab, kokctl: &Kokctl<'_>) {
    let lost = any(hosts(lab));
    println!("{} loses its power", lost.name());
    lost.power_off().unwrap();
    for host in hosts(lab).iter().filter(|host| host.power().unwrap() == Power::On) {
        wait_for("the API takes a write by the host's own way", 60, || takes_a_write(host));
    }
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.stderr.contains(&format!("cannot connect to {}", lost.name())), "{said:?}");
    lost.power_on().unwrap();
    let members = hosts(lab).len();
    wait_for("all members are ready", 120, || {
        let said = kokctl.verb("status", &[]);
        said.code == 0 && said.stdout.matches(&format!("etcd ready, {members} members")).count() == members
    });
    kubelets::say_that_they_are_ready(lab);
    // Pods of the host may still be on their way back; then there is something to wait for and nothing to change.
    kokctl.converge("apply");
    kokctl.has_nothing_to_do();
}

/// As kube-proxy, cluster-info and every user of the API on a host have it.
fn takes_a_write(host: &Host) -> bool {
    let line = "kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=5s annotate --overwrite namespace default";
    ok(host, &format!("{line} by={} 2>&1 || :", host.name())).contains("annotated")
}
