//! What an operation has made of its cluster, as the status of that says it.

use kok_crds::operation::Verb;
use serde_json::{Value, json};

use super::super::cluster_status::StatusPatch;
use super::super::object;
use super::super::served::{SUSPENDED, phase_by};
use super::OperationLife;

/// The last thing that an operation has begun about what the cluster is. Who only looks is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) verb: Verb,
    /// Whether it is about some hosts or tasks alone.
    pub(super) is_part: bool,
    /// Whether it came to its end.
    pub(super) is_done: bool,
}

impl Changed {
    /// The same when it has come to its end, after this: a part says nothing of the whole, of which something was said before it.
    pub(super) fn done(self, before: Option<Self>) -> Self {
        let before = before.filter(|before| self.is_part && before.is_done);
        before.unwrap_or(Self { is_done: true, ..self })
    }
}

impl OperationLife {
    /// How the cluster is after what was changed so far.
    pub(super) fn of_standing(&self, patch: StatusPatch, reason: &'static str, message: String) -> StatusPatch {
        match standing(self.changed) {
            Standing::AsBefore => patch.field("phase", self.phase_before()),
            // What is known of the others is as old as before.
            Standing::InPart => patch.field("phase", self.phase_before()).field("certificates", self.certificates()),
            Standing::TakenDown => patch
                .field("phase", json!("Pending"))
                .condition("Ready", false, "Reset", "the cluster, or a part of it, was taken down")
                .field("certificates", Value::Null)
                .field("hostSummary", Value::Null),
            // Also where a hook failed that comes after it: that is said of the operation.
            Standing::Works => patch
                .field("phase", json!("Ready"))
                .condition("Ready", true, "Succeeded", "")
                .field("certificates", self.certificates())
                .field("hostSummary", self.summary()),
            Standing::InTrouble => {
                patch.field("phase", json!("Degraded")).condition("Ready", false, reason, message).field("hostSummary", self.summary())
            }
        }
    }

    /// The phase of the Cluster before the operation, also where an attempt before this one has written over it.
    pub(super) fn phase_before(&self) -> Value {
        match self.before("phase") {
            Value::String(phase) if !["Provisioning", SUSPENDED].contains(&phase.as_str()) => json!(phase),
            Value::String(_) => json!(phase_by(object::condition(&self.found.cluster.data, "clusterConditions", "Ready"))),
            _ => json!("Pending"),
        }
    }
}

/// What an operation has made of its cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It has only looked, or could not begin.
    AsBefore,
    /// The cluster, or a part of it, was taken down.
    TakenDown,
    /// A part of it is as it is to be, and of the others nothing is known.
    InPart,
    /// What was to be changed is changed.
    Works,
    /// It was begun, and has not come to its end.
    InTrouble,
}

/// What the last change says of the cluster.
const fn standing(changed: Option<Changed>) -> Standing {
    match changed {
        None => Standing::AsBefore,
        Some(Changed { is_done: false, .. }) => Standing::InTrouble,
        Some(Changed { verb: Verb::Reset, .. }) => Standing::TakenDown,
        Some(Changed { is_part: true, .. }) => Standing::InPart,
        Some(_) => Standing::Works,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use super::super::super::fake::{CLUSTER, life};
    use super::*;

    #[test]
    fn the_last_change_says_how_the_cluster_is() {
        let after = |verb, is_done| standing(Some(Changed { verb, is_part: false, is_done }));
        assert_eq!(standing(None), Standing::AsBefore);
        assert_eq!((after(Verb::Apply, true), after(Verb::Apply, false)), (Standing::Works, Standing::InTrouble));
        assert_eq!((after(Verb::Reset, true), after(Verb::Reset, false)), (Standing::TakenDown, Standing::InTrouble));
    }

    /// Hooks alone, or one host of many, make no cluster: nobody is to believe that it works.
    #[tokio::test]
    async fn a_part_says_nothing_of_the_whole() {
        let part = Changed { verb: Verb::Apply, is_part: true, is_done: false };
        let whole = Changed { is_part: false, is_done: true, ..part };
        assert_eq!((standing(Some(part)), standing(Some(part.done(None)))), (Standing::InTrouble, Standing::InPart));
        assert_eq!(standing(Some(part.done(Some(whole)))), Standing::Works, "the whole was made before");
        let (fake, mut life) = life("a").await;
        life.changed = Some(part.done(None));
        life.end(Ok(())).await;
        let status = fake.get(CLUSTER).unwrap()["status"].clone();
        assert_eq!(
            (&status["phase"], object::condition(&json!({"status": status}), "clusterConditions", "Ready")),
            (&json!("Pending"), None)
        );
    }

    /// Whose cluster is as it was, whatever it was cancelled for.
    #[tokio::test]
    async fn who_has_begun_no_step_has_touched_no_host() {
        let (_, life) = life("a").await;
        assert!(!life.has_touched_hosts());
        life.writer.change(|status| status.progress.has_begun = true);
        assert!(life.has_touched_hosts());
        life.writer.change(|status| (status.progress.has_begun, status.attempt) = (false, 2));
        assert!(life.has_touched_hosts(), "the attempt before may have");
    }

    /// An attempt that was killed has said that the cluster is being made.
    #[tokio::test]
    async fn whoever_goes_on_knows_how_the_cluster_was() {
        let (_, mut life) = life("a").await;
        let mut before = |ready: Value| {
            life.found.cluster.data["status"] = json!({"phase": "Provisioning", "clusterConditions": [ready]});
            life.phase_before()
        };
        assert_eq!(before(json!({"type": "Ready", "status": "True", "reason": "Succeeded"})), "Ready");
        assert_eq!(before(json!({"type": "Ready", "status": "False", "reason": "StepsFailed"})), "Degraded");
        assert_eq!(before(json!({"type": "Ready", "status": "False", "reason": "Reset"})), "Pending");
        assert_eq!(before(json!({"type": "InputsReady", "status": "True"})), "Pending");
    }
}
