//! Beginning what can begin.

use std::sync::Arc;

use kok_tasks::plan::Step;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::super::event::EventKind;
use super::super::hosts::{Hosts, Order};
use super::super::schedule::{Lane, Status};
use super::{Dispatcher, Message};

impl<H: Hosts> Dispatcher<'_, H> {
    /// Begins everything that can begin. All of it is on the disk before any of it is sent: what may have been begun on a host stands in the
    /// journal, and one flush is enough for all hosts.
    pub(super) fn start_everything(&mut self) {
        if self.stopping {
            return;
        }
        let mut orders = self.scripts();
        orders.extend(self.streams());
        if !orders.is_empty() {
            self.events.flush();
        }
        orders.into_iter().for_each(|(order, permit)| self.send(order, permit));
        self.begin_waits();
        for host in std::mem::take(&mut self.to_look) {
            self.start_look(&host);
        }
    }

    fn scripts(&mut self) -> Vec<(Order, Option<OwnedSemaphorePermit>)> {
        let mut orders = Vec::new();
        loop {
            let steps = self.schedule.next_script();
            match self.begin(Lane::Scripts, &steps) {
                Some(order) => orders.push((order, None)),
                None => return orders,
            }
        }
    }

    /// What most others wait for comes first: on one host the programs and images of a control plane before those of pods, and among
    /// hosts the control plane before workers.
    fn streams(&mut self) -> Vec<(Order, Option<OwnedSemaphorePermit>)> {
        let mut orders = Vec::new();
        while let Some(step) = self.schedule.next_stream() {
            let Some(permit) = self.pools.try_stream() else { break };
            orders.extend(self.begin(Lane::Streams, &[step]).map(|order| (order, Some(permit))));
        }
        orders
    }

    /// Says that these steps of one host begin. Nothing if there are none.
    fn begin(&mut self, lane: Lane, steps: &[&Step]) -> Option<Order> {
        let host = steps.first()?.host.clone();
        // They come one after the other, and each may take as long as it may.
        let deadline = steps.iter().map(|step| step.deadline).sum();
        let mut attempt = 0;
        for step in steps {
            let count = self.attempts.entry(step.id.clone()).or_default();
            *count += 1;
            attempt = attempt.max(*count);
            self.started(step);
        }
        let steps = steps.iter().filter_map(|step| Some(((*step).clone(), self.schedule.act(&step.id)?.clone()))).collect();
        Some(Order { host, lane, steps, attempt, deadline })
    }

    fn send(&mut self, order: Order, permit: Option<OwnedSemaphorePermit>) {
        self.acting += 1;
        let hosts = Arc::clone(&self.hosts);
        self.working.spawn(async move {
            let result = hosts.act(&order).await;
            drop(permit);
            Message::Acted { order, result }
        });
    }

    pub(super) fn started(&mut self, step: &Step) {
        self.schedule.set(&step.id, Status::Running);
        self.began.insert(step.id.clone(), Instant::now());
        let summary = self.plan.change(&step.id).map(|change| change.summary.clone()).unwrap_or_default();
        self.events.send(EventKind::StepStarted { step: step.id.to_string(), host: step.host.clone(), title: step.title(), summary });
    }
}
