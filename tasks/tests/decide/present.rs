//! Hosts leave as what they are, whatever the file makes of them: with other roles, at other addresses, on other machines.

use std::collections::BTreeSet;

use kok_crds::model::Cluster;
use kok_tasks::drain::DrainSettings;
use kok_tasks::gate::{Disruption, Removal};
use kok_tasks::observe::Look;
use kok_tasks::operations::MEMBER_DATA;
use kok_tasks::plan::{Leaving, Making, Plan, Refusal, Seen, leave, reset_looks};
use kok_tasks::preconditions::{ETCD_STARTED, check, check_beside};
use kok_tasks::present::{looks_at_leaving, present};

use crate::bootstrap::{bare, refusal_text};
use crate::support::world::World;
use crate::support::{cluster_of, good_facts, step_id};

const TEXT: &str = include_str!("../fixtures/highly-available.yaml");

/// The file with a worker and a control plane that change their roles.
fn swapped() -> Cluster {
    let text = TEXT.replace("address: 10.20.0.13, roles: [control-plane]", "address: 10.20.0.13, roles: [worker]");
    cluster_of(
        &text.replace("name: worker1, address: 10.20.0.14, roles: [worker]", "name: worker1, address: 10.20.0.14, roles: [control-plane]"),
    )
}

/// What is seen when these leave; `dead` of them don't answer.
fn seen(world: &World, hosts: &[&str], dead: &[&str]) -> Seen {
    let silent: BTreeSet<String> = dead.iter().map(|host| (*host).to_owned()).collect();
    let mut seen = world.seen_but(&silent);
    for host in world.cluster.hosts.iter().filter(|host| !silent.contains(&host.name)) {
        let mut looks = if hosts.contains(&host.name.as_str()) { looks_at_leaving(host) } else { reset_looks(host, true) };
        looks.add_others(&reset_looks(host, false));
        seen.add_observations(&host.name, world.look(&host.name, looks.iter()));
    }
    seen
}

fn planned(world: &World, (hosts, dead): (&[&str], &[&str]), mut seen: Seen) -> Result<Plan, Vec<Refusal>> {
    let names: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let dead = dead.iter().map(|host| (*host).to_owned()).collect();
    let wanted = Leaving { hosts: &names, dead: &dead, drain: DrainSettings::default(), members: Some(3), even: false };
    loop {
        match leave(&present(&world.cluster, &names, &seen), &wanted, &seen)? {
            Making::Made(plan) => return Ok(*plan),
            Making::LookFirst(asked) => {
                asked.into_iter().for_each(|(host, looks)| seen.add_observations(&host, world.look(&host, looks.iter())));
            }
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn leaving(world: &World, hosts: &[&str], dead: &[&str]) -> Result<Plan, Vec<Refusal>> {
    planned(world, (hosts, dead), seen(world, hosts, dead))
}

#[test]
fn a_member_leaves_etcd_although_the_file_calls_its_host_a_worker() {
    let mut world = bare().converge();
    world.cluster = swapped();
    let refused = refusal_text(&world.try_plan().unwrap_err());
    assert!(refused.contains("`kokctl replace -f FILE cp3 worker1`"), "both are named at once: {refused}");
    let plan = leaving(&world, &["cp3", "worker1"], &[]).unwrap_or_else(|refusals| panic!("{}", refusal_text(&refusals)));
    let gate = &plan.step(&step_id("cp3", "reset", "member")).unwrap().gate;
    assert!(matches!(gate, Some((Disruption::RemoveMember { member: 13, why: Removal::Leaving }, _))), "{gate:?}");
    assert!(plan.step(&step_id("worker1", "reset", "member")).is_none(), "it has none, whatever the file says");
    world.carry_out_all(&plan);
    assert_eq!(world.api.members, ["cp1", "cp2"]);
    assert!(["cp3", "worker1"].iter().all(|name| !world.api.nodes.contains_key(*name)));
}

#[test]
fn an_even_number_of_members_in_the_end_is_asked_for_by_its_name() {
    let mut world = bare().converge();
    world.cluster = swapped();
    let names = ["cp3".to_owned()];
    let (seen, dead) = (seen(&world, &["cp3"], &[]), BTreeSet::new());
    let is = present(&world.cluster, &names, &seen);
    let of = |members, even| leave(&is, &Leaving { hosts: &names, dead: &dead, drain: DrainSettings::default(), members, even }, &seen);
    assert!(refusal_text(&of(Some(2), false).unwrap_err()).contains("etcd would be left with 2 members"));
    assert!(of(Some(2), true).is_ok() && of(Some(3), false).is_ok());
}

#[test]
fn wherever_it_is_cut_off_the_same_goes_on() {
    let mut begun = bare().converge();
    begun.cluster = swapped();
    let steps = leaving(&begun, &["cp3"], &[]).unwrap().changes().count();
    for most in 0..=steps {
        let mut world = begun.clone();
        let plan = leaving(&world, &["cp3"], &[]).unwrap();
        world.carry_out_some(&plan, most);
        let rest = leaving(&world, &["cp3"], &[]).unwrap_or_else(|refusals| panic!("after {most}: {}", refusal_text(&refusals)));
        world.carry_out_all(&rest);
        assert_eq!(world.api.members, ["cp1", "cp2"], "after {most}");
        assert!(!world.api.nodes.contains_key("cp3"), "after {most}");
    }
}

/// Who is not named keeps the file from being applied, so nobody leaves before.
#[test]
fn another_host_with_another_role_is_told_before() {
    let mut world = bare().converge();
    world.cluster = swapped();
    let mut seen = seen(&world, &["cp3"], &[]);
    for host in &world.cluster.hosts {
        seen.add_observations(&host.name, world.look(&host.name, kok_tasks::preconditions::looks(&world.cluster, host).into_iter()));
    }
    seen.add_observations("cp1", world.look("cp1", [Look::Kubernetes].into_iter()));
    let beside = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        refusal_text(&check_beside(&world.cluster, &seen, &names))
    };
    assert!(
        beside(&["cp3"]).contains("worker1 is a worker of the cluster") && !beside(&["cp3"]).contains("cp3 was set up"),
        "{}",
        beside(&["cp3"])
    );
    assert_eq!(beside(&["cp3", "worker1"]), "");
}

#[test]
fn the_last_control_plane_stays() {
    let text = include_str!("../fixtures/cluster.yaml");
    let mut world = World::converged();
    let swapped = text.replace("roles: [control-plane]", "roles: [X]").replacen("roles: [worker]", "roles: [control-plane]", 1);
    world.cluster = cluster_of(&swapped.replace("roles: [X]", "roles: [worker]"));
    let refused = refusal_text(&leaving(&world, &["cp1"], &[]).unwrap_err());
    assert!(refused.contains("no control plane would be left"), "{refused}");
}

/// A node at an address and on a machine, as the cluster knows it.
fn known(world: &mut World, name: &str, address: &str, machine: u8) {
    let node = world.api.nodes.get_mut(name).unwrap();
    (node.addresses, node.machine_id) = (vec![address.parse().unwrap()], format!("{machine:032x}"));
}

/// The same, whose host answers at another address of the file.
fn moved(name: &str, from: &str, to: &str) -> World {
    let mut world = bare().converge();
    let number = from.rsplit('.').next().unwrap().parse::<u8>().unwrap() - 10;
    known(&mut world, name, from, number);
    world.cluster = cluster_of(&TEXT.replace(&format!("address: {from},"), &format!("address: {to},")));
    world
}

fn on_machine(mut seen: Seen, name: &str, machine: u8, address: u8) -> Seen {
    let facts = seen.facts(name).unwrap().clone();
    seen.add_facts(name, kok_tasks::facts::HostFacts { machine_id: format!("{machine:032x}"), ..facts_at(facts, name, address) });
    seen
}

fn facts_at(facts: kok_tasks::facts::HostFacts, name: &str, address: u8) -> kok_tasks::facts::HostFacts {
    kok_tasks::facts::HostFacts { interfaces: good_facts(name, address).interfaces, ..facts }
}

#[test]
fn a_machine_that_has_moved_is_told_from_another_one() {
    let world = moved("worker1", "10.20.0.14", "10.20.0.24");
    let said = |machine| {
        let mut seen = on_machine(world.seen(), "worker1", machine, 14);
        seen.add_observations("cp1", world.look("cp1", [Look::Kubernetes].into_iter()));
        refusal_text(&check(&world.cluster, &seen))
    };
    let same = said(4);
    assert!(same.contains("worker1 has moved from 10.20.0.14 to 10.20.0.24: it is the same machine"), "{same}");
    assert!(same.contains("`kokctl replace -f FILE worker1`"), "{same}");
    let other = said(99);
    assert!(other.contains("another machine stands at 10.20.0.24 than the node worker1, which is at 10.20.0.14"), "{other}");
}

#[test]
fn a_member_that_has_moved_leaves_by_the_address_that_the_others_know() {
    let world = moved("cp3", "10.20.0.13", "10.20.0.23");
    let seen = on_machine(seen(&world, &["cp3"], &[]), "cp3", 3, 13);
    let is = present(&world.cluster, &["cp3".to_owned()], &seen);
    assert_eq!(is.host("cp3").unwrap().address.to_string(), "10.20.0.13");
    let plan = planned(&world, (&["cp3"], &[]), seen).unwrap_or_else(|refusals| panic!("{}", refusal_text(&refusals)));
    assert!(plan.step(&step_id("cp3", "reset", "member")).is_some());
}

/// With a wrong address in the file the wrong machine would be cleaned.
#[test]
fn no_other_machine_is_cleaned_than_the_one_that_leaves() {
    let mut world = bare().converge();
    known(&mut world, "worker1", "10.20.0.14", 77);
    let refused = |world: &World, seen| refusal_text(&planned(world, (&["worker1"], &[]), seen).unwrap_err());
    let said = refused(&world, seen(&world, &["worker1"], &[]));
    assert!(said.contains("another machine answers for worker1 than the one that is its node"), "{said}");
    known(&mut world, "worker2", "10.20.0.15", 4);
    let said = refused(&world, seen(&world, &["worker1"], &[]));
    assert!(said.contains("the machine that answers for worker1 is the node worker2"), "{said}");
    known(&mut world, "worker2", "10.20.0.15", 5);
    world.api.nodes.get_mut("worker1").unwrap().silent = true;
    assert!(planned(&world, (&["worker1"], &[]), seen(&world, &["worker1"], &[])).is_ok(), "the old one is gone");
}

/// Where members are units any host may have one, whatever the file says; what kokctl has not started there is somebody else's.
#[test]
fn data_of_an_etcd_that_is_not_the_clusters_stay_where_they_are() {
    // The model has its members at addresses of their numbers.
    let text = include_str!("../fixtures/own-etcd.yaml").replace("worker1, address: 10.20.0.13", "worker1, address: 10.20.0.19");
    let converged = World::bare_of(cluster_of(&text)).converge();
    let is_member = |prepare: fn(&mut crate::support::host::Host)| {
        let mut world = converged.clone();
        prepare(world.host("worker1"));
        let seen = seen(&world, &["worker1"], &[]);
        present(&world.cluster, &["worker1".to_owned()], &seen).host("worker1").unwrap().roles.etcd
    };
    assert!(!is_member(|_| {}));
    assert!(!is_member(|host| host.folder(MEMBER_DATA, 0o700)), "a database of its own");
    assert!(is_member(|host| {
        host.folder(MEMBER_DATA, 0o700);
        host.write(ETCD_STARTED, 0o600, "x");
    }));
    assert!(!is_member(|host| host.write(ETCD_STARTED, 0o600, "x")), "nothing is left of it");
}
