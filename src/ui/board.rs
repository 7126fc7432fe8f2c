//! What a terminal shows of a run at a moment: pure bookkeeping over its events.

mod overdue;

use std::collections::{BTreeMap, BTreeSet};

use kok_crds::count;

use super::duration;
use crate::event::{Event, EventKind, Lane};
use crate::failure::printable;

/// The state of a run as far as it was told.
#[derive(Debug, Default)]
pub(super) struct Board {
    title: String,
    pub(super) hosts: BTreeMap<String, HostState>,
    planned: usize,
    pub(super) done: usize,
    finished: BTreeSet<String>,
    /// Hosts that have not said anything yet.
    awaited: BTreeSet<String>,
    lanes: BTreeMap<String, Lane>,
    pub(super) over: bool,
}

/// More names than this would hide what else there is to see.
const MOST_AWAITED: usize = 5;

/// What is known of a host.
#[derive(Debug, Default)]
pub(super) struct HostState {
    pub(super) planned: usize,
    pub(super) done: usize,
    failed: usize,
    blocked: usize,
    probed: bool,
    running: BTreeMap<String, Running>,
    /// Steps that were not begun, with what they need.
    pending: BTreeMap<String, Vec<String>>,
}

#[derive(Debug)]
struct Running {
    began: u64,
    /// The number of the event that it began with: steps of one script begin in its order, in the same moment.
    order: u64,
    /// After so long, in milliseconds, whoever waits is told that it takes long.
    patience: u64,
    title: String,
    lane: Lane,
    /// Bytes sent, or what is waited for.
    detail: String,
}

impl HostState {
    pub(super) fn is_done(&self) -> bool {
        self.planned > 0 && self.done + self.failed + self.blocked >= self.planned
    }

    /// Whether somebody who watches wants to see it: what failed and what is at work before what waits, and that before what is done.
    fn rank(&self) -> usize {
        match (self.failed > 0, self.running.is_empty(), self.is_done()) {
            (_, false, _) => 0,
            (_, true, false) => 1,
            (true, ..) => 2,
            _ => 3,
        }
    }
}

impl Board {
    pub(super) fn take(&mut self, event: &Event) {
        match &event.kind {
            EventKind::RunStarted { verb, cluster, .. } => self.title = format!("{verb} {cluster}"),
            EventKind::HostsAwaited { hosts } => self.awaited.extend(hosts.iter().cloned()),
            EventKind::HostProbed { host, .. } => {
                self.awaited.remove(host);
                self.host(host).probed = true;
            }
            EventKind::HostLeftOut { host, .. } => drop(self.awaited.remove(host)),
            EventKind::StepPlanned { step, host, lane, needs, .. } => self.plan(step, host, *lane, needs),
            EventKind::PlanDropped { .. } => {
                (self.planned, self.lanes, self.hosts) = Default::default();
            }
            EventKind::StepStarted { step, host, title, .. } => self.start(step, host, title, event),
            EventKind::StepWaiting { step, because, last_words, .. } => {
                let because = because.lines().next().unwrap_or_default();
                let words = last_words.as_ref().map(|words| format!("; {words}")).unwrap_or_default();
                self.detail(step, format!("{because}{words}"));
            }
            EventKind::StepProgress { step, bytes, total } => {
                self.detail(step, format!("{} of {} MB", bytes / 1_000_000, total / 1_000_000));
            }
            EventKind::StepDone { step, host, .. } => {
                self.done += 1;
                self.end(step, host, |host| &mut host.done);
            }
            EventKind::StepRenewed { step, host, .. } => {
                self.finished.remove(step);
                self.done = self.done.saturating_sub(1);
                let state = self.host(host);
                state.done = state.done.saturating_sub(1);
                state.pending.insert(step.clone(), Vec::new());
            }
            EventKind::StepFailed { step, host, .. } => self.end(step, host, |host| &mut host.failed),
            EventKind::StepBlocked { step, .. } => {
                let host = self.hosts.iter().find(|(_, state)| state.pending.contains_key(step)).map(|(host, _)| host.clone());
                host.iter().for_each(|host| self.end(step, host, |host| &mut host.blocked));
            }
            EventKind::RunRefused { .. } | EventKind::RunFinished { .. } => self.over = true,
            _ => {}
        }
    }

    fn host(&mut self, host: &str) -> &mut HostState {
        self.hosts.entry(host.to_owned()).or_default()
    }

    fn plan(&mut self, step: &str, host: &str, lane: Lane, needs: &[String]) {
        self.planned += 1;
        self.lanes.insert(step.to_owned(), lane);
        let state = self.host(host);
        state.planned += 1;
        state.pending.insert(step.to_owned(), needs.to_vec());
    }

    fn start(&mut self, step: &str, host: &str, title: &str, event: &Event) {
        let lane = self.lanes.get(step).copied().unwrap_or(Lane::Script);
        let (began, order, patience) = (event.milliseconds, event.sequence, overdue::FIRST_MILLISECONDS);
        let state = self.host(host);
        state.pending.remove(step);
        state.running.insert(step.to_owned(), Running { began, order, patience, title: title.to_owned(), lane, detail: String::new() });
    }

    fn detail(&mut self, step: &str, detail: String) {
        if let Some(running) = self.hosts.values_mut().find_map(|host| host.running.get_mut(step)) {
            running.detail = detail;
        }
    }

    fn end(&mut self, step: &str, host: &str, count: impl Fn(&mut HostState) -> &mut usize) {
        self.finished.insert(step.to_owned());
        let state = self.host(host);
        state.running.remove(step);
        state.pending.remove(step);
        *count(state) += 1;
    }

    /// One line about the whole run.
    pub(super) fn summary(&self, now: u64) -> String {
        let mut parts = vec![self.title.clone(), duration(now)];
        if self.planned == 0 {
            let probed = self.hosts.values().filter(|host| host.probed).count();
            parts.push(format!("{probed} of {} probed", count(probed + self.awaited.len(), "host")));
            // The first ones are quick; whoever is left then is who it waits for.
            if probed > 0 && (1..=MOST_AWAITED).contains(&self.awaited.len()) {
                parts.push(format!("waiting for {}", self.awaited.iter().cloned().collect::<Vec<_>>().join(", ")));
            }
        } else {
            parts.push(format!("{} of {}", self.done, count(self.planned, "change")));
            let number = |is: &dyn Fn(&HostState) -> bool| self.hosts.values().filter(|host| host.planned > 0 && is(host)).count();
            let (done, working) = (number(&HostState::is_done), number(&|host| !host.running.is_empty()));
            let waiting = number(&|host| host.running.is_empty() && !host.is_done());
            parts.push(format!("hosts: {working} at work, {waiting} waiting, {done} done"));
            let failed = number(&|host| host.failed > 0);
            if failed > 0 {
                parts.push(format!("{failed} with failures"));
            }
        }
        parts.join("  ")
    }

    /// A line for each of `most` hosts at the most: those that matter, by name. The last one counts the others.
    pub(super) fn rows(&self, now: u64, most: usize) -> Vec<String> {
        let mut shown: Vec<(&String, &HostState)> = self.hosts.iter().filter(|(_, host)| host.planned > 0).collect();
        let all = shown.len();
        if all > most {
            shown.sort_by_key(|(name, host)| (host.rank(), (*name).clone()));
            shown.truncate(most.saturating_sub(1));
            shown.sort_by_key(|(name, _)| (*name).clone());
        }
        let width = shown.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default().min(24);
        let mut rows: Vec<String> = shown.iter().map(|(name, host)| self.row(name, host, width, now)).collect();
        if all > shown.len() {
            rows.push(format!("and {}", count(all - shown.len(), "more host")));
        }
        rows
    }

    fn row(&self, name: &str, host: &HostState, width: usize, now: u64) -> String {
        let count = format!("{}/{}", host.done, host.planned);
        printable(&format!("{name:width$}  {count:>7}  {}", self.says(host, now)))
    }

    fn says(&self, host: &HostState, now: u64) -> String {
        // What acts goes before what only waits; of several, the one that has taken longest.
        let primary = host.running.values().min_by_key(|running| (running.lane == Lane::Wait, running.began, running.order));
        let Some(running) = primary else {
            return match (host.is_done(), host.failed) {
                (true, 0) => "done".to_owned(),
                (true, failed) => format!("{failed} failed, {} not begun", host.blocked),
                (false, _) => self.awaited(host),
            };
        };
        let others = host.running.len() - 1;
        let more = if others > 0 { format!(" (+{others})") } else { String::new() };
        let detail = if running.detail.is_empty() { String::new() } else { format!(": {}", running.detail) };
        let wait = if running.lane == Lane::Wait { "waits for " } else { "" };
        format!("{:>6}  {wait}{}{detail}{more}", duration(now.saturating_sub(running.began)), running.title)
    }

    /// What a host on which nothing runs waits for: a step of another host, of those that are not done the first in order.
    fn awaited(&self, host: &HostState) -> String {
        let own = |need: &String| host.pending.contains_key(need);
        let others = host.pending.values().flatten().filter(|need| !self.finished.contains(*need) && !own(need));
        match others.min() {
            Some(need) => format!("waits for {need}"),
            None => "waits for its turn".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
