//! Hosts that are made afresh as something else: roles that are swapped, one host in the place of another, an address that has changed; and a node that somebody
//! joined by hand.

use std::fs;

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab, LabSpec};

use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::kubectl;
use crate::cluster_support::kokctl::{Kokctl, KokctlOutput};
use crate::cluster_support::{bare, ok};
use crate::lab_support::wait_for;

#[test]
fn hosts_become_something_else() {
    let lab = Lab::up(LabSpec::unique(4).control_planes(3)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    kokctl.converge("apply");
    clock.lap("a cluster");
    roles_are_swapped(&lab, &kokctl);
    clock.lap("a worker and a control plane have changed their roles");
    one_takes_the_place_of_another(&lab, &kokctl);
    clock.lap("one control plane took the place of another");
    a_host_moves(&lab, &kokctl);
    clock.lap("a host has moved");
    a_node_of_somebody_else_is_told(&lab, &kokctl);
    clock.lap("a node that was joined by hand");
}

fn replace(kokctl: &Kokctl<'_>, arguments: &[&str]) -> KokctlOutput {
    let bundle = kokctl.bundle().to_str().unwrap().to_owned();
    let said = kokctl.verb("replace", &[arguments, &["--yes", "--bundle", &bundle]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    said
}

fn refused(kokctl: &Kokctl<'_>) -> String {
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert_eq!(said.code, 3, "{said:?}");
    said.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn role(manifest: &str, host: &str, role: &str) -> String {
    let line = manifest.lines().find(|line| line.contains(&format!("name: {host},"))).unwrap();
    let other = format!("{} roles: [{role}]}}", line.split(" roles:").next().unwrap());
    manifest.replace(line, &other)
}

fn without(manifest: &str, host: &str) -> String {
    manifest.lines().filter(|line| !line.contains(&format!("name: {host},"))).map(|line| format!("{line}\n")).collect()
}

/// The nodes that are control planes, and each has a member of etcd. A mirror pod goes when the garbage collector has heard that its node is gone.
fn planes(lab: &Lab) -> String {
    let nodes =
        kubectl(lab, "get nodes -l node-role.kubernetes.io/control-plane -o jsonpath='{.items[*].metadata.name}'").trim().to_owned();
    let members =
        || kubectl(lab, "-n kube-system get pods -l component=etcd --sort-by=.spec.nodeName -o jsonpath='{.items[*].spec.nodeName}'");
    wait_for(&format!("members of etcd on {nodes}"), 60, || members().trim() == nodes);
    nodes
}

/// Whether one thing was said before another one.
fn is_before(said: &KokctlOutput, first: &str, second: &str) {
    let text = format!("{}{}", said.stdout, said.stderr);
    let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {said:?}"));
    assert!(place(first) < place(second), "{first}, {second}: {said:?}");
}

fn roles_are_swapped(lab: &Lab, kokctl: &Kokctl<'_>) {
    let manifest = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    kokctl.write_manifest(&role(&role(&manifest, "cp3", "worker"), "worker1", "control-plane"));
    assert!(refused(kokctl).contains("`kokctl replace -f FILE cp3 worker1`"));
    let said = kokctl.verb("replace", &["cp3", "--yes", "--bundle", kokctl.bundle().to_str().unwrap()]);
    assert!(said.code == 3 && said.stderr.contains("worker1 is a worker of the cluster"), "one alone leads nowhere: {said:?}");
    assert_eq!(planes(lab), "cp1 cp2 cp3");
    let said = replace(kokctl, &["cp3", "worker1"]);
    is_before(&said, "the member of worker1 has its vote", "etcd without the member of cp3");
    assert_eq!(planes(lab), "cp1 cp2 worker1");
    kokctl.has_nothing_to_do();
}

/// A host that is new in the file, beside the one that it replaces; then a dead one.
fn one_takes_the_place_of_another(lab: &Lab, kokctl: &Kokctl<'_>) {
    let swapped = fs::read_to_string(kokctl.manifest()).unwrap();
    let said = kokctl.verb("remove", &["cp3", "--yes"]);
    assert_eq!(said.code, 0, "{said:?}");
    kokctl.write_manifest(&role(&swapped, "cp3", "control-plane"));
    let said = replace(kokctl, &["cp2", "--with", "cp3"]);
    is_before(&said, "the member of cp3 has its vote", "etcd without the member of cp2");
    assert!(said.stdout.contains("cp3 has taken the place of cp2"), "{said:?}");
    bare::is_bare(&lab.host("cp2").unwrap());
    assert_eq!(planes(lab), "cp1 cp3 worker1");
    kokctl.write_manifest(&role(&swapped, "cp3", "control-plane").replace("spec:\n", "spec:\n  removed: [cp2]\n"));
    kokctl.has_nothing_to_do();
    nobody_answers(lab, kokctl);
    bare::is_bare(&lab.host("cp2").unwrap());
    assert_eq!(planes(lab), "cp1 cp3 worker1");
    lab.host("cp3").unwrap().power_off().unwrap();
    let silent = "get node cp3 -o jsonpath='{.status.conditions[?(@.type==\"Ready\")].status}'";
    wait_for("cp3 is given up", 120, || kubectl(lab, silent).trim() == "Unknown");
    kokctl.write_manifest(&role(&swapped, "cp3", "control-plane"));
    let said = replace(kokctl, &["cp3", "--with", "cp2", "--dead"]);
    is_before(&said, "etcd without the member of cp3", "the member of cp2 has its vote");
    assert_eq!(planes(lab), "cp1 cp2 worker1");
    kokctl.write_manifest(&without(&swapped, "cp3"));
    kokctl.has_nothing_to_do();
}

/// Nobody could be told that a host leaves: that is mended first, and one that has left already does not join for it.
fn nobody_answers(lab: &Lab, kokctl: &Kokctl<'_>) {
    for host in ["cp1", "cp3", "worker1"] {
        let ended = "timeout 60 sh -c 'while pgrep -x kube-apiserver >/dev/null; do sleep 1; done'";
        ok(&lab.host(host).unwrap(), &format!("mv /etc/kubernetes/manifests/kube-apiserver.yaml /root/; {ended}"));
    }
    kokctl.converge("apply");
    kokctl.has_nothing_to_do();
}

/// The host has both addresses, as while it moves.
fn a_host_moves(lab: &Lab, kokctl: &Kokctl<'_>) {
    let (worker, manifest) = (lab.host("worker1").unwrap(), fs::read_to_string(kokctl.manifest()).unwrap());
    let (from, to) = (worker.address().to_string(), "10.20.0.77");
    ok(&worker, &format!("ip address add {to}/24 dev host0"));
    let known = manifest.lines().find_map(|line| line.trim().strip_prefix("knownHostsFile: ")).unwrap();
    let keys = fs::read_to_string(known).unwrap();
    let here = kokctl.folder().join("known_hosts");
    fs::write(&here, format!("{keys}{}", keys.replace(&format!("{from},worker1 "), &format!("{to} ")))).unwrap();
    kokctl
        .write_manifest(&manifest.replace(&format!("address: {from},"), &format!("address: {to},")).replace(known, here.to_str().unwrap()));
    let said = refused(kokctl);
    assert!(said.contains(&format!("worker1 has moved from {from} to {to}: it is the same machine")), "{said}");
    assert!(said.contains("`kokctl replace -f FILE worker1`"), "{said}");
    let said = replace(kokctl, &["worker1"]);
    assert!(format!("{said:?}").contains("etcd without the member of worker1"), "{said:?}");
    assert_eq!(kubectl(lab, "get node worker1 -o jsonpath='{.status.addresses[?(@.type==\"InternalIP\")].address}'").trim(), to);
    assert_eq!(planes(lab), "cp1 cp2 worker1");
    kokctl.has_nothing_to_do();
}

/// cp3 is prepared, and then joined without kokctl and its record.
fn a_node_of_somebody_else_is_told(lab: &Lab, kokctl: &Kokctl<'_>) {
    let manifest = fs::read_to_string(kokctl.manifest()).unwrap();
    let cp3 = lab.host("cp3").unwrap();
    cp3.power_on().unwrap();
    let with_cp3 = manifest.replace("  hosts:\n", &format!("  hosts:\n    - {{name: cp3, address: {}, roles: [worker]}}\n", cp3.address()));
    kokctl.write_manifest(&with_cp3);
    let said = kokctl.verb("reset", &["--limit", "cp3", "--yes"]);
    assert_eq!(said.code, 0, "{said:?}");
    let bundle = kokctl.bundle().to_str().unwrap();
    let prepared = ["--only", "host,names,container-runtime,images,kubelet,kubeadm-configuration", "--limit", "cp3", "--bundle", bundle];
    let said = kokctl.verb("apply", &prepared);
    assert_eq!(said.code, 0, "{said:?}");
    // It was removed as dead, and is kept out since.
    kubectl(lab, "-n kube-system delete configmap kokctl-cluster");
    let join = ok(&lab.host("cp1").unwrap(), "kubeadm token create --print-join-command --kubeconfig=/etc/kubernetes/admin.conf");
    ok(&cp3, &format!("rm -rf /var/lib/kokctl; {} --ignore-preflight-errors=all", join.trim()));
    let said = refused(kokctl);
    assert!(
        said.contains("it is a node of a Kubernetes cluster, and kokctl has not set it up") && said.contains("kubeadm reset"),
        "{said}"
    );
    let said = kokctl.verb("remove", &["cp3", "--yes"]);
    assert!(said.code == 3 && said.stderr.contains("kubectl delete node cp3"), "{said:?}");
    kokctl.write_manifest(&manifest);
    let said = kokctl.verb("plan", &["--bundle", bundle]);
    assert!(said.code == 0 && said.stderr.contains("the cluster has a node cp3, and the file has no such host"), "{said:?}");
}
