//! Asking the gate before something that works is disturbed.
//!
//! A step that says what it disturbs is held back when it could begin. A permit of its pool is taken, the hosts concerned are looked at, and the
//! gate rules by what they say. What may go on is begun at once, or asked about again; what has to wait is asked about again until the step's
//! deadline; what is refused fails. All steps that are held back are asked about with one look.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kok_crds::model::Cluster;
use kok_tasks::gate::{Cause, Disruption, Need, Ruling, View, first_looks, further_looks, gate};
use kok_tasks::observe::{Looks, Observations};
use kok_tasks::plan::{Seen, Step, StepId};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

use super::super::hosts::{Hosts, OrderTrouble};
use super::super::schedule::Status;
use super::seeded::seeded;
use super::{Dispatcher, Message};
use crate::event::EventKind;
use crate::pools::Pool;

/// A view that is older is not used.
const FRESH: Duration = Duration::from_secs(5);

/// A host that says nothing for so long is silent; so is one that says nothing for so long after the first one that did.
const LOOK_AT_MOST: Duration = Duration::from_secs(10);
const BEHIND_THE_FIRST: Duration = Duration::from_secs(4);

/// How long it takes until what is held back is asked about again, while nothing moves.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// One host after the other may be asked which nodes there are, and each may be away.
const MOST_ROUNDS: usize = 8;

/// What stands before the gate, and what is behind it.
#[derive(Default)]
pub(super) struct Gates {
    held: BTreeMap<StepId, Held>,
    allowed: BTreeMap<StepId, Allowed>,
    under_way: BTreeMap<StepId, (Disruption, OwnedSemaphorePermit)>,
    /// Hosts that are left out, or were given up: nobody tries to look at them.
    away: BTreeSet<String>,
    /// Those of them that the user has left out.
    left_out: BTreeSet<String>,
    /// Workers that have failed, and may.
    excused: BTreeSet<String>,
    is_asking: bool,
    pause: Duration,
    /// When a disruption was over last: what was seen before then may not show what it has left behind, such as a cordon.
    ended: Option<Instant>,
    /// When something was let through last.
    moved: Option<Instant>,
}

struct Held {
    disturbs: Disruption,
    need: Need,
    since: Instant,
    /// What was said of it last.
    last_reason: Option<String>,
    /// Since when nobody can say for certain.
    doubtful_since: Option<Instant>,
}

struct Allowed {
    disturbs: Disruption,
    seen: Instant,
    permit: OwnedSemaphorePermit,
}

/// What was seen for some steps, and when the first of it was.
pub(super) struct Viewed {
    steps: Vec<StepId>,
    seen: Seen,
    at: Instant,
    /// When the first of these looks was begun.
    since: Instant,
}

impl Gates {
    /// The user puts up with it that this host is away: it holds back no other one. One that is lost during the run does.
    pub(super) fn leave_out(&mut self, host: &str) {
        self.left_out.insert(host.to_owned());
        self.give_up(host);
    }

    /// The user puts up with it that this worker fails: if its node is not available, and is not disturbed by us either, it holds back no other one.
    pub(super) fn excuse(&mut self, host: &str) {
        self.excused.insert(host.to_owned());
    }

    pub(super) fn give_up(&mut self, host: &str) {
        self.away.insert(host.to_owned());
    }
}

/// Which pool a disruption takes a permit of.
fn pool(cluster: &Cluster, disturbs: &Disruption) -> Pool {
    match disturbs {
        Disruption::RestartApiServer { .. } => Pool::ControlPlanes,
        Disruption::RestartKubelet { host } | Disruption::DrainWorker { host } => {
            let is_control_plane = cluster.host(host).is_some_and(|host| host.roles.control_plane);
            if is_control_plane { Pool::ControlPlanes } else { Pool::Workers }
        }
        _ => Pool::Etcd,
    }
}

impl<H: Hosts> Dispatcher<'_, H> {
    /// Holds back those of these steps that the gate has not let through. Whether there was any.
    pub(super) fn holds_back(&mut self, steps: &[&Step]) -> bool {
        let mut any = false;
        if seeded!(GateNotAsked) {
            return false;
        }
        for step in steps {
            let Some((disturbs, need)) = step.gate.clone().filter(|_| !self.gates.allowed.contains_key(&step.id)) else { continue };
            self.schedule.set(&step.id, Status::Held);
            let held = Held { disturbs, need, since: Instant::now(), last_reason: None, doubtful_since: None };
            self.gates.held.entry(step.id.clone()).or_insert(held);
            any = true;
        }
        if any {
            self.gates.pause = Duration::ZERO;
        }
        any
    }

    /// Notes that these steps, which the gate has let through, begin.
    pub(super) fn passed(&mut self, steps: &[&Step]) {
        for step in steps {
            if let Some(Allowed { disturbs, permit, .. }) = self.gates.allowed.remove(&step.id) {
                self.gates.held.remove(&step.id);
                self.gates.under_way.insert(step.id.clone(), (disturbs, permit));
            }
        }
    }

    /// Gives permits back of what is over, or will not begin; what was let through and has not begun in time is held back again.
    pub(super) fn tidy_gates(&mut self) {
        let schedule = &self.schedule;
        let before = self.gates.under_way.len();
        self.gates.under_way.retain(|id, _| schedule.status(id) == Status::Running);
        self.gates.allowed.retain(|id, allowed| schedule.status(id) == Status::Pending && allowed.seen.elapsed() <= FRESH);
        let (allowed, is_held) = (&self.gates.allowed, |id: &StepId| schedule.status(id) == Status::Held);
        // One that is neither is offered again by the schedule, and keeps since when it waits.
        self.gates.held.retain(|id, _| is_held(id) || allowed.contains_key(id) || schedule.status(id) == Status::Pending);
        if self.gates.under_way.len() < before {
            let now = Some(Instant::now());
            (self.gates.pause, self.gates.moved, self.gates.ended) = (Duration::ZERO, now, now);
        }
    }

    /// Looks at what those that are held back need to know. One look at a time, after the pause that the last one asked for.
    pub(super) fn ask_gate(&mut self) {
        if self.gates.is_asking || self.stopping {
            return;
        }
        let waits = |(id, _): &(&StepId, &Held)| self.schedule.status(id) == Status::Held;
        let is_free = |(_, held): &(&StepId, &Held)| self.pools.try_disturb(pool(&self.cluster, &held.disturbs)).is_some();
        let asked: Vec<(&StepId, &Held)> = self.gates.held.iter().filter(waits).filter(is_free).collect();
        if asked.is_empty() {
            return;
        }
        let steps: Vec<StepId> = asked.iter().map(|(id, _)| (*id).clone()).collect();
        let ops: Vec<Disruption> = asked.iter().map(|(_, held)| held.disturbs.clone()).collect();
        let (hosts, cluster, away, pause) = (Arc::clone(&self.hosts), Arc::clone(&self.cluster), self.gates.away.clone(), self.gates.pause);
        self.gates.is_asking = true;
        self.working.spawn(async move {
            // Not a wait for time to pass but the interval between two looks at what has its own deadline.
            sleep(pause).await;
            let since = Instant::now();
            let (seen, at) = look_afresh(&hosts, &cluster, &ops, away).await;
            Message::Viewed(Viewed { steps, seen, at, since })
        });
    }

    /// Hears what was seen, and decides about each step that it was seen for.
    pub(super) fn take_view(&mut self, viewed: Viewed) {
        self.gates.is_asking = false;
        if self.stopping {
            return;
        }
        if viewed.at.elapsed() > FRESH {
            self.gates.pause = FIRST_PAUSE;
            return;
        }
        if self.gates.ended.is_some_and(|ended| viewed.since < ended) {
            self.gates.pause = Duration::ZERO;
            return;
        }
        let mut view = View::from_seen(&self.cluster, &viewed.seen);
        view.nodes.retain(|node| !self.gates.left_out.contains(&node.host));
        view.under_way.extend(self.gates.under_way.values().map(|(disturbs, _)| disturbs.clone()));
        view.under_way.extend(self.gates.allowed.values().map(|allowed| allowed.disturbs.clone()));
        view.excuse(&self.gates.excused);
        #[cfg(test)]
        spoil(&mut view);
        let mut moved = false;
        for id in viewed.steps {
            moved |= self.rule(&id, &mut view, viewed.at);
            // With one of them too many hosts may have failed.
            if self.stopping {
                return;
            }
        }
        self.gates.pause = if moved { FIRST_PAUSE } else { (self.gates.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE) };
    }

    /// Decides about one step. Whether anything is otherwise than before.
    fn rule(&mut self, id: &StepId, view: &mut View, at: Instant) -> bool {
        let is_held = self.schedule.status(id) == Status::Held;
        let Some(held) = self.gates.held.get(id).filter(|_| is_held) else { return false };
        let Some(permit) = self.pools.try_disturb(pool(&self.cluster, &held.disturbs)) else { return false };
        let ruling = gate(&held.disturbs, held.need, view);
        match if seeded!(WaitsGoOn) && matches!(ruling, Ruling::Wait(_)) { Ruling::Allow } else { ruling } {
            Ruling::Allow => {
                view.under_way.push(held.disturbs.clone());
                self.gates.allowed.insert(id.clone(), Allowed { disturbs: held.disturbs.clone(), seen: at, permit });
                self.gates.moved = Some(Instant::now());
                self.schedule.set(id, Status::Pending);
                true
            }
            Ruling::Refuse(cause) => {
                self.refuse(id, None, &cause);
                true
            }
            Ruling::Wait(cause) => self.goes_on_waiting(id, &cause),
        }
    }

    /// Says why a step waits, or that it has waited long enough. Whether that is new.
    fn goes_on_waiting(&mut self, id: &StepId, cause: &Cause) -> bool {
        let deadline = self.plan.step(id).map(|step| step.deadline).unwrap_or_default();
        let moved = self.gates.moved;
        let Some(held) = self.gates.held.get_mut(id) else { return false };
        held.doubtful_since = cause.patience().map(|_| held.doubtful_since.unwrap_or_else(Instant::now));
        // While others are let through, it is only its turn that it waits for.
        let waited = moved.map_or(held.since, |moved| moved.max(held.since)).elapsed();
        let in_doubt = held.doubtful_since.map(|since| since.elapsed());
        if waited >= deadline || cause.patience().zip(in_doubt).is_some_and(|(patience, doubted)| doubted >= patience) {
            let waited = held.since.elapsed();
            self.refuse(id, Some(waited), cause);
            return true;
        }
        let because = cause.to_string();
        if held.last_reason.as_ref() == Some(&because) {
            return false;
        }
        held.last_reason = Some(because.clone());
        let host = self.plan.step(id).map(|step| step.host.clone()).unwrap_or_default();
        self.events.send(EventKind::StepWaiting { step: id.to_string(), host, because: self.hosts.redact(&because), last_words: None });
        true
    }

    fn refuse(&mut self, id: &StepId, waited: Option<Duration>, cause: &Cause) {
        let after = waited.map(|waited| format!("after {} s: ", waited.as_secs())).unwrap_or_default();
        let error = format!("{after}{cause}; nothing was changed by it. What to do: {}", cause.hint());
        self.fail(id, &self.hosts.redact(&error), false);
    }
}

/// What bugs make of a view.
#[cfg(test)]
fn spoil(view: &mut View) {
    use kok_tasks::gate::MemberState::{Dead, Doubtful, Healthy};
    if seeded!(DoubtfulIsHealthy) {
        view.members.iter_mut().filter(|member| [Dead, Doubtful].contains(&member.state)).for_each(|member| member.state = Healthy);
    }
    view.planes.iter_mut().for_each(|plane| plane.ready |= seeded!(ApiServersTakenForReady));
    view.nodes.iter_mut().for_each(|node| node.available |= seeded!(NodesTakenForReady));
}

/// Looks at what the gate needs to know of `ops`. Hosts that say nothing in time count as out of reach. Says too when the first answer came of those that
/// it is made of.
async fn look_afresh<H: Hosts>(hosts: &Arc<H>, cluster: &Cluster, ops: &[Disruption], away: BTreeSet<String>) -> (Seen, Instant) {
    let ops: Vec<&Disruption> = ops.iter().collect();
    let mut silent = away;
    let mut asked = BTreeMap::<String, Looks>::new();
    let (mut seen, mut at) = (Seen::default(), Instant::now());
    for _ in 0..MOST_ROUNDS {
        let reaches = |host: &str| hosts.reaches(host) && !silent.contains(host);
        let first = if asked.is_empty() { first_looks(cluster, &ops, &reaches) } else { BTreeMap::new() };
        let further = further_looks(cluster, &ops, &seen, &reaches);
        let more: Vec<(String, Looks)> = first.into_iter().chain(further).collect();
        if more.is_empty() {
            break;
        }
        // Together with what was seen already, so that all of it is of one moment.
        more.into_iter().for_each(|(host, looks)| asked.entry(host).or_default().add_others(&looks));
        asked.retain(|host, _| !silent.contains(host));
        let (answers, first_at) = look_at_all(hosts, &asked).await;
        silent.extend(asked.keys().filter(|host| !answers.contains_key(*host)).cloned());
        (seen, at) = (Seen::default(), first_at);
        answers.into_iter().for_each(|(host, observed)| seen.add_observations(&host, observed));
        silent.iter().for_each(|host| seen.add_unreachable(host));
    }
    (seen, at)
}

/// Looks at all of these hosts at once. Nothing of those that are silent; and when the first one answered.
async fn look_at_all<H: Hosts>(hosts: &Arc<H>, asked: &BTreeMap<String, Looks>) -> (BTreeMap<String, Observations>, Instant) {
    let mut looking: JoinSet<(String, Result<Observations, OrderTrouble>)> = JoinSet::new();
    for (host, looks) in asked {
        let (hosts, host, looks) = (Arc::clone(hosts), host.clone(), looks.clone());
        looking.spawn(async move {
            let result = hosts.look(&host, looks).await;
            (host, result)
        });
    }
    let (mut answers, mut first) = (BTreeMap::new(), None);
    let mut until = Instant::now() + LOOK_AT_MOST;
    while let Ok(Some(joined)) = timeout_at(until, looking.join_next()).await {
        let Ok((host, Ok(seen))) = joined else { continue };
        answers.insert(host, seen);
        let at = *first.get_or_insert_with(Instant::now);
        until = until.min(at + BEHIND_THE_FIRST);
    }
    (answers, first.unwrap_or_else(Instant::now))
}
