//! The dispatcher: one task that owns the truth about a run. It starts what can begin, hears how it ended, and decides what is next.
//!
//! Hosts don't wait for each other: a step begins as soon as the steps that it needs are done. On one host scripts run one after the other,
//! bulk data streams beside them on a connection of its own, and all conditions that are waited for are looked at together.
//!
//! A step whose outcome nobody heard is never begun again before the host has said what became of it.

mod failed;
mod gate;
mod repeated;
mod seeded;
mod start;
mod stop;
mod trouble;
mod waits;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kok_crds::model::Cluster;
use kok_tasks::change::Verdict;
use kok_tasks::gate::workers_at_a_time;
use kok_tasks::observe::Observations;
use kok_tasks::plan::{Plan, StepId};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use super::hosts::{Acted, Answer, Hosts, Order, OrderTrouble};
use super::outcome::Outcome;
use super::schedule::{Schedule, Status};
use super::wish::{Stop, wished};
use crate::event::{EventKind, Events};
use crate::pools::Pools;
use gate::{Gates, Viewed};
use repeated::RepeatedSteps;
use seeded::seeded;
use trouble::UnheardCause;
use waits::Wait;

/// A kubelet is not started twice within such a time.
const SAME_START_NANOSECONDS: i128 = 500_000_000;

/// After so long a kubelet has said how its node is, or the controller manager says that it is silent (`nodeMonitorGracePeriod`, 50 s). What looks as if
/// it had been said before comes of a clock that was set back since.
const HAS_SPOKEN: Duration = Duration::from_secs(60);

/// Runs a plan.
pub(super) struct Dispatcher<'a, H> {
    plan: &'a Plan,
    cluster: Arc<Cluster>,
    hosts: Arc<H>,
    events: Events,
    pools: Pools,
    stop: watch::Receiver<Stop>,
    /// What of it was heard.
    heeded: Stop,
    /// How many hosts may fail before nothing new is begun anywhere; no limit if there is none.
    most_failed: Option<usize>,
    schedule: Schedule<'a>,
    working: JoinSet<Message>,
    /// Orders and questions about them under way; looks at conditions don't count.
    acting: usize,
    /// Hosts whose conditions are being looked at, and those whose conditions are to be looked at next.
    looking: BTreeSet<String>,
    to_look: BTreeSet<String>,
    began: BTreeMap<StepId, Instant>,
    /// The same by the wall clock, in nanoseconds since 1970, of those whose work does not last.
    began_nanoseconds: BTreeMap<StepId, i128>,
    attempts: BTreeMap<StepId, u32>,
    /// How many of them there were when a step was put back because its work would not last: these were no failures.
    renewed: BTreeMap<StepId, u32>,
    waits: BTreeMap<String, Wait>,
    /// When kubelets were started that were looked at, by their hosts' clocks, and when that was heard.
    kubelets_started: BTreeMap<String, (i128, Instant)>,
    gates: Gates,
    repeated: RepeatedSteps,
    stopping: bool,
    outcome: Outcome,
}

/// What a worker says when it is done.
enum Message {
    Acted { order: Order, result: Result<Answer, OrderTrouble> },
    Settled { order: Order, cause: UnheardCause, result: Result<Answer, OrderTrouble> },
    Looked { host: String, result: Result<Observations, OrderTrouble> },
    Viewed(Viewed),
}

impl<'a, H: Hosts> Dispatcher<'a, H> {
    pub(super) fn over(
        plan: &'a Plan,
        cluster: &Cluster,
        hosts: Arc<H>,
        events: Events,
        pools: Pools,
        stop: watch::Receiver<Stop>,
    ) -> Self {
        Self {
            plan,
            cluster: Arc::new(cluster.clone()),
            hosts,
            events,
            pools: pools.of_cluster(workers_at_a_time(cluster)),
            stop,
            heeded: Stop::No,
            most_failed: None,
            schedule: Schedule::new(plan),
            working: JoinSet::new(),
            acting: 0,
            looking: BTreeSet::new(),
            to_look: BTreeSet::new(),
            began: BTreeMap::new(),
            began_nanoseconds: BTreeMap::new(),
            attempts: BTreeMap::new(),
            renewed: BTreeMap::new(),
            waits: BTreeMap::new(),
            kubelets_started: BTreeMap::new(),
            gates: Gates::default(),
            repeated: RepeatedSteps::default(),
            stopping: false,
            outcome: Outcome::default(),
        }
    }

    /// Begins nothing new once more than `most` hosts have failed.
    #[must_use]
    pub(super) fn most_failed(self, most: Option<usize>) -> Self {
        Self { most_failed: most, ..self }
    }

    /// Fails what is to be done on hosts that can't be reached, and with it what needs that.
    #[must_use]
    pub(super) fn without(mut self, left_out: &BTreeMap<String, String>) -> Self {
        for (host, because) in left_out {
            self.gates.leave_out(host);
            let first = self.plan.changes().map(|(step, _)| step).find(|step| step.host == *host).map(|step| step.id.clone());
            if let Some(id) = first {
                self.fail(&id, because, false);
                self.give_up(host, Some(&id));
            }
        }
        self
    }

    /// Runs the plan until nothing is left that could be done, or until it is stopped.
    pub(super) async fn run(mut self) -> Outcome {
        // A wish comes before everything else, whatever has been heard meanwhile: after it nothing is begun.
        while !self.heed() {
            let next = if self.heeded == Stop::No { Stop::Finish } else { Stop::Now };
            self.start_everything();
            if self.working.is_empty() || (self.stopping && self.acting == 0) {
                break;
            }
            tokio::select! {
                biased;
                () = wished(&mut self.stop, next) => {}
                Some(joined) = self.working.join_next() => {
                    if let Err(error) = self.hear(joined) {
                        // A worker can't end otherwise than by a message; if one does, what it did is unknown and the run must not go on.
                        self.outcome.in_doubt = self.in_doubt();
                        self.running().iter().for_each(|id| self.fail(id, &format!("a worker stopped: {error}"), true));
                        break;
                    }
                }
            }
        }
        self.working.abort_all();
        self.outcome.blocked += self.schedule.pending();
        self.outcome.not_begun = self.not_begun();
        self.events.send(self.outcome.to_event(self.events.milliseconds()));
        self.outcome
    }

    /// Hears a worker, and all others that have something to say by now: what begins because of them is written down together.
    fn hear(&mut self, first: Result<Message, JoinError>) -> Result<(), JoinError> {
        self.take(first?);
        while let Some(joined) = self.working.try_join_next() {
            self.take(joined?);
        }
        Ok(())
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Acted { order, result } => {
                self.acting -= 1;
                match result {
                    Ok(answer) => self.judge(&order, answer, None),
                    Err(trouble) => self.trouble(order, trouble, None),
                }
            }
            Message::Settled { order, cause, result } => {
                self.acting -= 1;
                self.settled(order, cause, result);
            }
            Message::Looked { host, result } => self.take_look(&host, result),
            Message::Viewed(viewed) => self.take_view(viewed),
        }
    }

    /// Decides about each step of an order. `cause` says why nobody heard of it at first.
    fn judge(&mut self, order: &Order, answer: Answer, cause: Option<&UnheardCause>) {
        self.remember(&order.host, &answer.seen);
        for (step, output) in answer.outputs.iter().filter_map(|(index, output)| Some((&order.steps.get(*index)?.0, output))) {
            let (step, host) = (step.id.to_string(), order.host.clone());
            self.events.send(EventKind::HookSaid { step, host, said: output.clone() });
        }
        let failed_before = self.outcome.failed.len();
        for ((step, _), acted) in order.steps.iter().zip(answer.acted) {
            if let Some(error) = self.repeated.is_given_up(&step.id) {
                self.fail(&step.id, &error, false);
                continue;
            }
            match (acted, step.diff(&answer.seen)) {
                // Nothing may be left to do only because what it needs was not done either, such as a restart for a file that is not written in
                // the same script. What stands alone had all that it needs when it was begun, also if that is made anew for others by now.
                (Acted::Unknown, _) if order.steps.len() > 1 && !self.schedule.has_its_needs(&step.id) => {
                    self.schedule.set(&step.id, Status::Pending)
                }
                (Acted::Ended | Acted::Unknown, Verdict::Same) => self.done(&step.id),
                // The cluster went away while it was asked, as it does when an API server ends: nobody has said that it is not done.
                (Acted::Ended, Verdict::Differs(change)) if change.assumed => self.look_again(step, &change.because),
                (Acted::Ended, Verdict::Differs(change)) if self.is_until(&step.id) => self.park(step, &change.because),
                (Acted::Ended, Verdict::Differs(change)) => self.still_to_do(&step.id, &change.because),
                (Acted::Ended, Verdict::Unseen) => self.fail(&step.id, "it was done, but nobody looked whether it is", false),
                (Acted::Failed(reason), _) if self.gives_up(&step.id, &reason) => {}
                (Acted::Failed(reason), _) => self.fail(&step.id, &reason, false),
                // Another step of the script failed first. It is not this one's fault: it may begin in the next script.
                (Acted::NotBegun, _) => self.schedule.set(&step.id, Status::Pending),
                (Acted::Unknown, _) if seeded!(UnheardIsDone) => self.done(&step.id),
                (Acted::Unknown, _) => self.not_done(&step.id, cause),
            }
        }
        let failed: Vec<StepId> = self.outcome.failed.iter().skip(failed_before).map(|failure| failure.step.clone()).collect();
        failed.iter().for_each(|id| self.stop_behind(id));
    }

    /// Remembers what a look at a host saw and looks at others don't see. The same start is a bit earlier or later in each look, and one that was
    /// begun before the start may be heard after it.
    fn remember(&mut self, host: &str, seen: &Observations) {
        let Some(started) = seen.started_nanoseconds("kubelet.service") else { return };
        let known = self.kubelets_started.get(host);
        if known.is_none_or(|(known, _)| started > known + SAME_START_NANOSECONDS) {
            self.kubelets_started.insert(host.to_owned(), (started, Instant::now()));
        }
    }

    /// For those who wait for what kubelets say ([`Observations::kubelets_started`]): of those that have had no time to say it.
    fn kubelets_started(&self) -> BTreeMap<String, i128> {
        let recent = self.kubelets_started.iter().filter(|(_, (_, heard))| heard.elapsed() < HAS_SPOKEN);
        recent.map(|(host, (started, _))| (host.clone(), *started)).collect()
    }

    fn done(&mut self, id: &StepId) {
        self.schedule.set(id, Status::Done);
        self.outcome.done += 1;
        let took_milliseconds = self.began.get(id).map(|began| milliseconds(*began)).unwrap_or_default();
        let host = self.plan.step(id).map(|step| step.host.clone()).unwrap_or_default();
        self.events.send(EventKind::StepDone { step: id.to_string(), host, took_milliseconds });
    }

    fn still_to_do(&mut self, id: &StepId, because: &str) {
        let because = self.hosts.redact(because);
        self.fail(id, &format!("it was done, but the second look says that it is still to do: {because}"), false);
    }

    fn running(&self) -> Vec<StepId> {
        self.began.keys().filter(|id| self.schedule.status(id) == Status::Running).cloned().collect()
    }
}

fn milliseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
