//! The status of an operation.

use std::time::Duration;

use serde_json::{Value, json};

use super::object::{Condition, MOST_BYTES, MOST_MESSAGE, fitted};
use super::progress::RunProgress;
use crate::failure::{Failure, Kind};

/// The API gets so long for one answer.
pub(super) const ANSWER: Duration = Duration::from_secs(20);

/// How far an operation is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Pending,
    Queued,
    Planning,
    AwaitingApproval,
    Running,
    Resuming,
    Cancelling,
    Succeeded,
    Failed,
    Cancelled,
}

impl Phase {
    /// The word for it.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Queued => "Queued",
            Self::Planning => "Planning",
            Self::AwaitingApproval => "AwaitingApproval",
            Self::Running => "Running",
            Self::Resuming => "Resuming",
            Self::Cancelling => "Cancelling",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Cancelled => "Cancelled",
        }
    }

    /// The word that kube-on-kube and kubean have for it; none before the operation begins.
    pub(super) const fn kubeans(self) -> Option<&'static str> {
        match self {
            Self::Pending => None,
            Self::Queued => Some("Blocked"),
            Self::Planning | Self::AwaitingApproval | Self::Running | Self::Resuming | Self::Cancelling => Some("Running"),
            Self::Succeeded => Some("Succeeded"),
            Self::Failed | Self::Cancelled => Some("Failed"),
        }
    }
}

/// What an operation's status says.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct OperationStatus {
    pub(super) action: String,
    pub(super) phase: Phase,
    pub(super) generation: i64,
    pub(super) start: Option<String>,
    pub(super) end: Option<String>,
    pub(super) digest: String,
    pub(super) run: Option<String>,
    pub(super) attempt: u64,
    /// Attempts one after the other in which nothing was done, this one included. Who was asked to leave has made none.
    pub(super) fruitless: u64,
    /// How many of the hooks and the action, in their order, are done.
    pub(super) invocations_done: usize,
    /// Which replica writes it.
    pub(super) replica: String,
    pub(super) progress: RunProgress,
    /// The digest of a plan that was only shown, and where it is.
    pub(super) shown: Option<(String, Option<String>)>,
    pub(super) inputs: Value,
    /// Where the journals of its runs are, and how many bytes the last one has there.
    pub(super) journal: Option<(String, usize)>,
    pub(super) error: Option<Failure>,
    pub(super) conditions: Vec<Condition>,
}

impl OperationStatus {
    /// Sets a condition.
    pub(super) fn set(&mut self, condition: Condition) {
        self.conditions.retain(|known| known.kind != condition.kind);
        self.conditions.push(condition);
    }

    fn plan(&self) -> Value {
        let mut plan = self.progress.plan_json();
        if let (Some(plan), Some((digest, place))) = (plan.as_object_mut(), &self.shown) {
            plan.insert("digest".to_owned(), json!(digest));
            plan.extend(place.as_ref().map(|place| ("ref".to_owned(), json!(place))));
        }
        plan
    }

    /// As a merge patch of what stood there before, no longer than a status may be. What is not said any more is taken out.
    pub(super) fn patch(&self, before: &Value, now: &str) -> Value {
        let conditions =
            |condition: &Condition| condition.json(super::object::condition(before, "conditions", condition.kind), self.generation, now);
        let conditions: Vec<Value> = self.conditions.iter().map(conditions).collect();
        let mut status = json!({
            "action": self.action, "status": self.phase.kubeans(), "phase": self.phase.word(), "startTime": self.start, "endTime": self.end,
            "digest": self.digest, "hasModified": false, "observedGeneration": self.generation, "run": self.run, "attempt": self.attempt,
            "replica": self.replica, "invocationsDone": self.invocations_done,
            "fruitlessAttempts": self.fruitless,
            "plan": self.plan(), "progress": self.progress.json(self.phase == Phase::Succeeded), "hosts": self.progress.hosts_json(usize::MAX),
            "inputs": self.inputs, "journal": self.journal.as_ref().map(|(place, bytes)| json!({"configMap": place, "bytes": bytes})),
            "lastError": self.error.as_ref().map(error_json), "conditions": conditions,
        });
        fit(&mut status, |most| self.progress.hosts_json(most));
        json!({"status": status})
    }
}

/// Names fewer hosts until the whole is short enough.
fn fit(status: &mut Value, hosts: impl Fn(usize) -> Vec<Value>) {
    let mut most = usize::MAX;
    while status.to_string().len() > MOST_BYTES && most > 0 {
        let named = status.get("hosts").and_then(Value::as_array).map(Vec::len).unwrap_or_default();
        most = most.min(named) / 2;
        if let Some(list) = status.get_mut("hosts") {
            *list = hosts(most).into();
        }
    }
}

/// A failure as a status has it.
pub(super) fn error_json(failure: &Failure) -> Value {
    let kind = match failure.kind {
        Kind::Input => "Input",
        Kind::Host => "Host",
        Kind::Incomplete | Kind::Declined => "Incomplete",
        Kind::Internal => "Internal",
    };
    let short = |text: &Option<String>| text.as_ref().map(|text| fitted(text, MOST_MESSAGE));
    json!({
        "kind": kind, "what": fitted(&failure.what, MOST_MESSAGE), "at": short(&failure.at), "because": short(&failure.because),
        "hint": short(&failure.hint),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use super::*;
    use crate::event::{Event, EventKind};

    #[test]
    fn a_status_of_five_thousand_hosts_is_short() {
        let mut status = OperationStatus::default();
        status.progress.take(&Event { sequence: 0, milliseconds: 0, kind: EventKind::PlanMade { steps: 1, changes: 1 } });
        for number in 0..5000 {
            let kind = EventKind::HostLost { host: format!("host-{number:04}"), because: "é".repeat(2000) };
            status.progress.take(&Event { sequence: 0, milliseconds: 0, kind });
        }
        let patch = status.patch(&Value::Null, "2026-11-26T00:00:00Z");
        assert!(patch["status"].to_string().len() <= MOST_BYTES);
        let hosts = patch["status"]["hosts"].as_array().unwrap();
        assert!(hosts.len() > 20, "{}", hosts.len());
        assert!(hosts.iter().all(|host| host["message"].as_str().unwrap().len() <= MOST_MESSAGE && host.get("now").is_none()));
    }

    #[test]
    fn a_condition_keeps_its_time_as_long_as_it_says_the_same() {
        let mut status = OperationStatus::default();
        status.set(Condition { kind: "Ready", is: false, reason: "Running", message: String::new() });
        let before = status.patch(&Value::Null, "1");
        status.set(Condition { kind: "Ready", is: false, reason: "Failed", message: "no".to_owned() });
        let next = status.patch(&before, "2");
        let at = |patch: &Value| patch["status"]["conditions"][0]["lastTransitionTime"].clone();
        assert_eq!((at(&before), at(&next)), (json!("1"), json!("1")));
        assert_eq!(next["status"]["conditions"].as_array().unwrap().len(), 1);
        status.set(Condition { kind: "Ready", is: true, reason: "Succeeded", message: String::new() });
        assert_eq!(at(&status.patch(&next, "3")), json!("3"));
    }

    #[test]
    fn phases_are_the_words_that_others_know() {
        let words = [Phase::Pending, Phase::Queued, Phase::Resuming, Phase::Cancelled].map(Phase::kubeans);
        assert_eq!(words, [None, Some("Blocked"), Some("Running"), Some("Failed")]);
    }
}
