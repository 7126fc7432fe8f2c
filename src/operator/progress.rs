//! How far a run is, folded from its events.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::object::{MOST_MESSAGE, fitted, shortened};
use crate::event::{Event, EventKind};

/// Steps at work that are named.
const MOST_NOW: usize = 8;
/// Hosts that are named.
const MOST_HOSTS: usize = 100;

/// How far a run is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RunProgress {
    pub(super) done: usize,
    pub(super) failed: usize,
    pub(super) blocked: usize,
    pub(super) total: usize,
    now: BTreeSet<String>,
    hosts: BTreeMap<String, HostProgress>,
    /// The host of each step that was planned and is not done.
    planned: BTreeMap<String, String>,
    /// The hosts that the last plan changes.
    changing: BTreeSet<String>,
    /// Whether any step was begun.
    pub(super) has_begun: bool,
    /// Steps and changes of the last plan.
    pub(super) plan: Option<(usize, usize)>,
}

/// How far a host is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct HostProgress {
    done: usize,
    total: usize,
    now: Option<String>,
    state: State,
    message: String,
}

/// The worst first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Failed,
    Unreachable,
    Lost,
    Running,
    #[default]
    Waiting,
    Done,
}

impl State {
    const fn word(self) -> &'static str {
        match self {
            Self::Failed => "Failed",
            Self::Unreachable => "Unreachable",
            Self::Lost => "Lost",
            Self::Running => "Running",
            Self::Waiting => "Waiting",
            Self::Done => "Done",
        }
    }
}

impl RunProgress {
    /// Takes what happened. Whether there is anything new to show.
    pub(super) fn take(&mut self, event: &Event) -> bool {
        match &event.kind {
            EventKind::RunStarted { .. } => self.begun(),
            EventKind::PlanMade { steps, changes } => self.plan_made(*steps, *changes),
            EventKind::StepPlanned { step, host, .. } => {
                self.planned.insert(step.clone(), host.clone());
                self.changing.insert(host.clone());
                self.host(host).total += 1;
            }
            EventKind::StepStarted { step, host, .. } => self.started(step, host),
            EventKind::StepDone { step, host, .. } => self.done(step, host),
            EventKind::StepFailed { step, host, error, .. } => self.step_failed(step, host, error),
            EventKind::StepBlocked { .. } => self.blocked += 1,
            EventKind::HostLeftOut { host, because } => self.away(host, State::Unreachable, because),
            EventKind::HostLost { host, because } => self.away(host, State::Lost, because),
            EventKind::HostBack { host, .. } => self.away(host, State::Running, ""),
            EventKind::RunFinished { blocked, .. } => {
                self.blocked = *blocked;
                self.now.clear();
            }
            _ => return false,
        }
        true
    }

    fn host(&mut self, host: &str) -> &mut HostProgress {
        self.hosts.entry(host.to_owned()).or_default()
    }

    /// What was wrong in the run before this one is seen again, or it is mended.
    fn begun(&mut self) {
        self.now.clear();
        for progress in self.hosts.values_mut() {
            let state = if progress.total > 0 && progress.done >= progress.total { State::Done } else { State::Waiting };
            (progress.now, progress.state, progress.message) = (None, state, String::new());
        }
    }

    /// What comes after a stage that was done comes on top of it; what of the plan before this one is not done is planned anew, or is no part of it.
    fn plan_made(&mut self, steps: usize, changes: usize) {
        for host in std::mem::take(&mut self.planned).into_values() {
            let progress = self.host(&host);
            progress.total = progress.total.saturating_sub(1);
        }
        self.changing.clear();
        self.plan = Some((steps, changes));
        (self.total, self.failed, self.blocked) = (self.done + changes, 0, 0);
        self.now.clear();
    }

    fn started(&mut self, step: &str, host: &str) {
        self.has_begun = true;
        self.now.insert(step.to_owned());
        let progress = self.host(host);
        (progress.now, progress.state) = (Some(step.to_owned()), State::Running);
    }

    fn done(&mut self, step: &str, host: &str) {
        self.now.remove(step);
        // What nobody has planned, or is done once more, was to be done all the same.
        let more = usize::from(self.planned.remove(step).is_none());
        self.done += 1;
        self.total += more;
        let progress = self.host(host);
        progress.done += 1;
        progress.total += more;
        progress.now = progress.now.take().filter(|now| now != step);
        if progress.done >= progress.total && progress.state == State::Running {
            progress.state = State::Done;
        }
    }

    fn step_failed(&mut self, step: &str, host: &str, error: &str) {
        self.now.remove(step);
        self.failed += 1;
        let progress = self.host(host);
        progress.now = None;
        progress.state = State::Failed;
        progress.message = fitted(&format!("{step}: {error}"), MOST_MESSAGE);
    }

    fn away(&mut self, host: &str, state: State, because: &str) {
        let progress = self.host(host);
        progress.state = state;
        progress.message = fitted(because, MOST_MESSAGE);
    }

    /// Of a hundred, which it has when all is over: after what was planned there may be another stage.
    fn percent(&self, is_over: bool) -> usize {
        if is_over { 100 } else { (self.done * 100).checked_div(self.total).unwrap_or_default().min(99) }
    }

    /// As part of a status; nothing before there is a plan. `is_over` says that all is done, and nothing more will be planned.
    pub(super) fn json(&self, is_over: bool) -> Value {
        if self.plan.is_none() {
            return Value::Null;
        }
        let now: Vec<&str> = self.now.iter().map(String::as_str).take(MOST_NOW).collect();
        let percent = self.percent(is_over);
        let text = format!("{percent} %");
        let Self { done, failed, blocked, total, .. } = self;
        json!({"done": done, "failed": failed, "blocked": blocked, "total": total, "percent": percent, "text": text, "now": now})
    }

    /// The last plan as part of a status.
    pub(super) fn plan_json(&self) -> Value {
        let Some((steps, changes)) = self.plan else { return Value::Null };
        let hosts = self.changing.len();
        let text = format!("{} on {}", kok_crds::count(changes, "change"), kok_crds::count(hosts, "host"));
        json!({"steps": steps, "changes": changes, "hosts": hosts, "text": text})
    }

    /// The hosts as part of a status: those in trouble first.
    pub(super) fn hosts_json(&self, most: usize) -> Vec<Value> {
        let mut hosts: Vec<(&String, &HostProgress)> = self.hosts.iter().collect();
        hosts.sort_by_key(|(name, host)| (host.state, (*name).clone()));
        let json = |(name, host): (&String, &HostProgress)| {
            let HostProgress { done, total, now, state, message } = host;
            let mut json = json!({"name": name, "done": done, "total": total, "state": state.word()});
            // Nothing is not null to the API server.
            if let Value::Object(fields) = &mut json {
                fields.extend(now.as_ref().map(|now| ("now".to_owned(), json!(now))));
                fields.extend((!message.is_empty()).then(|| ("message".to_owned(), json!(message))));
            }
            json
        };
        shortened(&hosts.into_iter().map(json).collect::<Vec<_>>(), most.min(MOST_HOSTS))
    }

    /// How many hosts there were, how many of them failed, and how many could not be reached.
    pub(super) fn host_counts(&self) -> (usize, usize, usize) {
        let number_of = |wanted: &[State]| self.hosts.values().filter(|host| wanted.contains(&host.state)).count();
        (self.hosts.len(), number_of(&[State::Failed]), number_of(&[State::Unreachable, State::Lost]))
    }
}

#[cfg(test)]
mod tests;
