//! How far a run is, folded from its events.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::object::{MOST_MESSAGE, fitted};
use crate::event::{Event, EventKind};

/// Steps at work that are named.
const MOST_NOW: usize = 8;
/// Hosts that are named.
const MOST_HOSTS: usize = 100;

/// How far a run is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) done: usize,
    pub(super) failed: usize,
    pub(super) blocked: usize,
    pub(super) total: usize,
    now: BTreeSet<String>,
    hosts: BTreeMap<String, HostProgress>,
    /// The host of each step that was planned and has not ended.
    planned: BTreeMap<String, String>,
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

impl Progress {
    /// Takes what happened. Whether there is anything new to show.
    pub(super) fn take(&mut self, event: &Event) -> bool {
        match &event.kind {
            EventKind::PlanMade { steps, changes } => {
                // What comes after a stage that was done comes on top of it.
                self.plan = Some((*steps, *changes));
                self.total = self.done + changes;
                self.failed = 0;
                self.blocked = 0;
                self.planned.clear();
                self.now.clear();
            }
            EventKind::StepPlanned { step, host, .. } => {
                self.planned.insert(step.clone(), host.clone());
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

    fn started(&mut self, step: &str, host: &str) {
        self.now.insert(step.to_owned());
        let of = self.host(host);
        (of.now, of.state) = (Some(step.to_owned()), State::Running);
    }

    fn ended(&mut self, step: &str) {
        self.now.remove(step);
        self.planned.remove(step);
    }

    fn done(&mut self, step: &str, host: &str) {
        self.ended(step);
        self.done += 1;
        let of = self.host(host);
        of.done += 1;
        of.now = of.now.take().filter(|now| now != step);
        if of.done >= of.total && of.state == State::Running {
            of.state = State::Done;
        }
    }

    fn step_failed(&mut self, step: &str, host: &str, error: &str) {
        self.ended(step);
        self.failed += 1;
        let of = self.host(host);
        of.now = None;
        of.state = State::Failed;
        of.message = fitted(&format!("{step}: {error}"), MOST_MESSAGE);
    }

    fn away(&mut self, host: &str, state: State, because: &str) {
        let of = self.host(host);
        of.state = state;
        of.message = fitted(because, MOST_MESSAGE);
    }

    /// Of a hundred; of a plan that changes nothing all is done.
    fn percent(&self) -> usize {
        (self.done * 100).checked_div(self.total).unwrap_or(100).min(100)
    }

    /// As part of a status; nothing before there is a plan.
    pub(super) fn json(&self) -> Value {
        if self.plan.is_none() {
            return Value::Null;
        }
        let now: Vec<&str> = self.now.iter().map(String::as_str).take(MOST_NOW).collect();
        let percent = self.percent();
        let text = format!("{percent} %");
        let Self { done, failed, blocked, total, .. } = self;
        json!({"done": done, "failed": failed, "blocked": blocked, "total": total, "percent": percent, "text": text, "now": now})
    }

    /// The last plan as part of a status.
    pub(super) fn plan_json(&self) -> Value {
        let Some((steps, changes)) = self.plan else { return Value::Null };
        let hosts = self.hosts.values().filter(|host| host.total > 0).count();
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
        hosts.into_iter().take(most.min(MOST_HOSTS)).map(json).collect()
    }

    /// How many hosts there were, how many of them failed, and how many could not be reached.
    pub(super) fn host_counts(&self) -> (usize, usize, usize) {
        let of = |wanted: &[State]| self.hosts.values().filter(|host| wanted.contains(&host.state)).count();
        (self.hosts.len(), of(&[State::Failed]), of(&[State::Unreachable, State::Lost]))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, reason = "these are tests")]

    use super::*;
    use crate::event::Lane;

    fn told(progress: &mut Progress, kind: EventKind) -> bool {
        progress.take(&Event { sequence: 0, milliseconds: 0, kind })
    }

    fn planned(step: &str, host: &str) -> EventKind {
        let (task, title, summary) = (String::new(), String::new(), String::new());
        EventKind::StepPlanned { step: step.to_owned(), host: host.to_owned(), task, title, summary, lane: Lane::Script, needs: Vec::new() }
    }

    fn started(step: &str, host: &str) -> EventKind {
        EventKind::StepStarted { step: step.to_owned(), host: host.to_owned(), title: String::new(), summary: String::new() }
    }

    fn done(step: &str, host: &str) -> EventKind {
        EventKind::StepDone { step: step.to_owned(), host: host.to_owned(), took_milliseconds: 1 }
    }

    #[test]
    fn a_run_is_told_step_by_step() {
        let mut progress = Progress::default();
        assert_eq!(progress.json(), Value::Null);
        told(&mut progress, EventKind::PlanMade { steps: 9, changes: 3 });
        for (step, host) in [("a/x", "a"), ("a/y", "a"), ("b/x", "b")] {
            told(&mut progress, planned(step, host));
        }
        told(&mut progress, started("a/x", "a"));
        assert_eq!(progress.json()["now"], json!(["a/x"]));
        told(&mut progress, done("a/x", "a"));
        told(&mut progress, started("b/x", "b"));
        let failed = EventKind::StepFailed { step: "b/x".to_owned(), host: "b".to_owned(), error: "no".to_owned(), unknown: false };
        told(&mut progress, failed);
        let json = progress.json();
        assert_eq!((&json["done"], &json["failed"], &json["text"], &json["now"]), (&json!(1), &json!(1), &json!("33 %"), &json!([])));
        assert_eq!(progress.plan_json()["text"], "3 changes on 2 hosts");
        let hosts = progress.hosts_json(9);
        assert_eq!((&hosts[0]["name"], &hosts[0]["state"], &hosts[0]["message"]), (&json!("b"), &json!("Failed"), &json!("b/x: no")));
        assert_eq!(progress.host_counts(), (2, 1, 0));
    }

    #[test]
    fn a_second_stage_comes_on_top_of_the_first() {
        let mut progress = Progress::default();
        told(&mut progress, EventKind::PlanMade { steps: 1, changes: 1 });
        told(&mut progress, planned("a/x", "a"));
        told(&mut progress, done("a/x", "a"));
        told(&mut progress, EventKind::PlanMade { steps: 4, changes: 3 });
        assert_eq!((progress.done, progress.total, progress.percent()), (1, 4, 25));
        assert!(!told(&mut progress, EventKind::SecretsReady { made: 1 }));
    }
}
