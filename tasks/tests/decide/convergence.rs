//! Whatever the order and wherever a run dies: the same end, and nothing left to do.

use proptest::prelude::*;

use kok_crds::model::NetworkPlugin;
use kok_tasks::plan::{Plan, StepId};

use crate::support::world::World;
use crate::support::{cluster, highly_available, own_etcd};

/// Carries out the changes of a plan in an order that its needs allow, chosen by `seed`. Ends early after `most` of them.
fn carry_out(world: &mut World, plan: &Plan, seed: u64, most: usize) {
    let mut waiting: Vec<StepId> = plan.steps().map(|step| step.id.clone()).collect();
    let (mut choice, mut done) = (seed, 0);
    while !waiting.is_empty() && done < most {
        let free = |index: &usize| plan.needs(&waiting[*index]).iter().all(|(need, _)| !waiting.contains(&need.id));
        let free: Vec<usize> = (0..waiting.len()).filter(free).collect();
        let waits = |index: &&usize| {
            let id = &waiting[**index];
            plan.change(id).is_some_and(|change| world.waits(plan.step(id).unwrap(), change))
        };
        let (waits, begins): (Vec<usize>, Vec<usize>) = free.iter().partition(waits);
        let free = if begins.is_empty() { waits } else { begins };
        // Knuth's generator; its high bits are the good ones.
        choice = choice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let id = waiting.remove(free[usize::try_from(choice >> 33).unwrap() % free.len()]);
        if let Some(change) = plan.change(&id) {
            world.carry_out(plan.step(&id).unwrap(), change);
            done += 1;
        }
    }
}

/// What the world is like, without the times at which it became so.
pub(crate) fn state(world: &World) -> String {
    let mut world = world.clone();
    for host in world.hosts.values_mut() {
        host.now = 0;
        // Which control plane has written it is of no interest.
        host.paths.remove("/var/lib/kokctl/made/founded");
        host.paths.values_mut().for_each(|entry| entry.changed = 0);
        host.programs.values_mut().for_each(|started| *started = 0);
        host.units.values_mut().for_each(|unit| unit.started_microseconds = 0);
    }
    format!("{:?} {:?}", world.hosts, world.api)
}

pub(crate) fn left(world: &World) -> Vec<String> {
    world.plan().changes().map(|(step, change)| format!("{}: {} because {}", step.id, change.summary(), change.because)).collect()
}

/// Runs that die after so many changes, each with a token of its own, and one that comes to its end.
fn live(world: &mut World, seed: u64, lives: &[usize]) {
    for (life, most) in lives.iter().chain([&usize::MAX]).enumerate() {
        world.token_id = format!("kokab{life}");
        let plan = world.plan();
        carry_out(world, &plan, seed, *most);
    }
}

#[test]
fn a_converged_cluster_has_an_empty_plan() {
    let world = World::converged();
    assert_eq!(left(&world), Vec::<String>::new());
    assert!(world.api.tokens.is_empty(), "a token is left");
}

/// Nodes are not Ready without a network, and nothing that was asked for waits for that.
#[test]
fn a_cluster_without_a_network_has_an_empty_plan_too() {
    for mut cluster in [cluster(), highly_available()] {
        cluster.network.plugin = NetworkPlugin::None;
        let world = World::bare_of(cluster);
        let steps: Vec<String> = world.plan().steps().map(|step| step.id.to_string()).collect();
        assert!(!steps.iter().any(|id| id.contains("flannel") || id.contains("network-check")), "{steps:?}");
        let world = world.converge();
        assert_eq!(left(&world), Vec::<String>::new());
        assert!(!world.hosts.values().any(|host| host.paths.contains_key("/etc/cni/net.d/10-flannel.conflist")));
    }
}

#[test]
fn several_control_planes_have_an_empty_plan_too() {
    let world = World::bare_of(highly_available()).converge();
    assert_eq!(left(&world), Vec::<String>::new());
    assert_eq!(world.api.nodes.len(), 5);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 30, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_order_ends_the_same(seed in any::<u64>()) {
        let mut world = World::bare();
        let plan = world.plan();
        carry_out(&mut world, &plan, seed, usize::MAX);
        prop_assert_eq!(left(&world), Vec::<String>::new());
        prop_assert_eq!(state(&world), state(&World::converged()));
    }

    #[test]
    fn a_run_that_dies_is_finished_by_the_next(seed in any::<u64>(), lives in prop::collection::vec(0_usize..90, 1..4)) {
        let mut world = World::bare();
        live(&mut world, seed, &lives);
        prop_assert_eq!(left(&world), Vec::<String>::new());
        prop_assert_eq!(state(&world), state(&World::converged()));
    }

    #[test]
    fn etcd_on_hosts_of_its_own_ends_the_same_wherever_runs_die(seed in any::<u64>(), lives in prop::collection::vec(0_usize..160, 0..4)) {
        let mut world = World::bare_of(own_etcd());
        live(&mut world, seed, &lives);
        prop_assert_eq!(left(&world), Vec::<String>::new());
        prop_assert_eq!(state(&world), state(&World::bare_of(own_etcd()).converge()));
    }

    #[test]
    fn several_control_planes_end_the_same_wherever_runs_die(seed in any::<u64>(), lives in prop::collection::vec(0_usize..200, 0..4)) {
        let mut world = World::bare_of(highly_available());
        live(&mut world, seed, &lives);
        prop_assert_eq!(left(&world), Vec::<String>::new());
        prop_assert_eq!(state(&world), state(&World::bare_of(highly_available()).converge()));
    }
}

/// The next run removes it, and where there is none it ends.
#[test]
fn a_token_that_a_dead_run_left_is_removed_or_ends() {
    let mut world = World::converged();
    let removed = |world: &World| world.plan().changes().any(|(step, _)| step.id.as_str().ends_with("/token-removal"));
    assert!(!removed(&world));
    world.api.tokens.insert("bootstrap-token-kokold".to_owned(), 1800);
    world.api.pass(1799);
    assert!(removed(&world));
    world.api.pass(1);
    assert!(!removed(&world));
}

/// A node that is there may get other files when the last join is over and the token removed: one that is made for it then would stay.
#[test]
fn only_who_joins_uses_a_token_that_lasts() {
    let users = |world: &World| {
        let plan = world.plan();
        let joins = plan.steps().filter(|step| step.id.as_str().ends_with("/kubelet-join/joined"));
        joins.filter(|step| plan.uses_fresh(&step.id).next().is_some()).count()
    };
    assert_eq!(users(&World::converged()), 0);
    assert!(users(&World::bare()) > 0);
}
