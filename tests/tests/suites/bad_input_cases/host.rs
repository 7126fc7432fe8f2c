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

/// Several things at once: all are said in one run.
pub fn ports_taken_and_host_of_another_cluster(refusals: &Refusals<'_>) {
    let (cp1, worker1, worker2) = (refusals.host("cp1"), refusals.host("worker1"), refusals.host("worker2"));
    for (host, ports) in [(&cp1, &[6443, 2379][..]), (&worker1, &[10250])] {
        let listen: String = ports.iter().map(|port| format!(" --listen={port}")).collect();
        refusals.prepare(host, &format!("systemd-run --quiet --unit=squatter systemd-socket-activate{listen} cat"));
        for port in ports {
            wait_for("the port is taken", 10, || !ok(host, &format!("ss -Hltn 'sport = :{port}'")).is_empty());
        }
    }
    refusals.prepare(&worker2, "mkdir -m 700 /var/lib/kokctl && echo other >/var/lib/kokctl/cluster");
    let taken = |what, at| Expected { what, at, because: "something that kokctl has not installed listens there", hint: "ss -ltnp" };
    let control_plane = taken("TCP ports in use: 6443 (for the API server), 2379 (for etcd's clients)", "host cp1 (10.20.0.11)");
    let worker = taken("TCP port in use: 10250 (for the kubelet)", "host worker1 (10.20.0.12)");
    let other = Expected {
        what: "it belongs to the cluster other",
        at: "host worker2 (10.20.0.13)",
        because: "a host that is part of another cluster is never touched",
        hint: "kokctl reset",
    };
    refusals.refuses(&refusals.manifest, HOST, &[control_plane, worker, other]);
    status_names_the_stranger(refusals);
    ok(&cp1, "systemctl stop squatter.service");
    ok(&worker1, "systemctl stop squatter.service");
    refusals.prepare(&worker2, "rm -r /var/lib/kokctl");
}

/// Authorities that another tool made, where kokctl would make or bring its own; and data of an etcd that it did not start.
pub fn authority_and_data_of_somebody_else(refusals: &Refusals<'_>) {
    const AUTHORITY: &str = "mkdir -p /etc/kubernetes/pki && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 9 \
        -subj /CN=kubernetes -keyout /etc/kubernetes/pki/ca.key -out /etc/kubernetes/pki/ca.crt 2>/dev/null";
    for (name, at) in [("cp1", "host cp1 (10.20.0.11)"), ("worker2", "host worker2 (10.20.0.13)")] {
        let host = refusals.host(name);
        refusals.prepare(&host, AUTHORITY);
        let expected = Expected {
            what: "it is part of another Kubernetes cluster",
            at,
            because: "its /etc/kubernetes/pki/ca.crt is not of this cluster: no control plane has one of its own",
            hint: "correct the address",
        };
        refusals.refuses(&refusals.manifest, HOST, &[expected]);
        refusals.prepare(&host, "rm -r /etc/kubernetes");
    }
    let cp1 = refusals.host("cp1");
    refusals.prepare(&cp1, "mkdir -p -m 700 /var/lib/etcd/member/wal");
    let expected = Expected {
        what: "it has data of an etcd that kokctl did not start",
        at: "host cp1 (10.20.0.11)",
        because: "a new cluster is never founded over existing data",
        hint: "move them away",
    };
    refusals.refuses(&refusals.manifest, HOST, &[expected]);
    refusals.prepare(&cp1, "rm -r /var/lib/etcd/member");
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
