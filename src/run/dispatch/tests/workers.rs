//! Workers that join late, whose kubelets speak, and that wait for each other.

use super::*;

/// A worker whose images come late joins with the token that the others had, which was made to last; and nobody joins with one that ends before.
#[test]
fn who_comes_late_joins_with_a_token_that_lasts() {
    let is_token = |id: &String| id.ends_with("/control-plane/bootstrap-token");
    let mut renewed = BTreeSet::new();
    for minutes in [15, 25, 600] {
        for at in 0..orders() {
            let (outcome, model) = run(World::bare(), &[(at, Fault::Slow(minutes))]);
            assert!(outcome.is_complete(), "{minutes} minutes at {at}: {outcome:?}");
            assert_eq!(outcome.done, World::bare().plan().changes().count(), "{minutes} minutes at {at}");
            assert_converged(&model.world(), &format!("{minutes} minutes at {at}"));
            let twice = model.done_twice();
            assert!(twice.iter().all(is_token) && twice.len() <= 1, "{minutes} minutes at {at}: {twice:?}");
            renewed.extend(twice.iter().map(|_| minutes));
        }
    }
    assert_eq!(renewed, [25, 600].into());
}

/// Where the token can't be made again, those that need it are not begun, and what they had is told.
#[test]
fn a_token_that_cannot_be_made_again_stops_who_needs_it() {
    let plan = World::bare().plan();
    let joined = |worker: &str| step_id(worker, "kubelet-join", "joined");
    let token = plan.steps().find(|step| step.id.as_str().ends_with("/control-plane/bootstrap-token")).unwrap().id.clone();
    let order = (0..orders()).find(|at| run(World::bare(), &[(*at, Fault::Slow(60))]).1.done_twice() == [token.to_string()]).unwrap();
    let (outcome, model) = block_on(async {
        let (model, stop) = Model::failing_again(World::bare(), &[(order, Fault::Slow(60))], &token);
        (Dispatcher::over(&plan, &model.world().cluster, Arc::clone(&model), model.events(), Pools::default(), stop).run().await, model)
    });
    assert_eq!(outcome.failed.iter().map(|failure| &failure.step).collect::<Vec<_>>(), [&token], "{outcome:?}");
    let (one, other) = (model.was_done(&joined("worker1")), model.was_done(&joined("worker2")));
    assert!(!(one && other) && outcome.blocked > 0, "{one} {other} {outcome:?}");
}

/// The cluster is asked on a control plane, and does not know when the kubelet of a worker was started; the worker does.
#[test]
fn what_a_node_said_before_its_kubelet_was_started_does_not_count() {
    let run_with = |said_at_seconds: i64| {
        let mut world = World::converged();
        world.api.nodes.get_mut("worker1").unwrap().said_at_seconds = Some(said_at_seconds);
        world.host("worker1").paths.remove("/var/lib/kubelet/config.yaml");
        let plan = world.plan();
        block_on(async {
            let (model, stop) = Model::new(world, &[], None);
            let began = Instant::now();
            let outcome =
                Dispatcher::over(&plan, &model.world().cluster, Arc::clone(&model), model.events(), Pools::default(), stop).run().await;
            assert!(outcome.is_complete(), "{outcome:?}");
            assert_eq!(model.done(), ["worker1/kubelet-join/joined"]);
            began.elapsed()
        })
    };
    assert!(run_with(i64::from(u32::MAX)) < Duration::from_secs(30));
    // By then it has said something, and only its clock was set back: nothing more will come for minutes.
    let waited = run_with(1);
    assert!(waited >= HAS_SPOKEN && waited < 2 * HAS_SPOKEN, "{waited:?}");
}

/// Whether worker2's kubelet is started anew where a step of worker1 fails, and these files are missing.
fn second_worker_goes_on(missing: &[(&str, &str)], failing: &str) -> bool {
    second_worker_goes_on_where(None, missing, failing)
}

/// The same where so many hosts may fail.
fn second_worker_goes_on_where(most_failed: Option<usize>, missing: &[(&str, &str)], failing: &str) -> bool {
    let mut world = World::converged();
    missing.iter().for_each(|(host, path)| drop(world.host(host).paths.remove(*path)));
    let plan = world.plan();
    let id = |name: &str| plan.step(&step_id("worker1", failing, name)).map(|step| step.id.clone());
    let failing = ["configuration", "joined"].into_iter().find_map(id).unwrap();
    let (model, outcome) = block_on(async {
        let (model, stop) = Model::failing(world, &failing);
        let dispatcher = Dispatcher::over(&plan, &model.world().cluster, Arc::clone(&model), model.events(), Pools::default(), stop);
        let outcome = dispatcher.most_failed(most_failed).run().await;
        (model, outcome)
    });
    assert_eq!(outcome.failed.iter().map(|failure| &failure.step).collect::<Vec<_>>(), [&failing]);
    assert_eq!(outcome.failed_hosts, BTreeSet::from(["worker1".to_owned()]));
    model.was_done(&step_id("worker2", "kubelet-join", "joined"))
}

/// A kubelet that should have been started anew and was not holds up the next one; whatever else fails beside it does not.
#[test]
fn workers_wait_for_their_turn_and_for_nothing_else() {
    let [kubelet, containerd] = ["/var/lib/kubelet/config.yaml", "/etc/containerd/config.toml"];
    assert!(second_worker_goes_on(&[("worker1", containerd), ("worker2", kubelet)], "container-runtime"));
    assert!(!second_worker_goes_on(&[("worker1", kubelet), ("worker2", kubelet)], "kubelet-join"));
    assert!(!second_worker_goes_on(&[("worker1", kubelet), ("worker1", containerd), ("worker2", kubelet)], "container-runtime"));
}

/// Who lets one worker fail does not want the others to wait for it.
#[test]
fn workers_go_on_without_one_that_may_fail() {
    let [kubelet, containerd] = ["/var/lib/kubelet/config.yaml", "/etc/containerd/config.toml"];
    let both = [("worker1", kubelet), ("worker2", kubelet)];
    let and_containerd = [both[0], ("worker1", containerd), both[1]];
    for (missing, failing) in [(&both[..], "kubelet-join"), (&and_containerd, "container-runtime")] {
        assert!(!second_worker_goes_on_where(Some(0), missing, failing), "{failing}");
        assert!(second_worker_goes_on_where(Some(1), missing, failing), "{failing}");
    }
}

/// What else fails on a worker that may fail is no reason to start the next kubelet beside its own.
#[test]
fn a_worker_that_may_fail_has_its_turn_all_the_same() {
    let mut world = World::converged();
    ["worker1", "worker2"].iter().for_each(|host| drop(world.host(host).paths.remove("/var/lib/kubelet/config.yaml")));
    world.host("worker1").images.clear();
    let plan = world.plan();
    let joined = |host: &str| step_id(host, "kubelet-join", "joined");
    let mut images = plan.changes().map(|(step, _)| &step.id).filter(|id| id.host() == "worker1" && id.task() == "images");
    let failing = images.find(|id| plan.needs(&joined("worker1")).iter().all(|(need, _)| need.id != **id)).unwrap().clone();
    let (model, outcome) = block_on(async {
        let (model, stop) = Model::failing(world, &failing);
        let dispatcher = Dispatcher::over(&plan, &model.world().cluster, Arc::clone(&model), model.events(), Pools::default(), stop);
        let outcome = dispatcher.most_failed(Some(1)).run().await;
        (model, outcome)
    });
    assert_eq!(outcome.failed.iter().map(|failure| &failure.step).collect::<Vec<_>>(), [&failing]);
    let told: Vec<EventKind> = model.timed_events().into_iter().map(|(_, kind)| kind).collect();
    let ready = plan.changes().map(|(step, _)| &step.id).find(|id| id.host() == "worker1" && id.name() == "still-ready").unwrap();
    let is_ready = told.iter().position(|kind| matches!(kind, EventKind::StepDone { step, .. } if step == ready.as_str()));
    let begins = told.iter().position(|kind| matches!(kind, EventKind::StepStarted { step, .. } if step == joined("worker2").as_str()));
    assert!(is_ready.unwrap() < begins.unwrap(), "{told:#?}");
}
