//! Taking the cluster down, and making it once more.

use std::fs;
use std::path::PathBuf;

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab};

use super::saved;
use crate::cluster_support::cluster::kubectl;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::snapshot::{assert_same, bare_state, fingerprint};
use crate::cluster_support::{bare, hosts, kept, ok};

/// Swap in every way in which it is configured, on a host that has none: what is switched off has to come back.
pub fn configure_swap(lab: &Lab) {
    ok(
        &lab.host("worker1").unwrap(),
        "printf '[Unit]\\nDescription=test\\n[Swap]\\nWhat=/dev/mapper/none\\n[Install]\\nWantedBy=swap.target\\n' >/etc/systemd/system/dev-mapper-none.swap
         systemctl daemon-reload && systemctl enable --quiet dev-mapper-none.swap
         printf '/dev/mapper/other none swap sw 0 0\\n' >>/etc/fstab
         printf '[zram0]\\nzram-size = ram / 2\\n' >/etc/systemd/zram-generator.conf",
    );
}

pub fn needs_consent(lab: &Lab, kokctl: &Kokctl<'_>) {
    let before = fingerprint(lab);
    let said = kokctl.verb("reset", &[]);
    assert_eq!(said.code, 5, "{said:?}");
    assert_eq!(said.stdout, "");
    assert_eq!(
        said.stderr,
        "error: nobody confirmed the reset\n\
         because: standard input is no terminal\n   \
         hint: add --yes if that is meant\n"
    );
    assert_same(&before, &fingerprint(lab), "a reset that was declined must not change anything");
}

/// What etcd calls its only member, of which it makes the name of the cluster.
pub fn etcd_id(lab: &Lab) -> String {
    let etcdctl = "etcdctl --cacert=/etc/kubernetes/pki/etcd/ca.crt --cert=/etc/kubernetes/pki/etcd/server.crt --key=/etc/kubernetes/pki/etcd/server.key";
    let list = kubectl(lab, &format!("-n kube-system exec etcd-cp1 -- {etcdctl} member list"));
    list.split(',').next().unwrap().to_owned()
}

/// Also with a user's objects in it. What etcd held is kept first. An operation in the files has agreed to it, so that nobody is asked.
pub fn removes_everything(lab: &Lab, kokctl: &Kokctl<'_>) {
    kept::store(lab);
    let plain = fs::read_to_string(kokctl.manifest()).unwrap();
    kokctl.write_manifest(&format!("{}\n{}", plain.trim_end(), OPERATION.replace("NAME", lab.name())));
    let said = kokctl.verb("reset", &[]);
    kokctl.write_manifest(&plain);
    assert_eq!(said.code, 0, "{}\n{}", said.stdout, said.stderr);
    assert!(said.stdout.starts_with("3 hosts are no longer part of the cluster "), "{said:?}");
    kept::can_be_restored(lab, kokctl, &said);
    let said = kokctl.verb("reset", &["--yes"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "nothing to do\n"), "{said:?}");
}

const OPERATION: &str = "---
apiVersion: kubean.io/v1alpha1
kind: ClusterOperation
metadata: {name: away}
spec: {cluster: NAME, actionType: playbook, action: reset.yml}
";

/// A worker leaves, and comes back: the cluster goes on, and forgets it meanwhile.
pub fn takes_a_worker_out(lab: &Lab, kokctl: &Kokctl<'_>, before: &str) {
    let said = kokctl.verb("reset", &["--limit", "cp1", "--yes"]);
    assert!(said.code == 2 && said.stderr.contains("cp1 can't be taken out of the cluster alone"), "{said:?}");
    let worker = lab.host("worker2").unwrap();
    leave_a_container_half_made(&worker);
    let said = kokctl.verb("reset", &["--limit", "worker2", "--yes"]);
    assert_eq!(said.code, 0, "{}\n{}", said.stdout, said.stderr);
    assert!(said.stdout.starts_with("worker2 is no longer part of the cluster "), "{said:?}");
    bare::is_bare(&worker);
    let of_worker =
        |text: &str| text.lines().filter(|line| line.starts_with("worker2: ")).map(|line| format!("{line}\n")).collect::<String>();
    assert_same(&of_worker(before), &of_worker(&bare_state(lab)), "a worker that was reset is as before");
    assert_eq!(kubectl(lab, "get nodes -o name"), "node/cp1\nnode/worker1");
    let said = kokctl.verb("reset", &["--limit", "worker2", "--yes"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "nothing to do\n"), "{said:?}");
    assert_eq!(kept::snapshots(kokctl, lab.name()), Vec::<PathBuf>::new(), "the cluster goes on with what it has");

    // Out of the file too, the cluster is one of two hosts, and nothing is in the way of that.
    let whole = fs::read_to_string(kokctl.manifest()).unwrap();
    let without: String = whole.lines().filter(|line| !line.contains("name: worker2,")).map(|line| format!("{line}\n")).collect();
    assert_ne!(whole.trim_end(), without.trim_end());
    kokctl.write_manifest(&without);
    kokctl.converge("plan");
    kokctl.write_manifest(&whole);
    kokctl.converge("apply");
    kubectl(lab, "wait --for=condition=Ready node/worker2 --timeout=60s");
    // A pod of CoreDNS that was there before is there again, and its probe asks every 10 s: `apply` ends before it counts as not ready.
    kubectl(lab, "-n kube-system rollout status deployment/coredns --timeout=60s");
    kokctl.has_nothing_to_do();
}

/// What is left when a kubelet ends while runc makes a container: a process in the pods' control group that no runtime knows of, frozen, and
/// deaf to SIGTERM. And a shim that is still there when containerd is stopped, in the control group of its unit.
fn leave_a_container_half_made(host: &Host) {
    let state = ok(
        host,
        "begin() {
           ( trap '' TERM; exec setsid /run/half-made 86400 ) </dev/null >/dev/null 2>&1 &
           process=$!
           while ! [ \"$(readlink /proc/$process/exe)\" = /run/half-made ]; do sleep 0.1; done
         }
         cp /bin/sleep /run/half-made
         begin
         set -- /sys/fs/cgroup/system.slice/containerd.service /sys/fs/cgroup/*/system.slice/containerd.service
         for group; do [ ! -d \"$group\" ] || echo $process >\"$group/cgroup.procs\" || exit; done
         begin
         rm /run/half-made
         if [ -d /sys/fs/cgroup/freezer ]; then groups=/sys/fs/cgroup/freezer state=freezer.state freeze=FROZEN
         else groups=/sys/fs/cgroup state=cgroup.freeze freeze=1; fi
         group=$groups/kubepods.slice/half-made.scope
         mkdir -p $group && echo $process >$group/cgroup.procs && echo $freeze >$group/$state && cat $group/$state",
    );
    assert!(["FROZEN", "FREEZING", "1"].contains(&state.as_str()), "{state}");
}

/// The workers by a user who has to become root first.
pub fn apply_works_again_with_sudo(lab: &Lab, kokctl: &Kokctl<'_>) {
    let manifest = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    let with_sudo = manifest.replace("roles: [worker]}", "roles: [worker], ssh: {user: ops}}");
    assert_eq!(with_sudo.matches("user: ops").count(), 2, "{with_sudo}");
    kokctl.write_manifest(&with_sudo);
    // What the log says in all detail is searched for secrets later.
    kokctl.log_everything();
    // The new cluster has the id and the token that the saved plan names.
    let saved = saved::plan(kokctl, "founding.plan");
    let said = kokctl.converge_with("apply", &["--plan", saved.to_str().unwrap()]);
    assert!(said.starts_with(&format!("cluster {} is ready: {} hosts, ", lab.name(), hosts(lab).len())), "{said}");
    kokctl.has_nothing_to_do();
}
