//! A control plane that plain kubeadm takes out of the cluster and in again, as docs/bootstrap.md says.

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab, LabSpec};

use crate::cluster_support::cluster::control_planes;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{bare, ok};
use crate::highly_available_story::any;
use crate::highly_available_story::etcd::{etcdctl_on, members_are_those_of_the_file};

/// What kubeadm asks of hosts, and those of the lab can't give: `tests/src/lab/inventory.rs`.
const IGNORED: &str = "--ignore-preflight-errors=SystemVerification,NumCPU,Mem";

/// It comes back as a member like the others, and `apply` puts back what kubeadm writes otherwise.
pub fn by_kubeadm_alone() {
    let lab = Lab::up(LabSpec::unique(5).control_planes(3)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    kokctl.converge("apply");
    let mut others = control_planes(&lab);
    let host = any(others.clone());
    others.retain(|other| other.name() != host.name());
    println!("{} is taken out and in again", host.name());
    leaves(&host, &others[0]);
    joins(&host, &others[0]);
    kokctl.converge("apply");
    members_are_those_of_the_file(&lab, DEFAULT_KUBERNETES_VERSION);
    let manifest = ok(&host, "cat /etc/kubernetes/manifests/etcd.yaml");
    assert!(
        manifest.contains("--initial-cluster-state=existing\n"),
        "a member that joined must found nothing, should it lose its data: {manifest}"
    );
    kokctl.has_nothing_to_do();
    assert_eq!(kokctl.verb("reset", &["--yes"]).code, 0);
    bare::assert_bare(&lab);
}

fn leaves(host: &Host, other: &Host) {
    let list = etcdctl_on(other, "member list");
    let row = list.lines().find(|line| line.contains(&format!(", {}, ", host.name()))).unwrap_or_else(|| panic!("{list}"));
    etcdctl_on(other, &format!("member remove {}", row.split(',').next().unwrap()));
    ok(other, &format!("{KUBECTL} delete node {}", host.name()));
    ok(host, "kubeadm reset -f 2>&1");
    host.reboot().unwrap();
    assert_eq!(etcdctl_on(other, "member list").lines().count(), 2, "the member is gone");
}

fn joins(host: &Host, other: &Host) {
    let key = ok(other, &format!("{KUBECONFIG} kubeadm init phase upload-certs --upload-certs | tail -n 1"));
    let join = ok(other, &format!("{KUBECONFIG} kubeadm token create --print-join-command"));
    ok(host, &format!("sed -i 's/^[^ ]* lb-apiserver/{} lb-apiserver/' /etc/hosts", other.address()));
    ok(host, &format!("{join} --control-plane --certificate-key {key} {IGNORED} 2>&1"));
    assert_eq!(etcdctl_on(other, "member list").lines().count(), 3, "the member is there again");
    ok(other, &format!("{KUBECTL} wait --for=condition=Ready --timeout=120s node/{}", host.name()));
    ok(other, &format!("{KUBECTL} -n kube-system delete secrets --field-selector type=bootstrap.kubernetes.io/token"));
}

const KUBECONFIG: &str = "KUBECONFIG=/etc/kubernetes/admin.conf";
const KUBECTL: &str = "kubectl --kubeconfig /etc/kubernetes/admin.conf";
