//! A member whose data directory was wiped: etcd refuses to start it, and `apply` refuses to try.

use kok_tests::lab::Host;

use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::ok;
use crate::lab_support::wait_for;

/// By the manifest of its founding, which needs a link beside the data; and by one that was made later, which founds nothing in any case.
pub const REFUSALS: [&str; 2] = ["/var/lib/etcd/member/kokctl-ca.crt: no such file or directory", "could not retrieve cluster information"];

pub fn without_its_data_is_not_started(host: &Host, kokctl: &Kokctl<'_>) {
    println!("{} loses its data", host.name());
    let runs = || !ok(host, "grep -lx etcd /proc/[0-9]*/comm 2>/dev/null || :").is_empty();
    // Without its manifest the kubelet ends the pod.
    ok(host, "mv /etc/kubernetes/manifests/etcd.yaml /root/etcd.yaml");
    wait_for("etcd ends", 90, || !runs());
    ok(host, "rm -rf /var/lib/etcd/member && mv /root/etcd.yaml /etc/kubernetes/manifests/etcd.yaml");
    wait_for("etcd refuses to start", 180, || {
        let log = ok(host, "cat /var/log/pods/kube-system_etcd-*/etcd/*.log 2>/dev/null || :");
        REFUSALS.iter().any(|words| log.contains(words))
    });
    assert_eq!(ok(host, "ls -d /var/lib/etcd/member/wal 2>/dev/null || :"), "", "nothing was founded");
    is_refused(kokctl, host.name());
}

/// `apply` says which host has lost what, and begins nothing.
pub fn is_refused(kokctl: &Kokctl<'_>, host: &str) {
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.stderr.contains("error: its member of etcd has lost its data"), "{said:?}");
    assert!(said.stderr.contains(&format!("at: host {host} (")), "{said:?}");
}
