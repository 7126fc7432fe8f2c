//! Which steps can begin: pure bookkeeping over the plan.

mod queue;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use kok_tasks::plan::{Action, Plan, Reason, Step, StepId};
use kok_tasks::resources::{Act, Resource};

use queue::{Node, Queue};

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// Not begun.
    Pending,
    /// It could begin, and the gate has not let it yet.
    Held,
    /// Begun.
    Running,
    /// As desired.
    Done,
    /// Failed, or behind one that failed.
    Stopped,
}

/// The lane of a host that a step runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HostLane {
    /// Scripts, one after the other.
    Scripts,
    /// Bulk data: streams on a connection of their own, and what a host fetches.
    Streams,
    /// Conditions that are waited for, all at once.
    Waits,
}

/// The state of every step of a plan.
pub(super) struct Schedule<'a> {
    /// In the order of the plan; their places are their names in the queue.
    steps: Vec<&'a Step>,
    acts: Vec<Option<Act>>,
    places: HashMap<&'a StepId, usize>,
    hosts: HashMap<&'a str, usize>,
    queue: Queue,
    /// Pairs of steps of different hosts, of which the second one only has its turn after the first one.
    turns: HashSet<(usize, usize)>,
}

impl<'a> Schedule<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        let steps: Vec<&Step> = plan.steps().collect();
        let acts: Vec<Option<Act>> = steps.iter().map(|step| plan.change(&step.id).map(|change| step.act(change))).collect();
        let places: HashMap<&StepId, usize> = steps.iter().zip(0..).map(|(step, place)| (&step.id, place)).collect();
        let mut hosts = HashMap::new();
        let is_waited_for = |step: &Step, need: &Step, reason: &Reason| {
            !reason.is_of_changes() || (plan.change(&step.id).is_some() && plan.change(&need.id).is_some())
        };
        let nodes = steps.iter().zip(&acts).map(|(step, act)| {
            let next = hosts.len();
            let needs = plan.needs(&step.id).into_iter().filter(|(need, reason)| is_waited_for(step, need, reason));
            Node {
                host: *hosts.entry(step.host.as_str()).or_insert(next),
                lane: act.as_ref().map(lane_of),
                alone: is_alone(step),
                needs: needs.filter_map(|(need, _)| places.get(&need.id).copied()).collect(),
            }
        });
        let queue = Queue::new(nodes.collect());
        let turns = turns(plan, &steps, &places);
        Self { steps, acts, places, hosts, queue, turns }
    }

    fn place(&self, id: &StepId) -> Option<usize> {
        self.places.get(id).copied()
    }

    pub(super) fn status(&self, id: &StepId) -> Status {
        self.place(id).map_or(Status::Pending, |place| self.queue.status(place))
    }

    /// Steps that change nothing are done as soon as everything that they need is.
    pub(super) fn set(&mut self, id: &StepId, status: Status) {
        if let Some(place) = self.place(id) {
            self.queue.set(place, status);
        }
    }

    /// Puts a step back that is done, to be done again before what has not begun.
    pub(super) fn reopen(&mut self, id: &StepId) {
        if let Some(place) = self.place(id) {
            self.queue.reopen(place);
        }
    }

    pub(super) fn act(&self, id: &StepId) -> Option<&Act> {
        self.acts.get(self.place(id)?)?.as_ref()
    }

    /// The lane of a change.
    pub(super) fn lane(&self, id: &StepId) -> Option<HostLane> {
        self.act(id).map(lane_of)
    }

    /// Whether everything that a step needs is done.
    pub(super) fn has_its_needs(&self, id: &StepId) -> bool {
        self.place(id).is_some_and(|place| self.queue.has_its_needs(place))
    }

    fn at(&self, place: usize) -> Option<&'a Step> {
        self.steps.get(place).copied()
    }

    /// The next script of a host that has none at work: what most others wait for. Changes of resources become one script; an operation
    /// stays alone, so that its end is known when it comes. Nothing if there is none; the same again until its steps are begun.
    pub(super) fn next_script(&mut self) -> Vec<&'a Step> {
        self.queue.next_script().into_iter().filter_map(|place| self.at(place)).collect()
    }

    /// The next stream of a host that has none at work: the one that the longest chain of others waits for. The same again until it is begun.
    /// Where nothing more may be sent, the next one that its host fetches; and only of those that may have one.
    pub(super) fn next_stream(&self, may_send: bool, may_have: impl Fn(&Step) -> bool) -> Option<&'a Step> {
        let may_begin = |place| (may_send || !self.is_sent_at(place)) && self.at(place).is_some_and(&may_have);
        self.at(self.queue.next_stream(may_begin)?)
    }

    /// Whether a change is sent as a stream.
    pub(super) fn is_sent(&self, id: &StepId) -> bool {
        self.place(id).is_some_and(|place| self.is_sent_at(place))
    }

    fn is_sent_at(&self, place: usize) -> bool {
        matches!(self.acts.get(place), Some(Some(Act::Stream { .. })))
    }

    /// The next condition that can be waited for. The same again until it is begun.
    pub(super) fn next_wait(&self) -> Option<&'a Step> {
        self.at(self.queue.next_wait()?)
    }

    /// Stops everything that needs a failed step. Returns the names of the changes that are not made for it. Of the one host that `may_fail` steps of others
    /// that only wait for their turn wait no more.
    pub(super) fn stop_behind(&mut self, failed: &StepId, may_fail: Option<&str>) -> Vec<StepId> {
        let Some(place) = self.place(failed) else { return Vec::new() };
        self.queue.set(place, Status::Stopped);
        let (mut stopped, mut next) = (Vec::new(), vec![place]);
        while let Some(place) = next.pop() {
            let lets_go = self.at(place).is_some_and(|step| may_fail == Some(step.id.host()));
            for later in self.queue.needed_by(place).to_vec() {
                if lets_go && self.turns.contains(&(place, later)) {
                    self.queue.forget_need(later, place);
                } else if is_open(self.queue.status(later)) {
                    self.queue.set(later, Status::Stopped);
                    next.push(later);
                    stopped.push(later);
                }
            }
        }
        self.changes(stopped)
    }

    /// Stops every step of a host that has not begun, and what is behind it. Returns the names of the changes that are not made for it.
    pub(super) fn stop_host(&mut self, host: &str, may_fail: Option<&str>) -> Vec<StepId> {
        let places = self.hosts.get(host).map(|host| self.queue.of_host(*host).to_vec()).unwrap_or_default();
        let mut stopped = Vec::new();
        for place in places {
            if let Some(step) = self.at(place).filter(|_| is_open(self.queue.status(place))) {
                stopped.extend(self.changes(vec![place]));
                stopped.extend(self.stop_behind(&step.id, may_fail));
            }
        }
        stopped
    }

    /// Those of these steps that change something.
    fn changes(&self, places: Vec<usize>) -> Vec<StepId> {
        let changes = places.into_iter().filter(|place| matches!(self.acts.get(*place), Some(Some(_))));
        changes.filter_map(|place| Some(self.at(place)?.id.clone())).collect()
    }

    /// How many changes have not begun.
    pub(super) fn pending(&self) -> usize {
        self.queue.pending()
    }
}

/// What would break in the same way on the next host is a turn, too: who lets it fail on one wants to see it there.
fn turns(plan: &Plan, steps: &[&Step], places: &HashMap<&StepId, usize>) -> HashSet<(usize, usize)> {
    let is_turn = |step: &Step, need: &Step, reason: &Reason| match reason {
        Reason::InTurn(_) => need.id.host() != step.id.host(),
        Reason::While(_) => need.id.host() != step.id.host() && need.id.task() == step.id.task(),
        _ => false,
    };
    let of_step = |(place, step): (usize, &&Step)| {
        let needs = plan.needs(&step.id).into_iter().filter(|(need, reason)| is_turn(step, need, reason));
        needs.filter_map(|(need, _)| Some((*places.get(&need.id)?, place))).collect::<Vec<_>>()
    };
    steps.iter().enumerate().flat_map(of_step).collect()
}

/// Whether a step has not begun, and may.
fn is_open(status: Status) -> bool {
    matches!(status, Status::Pending | Status::Held)
}

fn lane_of(act: &Act) -> HostLane {
    match act {
        Act::Stream { .. } | Act::Fetch(_) => HostLane::Streams,
        Act::Wait => HostLane::Waits,
        Act::Script(_) | Act::Until { .. } => HostLane::Scripts,
    }
}

/// Whether it is to be the only one of its script: of what may take long the end is known when it comes, and whoever wishes the end of a run waits for
/// no other that would come after it.
fn is_alone(step: &Step) -> bool {
    match &step.action {
        Action::Operation(_) => true,
        Action::Resource(Resource::Hook(hook)) => hook.timeout > SHORT_HOOK,
        Action::Resource(_) => false,
    }
}

/// A hook that may take no longer shares a script with its neighbours, and its end is told with theirs. A script of its own costs a host some ten programs more.
const SHORT_HOOK: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests;
