//! How an operation begins, for the first time or again.

use std::sync::Arc;

use kok_tasks::digest::sha256;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::super::attend::{Attendant, Objects, Wish};
use super::super::cluster_status::{self, Said};
use super::super::lease::ClusterLease;
use super::super::object::{self, CLUSTER_NAME, Condition, MANAGER};
use super::super::outputs::{Teller, owner};
use super::super::status::{ANSWER, OperationStatus, Phase};
use super::super::writer::StatusWriter;
use super::{End, Failure, Kind, Life};
use crate::clock::Clock;

/// So many attempts that did nothing are no accident.
const MOST_ATTEMPTS: u64 = 5;

impl Life {
    /// Begins, or goes on after another process did: from now on this one writes the status.
    pub(in super::super) async fn begin(at: Attendant, found: Objects, (home, lease): (String, ClusterLease), permit: Option<OwnedSemaphorePermit>) -> Self {
        let (begun, lost) = (status(&found, &at.shared.identity), Arc::clone(&at.wish));
        let lost = move || drop(lost.send_replace(Wish::Lost));
        let writer = StatusWriter::start(at.shared.operations(at.key.group), &found.operation, begun, lost);
        let teller = Teller::new(at.shared.recorder.clone(), &found.operation);
        let wish = at.wish.subscribe();
        let life = Self { at, found, home, lease, writer, teller, wish, changed: None, permit };
        life.mark().await;
        let (phase, operation) = (life.phase_before(), life.at.operation.clone());
        life.say(|said| said.field("phase", phase).field("lastError", Value::Null).condition("Progressing", true, "Running", operation))
            .await;
        life
    }

    /// Labels by which operations are found, and whom they go with.
    async fn mark(&self) {
        let metadata = &self.found.operation.metadata;
        let mut patch = json!({"metadata": {"uid": metadata.uid, "labels": {CLUSTER_NAME: self.at.key.name}}});
        if metadata.owner_references.as_ref().is_none_or(Vec::is_empty)
            && let Some(patch) = patch.get_mut("metadata").and_then(Value::as_object_mut)
        {
            patch.insert("ownerReferences".to_owned(), json!([owner(&self.found.cluster, true)]));
        }
        let api = self.at.shared.operations(self.at.key.group);
        let (params, patch) = (PatchParams::apply(MANAGER), Patch::Merge(&patch));
        if let Ok(Err(error)) = timeout(ANSWER, api.patch(&self.at.operation, &params, &patch)).await {
            tracing::warn!(cluster = %self.at.key, %error, "the operation can't be labelled");
        }
    }

    /// Says something about the Cluster; what can't be said now is said with what comes next. Whether there is no sense in
    /// saying it again.
    pub(super) async fn say(&self, said: impl FnOnce(Said) -> Said) -> bool {
        let (clusters, operations) = (self.at.shared.clusters(self.at.key.group), self.at.shared.operations(self.at.key.group));
        let status = self.writer.now();
        let operation = (self.at.operation.as_str(), &status);
        let written = cluster_status::write((&clusters, &operations), &self.found.cluster, operation, said(Said::default()));
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
        let before = &self.found.operation.data;
        // Only who dies at work dies of it.
        let was_at_work = matches!(object::text(before, "/status/phase"), Some("Planning" | "Running"));
        let number = |pointer: &str| before.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
        if !was_at_work || number("/status/attempt") < MOST_ATTEMPTS || number("/status/progress/done") > 0 {
            return Ok(());
        }
        let failure = Failure::new(Kind::Internal, format!("{MOST_ATTEMPTS} attempts ended without a step done"));
        Err(End::failed("CrashLoop", failure.hint("look at the operator's log of the attempts before this one")))
    }
}

/// The status with which it begins.
fn status(found: &Objects, replica: &str) -> OperationStatus {
    let data = &found.operation.data;
    let text = |pointer: &str| object::text(data, pointer).map(str::to_owned);
    let before = data.pointer("/status/attempt").and_then(Value::as_u64).unwrap_or_default();
    let number = |pointer: &str| data.pointer(pointer).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok()).unwrap_or_default();
    // What only waited has not been attempted.
    let attempt = if text("/status/phase").as_deref() == Some("Pending") { before.max(1) } else { before + 1 };
    let spec = data.get("spec").cloned().unwrap_or_default();
    let mut status = OperationStatus {
        action: text("/spec/action").unwrap_or_default(),
        phase: if attempt > 1 { Phase::Resuming } else { Phase::Pending },
        generation: found.operation.metadata.generation.unwrap_or_default(),
        start: Some(text("/status/startTime").unwrap_or_else(Clock::rfc3339)),
        digest: text("/status/digest").unwrap_or_else(|| format!("sha256:{}", sha256(canonical(&spec).as_bytes()))),
        attempt,
        replica: replica.to_owned(),
        invocations_done: number("/status/invocationsDone"),
        ..OperationStatus::default()
    };
    let condition = |kind, is, reason| Condition { kind, is, reason, message: String::new() };
    status.set(condition("Accepted", true, "Accepted"));
    status.set(condition("Reconciling", true, "Running"));
    status.set(condition("Stalled", false, "Running"));
    status.set(condition("Ready", false, "Running"));
    status
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
