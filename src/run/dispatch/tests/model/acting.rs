//! What becomes of an order, with the fault that is meant for it.

use std::collections::BTreeSet;
use std::time::Duration;

use kok_tasks::observe::{ApiServerState, KubernetesState, Look, Looks, Observations};
use kok_tasks::operations::Operation;
use kok_tasks::plan::{Action, Step};
use tokio::time::Instant;

use super::super::super::super::hosts::{Acted, Answer, Hosts, Order, OrderTrouble};
use super::super::super::super::schedule::HostLane;
use super::super::super::super::wish::Stop;
use super::super::super::seeded::seeded;
use super::support::api;
use super::{Fault, Inner, Model};
use crate::event::EventKind;

impl Model {
    /// Does these steps of an order, as far as none fails.
    fn carry_out(&self, order: &Order, steps: usize) -> Answer {
        let mut inner = self.lock();
        inner.pass();
        inner.oracle.is_changed = true;
        let mut acted = vec![Acted::NotBegun; order.steps.len()];
        for (index, (step, act)) in order.steps.iter().enumerate().take(steps) {
            if inner.gives_up(step, act) {
                acted[index] = Acted::Ended;
                continue;
            }
            let again = inner.failing_again.as_ref() == Some(&step.id) && inner.done.iter().any(|done| *done == *step.id.as_str());
            if again || inner.failing.as_ref() == Some(&step.id) {
                acted[index] = Acted::Failed("it was to fail".to_owned());
                break;
            }
            if inner.lacks_api_server(step) {
                acted[index] = Acted::Failed("connection refused".to_owned());
                break;
            }
            let seen = inner.world.look(&step.host, step.looks().into_iter());
            let kok_tasks::change::Verdict::Differs(change) = step.diff(&seen) else {
                // A trigger's change, such as a restart, is made again whatever is seen.
                let change = kok_tasks::change::Change::new(kok_tasks::change::ChangeKind::DoAgain, "it was asked for");
                inner.do_step(step, &change);
                inner.done.push(step.id.to_string());
                acted[index] = Acted::Ended;
                continue;
            };
            inner.do_step(step, &change);
            inner.done.push(step.id.to_string());
            acted[index] = Acted::Ended;
        }
        drop(inner);
        self.answer(order, acted)
    }

    fn answer(&self, order: &Order, acted: Vec<Acted>) -> Answer {
        let mut inner = self.lock();
        inner.pass();
        let looks = order.steps.iter().flat_map(|(step, _)| step.looks());
        Answer { acted, outputs: Vec::new(), seen: inner.world.look(&order.host, looks), restarted: inner.restarted.contains(&order.host) }
    }

    fn begin(&self, order: &Order) -> Result<Option<Fault>, OrderTrouble> {
        let mut inner = self.lock();
        let number = inner.orders;
        if inner.dies_at == Some(number) {
            self.died.send_replace(true);
            drop(inner);
            return Err(OrderTrouble::Lost { because: "the controller is dead".to_owned(), begun: true });
        }
        inner.orders += 1;
        let told = inner.forbidden.get(&order.host).copied();
        let is_forbidden = told.is_some_and(|told| told < Instant::now());
        inner.oracle.broken.extend(is_forbidden.then(|| format!("S7: {} is sent something although it is gone, or another's", order.host)));
        inner.oracle.sends(order.steps.iter().map(|(step, _)| step));
        let written: BTreeSet<&str> = inner.emitted.iter().take(inner.flushed).filter_map(started).collect();
        let steps = order.steps.iter().map(|(step, _)| step.id.to_string());
        let unwritten: Vec<String> = steps.filter(|id| !written.contains(id.as_str())).collect();
        inner.unwritten.extend(unwritten);
        if inner.is_beside(order) {
            let first = order.steps.first().map(|(step, _)| step.id.to_string()).unwrap();
            inner.beside.push(first);
        }
        let fault = inner.faults.get(&number).copied();
        if let Some(Fault::Gone(host)) = fault {
            inner.gone.insert(host);
        }
        if let Err(gone) = reachable(&inner, &order.host) {
            inner.forbidden.entry(order.host.clone()).or_insert_with(Instant::now);
            return Err(gone);
        }
        inner.longest_deadline = inner.longest_deadline.max(order.deadline);
        let stays = !matches!(fault, Some(Fault::LostBefore | Fault::NotStarted | Fault::Restarted | Fault::Held));
        if stays && (inner.dies_at.is_some() || matches!(fault, Some(Fault::StillAtWork | Fault::NeverEnds))) {
            inner.sent.insert((order.host.clone(), order.lane), order.clone());
        }
        inner.in_flight.extend(order.steps.iter().map(|(step, _)| step.id.to_string()));
        if order.lane == HostLane::Streams {
            inner.streams += 1;
            inner.most_streams = inner.most_streams.max(inner.streams);
        }
        Ok(fault)
    }

    fn end(&self, order: &Order) {
        let mut inner = self.lock();
        order.steps.iter().for_each(|(step, _)| {
            inner.in_flight.remove(step.id.as_str());
        });
        let key = (order.host.clone(), order.lane);
        if !inner.at_work.contains_key(&key) {
            inner.sent.remove(&key);
        }
        if order.lane == HostLane::Streams {
            inner.streams -= 1;
        }
    }

    async fn suffer(&self, order: &Order, fault: Option<Fault>) -> Result<Answer, OrderTrouble> {
        let lost = |begun| Err(OrderTrouble::Lost { because: "the link broke".to_owned(), begun });
        let all = order.steps.len();
        let at_work = (order.host.clone(), order.lane);
        tokio::time::sleep(Duration::from_secs(1)).await;
        match fault {
            Some(Fault::Panics) => panic!("a fault of the model"),
            Some(Fault::NotStarted) => return lost(false),
            Some(Fault::LostBefore) => return lost(true),
            Some(Fault::LostBetween) => {
                self.carry_out(order, all / 2);
                return lost(true);
            }
            Some(Fault::LostAfter) => {
                self.carry_out(order, all);
                return lost(true);
            }
            Some(Fault::StillAtWork) => {
                self.lock().at_work.insert(at_work, Some(Instant::now() + Duration::from_secs(20)));
                return lost(true);
            }
            Some(Fault::Restarted) => {
                self.lock().restarted.insert(order.host.clone());
                return lost(true);
            }
            Some(Fault::NeverEnds) => {
                self.lock().at_work.insert(at_work, None);
                tokio::time::sleep(order.deadline).await;
                return Err(OrderTrouble::Late { because: "no result".to_owned() });
            }
            Some(Fault::Slow(minutes)) => {
                let answer = self.carry_out(order, all);
                tokio::time::sleep(Duration::from_secs(minutes * 60)).await;
                return Ok(answer);
            }
            Some(Fault::Held) => {
                let mut inner = self.lock();
                inner.is_taken = true;
                let hosts: Vec<String> = inner.world.hosts.keys().cloned().collect();
                hosts.into_iter().for_each(|host| {
                    inner.forbidden.entry(host).or_insert_with(Instant::now);
                });
                return Err(OrderTrouble::Held { because: "run=other".to_owned() });
            }
            Some(Fault::Interrupt) => self.interrupt(Stop::Finish),
            Some(Fault::InterruptTwice) => {
                self.interrupt(Stop::Finish);
                tokio::time::sleep(Duration::from_millis(100)).await;
                self.interrupt(Stop::Now);
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            Some(Fault::Unanswered) => return Ok(self.unanswered(order)),
            Some(Fault::UnansweredInterrupt) => {
                self.interrupt(Stop::Finish);
                return Ok(self.unanswered(order));
            }
            Some(Fault::UnansweredLookInterrupt) => {
                self.lock().interrupts_look = true;
                return Ok(self.unanswered(order));
            }
            Some(Fault::Gone(_)) | None => {}
        }
        Ok(self.carry_out(order, all))
    }

    /// Everything is done, and the API server goes away before it is asked.
    fn unanswered(&self, order: &Order) -> Answer {
        let mut answer = self.carry_out(order, order.steps.len());
        let away = || "connection refused".to_owned();
        answer.seen.kubernetes = answer.seen.kubernetes.map(|_| KubernetesState::Unanswered(away()));
        answer.seen.api_server = answer.seen.api_server.map(|_| ApiServerState::NotReady(away()));
        answer
    }
}

fn started(kind: &EventKind) -> Option<&str> {
    if let EventKind::StepStarted { step, .. } = kind { Some(step) } else { None }
}

fn reachable(inner: &Inner, host: &str) -> Result<(), OrderTrouble> {
    if inner.gone.contains(host) { Err(OrderTrouble::Gone { because: "it is away".to_owned(), is_away: true }) } else { Ok(()) }
}

impl Inner {
    /// Whether an order comes while an earlier one of its lane is at work. One that never ends keeps the host from beginning anything else, so there only
    /// a step that is sent again counts.
    fn is_beside(&self, order: &Order) -> bool {
        let key = (order.host.clone(), order.lane);
        let is_again = |before: &Order| before.steps.iter().any(|(step, _)| order.steps.iter().any(|(again, _)| again.id == step.id));
        match self.at_work.get(&key) {
            None => false,
            Some(Some(_)) => true,
            Some(None) => self.sent.get(&key).is_none_or(is_again),
        }
    }

    /// Whether a step talks to an API server that is away for the moment.
    fn lacks_api_server(&self, step: &Step) -> bool {
        let (api, hosts) = (&self.world.api, &self.world.hosts);
        let asks = step.looks().into_iter().collect::<Looks>().asks_kubernetes();
        match &step.action {
            _ if self.down.is_empty() => false,
            Action::Operation(Operation::Join(_)) => !api::any_answers(api, hosts),
            Action::Operation(Operation::KubeletFinalize(_)) => !api::answers(api, &hosts[&step.host], hosts),
            _ => asks && !api::answers(api, &hosts[&step.host], hosts),
        }
    }
}

impl Hosts for Model {
    async fn act(&self, order: &Order) -> Result<Answer, OrderTrouble> {
        let fault = self.begin(order)?;
        let key = (order.host.clone(), order.lane);
        if self.lock().at_work.get(&key) == Some(&None) {
            // What the beginning of every script does on a host.
            tokio::time::sleep(Duration::from_secs(120)).await;
            self.end(order);
            return Err(OrderTrouble::Failed { because: "an earlier script is still at work".to_owned(), unknown: false });
        }
        let result = self.suffer(order, fault).await;
        self.end(order);
        result
    }

    async fn settle(&self, order: &Order, patience: Duration) -> Result<Answer, OrderTrouble> {
        reachable(&self.lock(), &order.host)?;
        let key = (order.host.clone(), order.lane);
        let at_work = self.lock().at_work.get(&key).copied();
        match at_work {
            Some(None) => {
                tokio::time::sleep(patience).await;
                return Err(OrderTrouble::Late { because: "it is still at work".to_owned() });
            }
            Some(Some(until)) if until > Instant::now() + patience => {
                return Err(OrderTrouble::Late { because: "it is still at work".to_owned() });
            }
            Some(Some(until)) => {
                tokio::time::sleep_until(until).await;
                self.lock().at_work.remove(&key);
                self.lock().sent.remove(&key);
                self.carry_out(order, order.steps.len());
            }
            None => tokio::time::sleep(Duration::from_secs(1)).await,
        }
        Ok(self.answer(order, vec![Acted::Unknown; order.steps.len()]))
    }

    async fn look(&self, host: &str, looks: Looks) -> Result<Observations, OrderTrouble> {
        let takes = self.lock().look_takes;
        tokio::time::sleep(takes).await;
        if std::mem::take(&mut self.lock().interrupts_look) {
            self.interrupt(Stop::Finish);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let mut inner = self.lock();
        inner.looks += 1;
        inner.pass();
        reachable(&inner, host)?;
        inner.world.settle();
        inner.is_looked_at();
        // What is asked where static pods are waited for, and an API server; the gate asks for no kubelet.
        let asks = |look: Look| looks.iter().any(|other| other == look);
        if seeded!(PodsNotAwaited) && asks(Look::Unit("kubelet.service".to_owned())) && asks(Look::ApiServer) {
            inner.world.host(host).down.clear();
        }
        Ok(inner.world.look(host, looks.iter()))
    }

    fn reaches(&self, _: &str) -> bool {
        true
    }

    fn redact(&self, text: &str) -> String {
        text.to_owned()
    }
}
