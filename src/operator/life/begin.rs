//! How an operation begins, for the first time or again.

use std::sync::Arc;

use kok_tasks::digest::sha256;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::super::attend::{Attendant, Objects, Wish};
use super::super::cluster_status::{self, StatusPatch};
use super::super::lease::ClusterLease;
use super::super::made::Why;
use super::super::object::{self, Condition, HELD, MANAGER};
use super::super::outputs::{Teller, belonging};
use super::super::status::{ANSWER, OperationStatus, Phase};
use super::super::writer::StatusWriter;
use super::{End, Failure, Kind, OperationLife};
use crate::clock::Clock;

/// So many attempts that did nothing are no accident.
const MOST_ATTEMPTS: u64 = 5;

impl OperationLife {
    /// Begins, or goes on after another process did: from now on this one writes the status.
    pub(in super::super) async fn begin(
        at: Attendant,
        found: Objects,
        (home, lease): (String, ClusterLease),
        permit: Option<OwnedSemaphorePermit>,
    ) -> Self {
        let found = marked(&at, found).await;
        let (begun, lost) = (status(&found, &at.shared.identity), Arc::clone(&at.wish));
        let lost = move || {
            lost.send_replace(Wish::Lost);
        };
        let writer = StatusWriter::start(at.shared.operations(at.key.group), &found.operation, begun, lost);
        let teller = Teller::new(at.shared.recorder.clone(), &found.operation);
        let wish = at.wish.subscribe();
        let is_held = says_held(&found.cluster.data);
        let is_open = is_open(&found.operation.data);
        let life = Self {
            at,
            found,
            home,
            lease,
            writer,
            teller,
            wish,
            changed: None,
            has_kubeconfig: false,
            certificates_end: None,
            is_open,
            is_held,
            permit,
        };
        let (phase, operation) = (life.phase_before(), life.at.operation.clone());
        let keeps_error = life.made_because() == Some(Why::Backup);
        life.say(|patch| {
            let patch = patch.field("phase", phase).condition("Progressing", true, "Running", operation);
            // What went wrong with the cluster is not mended by a copy of it.
            if keeps_error { patch } else { patch.field("lastError", Value::Null) }
        })
        .await;
        life
    }

    /// Says something about the Cluster; what can't be said now is said with what comes next. Whether there is no sense in
    /// saying it again.
    pub(super) async fn say(&self, change: impl FnOnce(StatusPatch) -> StatusPatch) -> bool {
        let (clusters, operations) = (self.at.shared.clusters(self.at.key.group), self.at.shared.operations(self.at.key.group));
        let status = self.writer.now();
        let operation = Some((self.at.operation.as_str(), &status));
        let written = cluster_status::write((&clusters, &operations), &self.found.cluster, operation, change(StatusPatch::default()));
        match timeout(ANSWER, written).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::warn!(cluster = %self.at.key, %error, "the status of the Cluster can't be written");
                // What it refuses it refuses again.
                matches!(error, kube::Error::Api(status) if status.is_forbidden() || status.is_invalid())
            }
            Err(_) => false,
        }
    }

    /// A program that dies of an operation must not die of it for ever.
    pub(super) fn is_no_crash_loop(&self) -> Result<(), End> {
        if !is_crash_loop(&self.found.operation.data) {
            return Ok(());
        }
        let failure = Failure::new(Kind::Internal, format!("{MOST_ATTEMPTS} attempts ended without a step done"));
        Err(End::failed("CrashLoop", failure.hint("look at the operator's log of the attempts before this one")))
    }
}

/// The objects with labels by which operations are found, and with whom they go. The status is written after that, of the version that has them.
async fn marked(at: &Attendant, found: Objects) -> Objects {
    let mut metadata = belonging(&found.operation, &found.cluster);
    if let Some(fields) = metadata.as_object_mut() {
        fields.insert("uid".to_owned(), json!(found.operation.metadata.uid));
    }
    let patch = json!({"metadata": metadata});
    let (api, params) = (at.shared.operations(at.key.group), PatchParams::apply(MANAGER));
    match timeout(ANSWER, api.patch(&at.operation, &params, &Patch::Merge(&patch))).await {
        Ok(Ok(operation)) if !object::is_over(&operation.data) => Objects { operation, ..found },
        Ok(Err(error)) => {
            tracing::warn!(cluster = %at.key, %error, "the operation can't be labelled");
            found
        }
        // Whoever has ended it meanwhile is found out by the first write, which is about the version before.
        Ok(Ok(_)) | Err(_) => found,
    }
}

fn says_held(cluster: &Value) -> bool {
    object::condition(cluster, "clusterConditions", HELD).is_some_and(|condition| condition.get("status").is_some_and(|is| is == "True"))
}

/// Whether it only waited until now, for a person or for what may come: nobody dies of that.
fn only_waited(operation: &Value) -> bool {
    matches!(object::text(operation, "/status/phase"), Some("Pending" | "AwaitingApproval"))
}

fn number(operation: &Value, pointer: &str) -> u64 {
    operation.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

/// Whether so many attempts before this one have ended without anything done that another one has no sense.
fn is_crash_loop(operation: &Value) -> bool {
    !only_waited(operation) && number(operation, "/status/fruitlessAttempts") >= MOST_ATTEMPTS
}

/// How many attempts are fruitless until this one, which begins, has done something.
fn fruitless(operation: &Value) -> u64 {
    let before = number(operation, "/status/fruitlessAttempts");
    if only_waited(operation) { before.max(1) } else { before + 1 }
}

/// The status with which it begins.
fn status(found: &Objects, replica: &str) -> OperationStatus {
    let data = &found.operation.data;
    let text = |pointer: &str| object::text(data, pointer).map(str::to_owned);
    let before = number(data, "/status/attempt");
    // What only waited has not been attempted.
    let attempt = if text("/status/phase").as_deref() == Some("Pending") { before.max(1) } else { before + 1 };
    let mut status = OperationStatus {
        action: text("/spec/action").unwrap_or_default(),
        phase: if attempt > 1 { Phase::Resuming } else { Phase::Pending },
        generation: found.operation.metadata.generation.unwrap_or_default(),
        start: Some(text("/status/startTime").unwrap_or_else(Clock::rfc3339)),
        digest: text("/status/digest").filter(|_| !is_open(data)).unwrap_or_else(|| digest(data)),
        attempt,
        run: text("/status/run"),
        journal: text("/status/journal/configMap")
            .map(|place| (place, usize::try_from(number(data, "/status/journal/bytes")).unwrap_or_default())),
        replica: replica.to_owned(),
        invocations_done: usize::try_from(number(data, "/status/invocationsDone")).unwrap_or_default(),
        fruitless: fruitless(data),
        ..OperationStatus::default()
    };
    let condition = |kind, is, reason| Condition { kind, is, reason, message: String::new() };
    status.set(condition("Accepted", true, "Accepted"));
    status.set(condition("Reconciling", true, "Running"));
    status.set(condition("Stalled", false, "Running"));
    status.set(condition("Ready", false, "Running"));
    // Since when it is so is what the time counts by that a run may take.
    if let Some(approved) = approved(data) {
        status.set(approved);
    }
    status
}

/// What was said of an approval by whoever was at it before.
fn approved(operation: &Value) -> Option<Condition> {
    let before = object::condition(operation, "conditions", "Approved")?;
    let is = object::text(before, "/status") == Some("True");
    let message = object::text(before, "/message").unwrap_or_default().to_owned();
    Some(Condition { kind: "Approved", is, reason: if is { "Approved" } else { "AwaitingApproval" }, message })
}

/// Whether nothing of it has begun, so that its spec may still be changed.
fn is_open(operation: &Value) -> bool {
    let has_run = object::text(operation, "/status/run").is_some();
    !has_run && matches!(object::text(operation, "/status/phase"), None | Some("Pending" | "Queued"))
}

/// What stands for exactly this spec.
pub(super) fn digest(operation: &Value) -> String {
    format!("sha256:{}", sha256(canonical(operation.get("spec").unwrap_or(&Value::Null)).as_bytes()))
}

/// JSON with the keys of all maps in their order.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let fields: Vec<String> = fields.into_iter().map(|(name, value)| format!("{}:{}", json!(name), canonical(value))).collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::*;

    /// What the status of an attempt says when its process dies, or leaves.
    fn after(before: &Value, phase: &str, change: impl FnOnce(u64) -> u64) -> Value {
        json!({"status": {"phase": phase, "fruitlessAttempts": change(fruitless(before))}})
    }

    /// As after the death of the replica that waited for it: what it had written down is written again, with its time.
    #[test]
    fn an_approval_is_known_to_whoever_goes_on() {
        let of = |status: &str, at: &str| {
            let conditions = json!([{"type": "Approved", "status": status, "reason": "r", "message": "m", "lastTransitionTime": at}]);
            let before = json!({"spec": {}, "status": {"startTime": "2026-11-27T00:00:00Z", "conditions": conditions}});
            let mut writes = OperationStatus { start: Some("2026-11-27T00:00:00Z".to_owned()), ..OperationStatus::default() };
            writes.set(approved(&before).unwrap());
            let patch = writes.patch(&before, "2026-11-27T09:30:00Z");
            let began = "2026-11-27T00:00:00Z".parse::<jiff::Timestamp>().unwrap().as_second();
            crate::operator::deadline::until(Some(&patch), 7200, began + 10 * 3600) - began
        };
        assert_eq!(of("False", "2026-11-27T00:01:00Z"), 12 * 3600);
        assert_eq!(of("True", "2026-11-27T09:00:00Z"), 11 * 3600);
        assert_eq!(approved(&json!({"status": {"conditions": []}})), None);
    }

    #[test]
    fn attempts_that_do_nothing_come_to_an_end() {
        let mut operation = json!({});
        for phase in ["Planning", "Resuming", "Resuming", "Running", "Resuming"] {
            assert!(!is_crash_loop(&operation), "{operation}");
            operation = after(&operation, phase, |fruitless| fruitless);
        }
        assert!(is_crash_loop(&operation), "{operation}");
        let left = after(&json!({"status": {"phase": "Resuming", "fruitlessAttempts": 4}}), "Resuming", |fruitless| fruitless - 1);
        assert!(!is_crash_loop(&left), "who was asked to leave has not died of it");
        assert!(!is_crash_loop(&after(&operation, "Running", |_| 0)), "a step was done");
    }

    #[test]
    fn inputs_may_change_until_something_has_run() {
        let of = |status: Value| is_open(&json!({"status": status}));
        assert!(of(json!({})) && of(json!({"phase": "Pending"})) && of(json!({"phase": "Queued"})));
        assert!(!of(json!({"phase": "Planning"})) && !of(json!({"phase": "Pending", "run": "r"})));
    }

    #[test]
    fn nobody_dies_of_waiting() {
        let mut operation = json!({"status": {"phase": "Pending", "fruitlessAttempts": 1}});
        for phase in ["Pending", "AwaitingApproval"].into_iter().cycle().take(20) {
            operation = after(&operation, phase, |fruitless| fruitless);
            assert!(!is_crash_loop(&operation), "{operation}");
        }
        assert_eq!(fruitless(&operation), 1);
    }
}
