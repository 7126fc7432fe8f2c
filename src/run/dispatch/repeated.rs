//! Steps that are begun again and again until the cluster says that they are done: what they ask for may be refused for a while, as an eviction is by a
//! budget. Between two scripts they are looked at as conditions are, and nothing of them is at work, so that other steps of the host go on.

use std::collections::BTreeMap;
use std::time::Duration;

use kok_tasks::plan::{Step, StepId};
use kok_tasks::resources::Act;
use tokio::time::Instant;

use super::super::hosts::Hosts;
use super::super::schedule::Status;
use super::Dispatcher;

/// Often enough for whoever waits that a budget allows it, seldom enough for an API server that has to refuse it.
const BETWEEN: Duration = Duration::from_secs(4);

/// What is begun again.
#[derive(Default)]
pub(super) struct RepeatedSteps {
    /// When it was begun last.
    last: BTreeMap<StepId, Instant>,
    /// What is said of those whose deadline is over, once nothing stays as their script has left it.
    given_up: BTreeMap<StepId, String>,
}

impl RepeatedSteps {
    /// Why a step has failed that was given up, and of which the host was left as it was before.
    pub(super) fn is_given_up(&mut self, id: &StepId) -> Option<String> {
        self.given_up.remove(id)
    }
}

impl<H: Hosts> Dispatcher<'_, H> {
    pub(super) fn is_until(&self, id: &StepId) -> bool {
        matches!(self.schedule.act(id), Some(Act::Until { .. }))
    }

    /// Whether a step is begun once more, of which it was said that it began.
    pub(super) fn is_repeated(&self, id: &StepId) -> bool {
        self.repeated.last.contains_key(id)
    }

    /// What is sent for a step now.
    pub(super) fn act(&self, id: &StepId) -> Option<Act> {
        match self.schedule.act(id)? {
            Act::Until { give_up: Some(give_up), .. } if self.repeated.given_up.contains_key(id) => Some(Act::Script(give_up.clone())),
            act => Some(act.clone()),
        }
    }

    /// Looks at a step that was done and is still to do until it is time to do it again.
    pub(super) fn park(&mut self, step: &Step, because: &str) {
        self.repeated.last.insert(step.id.clone(), Instant::now());
        // None of these are tries that failed.
        self.renewed.insert(step.id.clone(), self.attempts.get(&step.id).copied().unwrap_or_default());
        if self.stopping {
            return self.schedule.set(&step.id, Status::Pending);
        }
        self.schedule.set(&step.id, Status::Held);
        self.look_again(step, because);
    }

    /// Puts a step back that may be done again by now. Whether it is.
    pub(super) fn acts_again(&mut self, id: &StepId) -> bool {
        let waited = self.began.get(id).map(Instant::elapsed).unwrap_or_default();
        let is_over = self.plan.step(id).is_some_and(|step| waited >= step.deadline);
        let is_time = self.repeated.last.get(id).is_none_or(|last| last.elapsed() >= BETWEEN);
        if is_over || !is_time {
            return false;
        }
        self.schedule.set(id, Status::Pending);
        true
    }

    /// Has the host left as it was before a step that has failed, or is not done in time. Whether anything has to be done for that.
    pub(super) fn gives_up(&mut self, id: &StepId, error: &str) -> bool {
        if self.stopping || !matches!(self.schedule.act(id), Some(Act::Until { give_up: Some(_), .. })) {
            return false;
        }
        self.repeated.last.entry(id.clone()).or_insert_with(Instant::now);
        self.repeated.given_up.insert(id.clone(), error.to_owned());
        self.schedule.set(id, Status::Pending);
        true
    }
}
