//! An etcd that has lost its quorum is made anew: from the survivor, from a snapshot, by runs that are killed; and a recovery is taken back.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab, LabSpec};

use crate::cluster_support::clock::Clock;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::ok;
use crate::highly_available_story::{any, endpoint, etcd};
use crate::lab_support::wait_for;
use crate::members_story::killed;

const PLANES: [&str; 3] = ["cp1", "cp2", "cp3"];

/// The survivor, or another control plane that works, is asked.
fn kubectl(lab: &Lab, host: &str, arguments: &str) -> String {
    ok(&lab.host(host).unwrap(), &format!("kubectl --kubeconfig=/etc/kubernetes/admin.conf {arguments}"))
}

fn store(lab: &Lab, host: &str, names: &[&str]) {
    names.iter().for_each(|name| drop(kubectl(lab, host, &format!("create configmap {name} --from-literal=n=1"))));
}

fn stored(lab: &Lab, host: &str) -> Vec<String> {
    let names = kubectl(lab, host, "get configmaps -o name");
    names.lines().filter_map(|line| line.strip_prefix("configmap/key-")).map(str::to_owned).collect()
}

/// The data are gone, as after a disk was lost, and what ran on them with them.
fn wiped(lab: &Lab, hosts: &[&str]) {
    for host in hosts {
        ok(&lab.host(host).unwrap(), "rm -rf /var/lib/etcd/member; pkill -9 -x etcd");
    }
}

/// No etcd says any more that it has a leader.
fn has_no_quorum(lab: &Lab, survivor: &str) {
    let leader = "kubectl --kubeconfig=/etc/kubernetes/admin.conf --request-timeout=2s get --raw /readyz";
    let answers = || lab.host(survivor).unwrap().ssh(&["sh", "-c", leader]).is_ok_and(|output| output.success());
    wait_for(&format!("etcd of {} has no quorum", lab.name()), 60, || !answers());
}

/// As a cluster that was founded with three; and whoever watches the API, as the kubelet of the worker and kube-proxy there, has seen what is new.
fn is_whole(lab: &Lab, kokctl: &Kokctl<'_>, number: usize) {
    etcd::members_are_those_of_the_file(lab, DEFAULT_KUBERNETES_VERSION);
    endpoint::survives_any_host(lab);
    let web = format!("web-{number}");
    kubectl(lab, "cp2", &format!("create deployment {web} --image=registry.k8s.io/pause:3.10.2"));
    kubectl(lab, "cp2", &format!("rollout status deployment/{web} --timeout=120s"));
    kubectl(lab, "cp2", &format!("delete deployment {web}"));
    kokctl.has_nothing_to_do();
}

fn recovered(kokctl: &Kokctl<'_>, more: &[&str]) {
    let said = kokctl.verb("recover", &[&["--yes", "--bundle", kokctl.bundle().to_str().unwrap()], more].concat());
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stdout.contains("works again"), "{said:?}");
}

#[test]
fn from_the_survivor_by_runs_that_are_killed() {
    let lab = Lab::up(LabSpec::unique(4).control_planes(3)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    kokctl.converge("apply");
    let keys = ["key-1", "key-2", "key-3", "key-4"];
    store(&lab, "cp1", &keys);
    let bundle = kokctl.bundle().to_str().unwrap().to_owned();
    let said = kokctl.verb("recover", &["--yes", "--bundle", &bundle]);
    assert!(said.code == 3 && said.stderr.contains("nothing is recovered that does"), "{said:?}");
    clock.lap("a cluster");
    for round in 0..3 {
        let survivor = any(PLANES.to_vec());
        let others: Vec<&str> = PLANES.into_iter().filter(|host| *host != survivor).collect();
        wiped(&lab, &others);
        has_no_quorum(&lab, survivor);
        // With the first step that is done, one host at least says what is under way; with three all do, and with twelve the new etcd has not ended it.
        let after = any((1..=18).collect());
        println!("{survivor} survives, and its recovery is killed after {after} steps");
        killed::after(&kokctl, &["recover", "--yes", "--bundle", &bundle], after);
        if (3..=12).contains(&after) {
            let said = kokctl.verb("apply", &["--bundle", &bundle]);
            assert!(said.code == 3 && said.stderr.contains("kokctl recover -f FILE --continue"), "{said:?}");
        }
        recovered(&kokctl, &["--continue"]);
        assert_eq!(stored(&lab, survivor), ["1", "2", "3", "4"], "what was acknowledged while all three worked");
        ok(&lab.host(survivor).unwrap(), "test -d /var/lib/etcd/before-*/member/wal && rm -rf /var/lib/etcd/before-*");
        is_whole(&lab, &kokctl, round);
        clock.lap("recovered");
    }
    is_taken_back(&lab, &kokctl, &bundle);
    clock.lap("taken back, and recovered");
    a_worker_is_away(&lab, &kokctl, &bundle);
    clock.lap("recovered without a worker, which comes back");
}

/// A worker without power holds its cluster up only until it is said that one may be away; then it is named, and gets what it missed later.
fn a_worker_is_away(lab: &Lab, kokctl: &Kokctl<'_>, bundle: &str) {
    let worker = lab.host("worker1").unwrap();
    worker.power_off().unwrap();
    wiped(lab, &["cp2", "cp3"]);
    has_no_quorum(lab, "cp1");
    let said = kokctl.verb("recover", &["--yes", "--max-fail", "1", "--bundle", bundle]);
    assert!(said.code == 4 && said.stderr.contains("worker1"), "{said:?}");
    assert_eq!(stored(lab, "cp1").len(), 4);
    etcd::members_are_those_of_the_file(lab, DEFAULT_KUBERNETES_VERSION);
    worker.power_on().unwrap();
    kokctl.converge("apply");
    is_whole(lab, kokctl, 10);
}

/// What the survivor had is in its place again, as it was; and is recovered after all.
fn is_taken_back(lab: &Lab, kokctl: &Kokctl<'_>, bundle: &str) {
    let cp3 = lab.host("cp3").unwrap();
    let wal = || ok(&cp3, "stat -c %i /var/lib/etcd/member/wal");
    let before = wal();
    wiped(lab, &["cp1", "cp2"]);
    has_no_quorum(lab, "cp3");
    // All stand still, and what they have is aside.
    killed::after(kokctl, &["recover", "--yes", "--bundle", bundle], 9);
    let said = kokctl.verb("recover", &["--undo", "--bundle", bundle]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(wal(), before, "the very data");
    for host in PLANES {
        ok(&lab.host(host).unwrap(), "test ! -e /var/lib/kokctl/recover && test ! -e /var/lib/kokctl/recovery");
        ok(
            &lab.host(host).unwrap(),
            "test -s /etc/kubernetes/manifests/etcd.yaml && test -s /etc/kubernetes/manifests/kube-apiserver.yaml",
        );
    }
    recovered(kokctl, &[]);
    assert_eq!(stored(lab, "cp3").len(), 4);
    is_whole(lab, kokctl, 9);
}

#[test]
fn from_a_snapshot_and_without_hosts_that_are_lost() {
    let lab = Lab::up(LabSpec::unique(4).control_planes(3)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    kokctl.converge("apply");
    store(&lab, "cp1", &["key-1", "key-2"]);
    let snapshot = saved(&lab, &kokctl);
    store(&lab, "cp1", &["key-3"]);
    clock.lap("a cluster, and a snapshot");
    wiped(&lab, &PLANES);
    has_no_quorum(&lab, "cp1");
    let said = kokctl.verb("recover", &["--yes", "--bundle", kokctl.bundle().to_str().unwrap()]);
    assert!(said.code == 3 && said.stderr.contains("no host that answers has data of etcd"), "{said:?}");
    is_refused_if_damaged(&kokctl, &snapshot);
    recovered(&kokctl, &["--from", snapshot.to_str().unwrap()]);
    assert_eq!(stored(&lab, "cp1"), ["1", "2"], "exactly what was written before it was taken");
    is_whole(&lab, &kokctl, 0);
    clock.lap("recovered from the snapshot");
    two_are_lost(&lab, &kokctl);
    clock.lap("two are lost, and come back");
}

fn saved(lab: &Lab, kokctl: &Kokctl<'_>) -> PathBuf {
    etcd::etcdctl(lab, "cp1", "snapshot save /var/lib/etcd/story.db");
    let text = ok(&lab.host("cp1").unwrap(), "base64 -w 0 /var/lib/etcd/story.db && rm /var/lib/etcd/story.db");
    let (encoded, path) = (kokctl.folder().join("story.b64"), kokctl.folder().join("story.db"));
    fs::write(&encoded, text).unwrap();
    let decoded = Command::new("base64").arg("-d").arg(&encoded).output().unwrap();
    assert!(decoded.status.success());
    fs::write(&path, decoded.stdout).unwrap();
    path
}

fn is_refused_if_damaged(kokctl: &Kokctl<'_>, snapshot: &PathBuf) {
    let mut bytes = fs::read(snapshot).unwrap();
    bytes[5000] ^= 1;
    let damaged = kokctl.folder().join("damaged.db");
    fs::write(&damaged, bytes).unwrap();
    let said = kokctl.verb("recover", &["--yes", "--bundle", kokctl.bundle().to_str().unwrap(), "--from", damaged.to_str().unwrap()]);
    assert!(said.code == 2 && said.stderr.contains("can't be recovered from"), "{said:?}");
}

/// They come back with their old data, and even have a quorum of their own; nothing of that is let in.
fn two_are_lost(lab: &Lab, kokctl: &Kokctl<'_>) {
    let bundle = kokctl.bundle().to_str().unwrap().to_owned();
    for host in ["cp1", "cp2"] {
        lab.host(host).unwrap().power_off().unwrap();
    }
    has_no_quorum(lab, "cp3");
    let said = kokctl.verb("recover", &["--yes", "--bundle", &bundle]);
    assert!(said.code == 3 && said.stderr.contains("--lost"), "{said:?}");
    recovered(kokctl, &["--lost", "cp1,cp2"]);
    assert_eq!(stored(lab, "cp3"), ["1", "2"]);
    assert_eq!(kubectl(lab, "cp3", "get nodes -o name"), "node/cp3\nnode/worker1");
    for host in ["cp1", "cp2"] {
        lab.host(host).unwrap().power_on().unwrap();
    }
    let said = kokctl.verb("apply", &["--bundle", &bundle]);
    assert!(said.code == 3 && said.stderr.contains("kokctl replace"), "{said:?}");
    let said = kokctl.verb("replace", &["cp1", "cp2", "--yes", "--bundle", &bundle]);
    assert_eq!(said.code, 0, "{said:?}");
    is_whole(lab, kokctl, 1);
}
