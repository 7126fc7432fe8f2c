//! Whole plans against a model of hosts, with faults at every step, under virtual time.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "these are tests")]

mod gated;
mod model;
mod repeated;
mod simulation;
mod stopped;
mod workers;

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;

use kok_tasks::observe::{ApiServerState, EtcdState, UnitState};

use super::super::schedule::HostLane;
use super::waits::last_words;
use super::*;
use model::support::step_id;
use model::support::world::World;
use model::{Fault, Model, block_on, left, state};

/// Runs the plan of a world once, with faults.
fn run(world: World, faults: &[(usize, Fault)]) -> (Outcome, Arc<Model>) {
    run_until(world, faults, None)
}

/// The same, killed after so many orders.
fn run_until(world: World, faults: &[(usize, Fault)], dies_at: Option<usize>) -> (Outcome, Arc<Model>) {
    let plan = world.plan();
    block_on(async {
        let (model, stop) = Model::new(world, faults, dies_at);
        let dispatcher = Dispatcher::over(&plan, &model.world().cluster, Arc::clone(&model), model.events(), Pools::default(), stop);
        tokio::select! {
            outcome = dispatcher.run() => (outcome, model),
            () = model.death() => (Outcome::default(), Arc::clone(&model)),
        }
    })
}

/// Runs a plan of bare hosts of which one step always fails.
fn run_failing(plan: &Plan, step: &StepId, most_failed: Option<usize>) -> (Outcome, Arc<Model>) {
    block_on(async {
        let (model, stop) = Model::failing(World::bare(), step);
        let dispatcher = Dispatcher::over(plan, &model.world().cluster, Arc::clone(&model), model.events(), Pools::default(), stop);
        (dispatcher.most_failed(most_failed).run().await, model)
    })
}

/// How many orders a run of bare hosts without a fault sends.
fn orders() -> usize {
    run(World::bare(), &[]).1.orders()
}

/// Fails with what differs from a world in which one run has ended, for the whole of it fills screens.
fn assert_converged(world: &World, when: &str) {
    let (is, wanted) = (state(world), state(&World::converged()));
    let other = |one: &str, two: &str| {
        let two: BTreeSet<&str> = two.lines().collect();
        one.lines().filter(|line| !two.contains(line)).map(|line| format!("{line}\n")).collect::<String>()
    };
    assert!(is == wanted, "{when}: is\n{}and should be\n{}", other(&is, &wanted), other(&wanted, &is));
}

fn behind(plan: &Plan, id: &StepId) -> BTreeSet<StepId> {
    let (mut found, mut next) = (BTreeSet::new(), vec![id.clone()]);
    while let Some(id) = next.pop() {
        next.extend(plan.needed_by(&id).into_iter().map(|(step, _)| step.id.clone()).filter(|id| found.insert(id.clone())));
    }
    found
}

#[test]
fn a_run_without_a_fault_does_everything_once() {
    let (outcome, model) = run(World::bare(), &[]);
    assert!(outcome.is_complete(), "{outcome:?}");
    assert_eq!(left(&model.world()), Vec::<String>::new());
    assert_eq!(model.done_twice(), Vec::<String>::new());
    assert_converged(&model.world(), "");
}

/// The link breaks before, or after, or in the middle of an order; or the host is restarted; or the unit works on for a while; or the cluster
/// goes away before it says what was done. At each order of the run in turn.
#[test]
fn whatever_breaks_once_the_run_ends_as_if_nothing_had() {
    let orders = orders();
    assert!(orders > 30, "{orders}");
    for fault in Fault::PASSING {
        for at in 0..orders {
            let (outcome, model) = run(World::bare(), &[(at, fault)]);
            assert!(outcome.is_complete(), "{fault:?} at {at}: {outcome:?}");
            assert_eq!(model.done_twice(), Vec::<String>::new(), "{fault:?} at {at}");
            assert_eq!(model.beside_each_other(), Vec::<String>::new(), "{fault:?} at {at}");
            assert_converged(&model.world(), &format!("{fault:?} at {at}"));
        }
    }
}

#[test]
fn what_programs_say_last_is_told_after_a_while_and_then_less_and_less_often() {
    let plan = World::converged().plan();
    let step = plan.step(&step_id("cp1", "control-plane", "api-server")).unwrap();
    let said = |program: &str, words: &str| Some(BTreeMap::from([(program.to_owned(), words.to_owned())]));
    let away = |words: &str| Observations { last_words: said("kube-apiserver", words), ..Observations::default() };
    let mut wait = Wait::default();
    let mut hear = |seconds: u64, seen: &Observations| {
        let is_heard = wait.hear(&step.id, Duration::from_secs(seconds), || last_words(step, seen));
        (is_heard, wait.last_words(&step.id).unwrap_or_default())
    };
    let told = |is_heard: bool, words: &str| (is_heard, format!("kube-apiserver said last: {words}"));
    assert_eq!(hear(19, &away("first")), (false, String::new()));
    assert_eq!(hear(21, &Observations::default()), (false, String::new()), "nobody has asked yet");
    assert_eq!(hear(22, &away("first")), told(true, "first"));
    assert_eq!(hear(39, &away("second")), told(false, "first"));
    assert_eq!(hear(40, &away("second")), told(true, "second"));
    assert_eq!(hear(79, &away("third")), told(false, "second"));
    assert_eq!(hear(81, &away("third")), told(true, "third"));
    // What it complained of before it was ready is over; a kubelet's words are not.
    let ready = |program: &str| Observations {
        api_server: Some(ApiServerState::Ready),
        last_words: said(program, "now"),
        ..Observations::default()
    };
    let of_etcd = |etcd: Option<EtcdState>| last_words(step, &Observations { etcd, ..ready("etcd") });
    let broken = Some(EtcdState::NotReady("no leader".to_owned()));
    assert_eq!((of_etcd(None), of_etcd(broken)), (String::new(), "etcd said last: now".to_owned()));
    assert_eq!([last_words(step, &ready("kube-apiserver")), last_words(step, &ready("kubelet"))], ["", "kubelet said last: now"]);
}

/// Of controllers those are heard that do not run, by the step that waits for them alone.
#[test]
fn controllers_that_do_not_run_are_heard() {
    let plan = World::converged().plan();
    let words = |step: &str, started: Option<i128>| {
        let programs = started.map(|started| ("kube-scheduler".to_owned(), started));
        let seen = Observations {
            last_words: Some(BTreeMap::from([("kube-scheduler".to_owned(), "unknown flag: --x".to_owned())])),
            programs: Some(programs.into_iter().collect()),
            clock_nanoseconds: 60_000_000_000,
            ..Observations::default()
        };
        last_words(plan.step(&step_id("cp1", "control-plane", step)).unwrap(), &seen)
    };
    let heard = "kube-scheduler said last: unknown flag: --x";
    assert_eq!([words("controllers", None), words("controllers", Some(59_000_000_000))], [heard, heard]);
    assert_eq!([words("controllers", Some(9_000_000_000)), words("api-server", None)], ["", ""]);
}

/// The deadline has passed before the first look that asks what programs complain of: it ends with why.
#[test]
fn a_slow_host_is_asked_what_its_programs_complain_of_before_its_step_fails() {
    let plan = World::bare().plan();
    let step = plan.step(&step_id("cp1", "control-plane", "api-server")).unwrap();
    let kubelet = UnitState { active: "active".to_owned(), ..UnitState::default() };
    let seen = |words: Option<&str>| Observations {
        api_server: Some(ApiServerState::NotReady("refused".to_owned())),
        units: BTreeMap::from([("kubelet.service".to_owned(), kubelet.clone())]),
        last_words: words.map(|words| BTreeMap::from([("kube-apiserver".to_owned(), words.to_owned())])),
        ..Observations::default()
    };
    block_on(async {
        let (model, stop) = Model::new(World::bare(), &[], None);
        let mut dispatcher = Dispatcher::over(&plan, &model.world().cluster, Arc::clone(&model), model.events(), Pools::default(), stop);
        dispatcher.schedule.set(&step.id, Status::Running);
        dispatcher.began.insert(step.id.clone(), Instant::now());
        dispatcher.look_again(step, "refused");
        dispatcher.start_look("cp1");
        tokio::time::advance(step.deadline + Duration::from_secs(1)).await;
        dispatcher.take_look("cp1", Ok(seen(None)));
        assert!(dispatcher.outcome.failed.is_empty(), "nobody has asked yet");
        dispatcher.start_look("cp1");
        dispatcher.take_look("cp1", Ok(seen(Some("it has no certificate"))));
        let errors: Vec<&str> = dispatcher.outcome.failed.iter().map(|failure| failure.error.as_str()).collect();
        assert!(matches!(*errors, [error] if error.contains("kube-apiserver said last: it has no certificate")), "{errors:?}");
    });
}

/// A second run of the same plan's steps: each is found done, and none is begun.
#[test]
fn each_step_done_twice_ends_the_same() {
    let mut world = World::bare();
    let plan = world.plan();
    for (step, change) in plan.changes() {
        world.carry_out(step, change);
        world.carry_out(step, change);
    }
    assert_converged(&world, "");
    assert_eq!(left(&world), Vec::<String>::new());
}

#[test]
fn each_step_that_fails_stops_what_is_behind_it_and_nothing_else() {
    let plan = World::bare().plan();
    let acts = Schedule::new(&plan);
    for (step, _) in plan.changes().filter(|(step, _)| acts.lane(&step.id) != Some(HostLane::Waits)) {
        let (outcome, model) = run_failing(&plan, &step.id, None);
        let failed: Vec<&StepId> = outcome.failed.iter().map(|failure| &failure.step).collect();
        assert_eq!(failed, [&step.id]);
        let behind = behind(&plan, &step.id);
        for (other, _) in plan.changes() {
            let begun = model.was_done(&other.id);
            assert_eq!(begun, other.id != step.id && !behind.contains(&other.id), "{} while {} failed", other.id, step.id);
        }
        assert_eq!(outcome.blocked, plan.changes().filter(|(other, _)| behind.contains(&other.id)).count(), "{}", step.id);
    }
}

#[test]
fn a_host_that_stays_away_fails_what_needs_it_and_the_others_go_on() {
    let plan = World::bare().plan();
    let (outcome, model) = run(World::bare(), &[(0, Fault::Gone("worker2"))]);
    assert!(outcome.failed.iter().all(|failure| failure.host == "worker2" || failure.step.as_str().contains("network")), "{outcome:?}");
    assert!(!outcome.failed.is_empty() && outcome.blocked > 0);
    let away: BTreeSet<StepId> = plan
        .steps()
        .filter(|step| step.host == "worker2")
        .flat_map(|step| behind(&plan, &step.id).into_iter().chain([step.id.clone()]))
        .collect();
    for (step, _) in plan.changes().filter(|(step, _)| !away.contains(&step.id)) {
        assert!(model.was_done(&step.id), "{} does not need worker2", step.id);
    }
}

#[test]
fn what_is_still_at_work_after_its_deadline_is_not_begun_beside_itself() {
    let orders = orders();
    for at in 0..orders {
        let (outcome, model) = run(World::bare(), &[(at, Fault::NeverEnds)]);
        assert!(outcome.failed.iter().any(|failure| failure.unknown), "{outcome:?}");
        assert_eq!(model.done_twice(), Vec::<String>::new(), "at {at}");
    }
}

#[test]
fn a_link_that_breaks_each_time_is_given_up_after_some_attempts() {
    let faults: Vec<(usize, Fault)> = (0..400).map(|at| (at, Fault::LostBefore)).collect();
    let (outcome, _) = run(World::bare(), &faults);
    assert!(!outcome.failed.is_empty());
    assert!(outcome.failed.iter().all(|failure| !failure.unknown && failure.error.contains("begun 3 times")), "{outcome:?}");
}

#[test]
fn nothing_is_begun_on_a_host_that_another_run_holds_and_the_run_ends() {
    let (outcome, model) = run(World::bare(), &[(5, Fault::Held)]);
    assert!(outcome.taken_over && !outcome.failed.is_empty() && outcome.blocked > 0, "{outcome:?}");
    assert!(model.orders() < orders());
}

#[test]
fn killed_at_every_order_the_next_run_ends_the_same_with_nothing_done_twice() {
    let orders = orders();
    for at in 0..orders {
        let (_, model) = run_until(World::bare(), &[], Some(at));
        let mut world = model.world();
        world.token_id = "kokzzz".to_owned();
        let before = model.done();
        let (outcome, second) = run(world, &[]);
        assert!(outcome.is_complete(), "killed at {at}: {outcome:?}");
        assert_converged(&second.world(), &format!("killed at {at}"));
        let again: Vec<String> = second.done().into_iter().filter(|id| before.contains(id) && !model::is_made_anew(id)).collect();
        assert_eq!(again, Vec::<String>::new(), "killed at {at}");
    }
}

#[test]
fn too_many_failed_hosts_stop_the_rest() {
    let plan = World::bare().plan();
    let step = step_id("worker1", "container-runtime", "service");
    let (outcome, _) = run_failing(&plan, &step, Some(0));
    assert_eq!(outcome.stopped.as_deref(), Some("1 host has failed (worker1), and --max-fail allows 0"));
    assert_eq!(outcome.not_begun.values().sum::<usize>(), outcome.blocked, "{outcome:?}");
    assert!(outcome.not_begun.contains_key("worker2"), "{outcome:?}");
    assert!(outcome.blocked > behind(&plan, &step).len(), "{outcome:?}");
}

#[test]
fn a_host_that_is_left_out_is_said_once_and_the_others_are_done() {
    let plan = World::bare().plan();
    let left_out = BTreeMap::from([("worker2".to_owned(), "cannot connect to worker2".to_owned())]);
    let (outcome, model) = block_on(async {
        let (model, stop) = Model::new(World::bare(), &[], None);
        let dispatcher = Dispatcher::over(&plan, &model.world().cluster, Arc::clone(&model), model.events(), Pools::default(), stop);
        (dispatcher.most_failed(Some(1)).without(&left_out).run().await, model)
    });
    assert_eq!(outcome.failed.iter().map(|failure| failure.error.as_str()).collect::<Vec<_>>(), ["cannot connect to worker2"]);
    assert!(outcome.stopped.is_none() && !outcome.is_complete());
    assert!(model.done().iter().all(|id| !id.starts_with("worker2/")), "{:?}", model.done());
    assert!(model.done().iter().any(|id| id == "worker1/kubelet-join/joined"), "{:?}", model.done());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, max_shrink_iters: 50, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_few_faults_and_deaths_end_the_same(
        faults in prop::collection::vec((0_usize..60, prop::sample::select(Fault::PASSING.to_vec())), 0..4),
        deaths in prop::collection::vec(1_usize..60, 0..3),
    ) {
        let mut world = World::bare();
        for (life, dies_at) in deaths.into_iter().enumerate() {
            world.token_id = format!("kokab{life}");
            let (_, model) = run_until(world, &faults, Some(dies_at));
            prop_assert_eq!(model.beside_each_other(), Vec::<String>::new());
            world = model.world();
        }
        world.token_id = "kokzzz".to_owned();
        let (outcome, model) = run(world, &faults);
        prop_assert!(outcome.is_complete(), "{:?}", outcome);
        prop_assert_eq!(left(&model.world()), Vec::<String>::new());
        assert_converged(&model.world(), "");
    }
}

#[test]
fn what_is_begun_on_a_host_was_written_down_before_and_with_what_began_together() {
    let (_, model) = run(World::bare(), &[(3, Fault::LostBefore), (7, Fault::Restarted)]);
    assert_eq!(model.unwritten(), Vec::<String>::new());
    assert!(model.flushes() < model.orders(), "{} flushes for {} orders", model.flushes(), model.orders());
}

#[test]
fn a_script_of_several_steps_has_time_for_each_of_them() {
    let plan = World::bare().plan();
    let longest = plan.steps().map(|step| step.deadline).max().unwrap();
    let (_, model) = run(World::bare(), &[]);
    assert!(model.longest_deadline() > longest, "{longest:?}");
}

#[test]
fn streams_share_their_pool_and_each_host_has_one_at_a_time() {
    let plan = World::bare().plan();
    let hosts: BTreeSet<&str> = plan.steps().map(|step| step.host.as_str()).collect();
    for (streams, most) in [(1, 1), (2, 2), (crate::pools::STREAMS, hosts.len())] {
        let (outcome, model) = block_on(async {
            let (model, stop) = Model::new(World::bare(), &[], None);
            let pools = Pools::with_streams(streams);
            (Dispatcher::over(&plan, &model.world().cluster, Arc::clone(&model), model.events(), pools, stop).run().await, model)
        });
        assert!(outcome.is_complete(), "{outcome:?}");
        assert_eq!(model.most_streams(), most, "a pool of {streams}");
        assert!(model.took() < Duration::from_secs(3600), "virtual time ran away");
    }
}
