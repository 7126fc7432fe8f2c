//! A cluster that gets more control planes: they join one after the other, whatever is cut off on the way.

use std::collections::BTreeSet;

use kok_tasks::gate::Disruption;
use kok_tasks::plan::{Choice, Plan, Selection};

use crate::bootstrap::refusal_text;
use crate::support::secrets::JOINING;
use crate::support::world::World;
use crate::support::{cluster_of, step_id};

const TEXT: &str = include_str!("../fixtures/highly-available.yaml");
const THIRD: &str = "    - {name: cp3, address: 10.20.0.13, roles: [control-plane]}\n";
const MORE: &str = JOINING;

/// Three control planes that run, and a file with five.
fn asked_to_grow() -> World {
    let five = cluster_of(&TEXT.replace(THIRD, &format!("{THIRD}{MORE}")));
    let mut world = World::bare_of(five.clone());
    world.cluster = cluster_of(TEXT);
    world.api.members.truncate(3);
    let mut world = world.converge();
    world.cluster = five;
    world
}

fn assert_grown(world: &World) {
    let plan = world.plan();
    let left: Vec<String> = plan.changes().map(|(step, change)| format!("{}: {}", step.id, change.because)).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(world.api.members, ["cp1", "cp2", "cp3", "cp4", "cp5"]);
    assert!(world.api.learners.is_empty());
    let planes = world.api.nodes.iter().filter(|(_, node)| node.labels.contains_key("node-role.kubernetes.io/control-plane")).count();
    assert_eq!(planes, 5);
}

/// All steps that come before one, with or without a need of its own.
fn all_before(plan: &Plan, host: &str, task: &str, step: &str) -> BTreeSet<String> {
    let (mut found, mut left) = (BTreeSet::new(), vec![step_id(host, task, step)]);
    while let Some(id) = left.pop() {
        for (need, _) in plan.needs(&id) {
            if found.insert(need.id.to_string()) {
                left.push(need.id.clone());
            }
        }
    }
    found
}

#[test]
fn members_join_one_after_the_other_and_nothing_that_works_is_touched() {
    let world = asked_to_grow();
    let plan = world.plan();
    let second = all_before(&plan, "cp5", "etcd", "announced");
    for step in ["cp4/etcd/announced", "cp4/etcd/promoted", "cp4/etcd/member", "cp5/control-plane/preflight", "cp5/images/kube-apiserver"] {
        assert!(second.contains(step), "{step}: {second:?}");
    }
    assert!(!second.contains("cp4/control-plane/api-server"), "etcd is all that one has to wait for: {second:?}");
    assert!(all_before(&plan, "cp4", "control-plane", "manifests").contains("cp4/etcd/promoted"));
    assert!(!all_before(&plan, "cp4", "control-plane", "kubelet").contains("cp4/control-plane/manifests"));
    assert!(
        !all_before(&plan, "cp5", "control-plane", "preflight").iter().any(|step| step.starts_with("cp4/etcd/")),
        "what is prepared is at once"
    );
    for host in ["cp1", "cp2", "cp3"] {
        for (task, step) in [("etcd", "manifest"), ("control-plane", "manifests"), ("control-plane", "kubelet")] {
            assert!(plan.change(&step_id(host, task, step)).is_none(), "{host}/{task}/{step}");
        }
    }
    let gates: Vec<_> = plan.changes().filter_map(|(step, _)| step.gate.clone()).map(|(disturbs, _)| disturbs).collect();
    for host in ["cp4", "cp5"] {
        let host = || host.to_owned();
        assert!(
            gates.contains(&Disruption::AddLearner { host: host() }) && gates.contains(&Disruption::Promote { host: host() }),
            "{gates:?}"
        );
    }
    let world = world.converge();
    assert_grown(&world);
    // It comes back, and founds nothing, as those that founded the cluster.
    let manifest = world.hosts["cp5"].text("/etc/kubernetes/manifests/etcd.yaml");
    assert!(manifest.contains("--initial-cluster-state=existing") && manifest.contains("cp4=https://10.20.0.16:2380"), "{manifest}");
}

/// After so many steps, in an order that the plan allows.
#[test]
fn an_apply_that_is_cut_off_anywhere_is_gone_on_with() {
    let begun = asked_to_grow();
    let steps = begun.plan().changes().count();
    for most in (0..steps).step_by(6) {
        let mut world = begun.clone();
        let plan = world.plan();
        world.carry_out_some(&plan, most);
        assert_grown(&world.converge());
    }
}

/// Whoever is asked for one host alone must not found a second etcd there.
#[test]
fn the_members_that_are_there_are_asked_for_a_part_too() {
    let world = asked_to_grow();
    let limit = ["cp4".to_owned()];
    let selection = Selection::new(Choice { only: &[], skip: &[], limit: &limit }, &world.cluster).unwrap();
    let (plan, asked) = world.plan_of(&selection).unwrap_or_else(|refusals| panic!("{}", refusal_text(&refusals)));
    assert!(asked.contains(&"cp1".to_owned()), "{asked:?}");
    assert!(plan.change(&step_id("cp4", "etcd", "promoted")).is_some());
    assert!(plan.changes().all(|(step, _)| step.id.host() == "cp4"));
}

#[test]
fn one_that_is_announced_and_not_in_the_file_is_refused() {
    let mut world = asked_to_grow();
    world.api.learners.push("cp4".into());
    world.cluster = cluster_of(TEXT);
    let refusals = refusal_text(&world.try_plan().expect_err("nobody would start it"));
    assert!(refusals.contains("(not started)=https://10.20.0.16:2380"), "{refusals}");
}

const SECOND: &str = "    - {name: cp2, address: 10.20.0.12, roles: [control-plane]}\n";

fn with_one() -> kok_crds::model::Cluster {
    cluster_of(&TEXT.replace(SECOND, "").replace(THIRD, ""))
}

/// One control plane that runs, and a file with three.
fn alone() -> World {
    let mut world = World::bare_of(cluster_of(TEXT));
    world.cluster = with_one();
    world.api.members.truncate(1);
    let mut world = world.converge();
    world.cluster = cluster_of(TEXT);
    world
}

#[test]
fn the_only_control_plane_gets_others_and_its_address_becomes_a_name() {
    let world = alone();
    let server = |world: &World, host: &str| world.hosts[host].text("/etc/kubernetes/kubelet.conf").lines().next().unwrap().to_owned();
    assert_eq!(server(&world, "worker1"), "server: https://10.20.0.11:6443");
    let plan = world.plan();
    // Its programs go on: their manifests say nothing of the endpoint.
    for (task, step) in [("etcd", "manifest"), ("control-plane", "manifests"), ("control-plane", "kubelet")] {
        assert!(plan.change(&step_id("cp1", task, step)).is_none(), "{task}/{step}");
    }
    assert!(plan.change(&step_id("worker1", "kubelet-join", "joined")).is_none(), "a kubelet is started anew once");
    let before = all_before(&plan, "worker1", "kubelet-join", "endpoint");
    for step in ["worker1/names/hosts-file", "worker1/load-balancer/manifest", "cp1/control-plane/api-server"] {
        assert!(before.contains(step), "{step}: {before:?}");
    }
    let named = all_before(&plan, "worker1", "names", "hosts-file");
    assert!(named.contains("cp1/control-plane/named"), "a name that no certificate has leads nowhere: {named:?}");
    let world = world.converge();
    let left: Vec<String> = world.plan().changes().map(|(step, change)| format!("{}: {}", step.id, change.because)).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(world.api.members, ["cp1", "cp2", "cp3"]);
    assert_eq!(server(&world, "worker1"), "server: https://lb-apiserver.kubernetes.local:6443");
}

/// With one left, nothing of what asks by the name has to learn another one.
#[test]
fn the_name_stays_when_there_is_one_control_plane_again() {
    let mut world = alone().converge();
    world.cluster = with_one();
    world.api.members.truncate(1);
    ["cp2", "cp3"].into_iter().for_each(|name| {
        world.hosts.remove(name);
        world.api.nodes.remove(name);
    });
    let plan = world.plan();
    let changed: Vec<&str> = plan.changes().map(|(step, _)| step.task).collect();
    assert!(!changed.contains(&"kubelet-join") && !changed.contains(&"etcd") && !changed.contains(&"certificates"), "{changed:?}");
    let world = world.converge();
    assert_eq!(world.plan().changes().count(), 0);
}
