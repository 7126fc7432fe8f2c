//! What works is disturbed when the gate lets it, on a cluster that changes while the run is at work.

use super::super::super::outcome::StepFailure;
use super::model::support::secrets::JOINING;
use super::*;

const MANIFESTS: [&str; 2] = ["etcd", "kube-apiserver"];
const PLANES: [&str; 3] = ["cp1", "cp2", "cp3"];

/// Three control planes and two workers that work, on which these manifests were edited by hand: they are written anew, and their pods started anew.
fn edited(manifests: &[&str], hosts: &[&str]) -> World {
    let mut world = World::bare_of(model::support::highly_available()).converge();
    for host in hosts {
        for manifest in manifests {
            let path = format!("/etc/kubernetes/manifests/{manifest}.yaml");
            let text = world.hosts[*host].text(&path).to_owned();
            world.host(host).write(&path, 0o600, &format!("{text}# edited\n"));
        }
    }
    world
}

/// Runs the plan of a world, with a model that was changed before.
fn run_changed(world: World, change: impl FnOnce(&Model)) -> (Outcome, Arc<Model>) {
    let plan = world.plan();
    block_on(async {
        let (model, stop) = Model::new(world, &[], None);
        model.with_downtime(Duration::from_secs(20));
        change(&model);
        let dispatcher = Dispatcher::over(&plan, &model.world().cluster, Arc::clone(&model), model.events(), Pools::default(), stop);
        (dispatcher.run().await, model)
    })
}

fn manifest_of_etcd(host: &str) -> StepId {
    step_id(host, "etcd", "manifest")
}

#[test]
fn one_member_and_one_api_server_is_away_at_a_time() {
    let (outcome, model) = run_changed(edited(&MANIFESTS, &PLANES), |_| {});
    assert!(outcome.is_complete(), "{outcome:?}");
    assert_eq!(model.away(), (1, 1, false));
    assert!(model.looks() > 0);
}

#[test]
fn a_member_that_is_away_by_now_is_waited_for_and_then_named() {
    let world = edited(&["etcd"], &["cp1"]);
    let manifest = manifest_of_etcd("cp1");
    let (outcome, model) = run_changed(world.clone(), |model| model.take_down("cp3", "etcd", Duration::from_secs(30)));
    assert!(outcome.is_complete(), "{outcome:?}");
    assert!(!model.away().2, "etcd lost its quorum");
    let (outcome, model) = run_changed(world.clone(), |model| model.take_down("cp3", "etcd", Duration::from_secs(100_000)));
    let said: Vec<&str> = outcome.failed.iter().map(|failure| failure.error.as_str()).collect();
    let cause = "1 of etcd's 3 members would vote, and 2 have to: cp3 is dead";
    assert_eq!(said, [format!("after 64 s: {cause}; nothing was changed by it. What to do: mend etcd on cp3 first")]);
    assert_eq!((model.done(), outcome.failed[0].step.clone()), (Vec::new(), manifest.clone()));
    // It is off, with the host.
    let (outcome, model) = run_changed(world, |model| {
        model.take_down("cp3", "etcd", Duration::from_secs(100_000));
        model.lose("cp3");
    });
    assert!(outcome.failed.iter().any(|failure| failure.step == manifest && failure.error.contains(cause)), "{outcome:?}");
    assert_eq!(model.done(), Vec::<String>::new());
}

#[test]
fn who_repairs_is_let_through() {
    let (outcome, model) = run_changed(edited(&["etcd"], &["cp3"]), |model| model.take_down("cp3", "etcd", Duration::from_secs(40)));
    assert!(outcome.is_complete(), "{outcome:?}");
    assert!(!model.away().2);
}

#[test]
fn an_api_server_waits_until_another_one_is_there() {
    let ready = step_id("cp1", "control-plane", "manifests");
    let (outcome, model) = run_changed(edited(&["kube-apiserver"], &["cp1"]), |model| {
        model.take_down("cp2", "kube-apiserver", Duration::from_secs(30));
        model.take_down("cp3", "kube-apiserver", Duration::from_secs(45));
    });
    assert!(outcome.is_complete(), "{outcome:?}");
    assert_eq!(model.waited(&ready), ["cp1 has the only API server that is ready; cp2, cp3 should have one, too"]);
}

#[test]
fn a_view_that_is_old_is_not_used() {
    let slow = |seconds: u64| {
        let (outcome, model) = run_changed(edited(&["etcd"], &["cp1"]), |model| {
            model.with_slow_looks(Duration::from_secs(seconds));
        });
        (outcome.is_complete(), model.done().len())
    };
    assert_eq!(slow(3), (true, 1));
}

/// The only control plane is started anew although nobody is there meanwhile, and a founding asks nobody.
#[test]
fn nothing_is_asked_where_nothing_works_and_what_is_alone_goes_through() {
    assert!(World::bare().plan().steps().all(|step| step.gate.is_none()));
    assert!(World::bare_of(model::support::highly_available()).plan().steps().all(|step| step.gate.is_none()));
    let mut world = World::converged();
    for manifest in MANIFESTS {
        let path = format!("/etc/kubernetes/manifests/{manifest}.yaml");
        let text = world.hosts["cp1"].text(&path).to_owned();
        world.host("cp1").write(&path, 0o600, &format!("{text}# edited\n"));
    }
    let (outcome, model) = run_changed(world, |_| {});
    assert!(outcome.is_complete(), "{outcome:?}");
    assert_eq!((model.away().0, model.away().1), (1, 1));
}

#[test]
fn kubelets_of_workers_wait_for_nodes_that_are_away() {
    let mut world = World::bare_of(model::support::highly_available()).converge();
    world.host("worker1").paths.remove("/var/lib/kubelet/config.yaml");
    let joined = step_id("worker1", "kubelet-join", "joined");
    assert!(world.plan().step(&joined).unwrap().gate.is_some());
    let (outcome, _) = run_changed(world.clone(), |_| {});
    assert!(outcome.is_complete(), "{outcome:?}");
    let (outcome, model) = run_changed(world, |model| model.stop_unit("worker2", "kubelet.service"));
    let failed: Vec<&StepId> = outcome.failed.iter().map(|failure| &failure.step).collect();
    assert_eq!(failed, [&joined]);
    assert_eq!(model.waited(&joined), ["worker2 is not Ready, or drained now, and 1 at a time may be away"]);
    assert!(outcome.failed[0].error.contains("What to do: mend worker2 first"), "{outcome:?}");
}

/// `--max-fail` says that a worker may be away.
#[test]
fn kubelets_of_workers_do_not_wait_for_a_worker_that_is_left_out() {
    let mut world = World::bare_of(model::support::highly_available()).converge();
    world.host("worker1").paths.remove("/var/lib/kubelet/config.yaml");
    let plan = world.plan();
    let left_out = BTreeMap::from([("worker2".to_owned(), "it can't be reached".to_owned())]);
    let (outcome, model) = block_on(async {
        let (model, stop) = Model::new(world, &[], None);
        model.stop_unit("worker2", "kubelet.service");
        model.lose("worker2");
        let dispatcher = Dispatcher::over(&plan, &model.world().cluster, Arc::clone(&model), model.events(), Pools::default(), stop);
        (dispatcher.without(&left_out).run().await, model)
    });
    let joined = step_id("worker1", "kubelet-join", "joined");
    assert!(outcome.failed.iter().all(|failure| failure.step != joined), "{outcome:?}");
    assert!(model.waited(&joined).is_empty() && model.done().contains(&joined.to_string()), "{:?}", model.done());
}

#[test]
fn a_run_that_is_stopped_while_it_waits_begins_nothing() {
    let world = edited(&["etcd"], &["cp1"]);
    let plan = world.plan();
    let (outcome, model) = block_on(async {
        let (model, stop) = Model::new(world, &[], None);
        model.take_down("cp3", "etcd", Duration::from_secs(100_000));
        let dispatcher = Dispatcher::over(&plan, &model.world().cluster, Arc::clone(&model), model.events(), Pools::default(), stop);
        let interrupt = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            model.interrupt(Stop::Finish);
        };
        let (outcome, ()) = tokio::join!(dispatcher.run(), interrupt);
        (outcome, model)
    });
    assert!(outcome.failed.is_empty() && outcome.stopped.is_some(), "{outcome:?}");
    assert_eq!((outcome.blocked, model.done()), (plan.changes().count(), Vec::new()));
}

/// Three control planes that run, and a file with five.
fn asked_to_grow() -> World {
    let worker = "    - {name: worker1";
    let text = include_str!("../../../../tasks/tests/fixtures/highly-available.yaml");
    let five = model::support::cluster_of(&text.replace(worker, &format!("{JOINING}{worker}")));
    let mut world = World::bare_of(five.clone());
    world.cluster = model::support::highly_available();
    world.api.members.truncate(3);
    let mut world = world.converge();
    world.cluster = five;
    world
}

/// Its member is waited for no longer than the host is, and no member joins after it.
#[test]
fn a_host_that_dies_while_its_member_joins_ends_the_run_soon() {
    let (outcome, model) = run_changed(asked_to_grow(), |_| {});
    assert!(outcome.is_complete(), "{outcome:?}");
    let learning = [step_id("cp4", "etcd", "announced"), step_id("cp4", "control-plane", "kubelet")];
    let mut waited = 0;
    // Before that nothing of etcd is begun.
    for at in model.orders() / 2..model.orders() {
        let (outcome, model) = run(asked_to_grow(), &[(at, Fault::Gone("cp4"))]);
        let is_of_cp4 = |failure: &StepFailure| failure.step.host() == "cp4";
        assert!(outcome.is_complete() || outcome.failed.iter().any(is_of_cp4), "at {at}: {outcome:?}");
        assert!(model.took() < Duration::from_secs(300), "at {at}: {:?}, {outcome:?}", model.took());
        assert!(!model.away().2, "etcd lost its quorum");
        waited += usize::from(learning.iter().all(|step| model.was_done(step)) && !model.was_done(&step_id("cp4", "etcd", "promoted")));
    }
    assert!(waited > 0, "it never died while its member learnt");
}
