//! Runs that are stopped: in good order, at once, or while it is not known whether a step is done.

use kok_tasks::plan::Step;

use super::*;

/// It was done, and the cluster went away before it could say so: that is neither done nor not begun.
#[test]
fn what_was_done_and_not_confirmed_is_in_doubt_when_the_run_is_stopped() {
    for fault in [Fault::UnansweredInterrupt, Fault::UnansweredLookInterrupt] {
        let mut doubts = 0;
        for at in 0..orders() {
            let plan = World::bare().plan();
            let (outcome, model) = run(World::bare(), &[(at, fault)]);
            for id in model.done() {
                let step = plan.steps().find(|step| step.id.as_str() == id).unwrap();
                let failed = outcome.failed.iter().find(|failure| failure.step == step.id);
                assert!(model.was_done(&step.id) != failed.is_some(), "{fault:?} at {at}: {id}: {outcome:?}");
                if let Some(failure) = failed {
                    assert!(failure.unknown && failure.error.contains("connection refused"), "{}", failure.error);
                    doubts += 1;
                }
            }
            let (again, second) = run(model.world(), &[]);
            assert!(again.is_complete() && second.done().iter().all(|id| !model.done().contains(id) || model::is_made_anew(id)));
        }
        assert!(doubts > 0, "{fault:?}");
    }
}

/// On the same host as a condition that has not come about in time, by which too many hosts have failed.
#[test]
fn what_was_done_and_not_confirmed_is_in_doubt_when_too_many_hosts_have_failed() {
    let plan = World::bare().plan();
    let step = |id: &str| -> &Step { plan.steps().find(|step| step.id.as_str() == id).unwrap() };
    let (late, early) = (step("cp1/control-plane/api-server"), step("cp1/etcd/member"));
    let is_apart = |one: &Step, other: &Step| one.id != other.id && !behind(&plan, &one.id).contains(&other.id);
    let are_apart = |one: &Step, other: &Step| is_apart(one, other) && is_apart(other, one);
    assert!(are_apart(late, early));
    let acts = Schedule::new(&plan);
    let of_host = plan.changes().map(|(step, _)| step).filter(|step| step.host == "cp1" && acts.lane(&step.id) != Some(HostLane::Waits));
    let is_unseen = |step: &Step| step.diff(&Observations::default()) == Verdict::Unseen;
    let done: Vec<&Step> = of_host.filter(|step| is_unseen(step) && are_apart(step, late) && are_apart(step, early)).collect();
    assert!(done.len() > 1, "{done:?}");
    for done in done {
        block_on(async {
            let (model, stop) = Model::new(World::bare(), &[], None);
            let mut dispatcher =
                Dispatcher::over(&plan, &model.world().cluster, Arc::clone(&model), model.events(), Pools::default(), stop)
                    .most_failed(Some(0));
            for (step, passes) in [(late, late.deadline), (early, Duration::ZERO), (done, Duration::ZERO)] {
                dispatcher.schedule.set(&step.id, Status::Running);
                dispatcher.began.insert(step.id.clone(), Instant::now());
                dispatcher.look_again(step, "connection refused");
                tokio::time::advance(passes).await;
            }
            assert!([late, early].iter().all(|step| dispatcher.is_condition(&step.id)) && !dispatcher.is_condition(&done.id));
            dispatcher.take_look("cp1", Ok(Observations::default()));
            assert!(dispatcher.stopping && dispatcher.waits.values().all(|wait| wait.ids().next().is_none()));
            assert_eq!(dispatcher.schedule.status(&early.id), Status::Pending, "the next run waits for it");
            let failed = dispatcher.outcome.failed.iter().find(|failure| failure.step == done.id).unwrap();
            assert!(failed.unknown && failed.error.contains("before the cluster said so"), "{}", failed.error);
            assert_eq!(dispatcher.running(), Vec::<StepId>::new());
        });
    }
}

/// Whatever it was that the worker saw to, it may go on on the host: the next run has to find the host held.
#[test]
fn what_a_worker_leaves_that_ends_without_a_word_is_in_doubt() {
    let (outcome, _) = run(World::bare(), &[(20, Fault::Panics)]);
    assert!(!outcome.in_doubt.is_empty() && !outcome.failed.is_empty(), "{outcome:?}");
    let failed: BTreeSet<&StepId> = outcome.failed.iter().filter(|failure| failure.unknown).map(|failure| &failure.step).collect();
    assert!(outcome.in_doubt.iter().all(|one| failed.contains(&one.step)), "{outcome:?}");
}

#[test]
fn interrupted_once_what_is_in_flight_ends_and_nothing_new_begins() {
    for at in (0..orders()).step_by(3) {
        let (outcome, model) = run(World::bare(), &[(at, Fault::Interrupt)]);
        assert!(outcome.stopped.is_some() && outcome.in_doubt.is_empty() && outcome.failed.is_empty(), "{outcome:?}");
        assert_eq!(model.begun_after_interrupt(), 0, "at {at}");
        assert_eq!(model.steps_at_work(), BTreeSet::new(), "at {at}");
        assert!(outcome.blocked > 0 || left(&model.world()).is_empty());
        let (again, second) = run(model.world(), &[]);
        assert!(again.is_complete());
        assert_converged(&second.world(), "");
    }
}

#[test]
fn a_signal_that_came_before_the_first_step_begins_nothing() {
    let plan = World::bare().plan();
    for wish in [Stop::Finish, Stop::Now] {
        let (outcome, model) = block_on(async {
            let (model, stop) = Model::new(World::bare(), &[], None);
            model.interrupt(wish);
            (Dispatcher::over(&plan, &model.world().cluster, Arc::clone(&model), model.events(), Pools::default(), stop).run().await, model)
        });
        assert_eq!((model.orders(), model.begun_after_interrupt()), (0, 0), "{wish:?}");
        assert!(outcome.stopped.is_some() && outcome.failed.is_empty() && outcome.in_doubt.is_empty(), "{wish:?}: {outcome:?}");
        assert_eq!(outcome.blocked, plan.changes().count(), "{wish:?}");
    }
}

#[test]
fn interrupted_twice_the_run_leaves_at_once_and_says_what_is_in_doubt() {
    let (outcome, model) = run(World::bare(), &[(4, Fault::InterruptTwice)]);
    assert!(!outcome.in_doubt.is_empty(), "{outcome:?}");
    let at_work: BTreeSet<String> = outcome.in_doubt.iter().map(|one| one.step.to_string()).collect();
    assert_eq!(at_work, model.steps_at_work());
}
