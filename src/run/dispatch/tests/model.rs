//! The model of hosts of `kok-tasks`, reached over a link that breaks where a test wants it to.

#[allow(dead_code, unused_imports, reason = "the tests of kok-tasks use the rest")]
#[path = "../../../../tasks/tests/decide/support/mod.rs"]
pub(super) mod support;

mod acting;
mod answers;
mod fault;
pub(super) mod ground;
mod membership;
mod oracle;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kok_tasks::gate::Disruption;
use kok_tasks::plan::{Step, StepId};
use tokio::sync::watch;
use tokio::time::Instant;

use super::super::super::hosts::Order;
use super::super::super::schedule::HostLane;
use super::super::super::wish::Stop;
use crate::event::{Event, EventKind, Events, Sink};
pub(super) use fault::Fault;
use oracle::Oracle;
use support::world::World;

/// Hosts behind breaking links.
pub(super) struct Model {
    inner: Mutex<Inner>,
    stop: watch::Sender<Stop>,
    died: watch::Sender<bool>,
    began: Instant,
}

struct Inner {
    world: World,
    faults: BTreeMap<usize, Fault>,
    dies_at: Option<usize>,
    failing: Option<StepId>,
    failing_again: Option<StepId>,
    orders: usize,
    done: Vec<String>,
    emitted: Vec<EventKind>,
    told_at: Vec<Duration>,
    /// How much of it outlasts a crash, and how often that was asked for.
    flushed: usize,
    flushes: usize,
    /// Steps that reached a host before their beginning was written down.
    unwritten: Vec<String>,
    /// How much had been told when the signal came.
    interrupted: Option<usize>,
    /// When what is at work on a host will have ended, and the steps that are done by then.
    at_work: BTreeMap<(String, HostLane), Option<Instant>>,
    in_flight: BTreeSet<String>,
    /// Orders that have reached a host and may outlast the run.
    sent: BTreeMap<(String, HostLane), Order>,
    /// Whether another run has taken the hosts.
    is_taken: bool,
    beside: Vec<String>,
    gone: BTreeSet<&'static str>,
    /// Whether the user wishes to stop during the next look.
    interrupts_look: bool,
    restarted: BTreeSet<String>,
    streams: usize,
    most_streams: usize,
    longest_deadline: Duration,
    /// Until when time has passed in the world.
    passed: Instant,
    /// How long what is started anew is away, and until when each program of a host is.
    downtime: Duration,
    down: BTreeMap<(String, &'static str), Away>,
    oracle: Oracle,
    /// How many hosts may fail, as the user says.
    may_fail: Option<usize>,
    /// Hosts of which a run was told that they are gone or another's, and when.
    forbidden: BTreeMap<String, Instant>,
    /// How often hosts were looked at beside the steps, and how long such a look takes.
    looks: usize,
    look_takes: Duration,
    /// The most members of etcd, and API servers, that were away at the same time.
    most_members_away: usize,
    most_api_servers_away: usize,
    /// Whether etcd had more than half of its members all the time.
    lost_quorum: bool,
}

impl Inner {
    /// The world is as old as the run.
    fn pass(&mut self) {
        let seconds = self.passed.elapsed().as_secs();
        self.passed += Duration::from_secs(seconds);
        self.world.api.pass(seconds);
        let ended: Vec<_> = self.down.iter().filter(|(_, away)| away.until <= Instant::now()).map(|(key, _)| key.clone()).collect();
        self.oracle.is_changed |= !ended.is_empty();
        for (host, program) in ended {
            self.down.remove(&(host.clone(), program));
            if program == "kubelet" {
                self.world.host(&host).units.get_mut("kubelet.service").unwrap().active = "active".into();
            }
        }
        for (name, host) in &mut self.world.hosts {
            host.down = self.down.keys().filter(|(on, _)| on == name).map(|(_, program)| (*program).to_owned()).collect();
        }
    }

    /// What a step disturbs is away for a while.
    fn disturb(&mut self, step: &Step) {
        let Some((disturbs, _)) = &step.gate else { return };
        self.judge(step, disturbs);
        let program = match disturbs {
            Disruption::RestartMember { .. } => "etcd",
            Disruption::RestartApiServer { .. } => "kube-apiserver",
            _ => return,
        };
        if self.downtime.is_zero() {
            return;
        }
        let had_quorum = support::api::has_quorum(&self.world.api, &self.world.hosts);
        self.down.insert((step.host.clone(), program), Away { until: Instant::now() + self.downtime, by_us: true });
        self.pass();
        let away = |of: &str| self.down.keys().filter(|(_, program)| *program == of).count();
        self.most_members_away = self.most_members_away.max(away("etcd"));
        self.most_api_servers_away = self.most_api_servers_away.max(away("kube-apiserver"));
        self.lost_quorum |= had_quorum && !support::api::has_quorum(&self.world.api, &self.world.hosts);
    }
}

/// Until when a program is away, and whether the run did that.
#[derive(Debug, Clone, Copy)]
struct Away {
    until: Instant,
    by_us: bool,
}

/// Lets tests hear what the run says.
struct Ear(Arc<Model>);

impl Sink for Ear {
    fn take(&mut self, event: &Event) {
        let mut inner = self.0.lock();
        inner.emitted.push(event.kind.clone());
        inner.told_at.push(self.0.began.elapsed());
    }

    fn flush(&mut self) {
        let mut inner = self.0.lock();
        (inner.flushed, inner.flushes) = (inner.emitted.len(), inner.flushes + 1);
    }
}

impl Model {
    pub(super) fn new(world: World, faults: &[(usize, Fault)], dies_at: Option<usize>) -> (Arc<Self>, watch::Receiver<Stop>) {
        let (stop, receiver) = watch::channel(Stop::No);
        let inner = Inner {
            world,
            faults: faults.iter().copied().collect(),
            dies_at,
            failing: None,
            failing_again: None,
            orders: 0,
            done: Vec::new(),
            emitted: Vec::new(),
            told_at: Vec::new(),
            flushed: 0,
            flushes: 0,
            unwritten: Vec::new(),
            interrupted: None,
            at_work: BTreeMap::new(),
            in_flight: BTreeSet::new(),
            sent: BTreeMap::new(),
            is_taken: false,
            beside: Vec::new(),
            gone: BTreeSet::new(),
            interrupts_look: false,
            restarted: BTreeSet::new(),
            streams: 0,
            most_streams: 0,
            longest_deadline: Duration::ZERO,
            passed: Instant::now(),
            downtime: Duration::ZERO,
            down: BTreeMap::new(),
            oracle: Oracle::default(),
            may_fail: None,
            forbidden: BTreeMap::new(),
            looks: 0,
            look_takes: Duration::from_millis(50),
            most_members_away: 0,
            most_api_servers_away: 0,
            lost_quorum: false,
        };
        let model = Self { inner: Mutex::new(inner), stop, died: watch::channel(false).0, began: Instant::now() };
        (Arc::new(model), receiver)
    }

    /// Hosts on which this step fails each time.
    pub(super) fn failing(world: World, step: &StepId) -> (Arc<Self>, watch::Receiver<Stop>) {
        let (model, stop) = Self::new(world, &[], None);
        model.lock().failing = Some(step.clone());
        (model, stop)
    }

    /// The same with faults, where the step fails once it was done.
    pub(super) fn failing_again(world: World, faults: &[(usize, Fault)], step: &StepId) -> (Arc<Self>, watch::Receiver<Stop>) {
        let (model, stop) = Self::new(world, faults, None);
        model.lock().failing_again = Some(step.clone());
        (model, stop)
    }

    pub(super) fn events(self: &Arc<Self>) -> Events {
        Events::new(vec![Box::new(Ear(Arc::clone(self)))])
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A step that the hosts can't bear ends a worker; what was seen until then is still to be read.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn world(&self) -> World {
        self.lock().world.clone()
    }

    /// What is started anew is away for so long.
    pub(super) fn with_downtime(&self, downtime: Duration) {
        self.lock().downtime = downtime;
    }

    /// So many hosts may fail.
    pub(super) fn with_failures(&self, may_fail: Option<usize>) {
        self.lock().may_fail = may_fail;
    }

    /// How long each look takes.
    pub(super) fn with_slow_looks(&self, look_takes: Duration) {
        self.lock().look_takes = look_takes;
    }

    /// A program of a host is away for so long.
    pub(super) fn take_down(&self, host: &str, program: &'static str, time: Duration) {
        let mut inner = self.lock();
        let (key, until) = ((host.to_owned(), program), Instant::now() + time);
        let by_us = inner.down.get(&key).copied().filter(|away| away.by_us);
        // What the run did to it stays the run's.
        inner.down.insert(key, by_us.map_or(Away { until, by_us: false }, |away| Away { until: until.max(away.until), by_us: true }));
        inner.oracle.is_changed = true;
        if program == "kubelet" {
            inner.world.host(host).units.get_mut("kubelet.service").unwrap().active = "inactive".into();
        }
        inner.pass();
    }

    /// A unit of a host is stopped.
    pub(super) fn stop_unit(&self, host: &str, unit: &str) {
        self.lock().world.host(host).units.get_mut(unit).unwrap().active = "inactive".into();
    }

    /// No budget keeps a pod any more.
    pub(super) fn lift_budgets(&self) {
        self.lock().world.api.budgets.clear();
    }

    /// From now on nobody reaches this host.
    pub(super) fn lose(&self, host: &'static str) {
        self.lock().gone.insert(host);
    }

    /// The user's signal.
    pub(super) fn interrupt(&self, wish: Stop) {
        let mut inner = self.lock();
        let told = inner.emitted.len();
        inner.interrupted.get_or_insert(told);
        drop(inner);
        self.stop.send_replace(wish);
    }

    /// Until the controller is killed.
    pub(super) async fn death(&self) {
        let mut died = self.died.subscribe();
        let _ = died.wait_for(|died| *died).await;
    }
}

/// Runs to the end on one thread, under a clock that jumps to the next moment at which something happens.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(future)
}

/// What the world is like, without the times at which it became so.
pub(super) fn state(world: &World) -> String {
    let mut world = world.clone();
    for host in world.hosts.values_mut() {
        host.now = 0;
        host.paths.values_mut().for_each(|entry| entry.changed = 0);
        host.units.values_mut().for_each(|unit| unit.started_microseconds = 0);
        host.programs.values_mut().for_each(|started| *started = 0);
    }
    format!("{:#?}\n{:#?}", world.hosts, world.api)
}

/// What a new plan would change.
pub(super) fn left(world: &World) -> Vec<String> {
    world.plan().changes().map(|(step, change)| format!("{}: {} because {}", step.id, change.summary(), change.because)).collect()
}

/// Steps that each run makes for itself: the token by which workers join, and its end.
pub(super) fn is_made_anew(id: &str) -> bool {
    id.contains("bootstrap-token") || id.contains("tokens")
}
