//! Histories by seed: a cluster that works and is to be changed, under runs that lose replies, are killed or stopped, while members, API servers,
//! kubelets and hosts come and go. Planner, dispatcher and gate are the real ones; hosts and time are not.
//!
//! What must always hold is looked at whenever something is disturbed or sent: by what the run was shown, etcd keeps its quorum (S1), one member is away by
//! us at a time (S2), an API server and all workers but one are left; no member of etcd loses its data (S3) or is started over another cluster's (S4); no
//! kubelet is started that is newer than an API server, and API servers stay within one minor version (S5); what begins on a host was written down before,
//! and the epoch of hosts goes up (S6); a run sends nothing to hosts that are gone or another's (S7); nothing is at work beside itself, in the next run
//! either. In the end a run without a fault makes what is wanted, and a plan after it is empty.
//!
//! `KOK_TEST_HISTORY=SEED` repeats one history and tells it, and `KOK_TEST_HISTORIES=N` takes so many; of upgrades `KOK_TEST_UPGRADE` and
//! `KOK_TEST_UPGRADES`.

mod beginnings;
mod kept;
mod lives;
mod upgrading;
mod waves;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::super::seeded::{Bug, switch};
use super::model::ground::{Ground, Taker};
use super::*;
use beginnings::{Beginning, Edits, heal};
use kept::{FinalState, Lived};
use lives::{Happening, Random, SimulatedLife};

/// How many histories are taken if nobody says.
const HISTORIES: u64 = 1_000;

/// The same of upgrades, each of which is planned ten times over. `make test-all` takes ten times as many.
const UPGRADES: u64 = 400;

/// In how many of them a bug has to be found.
const UNTIL_FOUND: u64 = 500;

async fn happen(model: &Model, happenings: &[(u64, Happening)]) {
    let began = Instant::now();
    for (at, happening) in happenings {
        tokio::time::sleep_until(began + Duration::from_millis(*at)).await;
        match happening {
            Happening::Away { hosts, program, seconds } => {
                hosts.iter().for_each(|host| model.take_down(host, program, Duration::from_secs(*seconds)));
            }
            Happening::Lost(host) => model.lose(host),
            Happening::Stop => model.interrupt(Stop::Finish),
        }
    }
    std::future::pending().await
}

/// What came of a history: what was broken in it, and all that was said.
#[derive(Debug, Default)]
struct History {
    broken: Vec<String>,
    log: Vec<String>,
    /// What hosts keep from one run to the next.
    ground: Ground,
    /// What was done in it, for one that is kept.
    lived: Vec<Lived>,
    end: Option<FinalState>,
    /// How many hosts the user lets fail, in all lives but the last one.
    may_fail: Option<usize>,
}

impl History {
    /// Lives through a plan, on hosts that were taken. How it ended, if it was not killed, and what is left.
    fn live(&mut self, world: World, plan: &Plan, life: &SimulatedLife) -> (Option<Outcome>, World) {
        let cluster = world.cluster.clone();
        let (outcome, model) = block_on(async {
            let (model, stop) = Model::new(world, &life.faults, life.dies_at);
            model.with_downtime(Duration::from_secs(15));
            model.with_failures(self.may_fail);
            self.ground.place(&model);
            let dispatcher = Dispatcher::over(plan, &cluster, Arc::clone(&model), model.events(), Pools::default(), stop);
            let dispatcher = dispatcher.most_failed(self.may_fail);
            let outcome = tokio::select! {
                biased;
                () = happen(&model, &life.happenings) => None,
                outcome = dispatcher.run() => Some(outcome),
                () = model.death() => None,
            };
            (outcome, model)
        });
        self.log.push(format!("{life:?}"));
        // How long it took in all is told by the wall clock.
        let told = model.timed_events().into_iter().filter(|(_, kind)| !matches!(kind, EventKind::RunFinished { .. }));
        self.log.extend(told.map(|(at, kind)| format!("{} ms: {kind:?}", at.as_millis())));
        self.judge(&model, life, outcome.as_ref());
        let left_early = outcome.as_ref().is_none_or(|outcome| !outcome.in_doubt.is_empty());
        self.ground.collect(&model, left_early, life.goes_on);
        (outcome, model.world_afterwards())
    }

    fn judge(&mut self, model: &Model, life: &SimulatedLife, outcome: Option<&Outcome>) {
        self.broken.extend(self.ground.broken.iter().cloned().chain(model.broken()));
        self.broken.extend(model.unwritten().into_iter().map(|id| format!("S6: {id} reached its host before it was written down")));
        self.broken.extend(model.beside_each_other().into_iter().map(|id| format!("{id} was begun beside what was at work")));
        if life.is_stopped() && model.was_interrupted() && model.begun_after_interrupt() > 0 {
            self.broken.push("something was begun after the user wished to stop".to_owned());
        }
        let errors = outcome.iter().flat_map(|outcome| &outcome.failed).map(|failure| &failure.error);
        self.broken.extend(errors.filter(|error| error.contains("a worker stopped")).cloned());
    }

    fn go_on(&mut self, seed: u64) {
        let mut random = Random(seed);
        // By the seed itself, so that histories stay what they were before anybody could say so.
        self.may_fail = match seed % 7 {
            1 | 5 => Some(1),
            2 => Some(2),
            _ => None,
        };
        let mut beginning = Beginning::any(&mut random);
        let mut world = beginning.world(&mut random);
        let mut said_to_be_done = false;
        for life in 0..1 + u64::from(random.one_in(3)) {
            // One that is refused has changed nothing. What is still at work has the token of its own run.
            let taker = Taker::any(&mut random);
            if !self.ground.take(&mut world, taker) {
                continue;
            }
            world.token_id = format!("kokab{life}");
            let (order, plan) = beginning.plan(&world, &mut random);
            let Ok(plan) = plan else { continue };
            let life = beginning.life(&mut random, &world);
            let is_edited = beginning == Beginning::Change && self.lived.is_empty();
            let edits = if is_edited { Edits::from_world(&world) } else { Edits::default() };
            self.lived.push(Lived::new(order, taker, edits, &life));
            let outcome;
            (outcome, world) = self.live(world, &plan, &life);
            if !self.broken.is_empty() {
                return;
            }
            said_to_be_done = beginning.is_apply() && outcome.is_some_and(|outcome| outcome.is_complete());
            beginning = beginning.next();
        }
        heal(&mut world);
        self.may_fail = None;
        self.end(world, said_to_be_done);
    }

    /// A run without a fault ends it.
    fn end(&mut self, mut world: World, said_to_be_done: bool) {
        if !self.ground.take(&mut world, Taker { controller: "ours", take_over: true }) {
            return self.broken.push("hosts can't be taken over".to_owned());
        }
        world.token_id = "kokzzz".to_owned();
        // One whose member has left has to be cleaned before it may come back: that is what `apply` says, and what is typed then.
        for host in beginnings::left_with_data(&world) {
            let plan = beginnings::left_by(&world, &host).unwrap_or_else(|refusals| panic!("{refusals:?}"));
            let outcome;
            (outcome, world) = self.live(world, &plan, &SimulatedLife::quiet());
            if !outcome.as_ref().is_some_and(Outcome::is_complete) {
                return self.broken.push(format!("a run without a fault does not clean {host}: {outcome:?}"));
            }
        }
        let plan = match world.try_plan() {
            Ok(plan) => plan,
            Err(refusals) => return self.broken.push(format!("it can't go on: {refusals:?}")),
        };
        if plan.changes().count() == 0 {
            self.end = Some(FinalState::from_world(&world));
            return;
        }
        if said_to_be_done {
            return self.broken.push(format!("it was said to be done, and is not: {:?}", left(&world)));
        }
        let (outcome, world) = self.live(world, &plan, &SimulatedLife::quiet());
        let is_complete = outcome.as_ref().is_some_and(Outcome::is_complete);
        self.end = Some(FinalState::from_world(&world));
        if self.broken.is_empty() && !(is_complete && left(&world).is_empty()) {
            self.broken.push(format!("a run without a fault does not end it: {outcome:?}, {:?} is left", left(&world)));
        }
    }
}

/// What a history is about.
type Kind = fn(&mut History, u64);

/// The history of a seed.
fn history(kind: Kind, seed: u64) -> History {
    let mut history = History::default();
    // Hosts of the model panic at what no host could bear.
    if catch_unwind(AssertUnwindSafe(|| kind(&mut history, seed))).is_err() {
        history.broken.push("a host could not bear it".to_owned());
    }
    history
}

/// Does this on as many threads as there are processors.
fn on_all_processors(work: impl Fn() + Sync) {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        (0..count).for_each(|_| drop(scope.spawn(&work)));
    });
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// Takes histories of a kind, or the one that is asked for.
#[allow(clippy::print_stdout, reason = "who asks for one history is told it")]
fn every_one_of(kind: Kind, asked: &str, count: u64) {
    let one = number(asked);
    let (first, end) = one.map_or((0, count), |seed| (seed, seed + 1));
    let next = AtomicU64::new(first);
    on_all_processors(|| {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                return;
            }
            let History { broken, log: told, .. } = history(kind, seed);
            if one.is_some() {
                println!("{told:#?}");
            }
            assert!(broken.is_empty(), "{asked}={seed}: {broken:#?}");
        }
    });
}

#[test]
fn every_history_keeps_what_must_hold_and_ends_as_wanted() {
    every_one_of(History::go_on, "KOK_TEST_HISTORY", number("KOK_TEST_HISTORIES").unwrap_or(HISTORIES));
}

#[test]
fn every_history_keeps_what_must_hold_in_upgrades() {
    every_one_of(History::upgrade, "KOK_TEST_UPGRADE", number("KOK_TEST_UPGRADES").unwrap_or(UPGRADES));
}

#[test]
fn the_same_seed_is_the_same_history() {
    for kind in [History::go_on as Kind, History::upgrade] {
        for seed in 0..10 {
            assert_eq!(history(kind, seed).log, history(kind, seed).log, "{seed}");
        }
        assert_ne!(history(kind, 0).log, history(kind, 1).log);
    }
}

/// A simulation that finds nothing proves nothing.
#[test]
fn every_seeded_bug_is_found() {
    let next = AtomicUsize::new(0);
    on_all_processors(|| {
        while let Some(bug) = Bug::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
            switch(Some(*bug));
            let kind = if bug.is_of_upgrades() { History::upgrade } else { History::go_on };
            let is_found = |seed: &u64| history(kind, *seed).broken.iter().any(|broken| broken.contains(bug.found_by()));
            let found = (0..UNTIL_FOUND).find(is_found);
            switch(None);
            assert!(found.is_some(), "{bug:?} is not found in {UNTIL_FOUND} histories");
        }
    });
}
