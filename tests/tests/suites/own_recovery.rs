//! An etcd of units that has lost its quorum is made anew, by runs that are killed and one that is taken back; and a backup is restored in the place of one that
//! works. Its members are of every kind: beside an API server, beside a worker, and on a host that does nothing else; and one API server has none.

use std::fs;
use std::path::PathBuf;

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab, LabSpec};

use crate::cluster_support::clock::Clock;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::ok;
use crate::highly_available_story::{any, units};
use crate::lab_support::wait_for;
use crate::members_story::killed;

const MEMBERS: [&str; 3] = ["cp1", "etcd1", "worker1"];
const PLANES: [&str; 2] = ["cp1", "cp2"];

#[test]
fn an_etcd_of_units_is_made_anew() {
    let lab = Lab::up(LabSpec::unique(4).control_planes(2).etcd(1)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    write_manifest(&lab, &kokctl);
    let mut clock = Clock::start();
    kokctl.converge("apply");
    store(&lab, &["key-1", "key-2", "key-3"]);
    kubectl(&lab, "create secret generic canary --from-literal=word=c4n4ry");
    clock.lap("a cluster");
    let bundle = kokctl.bundle().to_str().unwrap().to_owned();
    let said = kokctl.verb("recover", &["--yes", "--bundle", &bundle]);
    assert!(said.code == 3 && said.stderr.contains("nothing is recovered that does"), "{said:?}");
    for round in 0..2 {
        let survivor = any(MEMBERS.to_vec());
        wiped(&lab, survivor);
        let after = any((1..=24).collect());
        println!("{survivor} survives, and its recovery is killed after {after} steps");
        killed::after(&kokctl, &["recover", "--yes", "--bundle", &bundle], after);
        if (5..=16).contains(&after) {
            let said = kokctl.verb("apply", &["--bundle", &bundle]);
            assert!(said.code == 3 && said.stderr.contains("kokctl recover -f FILE --continue"), "{said:?}");
        }
        recovered(&kokctl, &["--continue"]);
        assert_eq!(stored(&lab), ["1", "2", "3"], "what was acknowledged while all three worked");
        ok(&lab.host(survivor).unwrap(), "test -d /var/lib/etcd/before-*/member/wal && rm -rf /var/lib/etcd/before-*");
        is_whole(&lab, &kokctl, round);
        clock.lap("recovered");
    }
    is_taken_back(&lab, &kokctl, &bundle);
    clock.lap("taken back, and recovered");
    is_restored(&lab, &kokctl, &bundle);
    clock.lap("a backup, rehearsed and restored");
}

/// What the lab has, with members where [`MEMBERS`] says it, and backups that anybody can read.
fn write_manifest(lab: &Lab, kokctl: &Kokctl<'_>) {
    let manifest = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    let manifest = manifest.replacen("roles: [control-plane]}", "roles: [control-plane, etcd]}", 1);
    let manifest = manifest.replacen("roles: [worker]}", "roles: [worker, etcd]}", 1);
    let more = "    kube_encrypt_secret_data: true\n  backup: {to: {folder: backups}, encrypt: false}\n";
    kokctl.write_manifest(&format!("{}\n{more}", manifest.trim_end()));
    fs::create_dir(kokctl.folder().join("backups")).unwrap();
}

/// The control plane without a member is asked, which has to find etcd elsewhere.
fn kubectl(lab: &Lab, arguments: &str) -> String {
    ok(&lab.host("cp2").unwrap(), &format!("kubectl --kubeconfig=/etc/kubernetes/admin.conf {arguments}"))
}

fn store(lab: &Lab, names: &[&str]) {
    names.iter().for_each(|name| drop(kubectl(lab, &format!("create configmap {name} --from-literal=n=1"))));
}

fn stored(lab: &Lab) -> Vec<String> {
    let names = kubectl(lab, "get configmaps -o name");
    names.lines().filter_map(|line| line.strip_prefix("configmap/key-")).map(str::to_owned).collect()
}

fn members(lab: &Lab) -> Vec<Host> {
    MEMBERS.iter().map(|name| lab.host(name).unwrap()).collect()
}

/// The data of all but one are gone; their units try to start, and refuse to without.
fn wiped(lab: &Lab, survivor: &str) {
    for host in MEMBERS.into_iter().filter(|host| *host != survivor) {
        ok(
            &lab.host(host).unwrap(),
            "systemctl stop etcd.service && rm -rf /var/lib/etcd/member && systemctl start --no-block etcd.service",
        );
    }
    let ready = "kubectl --kubeconfig=/etc/kubernetes/admin.conf --request-timeout=2s get --raw /readyz";
    let answers = || lab.host("cp2").unwrap().ssh(&["sh", "-c", ready]).is_ok_and(|output| output.success());
    wait_for("etcd has no quorum", 60, || !answers());
}

fn recovered(kokctl: &Kokctl<'_>, more: &[&str]) {
    let said = kokctl.verb("recover", &[&["--yes", "--bundle", kokctl.bundle().to_str().unwrap()], more].concat());
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stdout.contains("works again"), "{said:?}");
}

/// As a cluster that was founded so; whoever watches the API, as the worker's kubelet, has seen what is new; and every unit starts again by itself.
fn is_whole(lab: &Lab, kokctl: &Kokctl<'_>, number: usize) {
    let all = members(lab);
    for host in &all {
        units::works_with(lab, host, &all);
        ok(host, "systemctl is-enabled etcd.service && test -s /var/lib/kokctl/made/etcd-started && test ! -e /var/lib/kokctl/recovery");
    }
    for plane in PLANES {
        let name = format!("web-{number}-{plane}");
        let run = |arguments: &str| ok(&lab.host(plane).unwrap(), &format!("kubectl --kubeconfig=/etc/kubernetes/admin.conf {arguments}"));
        run(&format!("create deployment {name} --image=registry.k8s.io/pause:3.10.2"));
        run(&format!("rollout status deployment/{name} --timeout=120s"));
        run(&format!("delete deployment {name}"));
    }
    kokctl.has_nothing_to_do();
}

/// What the survivor had is in its place again, as it was, and all units try to run as before; and it is recovered after all.
fn is_taken_back(lab: &Lab, kokctl: &Kokctl<'_>, bundle: &str) {
    let survivor = any(MEMBERS.to_vec());
    let host = lab.host(survivor).unwrap();
    let wal = || ok(&host, "stat -c %i /var/lib/etcd/member/wal");
    let before = wal();
    wiped(lab, survivor);
    // All stand still, and what they have is aside.
    killed::after(kokctl, &["recover", "--yes", "--bundle", bundle], 11);
    let said = kokctl.verb("recover", &["--undo", "--bundle", bundle]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(wal(), before, "the very data");
    for name in MEMBERS {
        let host = lab.host(name).unwrap();
        ok(&host, "test ! -e /var/lib/kokctl/recover && test ! -e /var/lib/kokctl/recovery && systemctl is-enabled etcd.service");
        ok(&host, "test -s /var/lib/kokctl/made/etcd-started");
    }
    ok(&host, "systemctl is-active etcd.service");
    for plane in PLANES {
        ok(&lab.host(plane).unwrap(), "test -s /etc/kubernetes/manifests/kube-apiserver.yaml && test ! -e /var/lib/kokctl/recover");
    }
    recovered(kokctl, &[]);
    assert_eq!(stored(lab).len(), 3);
    is_whole(lab, kokctl, 8);
}

/// Rehearsed on the one control plane with etcd's programs; then restored in the place of an etcd that works.
fn is_restored(lab: &Lab, kokctl: &Kokctl<'_>, bundle: &str) {
    let manifest = kokctl.manifest();
    let manifest = manifest.to_str().unwrap();
    let said = kokctl.run(&["backup", "create", "-f", manifest]);
    assert_eq!(said.code, 0, "{said:?}");
    let backup: PathBuf = fs::read_dir(kokctl.folder().join("backups")).unwrap().next().unwrap().unwrap().path();
    store(lab, &["key-4"]);
    let said = kokctl.run(&["backup", "rehearse", "-f", manifest]);
    println!("{}{}", said.stdout, said.stderr);
    assert!(said.code == 0 && said.stdout.contains("can be restored") && said.stdout.contains("on cp1"), "{said:?}");
    ok(&lab.host("cp1").unwrap(), "test ! -e /var/lib/kokctl/rehearsal && ! systemctl is-active kokctl-rehearsal-etcd.service");
    let said = kokctl.run(&["backup", "rehearse", "-f", manifest, "--host", "cp2"]);
    assert!(said.code == 2 && said.stderr.contains("can't be rehearsed on cp2"), "{said:?}");
    let said = kokctl.verb("restore", &[backup.to_str().unwrap(), "--yes", "--bundle", bundle]);
    println!("{}{}", said.stdout, said.stderr);
    assert!(said.code == 0 && said.stdout.contains("works again"), "{said:?}");
    assert_eq!(stored(lab), ["1", "2", "3"], "exactly what the backup has");
    let secret = "kubectl --kubeconfig=/etc/kubernetes/admin.conf get secret canary -o jsonpath={.data.word} | base64 -d";
    assert_eq!(ok(&lab.host("cp2").unwrap(), secret), "c4n4ry");
    is_whole(lab, kokctl, 9);
}
