//! What is known of a cluster when something is decided about it.

use super::group::ClusterKey;
use super::made::{Made, Why};
use super::object;
use super::served::Served;
use super::stores::Known;
use super::versions::Versions;

/// What is known of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct View {
    /// The Cluster; nothing if there is none.
    pub(super) cluster: Option<Served>,
    /// All operations that name it.
    pub(super) operations: Vec<Operation>,
    /// The run under way here.
    pub(super) active: Option<Active>,
    /// What came of the last attempt to get its Lease.
    pub(super) claim: Claim,
    /// When an operator first ran here, in seconds since 1970.
    pub(super) first_start: i64,
    /// How many operations are kept that have ended, if that is known.
    pub(super) history: Option<usize>,
    /// The versions of what it names, as they were seen last.
    pub(super) versions: Option<Versions>,
    /// Whether its hosts are being looked at for drift.
    pub(super) is_checking: bool,
    /// Before this time no other look begins here, in seconds since 1970.
    pub(super) check_after: i64,
}

/// An operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Operation {
    pub(super) name: String,
    /// Tells it from another one of its name.
    pub(super) uid: String,
    /// In seconds since 1970.
    pub(super) created: i64,
    pub(super) score: i64,
    pub(super) life: Life,
    /// Behind which other one it waits, as its status says.
    pub(super) behind: Option<String>,
    /// Why it was not begun, as its status says.
    pub(super) refused: Option<&'static str>,
    /// Whether another operator has made a Job for it.
    pub(super) has_job: bool,
    /// Whether somebody wants it begun though it is older than the operator.
    pub(super) is_wanted: bool,
    /// Whether somebody wants it to end, or it is being deleted.
    pub(super) is_cancelled: bool,
    /// Whether its labels say that it has ended.
    pub(super) is_labelled: bool,
    /// Whether whoever was at it lets others go on, as its status says, or one that goes on has just begun.
    pub(super) is_left: bool,
    /// What there is about one that the operator has made.
    pub(super) made: Option<Made>,
}

/// How far an operation is, as its status says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    /// Nothing is done of it.
    New,
    /// It waits for another one, and its status says so.
    Queued,
    /// A run has begun.
    Begun,
    /// It has ended.
    Ended,
}

/// A run under way in this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Active {
    pub(super) operation: String,
    /// Of the operation that it is of; there may be another one of its name by now.
    pub(super) uid: String,
    /// When it is given up, in seconds since 1970.
    pub(super) deadline: i64,
    /// What was wished of it.
    pub(super) stopping: Option<Stopping>,
}

/// How a run is to end before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopping {
    /// What is at work is awaited; somebody has cancelled it, at this time.
    Cancel {
        /// In seconds since 1970.
        at: i64,
    },
    /// The same, for it has taken too long.
    Deadline {
        /// In seconds since 1970.
        at: i64,
    },
    /// Nothing is awaited.
    Now {
        /// Whether somebody has cancelled it.
        cancelled: bool,
    },
}

/// What came of the last attempt to get a Lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Claim {
    /// There was none.
    #[default]
    Untried,
    /// Another replica has it, or the run ended without an end: not before this time, in seconds since 1970.
    RetryAt(i64),
}

/// The words by which a status says why an operation was not begun.
const REASONS: [&str; 4] = ["ClusterNotFound", "FoundAtTakeOver", "HandledByAnotherOperator", "Suspended"];

impl View {
    /// What the stores know of a cluster. `over` is the UID of an operation that has ended here, which the
    /// stores may not have heard of yet.
    pub(super) fn from_known(known: &Known, key: &ClusterKey, over: Option<&str>) -> Self {
        let cluster = known.cluster.as_ref().map(Served::from_cluster);
        let is_of = |made: &Made| cluster.as_ref().is_none_or(|cluster| cluster.uid == made.note.cluster);
        let operations = known.operations.iter().map(|object| {
            let operation = Operation::from_object(object, key);
            // Another Cluster of this name has made nothing for this one.
            let operation = Operation { made: operation.made.filter(is_of), ..operation };
            let is_over = over.is_some() && over == object.metadata.uid.as_deref() && operation.life != Life::Ended;
            // Its label is written by whoever has ended it.
            if is_over { Operation { life: Life::Ended, is_labelled: true, ..operation } } else { operation }
        });
        let operations = operations.collect();
        Self { cluster, operations, ..Self::default() }
    }
}

impl View {
    /// Whether an operation is the one under way here.
    pub(super) fn is_active(&self, operation: &Operation) -> bool {
        self.active.as_ref().is_some_and(|active| active.operation == operation.name && active.uid == operation.uid)
    }

    /// The operation that the operator has made last, for one of these reasons.
    pub(super) fn last_made(&self, reasons: &[Why]) -> Option<&Made> {
        let made = self.operations.iter().filter_map(|operation| operation.made.as_ref());
        made.filter(|made| reasons.contains(&made.why)).max_by_key(|made| made.note.number)
    }
}

impl Operation {
    fn from_object(operation: &kube::api::DynamicObject, key: &ClusterKey) -> Self {
        let (data, meta) = (&operation.data, &operation.metadata);
        let annotation = |name: &str| meta.annotations.as_ref().and_then(|all| all.get(name)).map(String::as_str);
        let status = object::text(data, "/status/status").unwrap_or_default();
        let life = match (status, object::text(data, "/status/phase")) {
            ("Succeeded" | "Failed", _) => Life::Ended,
            (_, Some("Queued")) => Life::Queued,
            (_, Some("Pending") | None) => Life::New,
            (_, Some(_)) => Life::Begun,
        };
        let accepted = object::condition(data, "conditions", "Accepted");
        let behind = accepted.and_then(|it| it.get("message")?.as_str()?.strip_prefix(object::BEHIND).map(str::to_owned));
        let refusal = accepted.filter(|it| it.get("status").is_some_and(|status| status == "False"));
        let refusal = refusal.and_then(|it| it.get("reason")?.as_str());
        Self {
            name: meta.name.clone().unwrap_or_default(),
            uid: meta.uid.clone().unwrap_or_default(),
            created: object::created(meta),
            score: annotation(key.group.score_annotation()).and_then(|score| score.parse().ok()).unwrap_or_default(),
            life,
            behind,
            refused: refusal.and_then(|refusal| REASONS.into_iter().find(|reason| *reason == refusal)),
            has_job: object::text(data, "/status/jobRef/name").is_some_and(|name| !name.is_empty()) && life != Life::Begun,
            is_wanted: annotation(object::TAKE_OVER).is_some_and(|value| value != "false"),
            is_cancelled: annotation(object::CANCEL).is_some_and(|value| value != "false") || meta.deletion_timestamp.is_some(),
            is_labelled: meta.labels.as_ref().and_then(|all| all.get(object::COMPLETED)).is_some_and(|value| value == "done"),
            is_left: object::is_left(data),
            made: Made::from_operation(operation),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use kube::runtime::watcher::Event;
    use serde_json::{Value, json};

    use super::super::group::Group;
    use super::super::stores::{Stores, What};
    use super::*;

    fn view(metadata: Value, status: Value, over: Option<&str>) -> Operation {
        let mut stores = Stores::default();
        let object = json!({
            "apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": "ClusterOperation", "metadata": metadata,
            "spec": {"cluster": "c"}, "status": status,
        });
        stores.take((Group::KubeOnKube, What::Operations), Event::Apply(serde_json::from_value(object).unwrap()));
        let key = ClusterKey { group: Group::KubeOnKube, name: "c".to_owned() };
        View::from_known(&stores.known_of(&key), &key, over).operations[0].clone()
    }

    #[test]
    fn a_status_says_how_far_an_operation_is() {
        let life = |status: Value| view(json!({"name": "o"}), status, None).life;
        assert_eq!(life(json!({})), Life::New);
        assert_eq!(life(json!({"phase": "Pending"})), Life::New);
        assert_eq!(life(json!({"phase": "Queued", "status": "Blocked"})), Life::Queued);
        assert_eq!(life(json!({"phase": "Resuming", "status": "Running"})), Life::Begun);
        assert_eq!(life(json!({"phase": "Cancelled", "status": "Failed"})), Life::Ended);
        assert_eq!(life(json!({"status": "Succeeded"})), Life::Ended, "of an operator before this one");
    }

    #[test]
    fn what_has_ended_here_is_not_begun_again_and_another_of_its_name_is() {
        let metadata = json!({"name": "o", "uid": "1"});
        assert_eq!(view(metadata.clone(), json!({"phase": "Running"}), Some("1")).life, Life::Ended);
        assert_eq!(view(metadata, json!({}), Some("0")).life, Life::New);
        assert_eq!(view(json!({"name": "o"}), json!({}), None).life, Life::New);
    }

    #[test]
    fn annotations_and_a_job_of_another_operator_are_seen() {
        let annotated = |name: &str, value: &str| view(json!({"name": "o", "annotations": {name: value}}), json!({}), None);
        assert!(annotated("kokctl.io/cancel", "true").is_cancelled && !annotated("kokctl.io/cancel", "false").is_cancelled);
        assert!(annotated("kokctl.io/take-over", "true").is_wanted && !annotated("kokctl.io/take-over", "false").is_wanted);
        assert_eq!(annotated("clay.io/eliminate-score", "7").score, 7);
        let job = json!({"jobRef": {"name": "job"}, "status": "Running"});
        assert!(view(json!({"name": "o"}), job, None).has_job);
        let refused = json!({"conditions": [{"type": "Accepted", "status": "False", "reason": "Suspended"}]});
        assert_eq!(view(json!({"name": "o"}), refused, None).refused, Some("Suspended"));
    }
}
