//! Members of etcd that are units of systemd, by what they say themselves.

use std::collections::BTreeSet;

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab};

use super::etcd;
use crate::cluster_support::ok;

pub const ETCDCTL: &str = "etcdctl --endpoints=https://127.0.0.1:2379 --cacert=/etc/kubernetes/pki/etcd/ca.crt \
                       --cert=/etc/kubernetes/pki/etcd/healthcheck-client.crt --key=/etc/kubernetes/pki/etcd/healthcheck-client.key";

/// The host is one of exactly these members, all of which are voters and healthy, and has had no trouble to become one when the cluster was founded.
pub fn is_a_member(lab: &Lab, host: &Host, members: &[Host]) {
    etcd::ids_come_of_the_record(host, &works_with(lab, host, members));
    assert_eq!(ok(host, "systemctl show -p NRestarts --value etcd.service"), "0", "it found the others at once");
}

/// The host is one of exactly these members, all of which are voters and healthy. The list that it has.
pub fn works_with(lab: &Lab, host: &Host, members: &[Host]) -> String {
    let list = ok(host, &format!("{ETCDCTL} member list"));
    let rows: Vec<Vec<&str>> = list.lines().map(|line| line.split(", ").collect()).collect();
    assert!(rows.iter().all(|row| row[1] == "started" && row[5] == "false"), "{list}");
    let listed: BTreeSet<(String, String)> = rows.iter().map(|row| (row[2].to_owned(), row[3].to_owned())).collect();
    let of_the_file = members.iter().map(|host| (host.name().to_owned(), format!("https://{}:2380", host.address()))).collect();
    assert_eq!(listed, of_the_file, "{list}");
    assert_eq!(rows.len(), members.len(), "{list}");
    let healthy = ok(host, &format!("{ETCDCTL} endpoint health --cluster --write-out=json"));
    assert_eq!(healthy.matches("\"health\":true").count(), members.len(), "{healthy}");
    let status = ok(host, &format!("{ETCDCTL} endpoint status --cluster --write-out=json"));
    etcd::is_one_cluster(lab, DEFAULT_KUBERNETES_VERSION, &status, members.len());
    // Its process is a user's that may do nothing else, and its data and keys are for nobody else to read.
    let process = ok(host, "ps -o user=,args= -C etcd");
    assert_eq!(process.split_whitespace().collect::<Vec<_>>(), ["etcd", "/usr/local/bin/etcd", "--config-file=/etc/etcd/etcd.yaml"]);
    assert_eq!(ok(host, "stat -c '%U %a' /var/lib/etcd"), "etcd 700");
    assert_eq!(ok(host, "find /etc/kubernetes -name '*.key' ! -perm 0600"), "");
    assert_eq!(ok(host, "systemctl --failed --plain --no-legend"), "");
    list
}
