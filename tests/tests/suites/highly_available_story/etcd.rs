//! etcd, by what each member says of all.

use std::collections::BTreeSet;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use kok_tests::lab::{Host, Lab};
use serde_json::Value;

use super::control_planes;
use crate::cluster_support::cluster::{control_planes as hosts_of_control_planes, kubectl};
use crate::cluster_support::ok;

const ETCDCTL: &str = "etcdctl --cacert=/etc/kubernetes/pki/etcd/ca.crt --cert=/etc/kubernetes/pki/etcd/server.crt \
                       --key=/etc/kubernetes/pki/etcd/server.key";

/// etcdctl in the pod of a member.
pub fn etcdctl(lab: &Lab, member: &str, arguments: &str) -> String {
    kubectl(lab, &format!("-n kube-system exec etcd-{member} -- {ETCDCTL} {arguments}"))
}

/// The same by this member's own API server, whatever has become of the other control planes.
pub fn etcdctl_on(member: &Host, arguments: &str) -> String {
    let kubectl = "kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-system exec";
    ok(member, &format!("{kubectl} etcd-{} -- {ETCDCTL} {arguments}", member.name()))
}

/// Every member says that it belongs to the same cluster, and has the version that goes with this one of Kubernetes.
pub fn is_one_cluster(lab: &Lab, release: &str, status: &str, members: usize) {
    let all: Vec<Value> = serde_json::from_str(status).unwrap();
    let said = |pointer: &str| all.iter().map(|one| one.pointer(pointer).unwrap().to_string()).collect::<BTreeSet<_>>();
    assert_eq!(all.len(), members, "{status}");
    assert_eq!(said("/Status/header/cluster_id").len(), 1, "{status}");
    assert_eq!(said("/Status/header/member_id").len(), members, "{status}");
    assert_eq!(said("/Status/version"), BTreeSet::from([format!("\"{}\"", version_of(lab, release))]), "{status}");
}

/// As kubeadm of that release has it: its image is `registry.k8s.io/etcd:3.6.8-0`.
fn version_of(lab: &Lab, release: &str) -> String {
    let images = ok(&hosts_of_control_planes(lab).remove(0), &format!("kubeadm config images list --kubernetes-version={release}"));
    let image = images.lines().find_map(|image| image.rsplit_once("/etcd:")).unwrap_or_else(|| panic!("no etcd in {images}"));
    image.1.split('-').next().unwrap().to_owned()
}

/// The members of the file, and what is uploaded leads to the load balancers of several control planes.
pub fn members_are_those_of_the_file(lab: &Lab, release: &str) {
    members_are_the_control_planes(lab, release);
    let uploaded = kubectl(lab, "-n kube-system get configmap kubeadm-config -o jsonpath='{.data.ClusterConfiguration}'");
    assert!(uploaded.contains("controlPlaneEndpoint: lb-apiserver.kubernetes.local:6443"), "{uploaded}");
}

/// Members' ids, of which the cluster's is made, come of their addresses and of the id that the hosts' record has: those of an earlier cluster
/// on the same hosts were others, and none of it is let in (etcd, `computeMemberID`).
pub fn ids_come_of_the_record(host: &Host, list: &str) {
    let id = ok(host, "sed -n 2p /var/lib/kokctl/cluster");
    assert_eq!(id.len(), 32, "{id}");
    for row in list.lines().map(|line| line.split(", ").collect::<Vec<_>>()) {
        let sum = digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{}{id}", row[3]).as_bytes());
        assert_eq!(format!("{:0>16}", row[0]), hex::encode(sum)[..16], "{list}");
    }
}

/// The same of members that are static pods.
pub fn is_of_this_founding(lab: &Lab) {
    let host = hosts_of_control_planes(lab).remove(0);
    ids_come_of_the_record(&host, &etcdctl(lab, host.name(), "member list"));
}

/// Voters only, all started, all healthy, in one cluster; and what is uploaded names no member.
pub fn members_are_the_control_planes(lab: &Lab, release: &str) {
    let expected: BTreeSet<String> = control_planes(lab).into_iter().collect();
    for member in &expected {
        let list = etcdctl(lab, member, "member list");
        let rows: Vec<Vec<&str>> = list.lines().map(|line| line.split(", ").collect()).collect();
        assert!(rows.iter().all(|row| row[1] == "started" && row[5] == "false"), "{list}");
        assert_eq!(rows.iter().map(|row| row[2].to_owned()).collect::<BTreeSet<_>>(), expected, "{list}");
    }
    let any = expected.first().unwrap();
    let healthy = etcdctl(lab, any, "endpoint health --cluster --write-out=json");
    assert_eq!(healthy.matches("\"health\":true").count(), expected.len(), "{healthy}");
    is_one_cluster(lab, release, &etcdctl(lab, any, "endpoint status --cluster --write-out=json"), expected.len());
    let uploaded = kubectl(lab, "-n kube-system get configmap kubeadm-config -o jsonpath='{.data.ClusterConfiguration}'");
    assert!(uploaded.contains("value: existing") && !uploaded.contains("name: initial-cluster\n"), "{uploaded}");
}
