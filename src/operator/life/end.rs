//! How an operation ends, or is left to another process.

use kok_crds::operation::Verb;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::super::approval::Mode;
use super::super::attend::{Attended, Wish};
use super::super::cluster_status::Said;
use super::super::object::{COMPLETED, Condition, MANAGER};
use super::super::outputs::{Told, certificates};
use super::super::status::{ANSWER, OperationStatus, Phase, error_json};
use super::{End, Failure, Kind, Life};
use crate::clock::Clock;

impl Life {
    /// Writes how it ended; or, if it goes on elsewhere, what the other one has to know.
    pub(super) async fn end(self, end: Result<(), End>) -> Attended {
        let wish = *self.wish.borrow();
        if wish == Wish::Lost {
            // Another replica writes about it by now.
            self.writer.abandon();
            return Attended::Left;
        }
        let (phase, reason, failure) = match end {
            Ok(()) => (Phase::Succeeded, "Succeeded", None),
            Err(End::Failed(reason, failure)) => (Phase::Failed, reason, Some(*failure)),
            Err(End::Stopped) => match wish {
                Wish::None | Wish::Leave | Wish::Lost => return self.leave().await,
                Wish::Cancel | Wish::Now { cancelled: true } => (Phase::Cancelled, "Cancelled", None),
                Wish::Deadline | Wish::Now { cancelled: false } => (Phase::Failed, "DeadlineExceeded", Some(self.late())),
            },
        };
        self.writer.change(|status| ended(status, phase, reason, failure.clone()));
        self.tell(phase, reason, failure.as_ref());
        self.say(|said| self.of_cluster(said, phase, reason, failure.as_ref())).await;
        let Self { at, writer, found, .. } = self;
        writer.finish().await;
        let labels = json!({"metadata": {"labels": {COMPLETED: "done"}}});
        let api = at.shared.operations(at.key.group);
        // Where that fails it is seen, and done, by the next decision.
        let (params, patch) = (PatchParams::apply(MANAGER), Patch::Merge(&labels));
        let _ = timeout(ANSWER, api.patch(&at.operation, &params, &patch)).await;
        Attended::Ended(found.operation.metadata.uid)
    }

    async fn leave(self) -> Attended {
        self.writer.change(|status| status.phase = Phase::Resuming);
        self.writer.finish().await;
        Attended::Left
    }

    fn late(&self) -> Failure {
        let failure = Failure::new(Kind::Incomplete, "the operation took too long");
        failure.hint("give it more by `activeDeadlineSeconds`, in another operation: it goes on where this one stopped")
    }

    fn tell(&self, phase: Phase, reason: &str, failure: Option<&Failure>) {
        let text = failure.map(Failure::one_line).unwrap_or_default();
        tracing::info!(cluster = %self.at.key, operation = self.at.operation, phase = phase.word(), reason, text, "has ended");
        let done = self.writer.now().progress.done;
        self.teller.tell(match phase {
            Phase::Succeeded => Told::normal("Succeeded", kok_crds::count(done, "change")),
            Phase::Cancelled => Told::warning("Cancelled", format!("after {}", kok_crds::count(done, "change"))),
            _ => Told::warning("Failed", format!("{reason}: {text}")),
        });
    }

    fn of_cluster(&self, said: Said, phase: Phase, reason: &'static str, failure: Option<&Failure>) -> Said {
        let is_done = phase == Phase::Succeeded;
        let message = failure.map(Failure::one_line).unwrap_or_default();
        let said = said.condition("Progressing", false, reason, "").field("lastError", failure.map_or(Value::Null, error_json));
        let said = said.condition("InputsReady", reason != "InputsMissing" && reason != "InputRefused", reason, message.clone());
        let is_dry = Mode::of(&self.found.operation.data) == Mode::DryRun;
        match (is_done, self.last.filter(|verb| !is_dry && is_changing(*verb))) {
            // Who only looks says nothing of it; nor does who could not begin.
            (_, None) => said.field("phase", self.phase_before()),
            (true, Some(Verb::Reset)) => said
                .field("phase", json!("Pending"))
                .condition("Ready", false, "Reset", "the cluster, or a part of it, was taken down")
                .field("certificates", Value::Null)
                .field("hostSummary", Value::Null),
            (true, Some(_)) => said
                .field("phase", json!("Ready"))
                .condition("Ready", true, reason, "")
                .field("certificates", certificates(&self.at.key.name, &self.home))
                .field("hostSummary", self.summary()),
            (false, Some(_)) => {
                said.field("phase", json!("Degraded")).condition("Ready", false, reason, message).field("hostSummary", self.summary())
            }
        }
    }

    /// The phase of the Cluster before the operation.
    pub(super) fn phase_before(&self) -> Value {
        match self.before("phase") {
            Value::String(phase) if phase != "Provisioning" => json!(phase),
            _ => json!("Pending"),
        }
    }

    /// What the Cluster's status said before the operation.
    fn before(&self, field: &str) -> Value {
        self.found.cluster.data.pointer("/status").and_then(|status| status.get(field)).cloned().unwrap_or_default()
    }

    fn summary(&self) -> Value {
        let (total, failed, unreachable) = self.writer.now().progress.host_counts();
        let ready = total - failed - unreachable;
        match total {
            // A plan without a change names no host.
            0 => self.before("hostSummary"),
            _ => json!({"total": total, "ready": ready, "failed": failed, "unreachable": unreachable, "text": format!("{ready}/{total}")}),
        }
    }
}

/// Whether it is about what the cluster is.
pub(super) const fn is_changing(verb: Verb) -> bool {
    !matches!(verb, Verb::Check | Verb::Status | Verb::Kubeconfig)
}

fn ended(status: &mut OperationStatus, phase: Phase, reason: &'static str, failure: Option<Failure>) {
    let message = failure.as_ref().map(Failure::one_line).unwrap_or_default();
    let is_done = phase == Phase::Succeeded;
    status.phase = phase;
    status.end = Some(Clock::rfc3339());
    status.error = failure;
    status.set(Condition { kind: "Reconciling", is: false, reason, message: String::new() });
    status.set(Condition { kind: "Stalled", is: !is_done, reason, message: message.clone() });
    status.set(Condition { kind: "Ready", is: is_done, reason, message });
}
