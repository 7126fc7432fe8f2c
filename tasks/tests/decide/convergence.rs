//! Whatever the order and wherever a run dies: the same end, and nothing left to do.

use proptest::prelude::*;

use kok_tasks::plan::{Plan, StepId};

use crate::support::world::World;

/// Carries out the changes of a plan in an order that its needs allow, chosen by `seed`. Ends early after `most` of them.
fn carry_out(world: &mut World, plan: &Plan, seed: u64, most: usize) {
    let mut waiting: Vec<StepId> = plan.steps().map(|step| step.id.clone()).collect();
    let (mut choice, mut done) = (seed, 0);
    while !waiting.is_empty() && done < most {
        let free: Vec<usize> =
            (0..waiting.len()).filter(|&index| plan.needs(&waiting[index]).iter().all(|(need, _)| !waiting.contains(&need.id))).collect();
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
fn state(world: &World) -> String {
    let mut world = world.clone();
    for host in world.hosts.values_mut() {
        host.now = 0;
        host.paths.values_mut().for_each(|entry| entry.changed = 0);
        host.units.values_mut().for_each(|unit| unit.started_microseconds = 0);
    }
    format!("{:?} {:?}", world.hosts, world.api)
}

fn left(world: &World) -> Vec<String> {
    world.plan().changes().map(|(step, change)| format!("{}: {} because {}", step.id, change.summary, change.because)).collect()
}

#[test]
fn a_converged_cluster_has_an_empty_plan() {
    let world = World::converged();
    assert_eq!(left(&world), Vec::<String>::new());
    assert!(world.api.tokens.is_empty(), "a token is left");
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
        for (life, most) in lives.into_iter().enumerate() {
            world.token_id = format!("kokab{life}");
            let plan = world.plan();
            carry_out(&mut world, &plan, seed, most);
        }
        world.token_id = "kokzzz".to_owned();
        let plan = world.plan();
        carry_out(&mut world, &plan, seed, usize::MAX);
        prop_assert_eq!(left(&world), Vec::<String>::new());
        prop_assert_eq!(state(&world), state(&World::converged()));
    }
}
