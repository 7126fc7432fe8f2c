//! From the statuses of an operation, one after the other, to what a run here would have told. A status says less: steps that were done between two of them
//! have no names.

use std::collections::BTreeMap;

use serde_json::Value;

use super::object;
use crate::event::{EventKind, FORMAT, Lane};

/// What there is to say.
#[derive(Debug)]
pub enum FollowedEvent {
    /// As of a run here.
    Event(EventKind),
    /// A line that stays.
    Line(String),
}

/// What an operation is called that was done unseen.
const UNSEEN: &str = "a short step";

/// What was said of an operation so far.
#[derive(Debug, Default)]
pub(super) struct Followed {
    run: Option<String>,
    plan: Option<(u64, u64)>,
    line: String,
    hosts: BTreeMap<String, Host>,
    /// Number of the next step without a name.
    next: u64,
    is_over: bool,
}

#[derive(Debug, Default)]
struct Host {
    planned: u64,
    done: u64,
    /// The step at work, and since when.
    now: Option<(String, u64)>,
    state: String,
    message: String,
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    object::text(value, pointer).unwrap_or_default()
}

fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

impl Followed {
    /// Whether the operation is over, and that was said.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// What is new in an operation, at this time, in milliseconds.
    pub(super) fn take(&mut self, operation: &Value, now: u64) -> Vec<FollowedEvent> {
        let mut seen = Vec::new();
        if self.is_over {
            return seen;
        }
        self.run(operation, &mut seen);
        self.wait(operation, &mut seen);
        self.plan(operation, &mut seen);
        for host in operation.pointer("/status/hosts").and_then(Value::as_array).into_iter().flatten() {
            self.host(host, now, &mut seen);
        }
        if object::is_over(operation) {
            self.is_over = true;
            seen.push(FollowedEvent::Event(finished(operation)));
        }
        seen
    }

    fn run(&mut self, operation: &Value, seen: &mut Vec<FollowedEvent>) {
        let Some(run) = object::text(operation, "/status/run") else { return };
        if self.run.as_deref() == Some(run) {
            return;
        }
        // What the one before was at is seen anew.
        self.hosts.values_mut().for_each(|host| host.now = None);
        self.run = Some(run.to_owned());
        seen.push(FollowedEvent::Event(EventKind::RunStarted {
            v: FORMAT,
            run: run.to_owned(),
            verb: text(operation, "/spec/action").to_owned(),
            cluster: text(operation, "/spec/cluster").to_owned(),
            time: text(operation, "/status/startTime").to_owned(),
            version: String::new(),
            who: text(operation, "/status/replica").to_owned(),
            part: None,
        }));
    }

    /// What it waits for, before it is at work.
    fn wait(&mut self, operation: &Value, seen: &mut Vec<FollowedEvent>) {
        let phase = text(operation, "/status/phase");
        let condition = match phase {
            "Queued" => Some("Accepted"),
            "AwaitingApproval" => Some("Approved"),
            // Host keys are one reason, and what is not there another.
            "" | "Pending" | "Resuming" => {
                ["Stalled", "Reconciling", "Accepted"].into_iter().find(|kind| !message(operation, kind).is_empty())
            }
            _ => None,
        };
        let because = condition.map(|kind| message(operation, kind)).unwrap_or_default();
        let line = match phase {
            "Queued" | "AwaitingApproval" | "Resuming" | "Cancelling" | "Pending" | "" if because.is_empty() => phase.to_owned(),
            "Queued" | "AwaitingApproval" | "Resuming" | "Pending" | "" => format!("{phase}: {because}"),
            _ => return,
        };
        if !line.is_empty() && self.line != line {
            seen.push(FollowedEvent::Line(line.clone()));
            self.line = line;
        }
    }

    fn plan(&mut self, operation: &Value, seen: &mut Vec<FollowedEvent>) {
        let plan = (number(operation, "/status/plan/steps"), number(operation, "/status/plan/changes"));
        if operation.pointer("/status/plan/steps").is_some() && self.plan != Some(plan) {
            self.plan = Some(plan);
            let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
            seen.push(FollowedEvent::Event(EventKind::PlanMade { steps: size(plan.0), changes: size(plan.1) }));
        }
    }

    fn host(&mut self, status: &Value, now: u64, seen: &mut Vec<FollowedEvent>) {
        let name = text(status, "/name").to_owned();
        // The last entry of a long list counts the others.
        if status.get("done").is_none() {
            return;
        }
        let mut host = self.hosts.remove(&name).unwrap_or_default();
        for _ in host.planned..number(status, "/total") {
            seen.push(FollowedEvent::Event(planned(&name, self.unseen(&name))));
        }
        host.planned = host.planned.max(number(status, "/total"));
        let (done, at_work) = (number(status, "/done"), object::text(status, "/now"));
        let mut ended = done.saturating_sub(host.done);
        host.done = host.done.max(done);
        if let Some((step, since)) = host.now.take_if(|(step, _)| at_work != Some(step.as_str()))
            && ended > 0
        {
            ended -= 1;
            seen.push(FollowedEvent::Event(EventKind::StepDone { step, host: name.clone(), took_milliseconds: now.saturating_sub(since) }));
        }
        for _ in 0..ended {
            let step = self.unseen(&name);
            seen.push(FollowedEvent::Event(started(&step, &name, UNSEEN)));
            seen.push(FollowedEvent::Event(EventKind::StepDone { step, host: name.clone(), took_milliseconds: 0 }));
        }
        if let Some(step) = at_work.filter(|_| host.now.is_none()) {
            host.now = Some((step.to_owned(), now));
            seen.push(FollowedEvent::Event(started(step, &name, step)));
        }
        host.state(&name, status, seen);
        self.hosts.insert(name, host);
    }

    fn unseen(&mut self, host: &str) -> String {
        self.next += 1;
        format!("{host}/unseen/{}", self.next)
    }
}

impl Host {
    /// What is wrong with it, if that is new.
    fn state(&mut self, name: &str, status: &Value, seen: &mut Vec<FollowedEvent>) {
        let (state, message) = (text(status, "/state"), text(status, "/message"));
        if (self.state.as_str(), self.message.as_str()) == (state, message) {
            return;
        }
        let before = std::mem::replace(&mut self.state, state.to_owned());
        self.message = message.to_owned();
        let (host, because) = (name.to_owned(), message.to_owned());
        seen.push(FollowedEvent::Event(match state {
            "Failed" => {
                let (step, error) = message.split_once(": ").unwrap_or(("", message));
                EventKind::StepFailed { step: step.to_owned(), host, error: error.to_owned(), unknown: false }
            }
            "Unreachable" => EventKind::HostLeftOut { host, because },
            "Lost" => EventKind::HostLost { host, because },
            "Running" if before == "Lost" => EventKind::HostBack { host, after_milliseconds: 0, restarted: false },
            _ => return,
        }));
    }
}

fn message<'a>(operation: &'a Value, kind: &str) -> &'a str {
    object::condition(operation, "conditions", kind).and_then(|it| it.get("message")?.as_str()).unwrap_or_default()
}

fn planned(host: &str, step: String) -> EventKind {
    let (task, title, summary) = (String::new(), String::new(), String::new());
    EventKind::StepPlanned { step, host: host.to_owned(), task, title, summary, lane: Lane::Script, needs: Vec::new() }
}

fn started(step: &str, host: &str, title: &str) -> EventKind {
    EventKind::StepStarted { step: step.to_owned(), host: host.to_owned(), title: title.to_owned(), summary: String::new() }
}

fn finished(operation: &Value) -> EventKind {
    let size = |pointer: &str| usize::try_from(number(operation, pointer)).unwrap_or(usize::MAX);
    let time = |pointer: &str| text(operation, pointer).parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond);
    let took = time("/status/startTime").zip(time("/status/endTime")).map(|(start, end)| end.saturating_sub(start));
    EventKind::RunFinished {
        done: size("/status/progress/done"),
        failed: size("/status/progress/failed"),
        blocked: size("/status/progress/blocked"),
        stopped: None,
        failed_hosts: Vec::new(),
        not_begun: BTreeMap::new(),
        took_milliseconds: took.and_then(|took| u64::try_from(took).ok()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What was seen, in short.
    fn summaries(seen: &[FollowedEvent]) -> Vec<String> {
        let one = |seen: &FollowedEvent| match seen {
            FollowedEvent::Line(text) => text.clone(),
            FollowedEvent::Event(EventKind::RunStarted { verb, cluster, .. }) => format!("{verb} {cluster}"),
            FollowedEvent::Event(EventKind::PlanMade { steps, changes }) => format!("plan {changes}/{steps}"),
            FollowedEvent::Event(EventKind::StepPlanned { host, .. }) => format!("+{host}"),
            FollowedEvent::Event(EventKind::StepStarted { title, .. }) => format!("begins {title}"),
            FollowedEvent::Event(EventKind::StepDone { step, took_milliseconds, .. }) => {
                format!("done {} {took_milliseconds}", step.split('/').nth(1).unwrap_or_default())
            }
            FollowedEvent::Event(EventKind::StepFailed { step, error, .. }) => format!("failed {step}: {error}"),
            FollowedEvent::Event(EventKind::HostLeftOut { host, because }) => format!("{host}: {because}"),
            FollowedEvent::Event(EventKind::RunFinished { done, failed, took_milliseconds, .. }) => {
                format!("over {done} {failed} {took_milliseconds}")
            }
            FollowedEvent::Event(other) => format!("{other:?}"),
        };
        seen.iter().map(one).collect()
    }

    fn operation(status: Value) -> Value {
        json!({"spec": {"cluster": "berlin", "action": "cluster.yml"}, "status": status})
    }

    fn host(name: &str, done: u64, total: u64, more: Value) -> Value {
        let mut host = json!({"name": name, "done": done, "total": total, "state": "Running"});
        if let (Some(host), Value::Object(more)) = (host.as_object_mut(), more) {
            host.extend(more);
        }
        host
    }

    #[test]
    fn a_run_is_told_as_one_here_would_be() {
        let mut followed = Followed::default();
        let status = |hosts: Value| operation(json!({"run": "r", "phase": "Running", "plan": {"steps": 9, "changes": 2}, "hosts": hosts}));
        let first = followed.take(&status(json!([host("w1", 0, 2, json!({"now": "w1/kubelet/config"}))])), 1000);
        assert_eq!(summaries(&first), ["cluster.yml berlin", "plan 2/9", "+w1", "+w1", "begins w1/kubelet/config"]);
        assert!(followed.take(&status(json!([host("w1", 0, 2, json!({"now": "w1/kubelet/config"}))])), 2000).is_empty());
        let next = followed.take(&status(json!([host("w1", 2, 2, json!({"state": "Done"}))])), 4000);
        assert_eq!(summaries(&next), ["done kubelet 3000", "begins a short step", "done unseen 0"]);
    }

    #[test]
    fn what_fails_and_who_is_away_is_told_once() {
        let mut followed = Followed::default();
        let hosts = json!([
            host("w1", 1, 2, json!({"state": "Failed", "message": "w1/kubelet/config: no space"})),
            host("w2", 0, 0, json!({"state": "Unreachable", "message": "no route"})),
            {"name": "and 3 more", "message": "not named"},
        ]);
        let status = operation(json!({"phase": "Running", "hosts": hosts}));
        let seen = summaries(&followed.take(&status, 0));
        assert!(seen.contains(&"failed w1/kubelet/config: no space".to_owned()) && seen.contains(&"w2: no route".to_owned()), "{seen:?}");
        assert!(!seen.iter().any(|line| line.contains("and 3 more")), "{seen:?}");
        assert!(followed.take(&status, 1).is_empty());
    }

    #[test]
    fn what_is_waited_for_and_the_end_are_told() {
        let mut followed = Followed::default();
        let condition = |kind: &str, message: &str| json!([{"type": kind, "status": "False", "message": message}]);
        let waits = operation(json!({"phase": "Queued", "conditions": condition("Accepted", "behind other")}));
        assert_eq!(summaries(&followed.take(&waits, 0)), ["Queued: behind other"]);
        let asks = operation(json!({"phase": "AwaitingApproval", "conditions": condition("Approved", "`kubectl annotate …` approves it")}));
        assert_eq!(summaries(&followed.take(&asks, 0)), ["AwaitingApproval: `kubectl annotate …` approves it"]);
        let over = json!({"phase": "Succeeded", "status": "Succeeded", "startTime": "2026-01-31T12:00:00Z", "endTime": "2026-01-31T12:00:07Z",
            "progress": {"done": 5, "failed": 0, "blocked": 0}});
        assert_eq!(summaries(&followed.take(&operation(over.clone()), 0)), ["over 5 0 7000"]);
        assert!(followed.is_over() && followed.take(&operation(over), 0).is_empty());
    }
}
