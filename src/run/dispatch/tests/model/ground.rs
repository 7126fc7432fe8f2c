//! What hosts keep from one run to the next: who holds them, and what of an earlier run is still at work. Who may take them is decided by
//! `tasks/src/holder.rs`; what its scripts do on a host is played here.

use std::collections::BTreeMap;
use std::time::Duration;

use kok_tasks::change::Verdict;
use kok_tasks::holder::{Holder, Standing, WAIT_SECONDS, next_epoch};
use kok_tasks::plan::Step;
use tokio::time::Instant;

use super::super::super::super::hosts::Order;
use super::super::super::super::schedule::HostLane;
use super::super::super::seeded::seeded;
use super::Model;
use super::support::world::World;

/// What one run leaves to the next.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Ground {
    /// Holder records, by host.
    records: BTreeMap<String, String>,
    /// Orders that have not ended, and when they will; nothing if never.
    at_work: BTreeMap<(String, HostLane), (Order, Option<Duration>)>,
    pub(in super::super) broken: Vec<String>,
}

/// Who takes hosts.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Taker {
    pub(in super::super) controller: &'static str,
    pub(in super::super) take_over: bool,
}

fn line(controller: &str, epoch: u64) -> String {
    let [run, controller, since, by] = [&format!("run{epoch}"), controller, "2026", "somebody"].map(str::to_owned);
    Holder { run, controller, since, by }.line(epoch)
}

/// Goes on with a step that a host had begun.
fn go_on(world: &mut World, step: &Step) {
    let seen = world.look(&step.host, step.looks().into_iter());
    if let Verdict::Differs(change) = step.diff(&seen) {
        world.carry_out(step, &change);
    }
}

impl Ground {
    /// Takes all hosts, once nothing is at work there any more. Whether that succeeds; if not, nothing was changed.
    pub(in super::super) fn take(&mut self, world: &mut World, by: Taker) -> bool {
        let standing: BTreeMap<String, Standing> =
            world.hosts.keys().map(|host| (host.clone(), Standing::parse(self.records.get(host).map_or("", String::as_str)))).collect();
        let Ok(epoch) = next_epoch(&standing, by.controller, by.take_over) else { return false };
        let epoch = if seeded!(EpochNotRaised) { 1 } else { epoch };
        let passed = standing.iter().filter(|(_, standing)| standing.epoch >= epoch);
        self.broken.extend(passed.map(|(host, standing)| format!("S6: {host} goes from epoch {} to {epoch}", standing.epoch)));
        self.records = standing.keys().map(|host| (host.clone(), line(by.controller, epoch))).collect();
        if seeded!(WorkNotWaitedFor) {
            return true;
        }
        // The first look of the same controller's next run waits until a script has ended; one of another's is fenced by the new record first.
        let is_fenced = standing.values().any(|standing| standing.holder.is_some() && !standing.is_stale(by.controller));
        let is_free = self.wait(world, by.take_over, is_fenced);
        if !is_free {
            self.release();
        }
        is_free
    }

    /// Waits for what is at work, as long as a script waits; what never ends is ended by who takes over. Whether nothing is left.
    fn wait(&mut self, world: &mut World, take_over: bool, is_fenced: bool) -> bool {
        let is_long = |rest: &Option<Duration>| rest.is_none_or(|rest| rest > Duration::from_secs(WAIT_SECONDS));
        for (key, (order, rest)) in std::mem::take(&mut self.at_work) {
            match is_long(&rest) {
                true if take_over => {}
                true => drop(self.at_work.insert(key, (order, rest))),
                false => {
                    // The step that is at work ends; those behind it compare the record before they begin.
                    let steps = if is_fenced { 1 } else { order.steps.len() };
                    order.steps.iter().take(steps).for_each(|(step, _)| go_on(world, step));
                }
            }
        }
        self.at_work.is_empty()
    }

    /// Takes the holder away and leaves the epoch.
    fn release(&mut self) {
        self.records.values_mut().for_each(|record| *record = format!("epoch={}", Standing::parse(record).epoch));
    }

    /// Puts what is at work on the hosts of a new run, where it should find nothing.
    pub(in super::super) fn place(&self, model: &Model) {
        let until = |rest: &Option<Duration>| rest.map(|rest| Instant::now() + rest);
        model.lock().at_work = self.at_work.iter().map(|(key, (_, rest))| (key.clone(), until(rest))).collect();
    }

    /// Takes over from a run what it leaves. One that was killed lets go of nothing, and what it had sent goes on for so long; so does what it
    /// had given up.
    pub(in super::super) fn collect(&mut self, model: &Model, is_killed: bool, goes_on: Option<Duration>) {
        let inner = model.lock();
        self.at_work = inner.sent.iter().map(|(key, order)| (key.clone(), (order.clone(), goes_on))).collect();
        let highest = self.records.values().map(|record| Standing::parse(record).epoch).max().unwrap_or_default();
        if inner.is_taken {
            self.records.values_mut().for_each(|record| *record = line("other", highest + 1));
        } else if !is_killed {
            self.release();
        }
    }
}
