//! Hosts that are not as they have to be.

use super::{Expected, HOST, Refusals};
use crate::cluster_support::ok;
use crate::lab_support::wait_for;

/// Only on a machine that has cgroup v1 is there something to refuse.
pub fn cgroup_v1(refusals: &Refusals<'_>) {
    if ok(&refusals.host("cp1"), "stat -f -c %T /sys/fs/cgroup") == "cgroup2fs" {
        assert!(!refusals.manifest.contains("kubelet_fail_cgroup_v1"), "{}", refusals.manifest);
        return;
    }
    let manifest = refusals.manifest_with("    kubelet_fail_cgroup_v1: false\n", "");
    let expected = Expected {
        what: "it uses cgroup v1",
        at: "3 hosts: cp1 (10.20.0.11), worker1 (10.20.0.12), worker2 (10.20.0.13)",
        because: "the kubelet refuses to start there since 1.35",
        hint: "boot with systemd.unified_cgroup_hierarchy=1",
    };
    refusals.refuses(&manifest, HOST, &[expected]);
}

/// Two things at once: both are said in one run.
pub fn port_taken_and_host_of_another_cluster(refusals: &Refusals<'_>) {
    let (cp1, worker2) = (refusals.host("cp1"), refusals.host("worker2"));
    refusals.prepare(&cp1, "systemd-run --quiet --unit=squatter systemd-socket-activate --listen=6443 cat");
    wait_for("the port is taken", 10, || !ok(&cp1, "ss -Hltn 'sport = :6443'").is_empty());
    refusals.prepare(&worker2, "mkdir -m 700 /var/lib/kokctl && echo other >/var/lib/kokctl/cluster");
    let port = Expected {
        what: "TCP port in use: 6443 (for the API server)",
        at: "host cp1 (10.20.0.11)",
        because: "something that kokctl has not installed listens there",
        hint: "ss -ltnp",
    };
    let other = Expected {
        what: "it belongs to the cluster other",
        at: "host worker2 (10.20.0.13)",
        because: "a host that is part of another cluster is never touched",
        hint: "kokctl reset",
    };
    refusals.refuses(&refusals.manifest, HOST, &[port, other]);
    status_names_the_stranger(refusals);
    ok(&cp1, "systemctl stop squatter.service");
    refusals.prepare(&worker2, "rm -r /var/lib/kokctl");
}

fn status_names_the_stranger(refusals: &Refusals<'_>) {
    let said = refusals.kokctl.verb("status", &[]);
    assert_eq!(said.code, HOST, "{said:?}");
    assert!(said.stdout.contains("\nworker1 "), "the others are shown: {}", said.stdout);
    assert!(said.stderr.starts_with("error: it belongs to the cluster other\n     at: host worker2 "), "{}", said.stderr);
}

pub fn one_machine_id(refusals: &Refusals<'_>) {
    let id = ok(&refusals.host("worker1"), "cat /etc/machine-id");
    refusals.prepare(&refusals.host("worker2"), &format!("echo {id} >/etc/machine-id"));
    let expected = Expected {
        what: &format!("the hosts worker1 and worker2 have the same machine-id {id}"),
        at: "/etc/machine-id of worker1, worker2",
        because: "copies of one image",
        hint: "systemd-machine-id-setup",
    };
    refusals.refuses(&refusals.manifest, HOST, &[expected]);
}
