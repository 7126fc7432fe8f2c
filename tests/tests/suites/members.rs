//! Control planes come and go under load: one becomes three, the first is removed, a dead one is replaced, and one is left.

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab, LabSpec};

use crate::cluster_support::clock::Clock;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{bare, ok};
use crate::highly_available_story::{any, endpoint, etcd};
use crate::lab_support::wait_for;
use crate::members_story::killed;
use crate::members_story::load::{Load, POWER_CUT};

#[test]
fn control_planes_come_and_go() {
    let lab = Lab::up(LabSpec::unique(4).control_planes(3)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    let three = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    kokctl.write_manifest(&without(&three, &["cp2", "cp3"]));
    kokctl.converge("apply");
    let load = Load::begin(&lab);
    clock.lap("one control plane");
    becomes_three(&lab, &kokctl, &three);
    load.goes_on("1 → 3");
    clock.lap("three");
    the_first_is_removed(&lab, &kokctl);
    load.goes_on("the first removed and joined anew");
    clock.lap("the first is removed, and joins anew");
    a_dead_one_is_replaced(&lab, &kokctl, &load);
    load.goes_on("a dead one replaced");
    clock.lap("a dead one is replaced");
    one_is_left(&lab, &kokctl, &three);
    load.goes_on("3 → 1");
    load.end();
    clock.lap("one is left");
}

/// Ten kills, of removals, of joining and of both in one run; each time what is typed again ends it.
#[test]
fn killed_at_ten_points() {
    let lab = Lab::up(LabSpec::unique(4).control_planes(3)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let bundle = kokctl.bundle().to_str().unwrap().to_owned();
    let mut clock = Clock::start();
    kokctl.write_manifest(&lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap());
    kokctl.converge("apply");
    let load = Load::begin(&lab);
    clock.lap("a cluster");
    for _ in 0..4 {
        let host = any(vec!["cp1", "cp2", "cp3"]);
        let (removal, joining) = (any((0..=5).collect()), any((1..=60).collect()));
        println!("{host}: its removal is killed after {removal} steps, and its joining after {joining}");
        killed::after(&kokctl, &["remove", host, "--yes", "--yes-even"], removal);
        let said = kokctl.verb("remove", &[host, "--yes", "--yes-even"]);
        assert_eq!(said.code, 0, "{said:?}");
        killed::after(&kokctl, &["apply", "--bundle", &bundle], joining);
        kokctl.converge("apply");
        is_whole(&lab, &kokctl);
        load.goes_on(&format!("{host} removed after {removal}, joined after {joining}"));
        clock.lap("a removal and a joining");
    }
    for _ in 0..2 {
        let host = any(vec!["cp1", "cp2", "cp3"]);
        let after = any((0..=60).collect());
        println!("{host}: its replacement is killed after {after} steps");
        let replace = ["replace", host, "--yes", "--bundle", &bundle];
        killed::after(&kokctl, &replace, after);
        let said = kokctl.verb("apply", &["--bundle", &bundle]);
        // Where it has left and was not cleaned, that is what is said.
        let is_refused = said.code == 3 && said.stderr.contains(&format!("kokctl replace -f FILE {host}"));
        assert!(said.code == 0 || is_refused, "{said:?}");
        if is_refused {
            let said = kokctl.verb(replace[0], &replace[1..]);
            assert_eq!(said.code, 0, "{said:?}");
        }
        is_whole(&lab, &kokctl);
        load.goes_on(&format!("{host} replaced after {after}"));
        clock.lap("a replacement");
    }
    load.end();
}

/// 1 → 3 → 5 → 3 → 1, whoever is left.
#[test]
fn one_becomes_five_and_one_again() {
    let lab = Lab::up(LabSpec::unique(6).control_planes(5)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    let five = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    let grown = [vec!["cp2", "cp3", "cp4", "cp5"], vec!["cp4", "cp5"], vec![]];
    let mut load = None;
    for left_out in grown {
        kokctl.write_manifest(&without(&five, &left_out));
        kokctl.converge("apply");
        is_made_of(&lab, &kokctl, &left_out);
        load.get_or_insert_with(|| Load::begin(&lab)).goes_on(&format!("without {left_out:?}"));
        clock.lap(&format!("without {left_out:?}"));
    }
    let mut gone = Vec::new();
    for leave in [["cp3", "cp5"], ["cp2", "cp4"]] {
        let said = kokctl.verb("remove", &[leave[0], leave[1], "--yes"]);
        assert_eq!(said.code, 0, "{said:?}");
        gone.extend(leave);
        kokctl.write_manifest(&without(&five, &gone));
        kokctl.converge("apply");
        is_made_of(&lab, &kokctl, &gone);
        load.as_ref().unwrap().goes_on(&format!("without {gone:?}"));
        clock.lap(&format!("without {gone:?}"));
    }
    load.unwrap().end();
}

/// All hosts but these are nodes, and all control planes but these have a member, each with its vote.
fn is_made_of(lab: &Lab, kokctl: &Kokctl<'_>, left_out: &[&str]) {
    let is_in = |name: &&str| !left_out.contains(name);
    let planes: Vec<&str> = ["cp1", "cp2", "cp3", "cp4", "cp5"].into_iter().filter(is_in).collect();
    let list = etcd::etcdctl(lab, "cp1", "member list");
    let rows: Vec<Vec<&str>> = list.lines().map(|line| line.split(", ").collect()).collect();
    assert!(rows.iter().all(|row| row[1] == "started" && row[5] == "false"), "{list}");
    let mut members: Vec<&str> = rows.iter().map(|row| row[2]).collect();
    members.sort_unstable();
    assert_eq!(members, planes, "{list}");
    let nodes = ok(&lab.host("cp1").unwrap(), "kubectl --kubeconfig=/etc/kubernetes/admin.conf get nodes -o name");
    let expected: Vec<String> = planes.iter().chain(&["worker1"]).map(|name| format!("node/{name}")).collect();
    assert_eq!(nodes.lines().collect::<Vec<_>>(), expected);
    for plane in planes {
        let ready = "kubectl --kubeconfig=/etc/kubernetes/admin.conf get --raw /readyz";
        assert_eq!(ok(&lab.host(plane).unwrap(), ready), "ok", "{plane}");
    }
    kokctl.has_nothing_to_do();
}

fn without(manifest: &str, hosts: &[&str]) -> String {
    let is_kept = |line: &&str| !hosts.iter().any(|host| line.contains(&format!("name: {host},")));
    manifest.lines().filter(is_kept).map(|line| format!("{line}\n")).collect()
}

/// Killed somewhere on the way; the next one goes on.
fn becomes_three(lab: &Lab, kokctl: &Kokctl<'_>, three: &str) {
    let pods = || ok(&lab.host("cp1").unwrap(), "pgrep -x etcd; pgrep -x kube-apiserver");
    let before = pods();
    kokctl.write_manifest(three);
    let after = any((1..=100).collect());
    println!("apply is killed after {after} steps");
    killed::after(kokctl, &["apply", "--bundle", kokctl.bundle().to_str().unwrap()], after);
    kokctl.converge("apply");
    assert_eq!(pods(), before, "neither etcd nor the API server of the first one were started anew");
    is_whole(lab, kokctl);
}

/// As a cluster that was founded with three.
fn is_whole(lab: &Lab, kokctl: &Kokctl<'_>) {
    etcd::members_are_those_of_the_file(lab, DEFAULT_KUBERNETES_VERSION);
    endpoint::survives_any_host(lab);
    kokctl.has_nothing_to_do();
}

/// Of which kokctl and all others were told first.
fn the_first_is_removed(lab: &Lab, kokctl: &Kokctl<'_>) {
    let said = kokctl.verb("remove", &["cp1", "--yes"]);
    assert!(said.code == 3 && said.stderr.contains("etcd would be left with 2 members"), "{said:?}");
    killed::after(kokctl, &["remove", "cp1", "--yes", "--yes-even"], any((0..=4).collect()));
    let said = kokctl.verb("remove", &["cp1", "--yes", "--yes-even"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stdout.contains("cp1 is no longer part of the cluster"), "{said:?}");
    bare::is_bare(&lab.host("cp1").unwrap());
    kokctl.converge("apply");
    is_whole(lab, kokctl);
}

fn is_given_up(lab: &Lab, speaker: &Host, node: &str) {
    let ready = "-o jsonpath='{.status.conditions[?(@.type==\"Ready\")].status}'";
    let status = || ok(speaker, &format!("kubectl --kubeconfig=/etc/kubernetes/admin.conf get node {node} {ready}"));
    wait_for(&format!("{node} of {} is given up", lab.name()), 120, || status().trim() == "Unknown");
}

/// It comes back with what it had, and is not let in; then it is made afresh.
fn a_dead_one_is_replaced(lab: &Lab, kokctl: &Kokctl<'_>, load: &Load) {
    let cp2 = lab.host("cp2").unwrap();
    cp2.power_off().unwrap();
    is_given_up(lab, &lab.host("cp1").unwrap(), "cp2");
    load.goes_on_but_for("cp2 without power", POWER_CUT);
    let said = kokctl.verb("remove", &["cp2", "--dead", "--yes"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stdout.contains("nothing was cleaned on cp2"), "{said:?}");
    cp2.power_on().unwrap();
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert!(said.code == 3 && said.stderr.contains("kokctl replace -f FILE cp2"), "{said:?}");
    let said = kokctl.verb("replace", &["cp2", "--yes", "--bundle", kokctl.bundle().to_str().unwrap()]);
    assert_eq!(said.code, 0, "{said:?}");
    is_whole(lab, kokctl);
}

/// Not the one that was the only one once. Its API keeps the name.
fn one_is_left(lab: &Lab, kokctl: &Kokctl<'_>, three: &str) {
    let said = kokctl.verb("remove", &["cp1", "cp2", "--yes"]);
    assert_eq!(said.code, 0, "{said:?}");
    let one = without(three, &["cp1", "cp2"]);
    kokctl.write_manifest(&one.replace("sources: [cp1]", "sources: [cp3]"));
    kokctl.converge("apply");
    kokctl.has_nothing_to_do();
    let nodes = "--kubeconfig=/etc/kubernetes/admin.conf get nodes -o name";
    assert_eq!(ok(&lab.host("cp3").unwrap(), &format!("kubectl {nodes}")), "node/cp3\nnode/worker1");
    let own = ok(&lab.host("worker1").unwrap(), "sed -n 's/^ *server: //p' /etc/kubernetes/kubelet.conf");
    assert_eq!(own, "https://lb-apiserver.kubernetes.local:6443");
}
