//! Members that are units join one after the other, whatever is cut off on the way, and then API servers are told of them.

use std::collections::BTreeSet;

use kok_tasks::gate::Disruption;
use kok_tasks::plan::{Choice, Plan, Selection};

use super::{MEMBERS, TEXT, advance, refusal_debug, refused, stop};
use crate::support::world::World;
use crate::support::{cluster_of, own_etcd_of_five, step_id};

const ALL: [&str; 5] = ["etcd1", "etcd2", "etcd3", "etcd4", "etcd5"];
const MANIFEST: &str = "/etc/kubernetes/manifests/kube-apiserver.yaml";
const CONFIGURATION: &str = "/etc/kubernetes/kokctl/bootstrap.yaml";

/// So many members that work, and a file with five.
pub(super) fn asked_to_grow(members: usize) -> World {
    let mut world = World::bare_of(cluster_of(&own_etcd_of_five()));
    let left = own_etcd_of_five();
    let gone: Vec<String> = ALL.iter().skip(members).map(|name| format!("name: {name},")).collect();
    let left = left.lines().filter(|line| !gone.iter().any(|name| line.contains(name)));
    world.cluster = cluster_of(&left.fold(String::new(), |text, line| text + line + "\n"));
    world.api.members.truncate(members);
    let mut world = world.converge();
    world.cluster = cluster_of(&own_etcd_of_five());
    world
}

pub(super) fn five() -> World {
    asked_to_grow(3).converge()
}

fn assert_grown(world: &World, after: usize) {
    let plan = world.plan();
    let left: Vec<String> = plan.changes().map(|(step, change)| format!("{}: {}", step.id, change.because)).collect();
    assert!(left.is_empty(), "after {after}: {left:?}");
    assert_eq!(world.api.members.iter().map(String::as_str).collect::<BTreeSet<_>>(), ALL.into());
    assert!(world.api.learners.is_empty());
    for plane in ["cp1", "cp2"] {
        let text = world.hosts[plane].text(CONFIGURATION);
        assert!((14..=18).all(|last| text.contains(&format!("https://10.20.0.{last}:2379"))), "{text}");
    }
}

/// All steps that come before one, with or without a need of its own.
fn all_before(plan: &Plan, id: (&str, &str, &str)) -> BTreeSet<String> {
    let (mut found, mut left) = (BTreeSet::new(), vec![step_id(id.0, id.1, id.2)]);
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
fn members_join_one_after_the_other_and_api_servers_are_told_then() {
    let world = asked_to_grow(3);
    let plan = world.plan();
    let second = all_before(&plan, ("etcd5", "etcd", "announced"));
    for step in ["etcd4/etcd/announced", "etcd4/etcd/promoted", "etcd4/etcd/member", "etcd5/etcd/programs", "etcd5/etcd/configuration"] {
        assert!(second.contains(step), "{step}: {second:?}");
    }
    assert!(second.contains("etcd5/certificates/set") && !second.contains("etcd5/etcd/service"), "{second:?}");
    assert!(!second.iter().any(|step| step.starts_with("cp")), "API servers are told when all are there: {second:?}");
    let prepared = all_before(&plan, ("etcd5", "etcd", "configuration"));
    assert!(!prepared.iter().any(|step| step.starts_with("etcd4/")), "what is prepared is at once: {prepared:?}");
    assert!(all_before(&plan, ("etcd4", "etcd", "service")).contains("etcd4/etcd/announced"));
    let told = all_before(&plan, ("cp1", "control-plane", "manifests"));
    assert!(told.contains("etcd4/etcd/member") && told.contains("etcd5/etcd/member"), "{told:?}");
    assert!(all_before(&plan, ("cp2", "control-plane", "manifests")).contains("cp1/control-plane/api-server"), "one after the other");
    for host in MEMBERS {
        assert!(
            plan.changes().all(|(step, _)| step.host != host || step.task != "etcd" || ["announced", "promoted"].contains(&step.id.name()))
        );
    }
    let gates: Vec<_> = plan.changes().filter_map(|(step, _)| step.gate.clone()).map(|(disturbs, _)| disturbs).collect();
    for host in ["etcd4", "etcd5"].map(str::to_owned) {
        assert!(gates.contains(&Disruption::AddLearner { host: host.clone() }) && gates.contains(&Disruption::Promote { host }));
    }
    for host in ["cp1", "cp2"].map(str::to_owned) {
        assert!(gates.contains(&Disruption::RestartApiServer { host }), "{gates:?}");
    }
    let world = world.converge();
    assert_grown(&world, usize::MAX);
    let list = |host: &str| world.hosts[host].text("/etc/etcd/etcd.yaml").to_owned();
    assert!(list("etcd4").contains("initial-cluster-state: existing") && !list("etcd4").contains("10.20.0.18:2380"), "{}", list("etcd4"));
    assert!(list("etcd5").contains("initial-cluster-state: existing") && list("etcd5").contains("etcd4=https://10.20.0.17:2380"));
    assert!(list("etcd1").contains("initial-cluster-state: new") && !list("etcd1").contains("etcd4"), "{}", list("etcd1"));
    assert!(world.hosts["cp1"].has(MANIFEST) && world.api.nodes.contains_key("etcd5"), "the worker joins, too");
}

/// After so many steps, in an order that the plan allows.
#[test]
fn an_apply_that_is_cut_off_anywhere_is_gone_on_with() {
    for members in [1, 3] {
        let begun = asked_to_grow(members);
        let steps = begun.plan().changes().count();
        for most in (0..steps).step_by(5) {
            let mut world = begun.clone();
            let plan = world.plan();
            world.carry_out_some(&plan, most);
            assert_grown(&world.converge(), most);
        }
    }
}

/// Two of three are started when the file gets five: the third one founds with them by their list, and the others join.
#[test]
fn a_founding_that_was_cut_off_ends_by_its_own_list() {
    let mut world = World::bare_of(cluster_of(&own_etcd_of_five()));
    world.cluster = cluster_of(TEXT);
    world.api.members.truncate(3);
    advance(&mut world, |id| id.starts_with("etcd1/") || id.starts_with("etcd2/"));
    world.cluster = cluster_of(&own_etcd_of_five());
    let plan = world.plan();
    assert!(all_before(&plan, ("etcd4", "etcd", "announced")).contains("etcd3/etcd/member"));
    let world = world.converge();
    assert_grown(&world, 0);
    assert!(!world.hosts["etcd3"].text("/etc/etcd/etcd.yaml").contains("etcd4"));
}

/// Whoever is asked for one host alone must not found a second etcd there, and API servers are told by the whole.
#[test]
fn the_members_that_are_there_are_asked_for_a_part_too() {
    let mut world = asked_to_grow(3);
    let limited = |world: &World, host: &str| {
        let limit = [host.to_owned()];
        let selection = Selection::new(Choice { only: &[], skip: &[], limit: &limit }, &world.cluster).unwrap();
        world.plan_of(&selection)
    };
    let (plan, asked) = limited(&world, "etcd4").unwrap_or_else(|refusals| panic!("{}", refusal_debug(&refusals)));
    assert!(asked.contains(&"etcd1".to_owned()), "{asked:?}");
    assert!(plan.change(&step_id("etcd4", "etcd", "promoted")).is_some());
    assert!(plan.changes().all(|(step, _)| step.id.host() == "etcd4"));
    let said = refusal_debug(&limited(&world, "cp1").unwrap_err());
    assert!(said.contains("etcd4/etcd/member"), "it would be told of members that are none: {said}");
    world.carry_out_all(&plan);
    assert_eq!(world.api.members, ["etcd1", "etcd2", "etcd3", "etcd4"]);
    assert_grown(&world.converge(), 0);
}

/// Of two none is started anew, and both have something to be changed.
#[test]
fn beside_two_members_a_third_one_comes_first() {
    let mut world = five();
    for name in ["etcd3", "etcd4", "etcd5"] {
        world.api.members.retain(|member| member != name);
        world.api.started.remove(name);
        world.api.nodes.remove(name);
        world.leave_host(name);
    }
    for name in ["etcd1", "etcd2"] {
        world.host(name).write("/etc/systemd/system/etcd.service", 0o644, "edited");
    }
    let plan = world.plan();
    for name in ["etcd1", "etcd2"] {
        assert!(all_before(&plan, (name, "etcd", "service")).contains("etcd3/etcd/member"), "{name}");
    }
    assert!(!all_before(&plan, ("etcd3", "etcd", "announced")).contains("etcd1/etcd/service"));
    assert_grown(&world.converge(), 0);
}

/// The list of the founding stays with those that founded; all of them may be away at once, and the file may have changed.
#[test]
fn members_of_a_cluster_that_has_grown_are_started_whatever_their_lists_say() {
    let mut world = five();
    ALL.into_iter().for_each(|name| stop(&mut world, name));
    let plan = world.try_plan().unwrap_or_else(|refusals| panic!("{}", refusal_debug(&refusals)));
    for name in ALL {
        assert!(plan.change(&step_id(name, "etcd", "service")).is_some(), "{name}");
        assert!(plan.change(&step_id(name, "etcd", "configuration")).is_none(), "{name}");
    }
    assert_grown(&world.converge(), 0);
}

#[test]
fn one_that_is_announced_and_not_in_the_file_is_refused() {
    let mut world = asked_to_grow(3);
    world.api.learners.push("etcd4".into());
    world.cluster = cluster_of(TEXT);
    assert!(refused(&world).contains("(not started)=https://10.20.0.17:2380"), "{}", refused(&world));
}
