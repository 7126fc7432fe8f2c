//! Which steps can begin: pure bookkeeping over the plan.

use std::collections::BTreeMap;

use kok_tasks::plan::{Action, Plan, Step, StepId};
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
    /// How many changes follow one another behind a step at the most.
    behind: BTreeMap<StepId, usize>,
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
        let behind = chains(plan, &order, &acts);
        let mut schedule = Self { plan, order, status, acts, behind };
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

    /// The lane of a change.
    pub(super) fn lane(&self, id: &StepId) -> Option<Lane> {
        self.acts.get(id).map(|act| match act {
            Act::Stream { .. } => Lane::Streams,
            Act::Wait => Lane::Waits,
            Act::Script(_) => Lane::Scripts,
        })
    }

    /// Steps of `lane` that can begin now, those first that the longest chain of others waits for.
    pub(super) fn ready(&self, lane: Lane) -> Vec<&'a Step> {
        let mut ready: Vec<&Step> = self
            .order
            .iter()
            .filter(|id| self.lane(id) == Some(lane))
            .filter(|id| self.can_begin(id, &[]))
            .filter_map(|id| self.plan.step(id))
            .collect();
        ready.sort_by_key(|step| std::cmp::Reverse(self.behind.get(&step.id).copied().unwrap_or_default()));
        ready
    }

    /// Whether everything that a step needs is done.
    pub(super) fn has_its_needs(&self, id: &StepId) -> bool {
        self.plan.needs(id).iter().all(|(need, _)| self.status(&need.id) == Status::Done)
    }

    fn can_begin(&self, id: &StepId, with: &[StepId]) -> bool {
        let met = |need: &StepId| self.status(need) == Status::Done || with.contains(need);
        self.status(id) == Status::Pending && self.plan.needs(id).iter().all(|(need, _)| met(&need.id))
    }

    /// The next script of a host: what most others wait for. Changes of resources become one script; an operation stays alone, so that
    /// its end is known when it comes.
    pub(super) fn next_batch(&self, host: &str) -> Vec<Step> {
        let ready = self.ready(Lane::Scripts).into_iter().find(|step| step.host == host);
        match ready {
            None => Vec::new(),
            Some(step) if is_operation(step) => vec![step.clone()],
            Some(_) => self.resources(host),
        }
    }

    /// Every change of a resource of a host that can begin, or that only waits for others of them.
    fn resources(&self, host: &str) -> Vec<Step> {
        let mut batch: Vec<Step> = Vec::new();
        let mut names: Vec<StepId> = Vec::new();
        for id in self.order.iter().filter(|id| self.lane(id) == Some(Lane::Scripts)) {
            let Some(step) = self.plan.step(id).filter(|step| step.host == host && !is_operation(step)) else { continue };
            if self.can_begin(id, &names) {
                names.push(id.clone());
                batch.push(step.clone());
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

    /// Stops every step of a host that has not begun, and what is behind it. Returns the names of the changes that are not made for it.
    pub(super) fn stop_host(&mut self, host: &str) -> Vec<StepId> {
        let of_host = |id: &StepId| self.plan.step(id).is_some_and(|step| step.host == host) && self.status(id) == Status::Pending;
        let pending: Vec<StepId> = self.order.iter().filter(|id| of_host(id)).cloned().collect();
        let mut stopped = Vec::new();
        for id in pending {
            if self.status(&id) == Status::Pending {
                stopped.extend(self.acts.contains_key(&id).then(|| id.clone()));
                stopped.extend(self.stop_behind(&id));
            }
        }
        stopped
    }

    /// Whether a change is left that was not begun.
    pub(super) fn pending(&self) -> usize {
        self.acts.keys().filter(|id| self.status(id) == Status::Pending).count()
    }
}

fn is_operation(step: &Step) -> bool {
    matches!(step.action, Action::Operation(_))
}

/// The longest chain of changes behind each step, by going through the plan from its end.
fn chains(plan: &Plan, order: &[StepId], acts: &BTreeMap<StepId, Act>) -> BTreeMap<StepId, usize> {
    let mut behind: BTreeMap<StepId, usize> = BTreeMap::new();
    for id in order.iter().rev() {
        let longest = plan.needed_by(id).into_iter().map(|(later, _)| {
            let own = usize::from(acts.contains_key(&later.id));
            behind.get(&later.id).copied().unwrap_or_default() + own
        });
        let longest = longest.max().unwrap_or_default();
        behind.insert(id.clone(), longest);
    }
    behind
}

#[cfg(test)]
mod tests;
