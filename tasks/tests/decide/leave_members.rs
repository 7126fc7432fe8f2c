//! Control planes leave a cluster that goes on: their members leave etcd before anything of them ends, whatever is cut off on the way.

use std::collections::BTreeSet;

use kok_tasks::drain::DrainSettings;
use kok_tasks::gate::{Disruption, Removal};
use kok_tasks::observe::{EtcdState, Look};
use kok_tasks::plan::{Leaving, Making, Plan, Refusal, leave, looks_beside, reset_looks};
use kok_tasks::preconditions;

use crate::bootstrap::{bare, refusal_text};
use crate::support::world::World;
use crate::support::{cluster_of, step_id};

const TEXT: &str = include_str!("../fixtures/highly-available.yaml");

fn drain() -> DrainSettings {
    DrainSettings { delete_unmanaged: true, delete_empty_dir: true, ..DrainSettings::default() }
}

/// The plan by which hosts leave, of which those that are dead say nothing.
pub(crate) fn leaving(world: &World, hosts: &[&str], (dead, even): (&[&str], bool)) -> Result<Plan, Vec<Refusal>> {
    let names: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let dead: BTreeSet<String> = dead.iter().map(|host| (*host).to_owned()).collect();
    let wanted = Leaving { hosts: &names, dead: &dead, drain: drain(), members: None, even };
    let mut seen = world.seen_but(&dead);
    for host in world.cluster.hosts.iter().filter(|host| !dead.contains(&host.name)) {
        seen.add_observations(&host.name, world.look(&host.name, reset_looks(host, false).iter()));
        seen.add_observations(&host.name, world.look(&host.name, looks_beside().iter()));
    }
    loop {
        match leave(&world.cluster, &wanted, &seen)? {
            Making::Made(plan) => return Ok(*plan),
            Making::LookFirst(asked) => {
                asked.into_iter().for_each(|(host, looks)| seen.add_observations(&host, world.look(&host, looks.iter())));
            }
            other => panic!("{other:?}"),
        }
    }
}

fn three() -> World {
    bare().converge()
}

pub(crate) fn order(plan: &Plan, first: (&str, &str), second: (&str, &str)) -> bool {
    let ids: Vec<String> = plan.steps().map(|step| step.id.to_string()).collect();
    let id = |(host, step): (&str, &str)| step_id(host, "reset", step);
    let (mut left, mut found) = (vec![id(second)], BTreeSet::new());
    while let Some(next) = left.pop() {
        for (need, _) in plan.needs(&next) {
            if found.insert(need.id.to_string()) {
                left.push(need.id.clone());
            }
        }
    }
    assert!(ids.contains(&id(first).to_string()), "{first:?} of {ids:?}");
    found.contains(&id(first).to_string())
}

#[test]
fn a_member_leaves_after_its_pods_and_before_its_host() {
    let world = three();
    let plan = leaving(&world, &["cp1"], (&[], true)).unwrap();
    for (first, second) in [
        ("cordoned", "drained"),
        ("drained", "api-server"),
        ("api-server", "leader"),
        ("leader", "member"),
        ("member", "reset"),
        ("reset", "node"),
    ] {
        assert!(order(&plan, ("cp1", first), ("cp1", second)), "{first}, {second}");
    }
    let step = |name: &str| plan.step(&step_id("cp1", "reset", name)).unwrap();
    assert_eq!((step("leader").host.as_str(), step("member").host.as_str()), ("cp1", "cp2"), "another one is asked");
    assert!(matches!(step("member").gate, Some((Disruption::RemoveMember { member: 11, why: Removal::Leaving }, _))));
    assert!(matches!(&step("api-server").gate, Some((Disruption::RestartApiServer { host }, _)) if host == "cp1"), "others have to answer");
    assert!(matches!(step("leader").gate, Some((Disruption::MoveLeader { from: 11 }, _))), "cp1 leads");
}

#[test]
fn several_leave_one_after_the_other_and_what_is_left_goes_on() {
    let mut world = three();
    let plan = leaving(&world, &["cp2", "cp3"], (&[], false)).unwrap();
    assert!(order(&plan, ("cp2", "node"), ("cp3", "member")));
    assert_eq!(plan.step(&step_id("cp2", "reset", "member")).unwrap().host, "cp1", "one that stays is asked");
    world.carry_out_all(&plan);
    assert_eq!((world.api.members.as_slice(), world.api.nodes.len()), (["cp1".to_owned()].as_slice(), 3));
    let left = TEXT.lines().filter(|line| !line.contains("name: cp2,") && !line.contains("name: cp3,"));
    world.cluster = cluster_of(&left.map(|line| format!("{line}\n")).collect::<String>());
    let world = world.converge();
    assert_eq!(world.plan().changes().count(), 0);
}

#[test]
fn an_even_number_is_asked_for_by_its_name() {
    let world = three();
    let refused = refusal_text(&leaving(&world, &["cp2"], (&[], false)).unwrap_err());
    assert!(refused.contains("etcd would be left with 2 members") && refused.contains("--yes-even"), "{refused}");
    let refused = refusal_text(&leaving(&world, &["cp1", "cp2", "cp3"], (&[], true)).unwrap_err());
    assert!(refused.contains("no control plane would be left"), "{refused}");
}

/// Of one that is dead, or lost its disk, nobody says that a number that is even is worse.
#[test]
fn a_dead_member_leaves_by_the_word_of_the_others() {
    let mut world = three();
    world.api.nodes.get_mut("cp2").unwrap().silent = true;
    let plan = leaving(&world, &["cp2"], (&["cp2"], false)).unwrap();
    let steps: Vec<_> = plan.changes().map(|(step, _)| (step.id.name(), step.host.as_str())).collect();
    assert_eq!(steps, [("kept-out", "cp1"), ("member", "cp1"), ("node", "cp1")]);
    let gate = plan.step(&step_id("cp2", "reset", "member")).unwrap().gate.clone();
    assert!(matches!(gate, Some((Disruption::RemoveMember { member: 12, why: Removal::Dead }, _))), "{gate:?}");
    // A disk that was changed: the host answers, and is nobody's.
    world.leave_host("cp2");
    assert!(matches!(world.look("cp2", [kok_tasks::observe::Look::Etcd].into_iter()).etcd, Some(EtcdState::Absent)));
    let plan = leaving(&world, &["cp2"], (&[], false)).unwrap();
    let steps: Vec<_> = plan.changes().map(|(step, _)| step.id.name().to_owned()).collect();
    assert_eq!(steps, ["member", "node"], "nothing is done on it");
    world.carry_out_all(&plan);
    let world = world.converge();
    assert_eq!(world.api.members, ["cp1", "cp3", "cp2"], "it has joined anew");
}

/// What was taken out and comes back with its data is not started with them.
#[test]
fn one_that_comes_back_with_its_data_is_refused() {
    let mut world = three();
    world.api.members.retain(|name| name != "cp2");
    world.api.started.remove("cp2");
    world.api.nodes.remove("cp2");
    world.host("cp2").units.get_mut("kubelet.service").unwrap().active = "inactive".into();
    let refused = refusal_text(&world.try_plan().unwrap_err());
    assert!(
        refused.contains("its member of etcd was taken out of the cluster") && refused.contains("kokctl replace -f FILE cp2"),
        "{refused}"
    );
    let plan = leaving(&world, &["cp2"], (&[], true)).unwrap();
    assert!(plan.step(&step_id("cp2", "reset", "member")).is_none(), "it has none any more");
    world.carry_out_all(&plan);
    let world = world.converge();
    assert_eq!(world.api.members, ["cp1", "cp3", "cp2"]);
}

#[test]
fn a_removal_that_is_cut_off_anywhere_is_gone_on_with() {
    let begun = three();
    let steps = leaving(&begun, &["cp1"], (&[], true)).unwrap().changes().count();
    for most in 0..=steps {
        let mut world = begun.clone();
        let plan = leaving(&world, &["cp1"], (&[], true)).unwrap();
        world.carry_out_some(&plan, most);
        let rest = leaving(&world, &["cp1"], (&[], true)).unwrap_or_else(|refusals| panic!("after {most}: {}", refusal_text(&refusals)));
        world.carry_out_all(&rest);
        assert_eq!(world.api.members, ["cp2", "cp3"], "after {most}");
        assert!(!world.api.nodes.contains_key("cp1"));
        assert_eq!(world.converge().api.members, ["cp2", "cp3", "cp1"], "after {most}");
    }
}

#[test]
fn nobody_removes_the_address_that_all_ask() {
    let mut world = three();
    let map = world.api.objects.get_mut("ConfigMap/kube-system/kubeadm-config").unwrap();
    let text = map["data"]["ClusterConfiguration"].as_str().unwrap().replace("lb-apiserver.kubernetes.local:6443", "10.20.0.11:6443");
    map["data"]["ClusterConfiguration"] = text.into();
    let refused = refusal_text(&leaving(&world, &["cp1"], (&[], true)).unwrap_err());
    assert!(refused.contains("the whole cluster asks the API at the address of cp1"), "{refused}");
    assert!(leaving(&world, &["cp2"], (&[], true)).is_ok());
}

/// What keeps `apply` from its work is said before a host leaves that is to come back by it; why the host leaves keeps nobody.
#[test]
fn what_would_keep_a_host_from_joining_anew_is_known_before() {
    let mut world = three();
    world.leave_host("cp2");
    let said = |world: &World| {
        let mut seen = world.seen();
        for host in &world.cluster.hosts {
            seen.add_observations(&host.name, world.look(&host.name, preconditions::looks(&world.cluster, host).into_iter()));
        }
        seen.add_observations("cp1", world.look("cp1", [Look::Kubernetes].into_iter()));
        let leaving = ["cp2".to_owned()];
        (
            refusal_text(&preconditions::check(&world.cluster, &seen)),
            refusal_text(&preconditions::check_beside(&world.cluster, &seen, &leaving)),
        )
    };
    let (of_apply, beside) = said(&world);
    assert!(of_apply.contains("its member of etcd has lost its data"), "{of_apply}");
    assert_eq!(beside, "");
    let mut another = world.clone();
    another.host("cp3").paths.retain(|path, _| !path.starts_with("/var/lib/etcd"));
    let (_, beside) = said(&another);
    assert!(beside.contains("its member of etcd has lost its data") && beside.contains("host cp3"), "{beside}");
    for (field, range) in [("podCIDR", "10.245.0.0/16"), ("serviceCIDR", "10.97.0.0/16")] {
        let edited = TEXT.replace("plugin: flannel\n", &format!("plugin: flannel\n    {field}: {range}\n"));
        assert_ne!(edited, TEXT);
        world.cluster = cluster_of(&edited);
        let (_, beside) = said(&world);
        assert!(beside.contains(range), "{beside}");
    }
}
