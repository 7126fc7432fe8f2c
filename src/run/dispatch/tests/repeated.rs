//! Drains, which are begun again until budgets allow them, given up, or stopped.

use kok_tasks::drain::{Budget, Cordon, DrainSettings, Pod, PodOwner, Selector};
use kok_tasks::plan::{Leaving, Making, leave, reset_looks};

use super::*;

const WORKER: &str = "worker1";

fn drained() -> StepId {
    step_id(WORKER, "reset", "drained")
}

/// A worker with a pod that a budget keeps there, and the plan by which it leaves.
fn kept() -> (World, Plan) {
    let mut world = World::converged();
    let labels = BTreeMap::from([("app".to_owned(), "cart".to_owned())]);
    let pod = Pod { namespace: "shop".into(), name: "cart".into(), labels: labels.clone(), owner: PodOwner::Another, ..Pod::default() };
    let selector = Selector::of_labels(labels);
    let budget = Budget { namespace: "shop".into(), name: "two".into(), selector, allowed: 0, healthy: 2, desired: 2, expected: 3 };
    world.api.pods.insert(WORKER.to_owned(), vec![pod]);
    world.api.budgets.push(budget);
    let mut seen = world.seen();
    for host in &world.cluster.hosts {
        seen.add_observations(&host.name, world.look(&host.name, reset_looks(host, false).iter()));
    }
    let (hosts, dead) = ([WORKER.to_owned()], BTreeSet::new());
    let drain = DrainSettings { timeout: Duration::from_secs(60), ..DrainSettings::default() };
    loop {
        match leave(&world.cluster, &Leaving { hosts: &hosts, dead: &dead, drain: drain.clone(), members: None, even: false }, &seen)
            .unwrap()
        {
            Making::Made(plan) => return (world, *plan),
            Making::LookFirst(asked) => {
                asked.into_iter().for_each(|(host, looks)| seen.add_observations(&host, world.look(&host, looks.iter())));
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Runs that plan, while something happens after a while.
fn run_kept(after: Duration, happens: impl FnOnce(&Model)) -> (Outcome, Arc<Model>) {
    let (world, plan) = kept();
    block_on(async {
        let (model, stop) = Model::new(world, &[], None);
        let dispatcher = Dispatcher::over(&plan, &model.world().cluster, Arc::clone(&model), model.events(), Pools::default(), stop);
        let meanwhile = async {
            tokio::time::sleep(after).await;
            happens(&model);
        };
        let (outcome, ()) = tokio::join!(dispatcher.run(), meanwhile);
        (outcome, Arc::clone(&model))
    })
}

fn cordon(model: &Model) -> Option<Cordon> {
    model.world().api.nodes.get(WORKER).map(|node| node.cordon)
}

#[test]
fn it_is_asked_again_until_the_budget_allows() {
    let (outcome, model) = run_kept(Duration::from_secs(20), |model| model.lift_budgets());
    assert!(outcome.is_complete(), "{outcome:?}");
    let times = model.done().iter().filter(|done| **done == drained().to_string()).count();
    assert!((4..8).contains(&times), "every few seconds, and not at each look: {times}");
    let begun = model.begun().iter().filter(|id| **id == drained().to_string()).count();
    assert_eq!(begun, 1, "it is said once");
    let waited =
        ["pod shop/cart stays: budget two (app=cart) allows 0: 2 pods are healthy, and 2 have to be", "pod shop/cart has to leave"];
    assert_eq!(model.waited(&drained()), waited, "and so is why it waits");
    assert_eq!(cordon(&model), None, "the worker has left");
}

#[test]
fn one_that_is_given_up_leaves_the_node_as_before() {
    let (outcome, model) = run_kept(Duration::ZERO, |_| {});
    let said: Vec<&str> = outcome.failed.iter().map(|failure| failure.error.as_str()).collect();
    assert!(said.len() == 1 && said[0].starts_with("after 60 s: pod shop/cart stays: budget two (app=cart) allows 0"), "{said:?}");
    assert_eq!((outcome.failed[0].step.clone(), cordon(&model)), (drained(), Some(Cordon::None)));
    assert!(outcome.blocked > 0 && model.world().hosts[WORKER].is_active("kubelet.service"), "nothing of the host was touched");
}

#[test]
fn one_that_fails_leaves_the_node_as_before() {
    let (world, plan) = kept();
    let (outcome, model) = block_on(async {
        let (model, stop) = Model::failing(world, &drained());
        let dispatcher = Dispatcher::over(&plan, &model.world().cluster, Arc::clone(&model), model.events(), Pools::default(), stop);
        (dispatcher.run().await, model)
    });
    assert_eq!(outcome.failed.iter().map(|failure| failure.error.as_str()).collect::<Vec<_>>(), ["it was to fail"]);
    assert_eq!(cordon(&model), Some(Cordon::None));
}

/// What is left of it is lifted by the next `apply`.
#[test]
fn one_that_is_stopped_is_not_in_doubt_and_its_cordon_is_a_debt() {
    let (outcome, model) = run_kept(Duration::from_secs(15), |model| model.interrupt(Stop::Finish));
    assert!(outcome.stopped.is_some() && outcome.failed.is_empty() && outcome.in_doubt.is_empty(), "{outcome:?}");
    assert!(cordon(&model).is_some_and(Cordon::is_of_run));
    let left: Vec<String> = model.world().plan().changes().map(|(step, _)| step.id.to_string()).collect();
    assert_eq!(left, ["cp1/control-plane/uncordoned"]);
    let (again, second) = run(model.world(), &[]);
    assert!(again.is_complete() && cordon(&second) == Some(Cordon::None), "{again:?}");
}

/// Each order of it is lost in turn, before or after it was done, and once the run ends as if nothing had been.
#[test]
fn links_may_break_meanwhile() {
    for fault in [Fault::LostBefore, Fault::LostAfter, Fault::NotStarted] {
        for at in 0..6 {
            let (world, plan) = kept();
            let outcome = block_on(async {
                let (model, stop) = Model::new(world, &[(at, fault)], None);
                let dispatcher =
                    Dispatcher::over(&plan, &model.world().cluster, Arc::clone(&model), model.events(), Pools::default(), stop);
                let lifted = async {
                    tokio::time::sleep(Duration::from_secs(20)).await;
                    model.lift_budgets();
                };
                tokio::join!(dispatcher.run(), lifted).0
            });
            assert!(outcome.is_complete(), "{fault:?} at {at}: {outcome:?}");
        }
    }
}

/// Nobody else's cordon is lifted, and no other one than that of a run.
#[test]
fn apply_lifts_what_a_run_has_left_and_nothing_else() {
    let left = |cordon: Cordon| {
        let mut world = World::converged();
        world.api.nodes.get_mut(WORKER).unwrap().cordon = cordon;
        world.plan().changes().count()
    };
    use kok_tasks::drain::Cordoner::{Run, Word};
    assert_eq!([Cordon::None, Cordon::Others, Cordon::Ours(Word), Cordon::Ours(Run)].map(left), [0, 0, 0, 1]);
}
