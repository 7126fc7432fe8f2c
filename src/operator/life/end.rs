//! How an operation ends, or is left to another process.

use std::time::Duration;

use kok_crds::operation::Verb;
use kube::api::{Patch, PatchParams};
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::super::attend::{Attended, Wish};
use super::super::cluster_status::StatusPatch;
use super::super::drift;
use super::super::made::Why;
use super::super::object::{COMPLETED, Condition, HELD, MANAGER};
use super::super::outputs::{ObjectEvent, certificates};
use super::super::status::{ANSWER, OperationStatus, Phase, error_json};
use super::{End, Failure, Kind, OperationLife};
use crate::clock::Clock;

/// The pause before the API server is asked again.
const AGAIN: Duration = Duration::from_secs(5);

impl OperationLife {
    /// Writes how it ended; or, if it goes on elsewhere, what the other one has to know.
    pub(super) async fn end(self, end: Result<(), End>) -> Attended {
        // Where it is not, another replica writes about it by now.
        if !self.is_ours().await {
            self.writer.abandon();
            return Attended::Left;
        }
        let wish = *self.wish.borrow();
        let (phase, reason, failure) = match end {
            Ok(()) => (Phase::Succeeded, "Succeeded", None),
            Err(End::Failed(reason, failure)) => (Phase::Failed, reason, Some(*failure)),
            Err(End::Stopped | End::Anew) => match wish {
                Wish::None | Wish::Leave | Wish::Lost => return self.leave().await,
                Wish::Cancel | Wish::Now { cancelled: true } => (Phase::Cancelled, "Cancelled", None),
                Wish::Deadline | Wish::Now { cancelled: false } => (Phase::Failed, "DeadlineExceeded", Some(self.late())),
            },
        };
        self.writer.change(|status| ended(status, phase, reason, failure.clone()));
        self.tell(phase, reason, failure.as_ref());
        while !self.say(|status_patch| self.of_cluster(status_patch, reason, failure.as_ref())).await {
            if self.is_lost_within(AGAIN).await {
                self.writer.abandon();
                return Attended::Left;
            }
        }
        let Self { at, writer, found, .. } = self;
        writer.finish().await;
        let labels = json!({"metadata": {"uid": found.operation.metadata.uid, "labels": {COMPLETED: "done"}}});
        let api = at.shared.operations(at.key.group);
        // Where that fails it is seen, and done, by the next decision.
        let (params, patch) = (PatchParams::apply(MANAGER), Patch::Merge(&labels));
        let _ = timeout(ANSWER, api.patch(&at.operation, &params, &patch)).await;
        Attended::Ended(found.operation.metadata.uid)
    }

    /// Whether this replica still has the Lease. The API server is asked until it answers: what the last renewal said may be long ago, as of a
    /// process that was stopped for a while.
    async fn is_ours(&self) -> bool {
        loop {
            if *self.wish.borrow() == Wish::Lost {
                return false;
            }
            match timeout(ANSWER, self.lease.is_ours()).await {
                Ok(Ok(is_ours)) => return is_ours,
                Ok(Err(error)) => tracing::warn!(cluster = %self.at.key, %error, "the Lease can't be read"),
                Err(_) => {}
            }
            if self.is_lost_within(AGAIN).await {
                return false;
            }
        }
    }

    /// Waits this long, unless another replica gets the Lease.
    async fn is_lost_within(&self, time: Duration) -> bool {
        timeout(time, self.wish.clone().wait_for(|wish| *wish == Wish::Lost)).await.is_ok()
    }

    async fn leave(self) -> Attended {
        self.writer.change(|status| {
            // Of what only waited nothing is resumed: it may still be changed.
            if status.phase != Phase::Pending {
                status.phase = Phase::Resuming;
            }
            status.fruitless = status.fruitless.saturating_sub(1);
        });
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
            Phase::Succeeded => ObjectEvent::normal("Succeeded", kok_crds::count(done, "change")),
            Phase::Cancelled => ObjectEvent::warning("Cancelled", format!("after {}", kok_crds::count(done, "change"))),
            _ => ObjectEvent::warning("Failed", format!("{reason}: {text}")),
        });
    }

    fn of_cluster(&self, patch: StatusPatch, reason: &'static str, failure: Option<&Failure>) -> StatusPatch {
        let message = failure.map(Failure::one_line).unwrap_or_default();
        let patch = patch.condition("Progressing", false, reason, "");
        let patch = if self.is_held { patch.condition(HELD, false, "Free", "") } else { patch };
        if self.made_because() == Some(Why::Backup) {
            // Nobody has asked for it now: how it ended stands in the operation alone.
            return self.of_standing(patch, reason, message);
        }
        let patch = patch.field("lastError", failure.map_or(Value::Null, error_json));
        let are_ready = !["InputsMissing", "InputRefused", "NameTaken"].contains(&reason);
        let patch = patch.condition("InputsReady", are_ready, reason, message.clone());
        let is_applied = reason == "Succeeded" && matches!(self.made_because(), Some(Why::Description | Why::Drift));
        let patch = if is_applied { drift::none(patch) } else { patch };
        let patch = self.of_standing(patch, reason, message);
        if self.is_of_deletion() { patch.field("phase", json!("Deleting")) } else { patch }
    }

    pub(super) fn certificates(&self) -> Value {
        let mut references = if self.has_kubeconfig { certificates(&self.at.key, &self.home) } else { self.before("certificates") };
        if let Some(end) = &self.certificates_end {
            let fields = references.as_object().cloned().unwrap_or_default();
            references = fields.into_iter().chain([("earliestEnd".to_owned(), json!(end))]).collect::<Map<String, Value>>().into();
        }
        references
    }

    /// What the Cluster's status said before the operation.
    pub(super) fn before(&self, field: &str) -> Value {
        self.found.cluster.data.pointer("/status").and_then(|status| status.get(field)).cloned().unwrap_or_default()
    }

    pub(super) fn summary(&self) -> Value {
        let (total, failed, unreachable) = self.writer.now().progress.host_counts();
        let ready = total - failed - unreachable;
        match total {
            // A plan without a change names no host.
            0 => self.before("hostSummary"),
            _ => json!({"total": total, "ready": ready, "failed": failed, "unreachable": unreachable, "text": format!("{ready}/{total}")}),
        }
    }
}

/// Whether the kubeconfig is kept after the task at this place: after the last one that changes the cluster, unless it has taken it down; and
/// wherever one asks for it.
pub(super) fn keeps_kubeconfig(verbs: &[Verb], place: usize) -> bool {
    let last = verbs.iter().rposition(|verb| verb.changes_cluster());
    match verbs.get(place) {
        Some(Verb::Kubeconfig) => true,
        Some(Verb::Reset) | None => false,
        Some(_) => last == Some(place),
    }
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use serde_json::json;

    use super::super::super::fake::{CLUSTER, OPERATION, life};
    use super::super::super::made::MADE_BECAUSE;
    use super::super::Changed;
    use super::*;

    #[tokio::test]
    async fn an_end_is_written_and_the_operation_labelled() {
        let (fake, mut life) = life("a").await;
        life.changed = Some(Changed { verb: Verb::Apply, is_part: false, is_done: true });
        assert!(matches!(life.end(Ok(())).await, Attended::Ended(Some(_))));
        let operation = fake.get(OPERATION).unwrap();
        assert_eq!((&operation["status"]["status"], &operation["metadata"]["labels"][COMPLETED]), (&json!("Succeeded"), &json!("done")));
        assert_eq!(fake.get(CLUSTER).unwrap()["status"]["phase"], "Ready");
    }

    /// What the operator has made by itself is what a later look is compared with.
    #[tokio::test]
    async fn what_was_made_as_it_is_described_has_not_drifted() {
        for (because, drift) in [("description", json!(0)), ("deletion", Value::Null)] {
            let (fake, mut life) = life("a").await;
            life.found.operation.metadata.labels = Some([(MADE_BECAUSE.to_owned(), because.to_owned())].into());
            life.changed = Some(Changed { verb: Verb::Apply, is_part: false, is_done: true });
            assert!(matches!(life.end(Ok(())).await, Attended::Ended(Some(_))));
            assert_eq!(fake.get(CLUSTER).unwrap()["status"]["drift"]["changes"], drift, "{because}");
        }
    }

    /// As after a process that was stopped for so long that another one has gone on.
    #[tokio::test]
    async fn who_has_the_lease_no_more_writes_no_end() {
        let (fake, mut life) = life("b").await;
        life.changed = Some(Changed { verb: Verb::Apply, is_part: false, is_done: false });
        assert!(matches!(life.end(Ok(())).await, Attended::Left));
        assert_ne!(fake.get(OPERATION).unwrap()["status"]["status"], "Succeeded");
        assert_ne!(fake.get(CLUSTER).unwrap()["status"]["phase"], "Degraded");
    }

    #[tokio::test]
    async fn an_end_is_written_also_where_the_api_server_is_away_for_a_moment() {
        let (fake, life) = life("a").await;
        fake.fail(3);
        assert!(matches!(life.end(Ok(())).await, Attended::Ended(Some(_))));
        assert_eq!(fake.get(OPERATION).unwrap()["status"]["status"], "Succeeded");
    }

    #[test]
    fn hooks_after_the_action_leave_the_kubeconfig_and_the_cluster_to_it() {
        let kept = |verbs: &[Verb]| (0..verbs.len()).map(|place| keeps_kubeconfig(verbs, place)).collect::<Vec<_>>();
        assert_eq!(kept(&[Verb::Check, Verb::Apply, Verb::Kubeconfig, Verb::Status]), [false, true, true, false]);
        assert_eq!(kept(&[Verb::Cordon, Verb::Apply, Verb::Uncordon]), [false, false, true]);
        assert_eq!(kept(&[Verb::Reset, Verb::Check]), [false, false], "there is none any more");
        assert_eq!(kept(&[Verb::Kubeconfig]), [true]);
    }
}
