//! Ending a run before its end.

use kok_tasks::plan::StepId;

use super::super::hosts::Hosts;
use super::super::outcome::InDoubt;
use super::super::schedule::{HostLane, Status};
use super::super::wish::Stop;
use super::Dispatcher;
use super::seeded::seeded;
use super::waits::Wait;
use crate::event::EventKind;

impl<H: Hosts> Dispatcher<'_, H> {
    /// Does what the user wishes by now. Whether that is to leave at once.
    pub(super) fn heed(&mut self) -> bool {
        self.heeded = *self.stop.borrow();
        match self.heeded {
            Stop::No => {}
            Stop::Finish if seeded!(StopIgnored) => {}
            Stop::Finish => self.finish(Stop::BECAUSE),
            Stop::Now => self.leave(),
        }
        self.heeded == Stop::Now
    }

    /// Begins nothing new; what is at work on hosts is waited for. Conditions are not: nothing is done about them.
    pub(super) fn finish(&mut self, because: &str) {
        if std::mem::replace(&mut self.stopping, true) {
            return;
        }
        self.outcome.stopped = Some(because.to_owned());
        let waits: Vec<_> = std::mem::take(&mut self.waits).into_values().collect();
        self.end_waits(&waits);
        let awaited = self.in_doubt().into_iter().map(|one| format!("{} ({})", one.title, one.step)).collect();
        self.events.send(EventKind::RunStopping { because: because.to_owned(), awaited });
    }

    /// Waits no longer: a condition is left to the next run, and what was done is in doubt.
    pub(super) fn end_waits(&mut self, waits: &[Wait]) {
        let (conditions, done): (Vec<_>, Vec<_>) =
            waits.iter().flat_map(Wait::ids).partition(|id| self.is_condition(id) || self.is_until(id));
        conditions.into_iter().for_each(|id| self.schedule.set(id, Status::Pending));
        done.into_iter().for_each(|id| self.unheard(id, waits.iter().find_map(|wait| wait.last_answer(id)).unwrap_or("nobody looked")));
    }

    pub(super) fn is_condition(&self, id: &StepId) -> bool {
        self.schedule.lane(id) == Some(HostLane::Waits)
    }

    /// A step was done, and the cluster has not said so before the run was stopped.
    pub(super) fn unheard(&mut self, id: &StepId, answer: &str) {
        let answer = self.hosts.redact(answer);
        self.fail(id, &format!("it was done, and the run was stopped before the cluster said so: {answer}"), true);
    }

    /// Leaves at once. What is at work on hosts goes on there, and nobody hears how it ends.
    fn leave(&mut self) {
        self.finish(Stop::BECAUSE);
        self.outcome.in_doubt = self.in_doubt();
        let steps = self.outcome.in_doubt.iter().map(|one| one.step.to_string()).collect();
        self.events.send(EventKind::RunLeft { in_doubt: steps });
    }

    /// What is at work on hosts.
    pub(super) fn in_doubt(&self) -> Vec<InDoubt> {
        let running = self.running();
        let steps = running.iter().filter_map(|id| self.plan.step(id));
        let acts = steps.filter(|step| !self.is_condition(&step.id));
        acts.map(|step| InDoubt { step: step.id.clone(), host: step.host.clone(), title: step.title() }).collect()
    }
}
