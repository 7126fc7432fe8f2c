//! Which steps can begin: pure bookkeeping over the plan.

use std::collections::BTreeMap;

use kok_tasks::plan::{Plan, Step, StepId};
use kok_tasks::resources::Act;

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// Not begun.
    Pending,
    /// Begun.
    Running,
    /// As desired.
    Done,
    /// Failed, or behind one that failed.
    Stopped,
}

/// The lane of a host that a step runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lane {
    /// Scripts, one after the other.
    Scripts,
    /// Streams of bulk data, on a connection of their own.
    Streams,
    /// Conditions that are waited for, all at once.
    Waits,
}

/// The state of every step of a plan.
pub(super) struct Schedule<'a> {
    plan: &'a Plan,
    order: Vec<StepId>,
    status: BTreeMap<StepId, Status>,
    acts: BTreeMap<StepId, Act>,
}

impl<'a> Schedule<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        let order: Vec<StepId> = plan.steps().map(|step| step.id.clone()).collect();
        let mut status = BTreeMap::new();
        let mut acts = BTreeMap::new();
        for step in plan.steps() {
            status.insert(step.id.clone(), Status::Pending);
            if let Some(change) = plan.change(&step.id) {
                acts.insert(step.id.clone(), step.act(change));
            }
        }
        let mut schedule = Self { plan, order, status, acts };
        schedule.settle();
        schedule
    }

    /// Steps that change nothing are done as soon as everything that they need is: an order that goes through them still holds.
    fn settle(&mut self) {
        for index in 0..self.order.len() {
            let Some(id) = self.order.get(index).cloned() else { continue };
            if !self.acts.contains_key(&id) && self.can_begin(&id, &[]) {
                self.status.insert(id, Status::Done);
            }
        }
    }

    pub(super) fn status(&self, id: &StepId) -> Status {
        self.status.get(id).copied().unwrap_or(Status::Pending)
    }

    pub(super) fn set(&mut self, id: &StepId, status: Status) {
        self.status.insert(id.clone(), status);
        if status == Status::Done {
            self.settle();
        }
    }

    pub(super) fn act(&self, id: &StepId) -> Option<&Act> {
        self.acts.get(id)
    }

    fn lane(&self, id: &StepId) -> Option<Lane> {
        self.acts.get(id).map(|act| match act {
            Act::Stream { .. } => Lane::Streams,
            Act::Wait => Lane::Waits,
            Act::Script(_) => Lane::Scripts,
        })
    }

    /// Steps of `lane` that can begin now, in the order of the plan.
    pub(super) fn ready(&self, lane: Lane) -> Vec<&'a Step> {
        self.order.iter().filter(|id| self.lane(id) == Some(lane)).filter(|id| self.can_begin(id, &[])).filter_map(|id| self.plan.step(id)).collect()
    }

    fn can_begin(&self, id: &StepId, with: &[StepId]) -> bool {
        let met = |need: &StepId| self.status(need) == Status::Done || with.contains(need);
        self.status(id) == Status::Pending && self.plan.needs(id).iter().all(|(need, _)| met(&need.id))
    }

    /// The next script of a host: consecutive changes of resources become one; an operation stays alone, so that its end is known when it
    /// comes.
    pub(super) fn next_batch(&self, host: &str) -> Vec<Step> {
        let mut batch: Vec<Step> = Vec::new();
        let mut names: Vec<StepId> = Vec::new();
        for id in self.order.iter().filter(|id| self.lane(id) == Some(Lane::Scripts)) {
            let Some(step) = self.plan.step(id).filter(|step| step.host == host) else { continue };
            if !self.can_begin(id, &names) {
                continue;
            }
            let alone = matches!(step.action, kok_tasks::plan::Action::Operation(_));
            match (alone, batch.is_empty()) {
                (true, true) => return vec![step.clone()],
                (true, false) => {}
                (false, _) => {
                    names.push(id.clone());
                    batch.push(step.clone());
                }
            }
        }
        batch
    }

    /// Stops everything that needs a failed step. Returns the names of the changes that are not made for it.
    pub(super) fn stop_behind(&mut self, failed: &StepId) -> Vec<StepId> {
        self.status.insert(failed.clone(), Status::Stopped);
        let mut stopped = Vec::new();
        let mut next = vec![failed.clone()];
        while let Some(id) = next.pop() {
            for (step, _) in self.plan.needed_by(&id) {
                if self.status(&step.id) == Status::Pending {
                    self.status.insert(step.id.clone(), Status::Stopped);
                    next.push(step.id.clone());
                    stopped.push(step.id.clone());
                }
            }
        }
        stopped.retain(|id| self.acts.contains_key(id));
        stopped
    }

    /// Whether a change is left that was not begun.
    pub(super) fn pending(&self) -> usize {
        self.acts.keys().filter(|id| self.status(id) == Status::Pending).count()
    }
}
