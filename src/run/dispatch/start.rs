//! Beginning what can begin.

use std::sync::Arc;

use kok_crds::model::Cluster;
use kok_tasks::plan::Step;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::super::hosts::{Hosts, Order};
use super::super::schedule::{HostLane, Status};
use super::seeded::seeded;
use super::{Dispatcher, Message};
use crate::clock::Clock;
use crate::event::EventKind;

/// What an order holds of the pools for as long as it is at work.
type Permits = [Option<OwnedSemaphorePermit>; 2];

/// Whether what a cluster needs at every moment runs on a host: an upgrade begins where it works.
fn is_in_use(cluster: &Cluster, host: &str) -> bool {
    cluster.underway.is_some() && cluster.host(host).is_some_and(|host| host.roles.control_plane || host.roles.etcd)
}

impl<H: Hosts> Dispatcher<'_, H> {
    /// Begins everything that can begin. All of it is on the disk before any of it is sent: what may have been begun on a host stands in the
    /// journal, and one flush is enough for all hosts.
    pub(super) fn start_everything(&mut self) {
        if self.stopping {
            return;
        }
        self.tidy_gates();
        let mut orders = self.scripts();
        orders.extend(self.streams());
        if !orders.is_empty() && !seeded!(NotFlushed) {
            self.events.flush();
        }
        orders.into_iter().for_each(|(order, permits)| self.send(order, permits));
        self.begin_waits();
        for host in std::mem::take(&mut self.to_look) {
            self.start_look(&host);
        }
        self.ask_gate();
    }

    fn scripts(&mut self) -> Vec<(Order, Permits)> {
        let mut orders = Vec::new();
        loop {
            let steps = self.schedule.next_script();
            if self.renews(&steps) || self.holds_back(&steps) {
                continue;
            }
            self.passed(&steps);
            match self.begin(HostLane::Scripts, &steps) {
                Some(order) => orders.push((order, Permits::default())),
                None => return orders,
            }
        }
    }

    /// Puts back what these steps use and what will not last for them. Whether there was any: then they wait for it.
    fn renews(&mut self, steps: &[&Step]) -> bool {
        let plan = self.plan;
        let used = steps.iter().flat_map(|step| plan.uses_fresh(&step.id));
        let old: Vec<&Step> = used.filter(|need| self.schedule.status(&need.id) == Status::Done && self.is_too_old(need)).collect();
        for need in &old {
            self.schedule.reopen(&need.id);
            self.renewed.insert(need.id.clone(), self.attempts.get(&need.id).copied().unwrap_or_default());
            self.outcome.done -= 1;
            let because = "hosts that come to it now would not be done before that ends".to_owned();
            self.events.send(EventKind::StepRenewed { step: need.id.to_string(), host: need.host.clone(), because });
        }
        !old.is_empty()
    }

    /// Both clocks count: one stands still while this machine sleeps, and the other one may be set back.
    fn is_too_old(&self, step: &Step) -> bool {
        let (Some(lasts), Some(began)) = (step.lasts(), self.began.get(&step.id)) else { return false };
        let on_the_wall = self.began_nanoseconds.get(&step.id).map_or(0, |began| Clock::nanoseconds() - began);
        began.elapsed() >= lasts || u128::try_from(on_the_wall).is_ok_and(|passed| passed >= lasts.as_nanos())
    }

    /// What most others wait for comes first: on one host the programs and images of a control plane before those of pods, and among
    /// hosts the control plane before workers.
    fn streams(&mut self) -> Vec<(Order, Permits)> {
        let mut orders = Vec::new();
        loop {
            let (sent, in_use) = (self.pools.try_stream(), self.pools.try_stream_in_use());
            let cluster = Arc::clone(&self.cluster);
            let may_have = |step: &Step| in_use.is_some() || !is_in_use(&cluster, &step.host);
            let Some(step) = self.schedule.next_stream(sent.is_some(), may_have) else { return orders };
            // What a host fetches for itself takes nothing of this machine's line.
            let sent = sent.filter(|_| self.schedule.is_sent(&step.id));
            let permits = [sent, in_use.filter(|_| is_in_use(&cluster, &step.host))];
            orders.extend(self.begin(HostLane::Streams, &[step]).map(|order| (order, permits)));
        }
    }

    /// Says that these steps of one host begin. Nothing if there are none.
    fn begin(&mut self, lane: HostLane, steps: &[&Step]) -> Option<Order> {
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
        let steps = steps.iter().filter_map(|step| Some(((*step).clone(), self.act(&step.id)?))).collect();
        Some(Order { host, lane, steps, attempt, deadline })
    }

    fn send(&mut self, order: Order, permits: Permits) {
        self.acting += 1;
        let hosts = Arc::clone(&self.hosts);
        self.working.spawn(async move {
            let result = hosts.act(&order).await;
            drop(permits);
            Message::Acted { order, result }
        });
    }

    pub(super) fn started(&mut self, step: &Step) {
        self.schedule.set(&step.id, Status::Running);
        if self.is_repeated(&step.id) {
            return;
        }
        self.began.insert(step.id.clone(), Instant::now());
        if step.lasts().is_some() {
            self.began_nanoseconds.insert(step.id.clone(), Clock::nanoseconds());
        }
        let summary = self.plan.change(&step.id).map(|change| change.summary()).unwrap_or_default();
        self.events.send(EventKind::StepStarted { step: step.id.to_string(), host: step.host.clone(), title: step.title(), summary });
    }
}
