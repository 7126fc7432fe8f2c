//! Orders without an answer: the host is asked what became of them before anything else is sent to it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kok_tasks::plan::StepId;
use tokio::time::Instant;

use super::super::hosts::{Answer, Hosts, Order, OrderTrouble};
use super::super::schedule::Status;
use super::seeded::seeded;
use super::{Dispatcher, Message, milliseconds};
use crate::event::EventKind;

/// How often a step is begun at the most. A link that breaks this often during one step will break again; the next run goes on.
const ATTEMPTS: u32 = 3;

/// How often a host is asked about one order at the most, each time over a new link.
const QUESTIONS: u32 = 5;

/// The least time for an order to end after its link broke, and what one gets that did not end within its deadline.
const LEAST_PATIENCE: Duration = Duration::from_secs(30);

/// Why nobody heard how an order ended.
#[derive(Debug, Clone)]
pub(super) struct UnheardCause {
    because: String,
    begun: bool,
    late: bool,
    questions: u32,
    since: Instant,
}

impl<H: Hosts> Dispatcher<'_, H> {
    /// Decides what an order without an answer calls for. `before` is the cause if the host was asked already.
    pub(super) fn trouble(&mut self, order: Order, trouble: OrderTrouble, before: Option<UnheardCause>) {
        let since = before.as_ref().map_or_else(Instant::now, |cause| cause.since);
        let questions = before.as_ref().map_or(0, |cause| cause.questions);
        let begun_before = before.as_ref().is_some_and(|cause| cause.begun);
        match trouble {
            OrderTrouble::Lost { .. } if seeded!(LostIsRepeated) => self.put_back(&order),
            OrderTrouble::Late { .. } if seeded!(LateIsRepeated) => self.put_back(&order),
            OrderTrouble::Lost { because, begun } if questions < QUESTIONS => {
                if before.is_none() {
                    self.events.send(EventKind::HostLost { host: order.host.clone(), because: self.hosts.redact(&because) });
                }
                let late = before.is_some_and(|cause| cause.late);
                self.ask(order, UnheardCause { because, begun: begun || begun_before, late, questions: questions + 1, since });
            }
            OrderTrouble::Late { because } if before.is_none() => {
                self.ask(order, UnheardCause { because, begun: true, late: true, questions: 1, since });
            }
            OrderTrouble::Lost { because, .. } | OrderTrouble::Late { because } => self.fail_order(&order, &because, true),
            OrderTrouble::Failed { because, unknown } => self.fail_order(&order, &because, unknown || begun_before),
            OrderTrouble::Gone { because, is_away } => {
                self.fail_order(&order, &because, begun_before);
                self.outcome.lost.extend(is_away.then(|| order.host.clone()));
                self.give_up(&order.host, order.steps.first().map(|(step, _)| &step.id));
            }
            OrderTrouble::Held { because } => {
                let error = format!("another run has taken the host over: {because}");
                self.fail_order(&order, &error, begun_before);
                self.outcome.taken_over = true;
                if !seeded!(HeldIgnored) {
                    self.finish("another run has taken over");
                }
            }
        }
    }

    fn ask(&mut self, order: Order, cause: UnheardCause) {
        let elapsed = order.steps.iter().filter_map(|(step, _)| self.began.get(&step.id)).map(Instant::elapsed).max();
        let patience = order.deadline.saturating_sub(elapsed.unwrap_or_default()).max(LEAST_PATIENCE);
        self.acting += 1;
        let hosts = Arc::clone(&self.hosts);
        self.working.spawn(async move {
            let result = hosts.settle(&order, patience).await;
            Message::Settled { order, cause, result }
        });
    }

    /// Hears what a host said of an order.
    pub(super) fn settled(&mut self, order: Order, cause: UnheardCause, result: Result<Answer, OrderTrouble>) {
        match result {
            Err(trouble) => self.trouble(order, trouble, Some(cause)),
            Ok(answer) => {
                self.events.send(EventKind::HostBack {
                    host: order.host.clone(),
                    after_milliseconds: milliseconds(cause.since),
                    restarted: answer.restarted,
                });
                self.judge(&order, answer, Some(&cause));
            }
        }
    }

    /// The host said that a step, of which nobody had heard, is not done and not at work.
    pub(super) fn not_done(&mut self, id: &StepId, cause: Option<&UnheardCause>) {
        let because = cause.map(|cause| cause.because.clone()).unwrap_or_default();
        let count_in = |counts: &BTreeMap<StepId, u32>| counts.get(id).copied().unwrap_or_default();
        let attempts = count_in(&self.attempts).saturating_sub(count_in(&self.renewed));
        if cause.is_some_and(|cause| cause.late) || attempts >= ATTEMPTS {
            return self.fail(id, &format!("it was begun {attempts} times and is not done: {because}"), false);
        }
        self.schedule.set(id, Status::Pending);
        let host = self.plan.step(id).map(|step| step.host.clone()).unwrap_or_default();
        self.events.send(EventKind::StepRepeated { step: id.to_string(), host, because: self.hosts.redact(&because) });
    }

    /// Only for bugs that are switched on: nobody may begin again what may be at work.
    fn put_back(&mut self, order: &Order) {
        order.steps.iter().for_each(|(step, _)| self.schedule.set(&step.id, Status::Pending));
    }

    fn fail_order(&mut self, order: &Order, because: &str, unknown: bool) {
        let because = self.hosts.redact(because);
        order.steps.iter().for_each(|(step, _)| self.fail(&step.id, &because, unknown));
    }

    /// A host that stays away fails what needs it, and nothing else.
    pub(super) fn give_up(&mut self, host: &str, by: Option<&StepId>) {
        self.gates.give_up(host);
        if seeded!(GoneIsAskedAgain) {
            return;
        }
        let may_fail = self.may_fail(host).then_some(host);
        let stopped = self.schedule.stop_host(host, may_fail);
        if let Some(by) = by {
            stopped.iter().for_each(|id| self.blocked(id, by));
        }
    }
}
