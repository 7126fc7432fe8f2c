//! Hosts lose their power in the middle of what is done with them: while they join, while they take the place of another one, while etcd is made anew. kokctl
//! ends by itself and names them, the cluster goes on, and both ways out are there: the same word once the host is back, and doing without it.

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab, LabSpec};

use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::kubectl;
use crate::cluster_support::kokctl::{Kokctl, KokctlOutput};
use crate::cluster_support::ok;
use crate::highly_available_story::{any, endpoint, etcd};
use crate::lab_support::wait_for;
use crate::members_story::died::{self, Moment};
use crate::members_story::load::{Load, POWER_CUT};

/// What is stored before anything happens.
const KEYS: [&str; 3] = ["key-1", "key-2", "key-3"];

fn up(hosts: usize, planes: usize) -> Lab {
    Lab::up(LabSpec::unique(hosts).control_planes(planes)).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn of_hosts_that_join() {
    let lab = up(6, 3);
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    let three = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    let one = without(&three, &["cp2", "cp3"]);
    kokctl.write_manifest(&without(&one, &["worker2", "worker3"]));
    kokctl.converge("apply");
    let load = Load::begin(&lab);
    clock.lap("one control plane");
    kokctl.write_manifest(&one);
    a_worker_that_joins_dies(&lab, &kokctl);
    load.goes_on("a worker died while it joined");
    clock.lap("a worker that joins dies");
    a_member_that_learns_is_given_up(&lab, &kokctl, [&three, &one]);
    load.goes_on("a control plane died while it joined, and was given up");
    clock.lap("a control plane that joins dies, and is given up");
    kokctl.write_manifest(&three);
    the_third_one_comes_back(&lab, &kokctl, &load);
    load.end();
    clock.lap("another one dies, and comes back");
}

#[test]
fn of_a_host_that_takes_the_place_of_a_dead_one() {
    let lab = up(7, 6);
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    let all = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    let four = without(&all, &["cp5", "cp6"]);
    kokctl.write_manifest(&without(&four, &["cp4"]));
    kokctl.converge("apply");
    let load = Load::begin(&lab);
    clock.lap("three control planes");
    kokctl.write_manifest(&four);
    the_replacement_dies(&lab, &kokctl, &load, ["cp3", "cp4"], ["cp4/etcd/announced", "cp4/control-plane/kubelet"]);
    assert_eq!(voters(&lab, "cp1"), ["cp1", "cp2"]);
    clock.lap("the replacement of a dead one dies");
    lab.host("cp4").unwrap().power_on().unwrap();
    let replace = ["cp3", "--with", "cp4", "--dead"];
    succeeds(&kokctl, "replace", &replace);
    kokctl.write_manifest(&without(&four, &["cp3"]));
    kokctl.has_nothing_to_do();
    assert_eq!(voters(&lab, "cp1"), ["cp1", "cp2", "cp4"]);
    load.goes_on("it came back, and took the place");
    clock.lap("it is back");
    it_never_comes_back(&lab, &kokctl, &load, &all);
    load.end();
    clock.lap("another one takes the place");
}

/// Of the next one that is lost the replacement dies, too, and is given up for another host.
fn it_never_comes_back(lab: &Lab, kokctl: &Kokctl<'_>, load: &Load, all: &str) {
    kokctl.write_manifest(&without(all, &["cp3", "cp6"]));
    the_replacement_dies(lab, kokctl, load, ["cp2", "cp5"], ["cp5/etcd/announced", "cp5/control-plane/kubelet"]);
    assert_eq!(voters(lab, "cp1"), ["cp1", "cp4"]);
    let said = kokctl.verb("remove", &["cp5", "--dead", "--yes"]);
    assert_eq!(said.code, 0, "{said:?}");
    kokctl.write_manifest(&without(all, &["cp3", "cp5"]));
    succeeds(kokctl, "replace", &["cp2", "--with", "cp6", "--dead"]);
    kokctl.write_manifest(&without(all, &["cp2", "cp3", "cp5"]));
    kokctl.has_nothing_to_do();
    assert_eq!(voters(lab, "cp1"), ["cp1", "cp4", "cp6"]);
    load.goes_on("it never came back, and another host took the place");
}

#[test]
fn of_hosts_without_which_etcd_has_no_quorum() {
    let lab = up(4, 3);
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    let three = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    kokctl.write_manifest(&without(&three, &["cp2", "cp3"]));
    kokctl.converge("apply");
    KEYS.iter().for_each(|key| drop(kubectl(&lab, &format!("create configmap {key} --from-literal=n=1"))));
    clock.lap("one control plane");
    kokctl.write_manifest(&three);
    the_second_one_dies_with_its_vote(&lab, &kokctl);
    clock.lap("the second member dies with its vote");
    one_dies_before_the_new_etcd(&lab, &kokctl);
    clock.lap("one dies before the new etcd");
    one_dies_when_the_new_etcd_works(&lab, &kokctl);
    clock.lap("one dies when the new etcd works");
}

fn without(manifest: &str, hosts: &[&str]) -> String {
    let is_kept = |line: &&str| !hosts.iter().any(|host| line.contains(&format!("name: {host},")));
    manifest.lines().filter(is_kept).map(|line| format!("{line}\n")).collect()
}

fn bundle(kokctl: &Kokctl<'_>) -> String {
    kokctl.bundle().to_str().unwrap().to_owned()
}

fn succeeds(kokctl: &Kokctl<'_>, verb: &str, arguments: &[&str]) -> KokctlOutput {
    let said = kokctl.verb(verb, &[arguments, &["--yes", "--bundle", &bundle(kokctl)]].concat());
    assert_eq!(said.code, 0, "{verb} {arguments:?}: {said:?}");
    said
}

/// The members that have a vote, as this one says.
fn voters(lab: &Lab, member: &str) -> Vec<String> {
    let list = etcd::etcdctl_on(&lab.host(member).unwrap(), "member list");
    let rows = list.lines().map(|line| line.split(", ").collect::<Vec<_>>());
    let mut voters: Vec<String> = rows.filter(|row| row[1] == "started" && row[5] == "false").map(|row| row[2].to_owned()).collect();
    voters.sort_unstable();
    voters
}

/// The other one is a node by then, and this one is when the same word is typed again.
fn a_worker_that_joins_dies(lab: &Lab, kokctl: &Kokctl<'_>) {
    let worker = lab.host("worker2").unwrap();
    let moment = any(vec![Moment::done("worker2/container-runtime/service"), Moment::started("worker2/kubelet-join/joined")]);
    died::at(kokctl, &["apply", "--bundle", &bundle(kokctl)], &worker, moment);
    kubectl(lab, "wait --for=condition=Ready --timeout=60s node/worker3");
    worker.power_on().unwrap();
    kokctl.converge("apply");
    kubectl(lab, "wait --for=condition=Ready --timeout=5s node/worker2");
    kokctl.has_nothing_to_do();
}

/// It has no vote, so etcd goes on with the one member that has; and without the host the cluster is as before.
fn a_member_that_learns_is_given_up(lab: &Lab, kokctl: &Kokctl<'_>, [three, one]: [&str; 2]) {
    let cp2 = lab.host("cp2").unwrap();
    kokctl.write_manifest(three);
    let moment = any(vec![Moment::done("cp2/etcd/announced"), Moment::done("cp2/control-plane/kubelet")]);
    let said = died::at(kokctl, &["apply", "--bundle", &bundle(kokctl)], &cp2, moment);
    assert!(said.contains("`kokctl remove -f FILE cp2 --dead`"), "what to do if it does not come back: {said}");
    assert_eq!(voters(lab, "cp1"), ["cp1"]);
    let said = kokctl.verb("remove", &["cp2", "--dead", "--yes"]);
    assert_eq!(said.code, 0, "{said:?}");
    kokctl.write_manifest(one);
    kokctl.converge("apply");
    kokctl.has_nothing_to_do();
    assert_eq!(etcd::etcdctl(lab, "cp1", "member list").lines().count(), 1);
    assert_eq!(kubectl(lab, "get nodes -o name"), "node/cp1\nnode/worker1\nnode/worker2\nnode/worker3");
}

/// cp2 is back with what it had, and is made afresh; while cp3 joins behind it, that one dies.
fn the_third_one_comes_back(lab: &Lab, kokctl: &Kokctl<'_>, load: &Load) {
    let cp3 = lab.host("cp3").unwrap();
    lab.host("cp2").unwrap().power_on().unwrap();
    let moment =
        any(vec![Moment::done("cp3/etcd/announced"), Moment::done("cp3/control-plane/kubelet"), Moment::done("cp3/etcd/promoted")]);
    let said = died::at(kokctl, &["replace", "cp2", "--yes", "--bundle", &bundle(kokctl)], &cp3, moment);
    assert!(said.contains("run `kokctl apply` again"), "cp2 is made afresh, and would be so once more: {said}");
    load.goes_on_but_for("another one died while it joined", POWER_CUT);
    let voters = voters(lab, "cp1");
    assert!(voters.starts_with(&["cp1".to_owned(), "cp2".to_owned()]), "{voters:?}");
    cp3.power_on().unwrap();
    kokctl.converge("apply");
    etcd::members_are_those_of_the_file(lab, DEFAULT_KUBERNETES_VERSION);
    endpoint::survives_any_host(lab);
    kokctl.has_nothing_to_do();
    load.goes_on("it came back, and has joined");
}

/// Two are left, and go on.
fn the_replacement_dies(lab: &Lab, kokctl: &Kokctl<'_>, load: &Load, [lost, with]: [&str; 2], steps: [&'static str; 2]) {
    lab.host(lost).unwrap().power_off().unwrap();
    let status = format!("get node {lost} -o jsonpath='{{.status.conditions[?(@.type==\"Ready\")].status}}'");
    wait_for("it is given up", 120, || kubectl(lab, &status).trim() == "Unknown");
    load.goes_on_but_for("one without power", POWER_CUT);
    let moment = Moment::done(any(steps.to_vec()));
    let replace = ["replace", lost, "--with", with, "--dead", "--yes", "--bundle", &bundle(kokctl)];
    let said = died::at(kokctl, &replace, &lab.host(with).unwrap(), moment);
    assert!(said.contains("run `kokctl replace` again"), "{said}");
    load.goes_on("its replacement died while it joined");
}

fn stored(lab: &Lab, host: &str) -> Vec<String> {
    let names = ok(&lab.host(host).unwrap(), "kubectl --kubeconfig=/etc/kubernetes/admin.conf get configmaps -o name");
    names.lines().filter_map(|line| line.strip_prefix("configmap/")).filter(|name| KEYS.contains(name)).map(str::to_owned).collect()
}

fn is_whole(lab: &Lab, kokctl: &Kokctl<'_>) {
    etcd::members_are_those_of_the_file(lab, DEFAULT_KUBERNETES_VERSION);
    endpoint::survives_any_host(lab);
    assert_eq!(stored(lab, "cp1"), KEYS);
    // A node that could not say anything for a while, as each of them now, is counted out with its pods.
    kubectl(lab, "-n kube-system rollout status deployment/coredns --timeout=90s");
    kokctl.has_nothing_to_do();
}

/// Of two members none may be lost: what the first one has is made an etcd of one again, and the host is made afresh when it is back.
fn the_second_one_dies_with_its_vote(lab: &Lab, kokctl: &Kokctl<'_>) {
    let cp2 = lab.host("cp2").unwrap();
    died::at(kokctl, &["apply", "--bundle", &bundle(kokctl)], &cp2, Moment::done("cp2/etcd/promoted"));
    let said = kokctl.verb("remove", &["cp2", "--dead", "--yes"]);
    assert!(said.code == 3 && died::words(&said).contains("`kokctl recover`"), "{said:?}");
    succeeds(kokctl, "recover", &["--lost", "cp2"]);
    assert_eq!(stored(lab, "cp1"), KEYS);
    cp2.power_on().unwrap();
    succeeds(kokctl, "replace", &["cp2"]);
    is_whole(lab, kokctl);
}

/// The data of two are gone, as after their disks were lost, and what ran on them with them.
fn two_lose_their_data(lab: &Lab) {
    for host in ["cp1", "cp2"] {
        ok(&lab.host(host).unwrap(), "rm -rf /var/lib/etcd/member; pkill -9 -x etcd");
    }
    let ready = "kubectl --kubeconfig=/etc/kubernetes/admin.conf --request-timeout=2s get --raw /readyz";
    let survivor = lab.host("cp3").unwrap();
    wait_for("etcd has no quorum", 60, || !survivor.ssh(&["sh", "-c", ready]).is_ok_and(|output| output.success()));
}

fn recover(bundle: &str) -> [&str; 4] {
    ["recover", "--yes", "--bundle", bundle]
}

/// Nobody can say that it stands still, so nothing is made; when it is back that goes on.
fn one_dies_before_the_new_etcd(lab: &Lab, kokctl: &Kokctl<'_>) {
    let (cp1, bundle) = (lab.host("cp1").unwrap(), bundle(kokctl));
    two_lose_their_data(lab);
    let moment = any(vec![Moment::done("cp1/recovery/begun"), Moment::started("cp1/recovery/still")]);
    let said = died::at(kokctl, &recover(&bundle), &cp1, moment);
    assert!(said.contains("`kokctl recover --continue --lost cp1`"), "{said}");
    let said = kokctl.verb("recover", &["--continue", "--bundle", &bundle]);
    assert!(said.code == 3 && died::words(&said).contains("give it up with --lost cp1"), "{said:?}");
    cp1.power_on().unwrap();
    succeeds(kokctl, "recover", &["--continue"]);
    is_whole(lab, kokctl);
}

/// The survivor has all that was written; and it goes on without the host, which is made afresh when it is back.
fn one_dies_when_the_new_etcd_works(lab: &Lab, kokctl: &Kokctl<'_>) {
    let (cp1, bundle) = (lab.host("cp1").unwrap(), bundle(kokctl));
    two_lose_their_data(lab);
    let moments = [Moment::done("cp3/recovery/api-server"), Moment::done("cp1/etcd/announced"), Moment::done("cp1/control-plane/kubelet")];
    died::at(kokctl, &recover(&bundle), &cp1, any(moments.to_vec()));
    assert_eq!(stored(lab, "cp3"), KEYS);
    succeeds(kokctl, "recover", &["--continue", "--lost", "cp1"]);
    assert_eq!(stored(lab, "cp3"), KEYS);
    cp1.power_on().unwrap();
    succeeds(kokctl, "replace", &["cp1"]);
    is_whole(lab, kokctl);
}
