//! Operations that the operator makes by itself. Each is an object as anybody else's, so that its history, its approval and its end are the same; and the
//! object is all that is remembered of it: whoever makes the same one again finds it there.

use kok_tasks::digest::sha256;
use kube::api::DynamicObject;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::group::ClusterKey;
use super::object::{self, CLUSTER_NAME};
use super::outputs::owner;

/// Label: why the operator has made the operation.
pub(super) const MADE_BECAUSE: &str = "kokctl.io/made-because";
/// Annotation: for which description of the cluster it was made.
pub(super) const MADE_FOR: &str = "kokctl.io/made-for";
/// Letters at the end of its name.
const LETTERS: usize = 4;

/// Why the operator has made an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// The cluster is described otherwise than the hosts were made.
    Description,
    /// The hosts are otherwise than they were made.
    Drift,
    /// The Cluster is being deleted.
    Deletion,
    /// Its schedule asks for a backup.
    Backup,
}

impl Why {
    /// All of them.
    pub(super) const ALL: [Self; 4] = [Self::Description, Self::Drift, Self::Deletion, Self::Backup];

    /// The word for it.
    const fn word(self) -> &'static str {
        match self {
            Self::Description => "description",
            Self::Drift => "drift",
            Self::Deletion => "deletion",
            Self::Backup => "backup",
        }
    }

    /// What such an operation does.
    const fn action(self) -> &'static str {
        match self {
            Self::Description | Self::Drift => "cluster.yml",
            Self::Deletion => "reset.yml",
            Self::Backup => "backup-create",
        }
    }

    /// Why this operation was made, if the operator has made it.
    pub(super) fn from_operation(operation: &DynamicObject) -> Option<Self> {
        let word = operation.metadata.labels.as_ref()?.get(MADE_BECAUSE)?;
        let why = Self::ALL.into_iter().find(|why| why.word() == word)?;
        // Who may make others must not have one of those taken for what it isn't.
        (object::text(&operation.data, "/spec/action")? == why.action()).then_some(why)
    }
}

/// What a cluster is to be.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClusterTarget {
    /// Version of its spec.
    pub(super) generation: i64,
    /// What stands for the versions of everything that it names.
    pub(super) versions: String,
    /// What the annotation said by which somebody asks for another run.
    pub(super) asked: String,
}

impl ClusterTarget {
    /// Whether a run for the other one has done what this one wants.
    pub(super) fn is_met_by(&self, other: &Self) -> bool {
        let is_asked = !self.asked.is_empty() && self.asked != other.asked;
        !is_asked && (self.generation, &self.versions) == (other.generation, &other.versions)
    }
}

/// An operation that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Make {
    pub(super) why: Why,
    pub(super) note: Note,
}

/// What an operation remembers of why it was made.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Note {
    /// UID of its Cluster.
    pub(super) cluster: String,
    /// Of all that were made for this Cluster, one after the other.
    pub(super) number: u64,
    /// How many before it, one after the other, were for the same and did not succeed.
    pub(super) failures: u32,
    /// Whether hosts that don't answer are passed over: there is little time left to take the others down.
    #[serde(default)]
    pub(super) gives_up: bool,
    /// Of a backup, for which moment it was made, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) moment: Option<i64>,
    #[serde(flatten)]
    pub(super) target: ClusterTarget,
}

/// How one has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperationOutcome {
    /// It hasn't.
    Open,
    Succeeded,
    /// Somebody has to change something first, or does not want it.
    Waits,
    /// It may succeed when it is tried again.
    Failed,
}

/// An operation that the operator has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) why: Why,
    /// With the target that it was really about: until it begins that may change.
    pub(super) note: Note,
    pub(super) outcome: OperationOutcome,
    /// When it ended, in seconds since 1970.
    pub(super) ended: i64,
    /// Whether it waits for somebody who approves its plan.
    pub(super) awaits_approval: bool,
    /// What went wrong.
    pub(super) error: String,
    /// Hosts that were passed over.
    pub(super) left_out: Vec<String>,
}

impl Made {
    /// What an operation says, if the operator has made it.
    pub(super) fn from_operation(operation: &DynamicObject) -> Option<Self> {
        let (why, data) = (Why::from_operation(operation)?, &operation.data);
        let note = operation.metadata.annotations.as_ref()?.get(MADE_FOR)?;
        let mut note: Note = serde_json::from_str(note).ok()?;
        let inputs = data.pointer("/status/inputs");
        let began = inputs.and_then(|inputs| Some((inputs.get("clusterGeneration")?.as_i64()?, inputs.get("versions")?.as_str()?)));
        if let Some((generation, versions)) = began {
            (note.target.generation, note.target.versions) = (generation, versions.to_owned());
        }
        let word = |pointer: &str| object::text(data, pointer).unwrap_or_default();
        let outcome = match (word("/status/status"), word("/status/phase"), word("/status/lastError/kind")) {
            ("Succeeded", ..) => OperationOutcome::Succeeded,
            ("Failed", "Cancelled", _) | ("Failed", _, "Input") => OperationOutcome::Waits,
            ("Failed", ..) => OperationOutcome::Failed,
            _ => OperationOutcome::Open,
        };
        let ended = word("/status/endTime").parse::<jiff::Timestamp>().map(jiff::Timestamp::as_second).unwrap_or_default();
        let error = ["what", "because"].map(|part| word(&format!("/status/lastError/{part}"))).into_iter().filter(|text| !text.is_empty());
        let error = error.collect::<Vec<_>>().join(": ");
        let hosts = data.pointer("/status/hosts").and_then(Value::as_array).into_iter().flatten();
        let left_out = hosts.filter(|host| host.get("state").is_some_and(|state| state == "Unreachable"));
        let left_out = left_out.filter_map(|host| host.get("name")?.as_str().map(str::to_owned)).collect();
        Some(Self { why, note, outcome, ended, awaits_approval: word("/status/phase") == "AwaitingApproval", error, left_out })
    }
}

/// The end of the name of the operation of this number: the same whoever makes it, so that it is made once.
pub(super) fn name_end(note: &Note) -> String {
    let sum = sha256(format!("{}\n{}", note.cluster, note.number).as_bytes());
    let letter = |digits: &[u8]| {
        let value = digits.iter().fold(0_u32, |value, digit| value * 16 + char::from(*digit).to_digit(16).unwrap_or_default());
        char::from(b'a' + u8::try_from(value % 26).unwrap_or_default())
    };
    let letters: String = sum.as_bytes().chunks(4).take(LETTERS).map(letter).collect();
    format!("-{}-{letters}", note.target.generation)
}

/// The operation as an object.
pub(super) fn operation(key: &ClusterKey, cluster: &DynamicObject, make: &Make) -> Value {
    let settings = cluster.data.pointer("/spec/operator");
    let approval = settings.and_then(|operator| operator.get("approval")).cloned().unwrap_or_else(|| json!("Auto"));
    let operator = match make.why {
        // What takes hosts down is tried again by another one, until there is no time left.
        Why::Deletion => json!({"approval": approval, "retries": 0}),
        Why::Description | Why::Drift => json!({"approval": approval}),
        // It changes nothing, and has no plan.
        Why::Backup => json!({"approval": "Auto"}),
    };
    let mut spec = json!({"cluster": key.name, "actionType": "playbook", "action": make.why.action(), "operator": operator});
    let mut metadata = json!({
        "name": format!("{}{}", key.name, name_end(&make.note)),
        "labels": {CLUSTER_NAME: key.name, MADE_BECAUSE: make.why.word()},
        "annotations": {MADE_FOR: serde_json::to_string(&make.note).unwrap_or_default()},
    });
    let deadline = settings.and_then(|operator| operator.get("deletionDeadlineSeconds")).cloned();
    let (part, name, value) = match make.why {
        // What goes with the Cluster would go before it, where that is deleted in the foreground.
        Why::Deletion => (&mut spec, "activeDeadlineSeconds", deadline.unwrap_or_else(|| json!(super::served::DELETION_SECONDS))),
        Why::Description | Why::Drift | Why::Backup => (&mut metadata, "ownerReferences", json!([owner(cluster, true)])),
    };
    if let Value::Object(fields) = part {
        fields.insert(name.to_owned(), value);
    }
    json!({"apiVersion": key.group.api_version(), "kind": "ClusterOperation", "metadata": metadata, "spec": spec})
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use super::super::group::Group;
    use super::*;

    fn note(number: u64) -> Note {
        let target = ClusterTarget { generation: 3, versions: "v".to_owned(), asked: String::new() };
        Note { cluster: "u".to_owned(), number, failures: 0, gives_up: false, moment: None, target }
    }

    fn made(why: Why, status: Value) -> Option<Made> {
        let cluster = json!({"apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "berlin", "uid": "u"},
            "spec": {"operator": {"approval": "Manual", "deletionDeadlineSeconds": 99}}});
        let key = ClusterKey { group: Group::KubeOnKube, name: "berlin".to_owned() };
        let mut object = operation(&key, &serde_json::from_value(cluster).unwrap(), &Make { why, note: note(1) });
        object["status"] = status;
        Made::from_operation(&serde_json::from_value(object).unwrap())
    }

    #[test]
    fn names_are_of_the_cluster_its_generation_and_four_letters_that_each_number_has() {
        let ends: Vec<String> = (1..200).map(|number| name_end(&note(number))).collect();
        assert!(ends.iter().all(|end| end.len() == 7 && end.starts_with("-3-") && end[3..].bytes().all(|byte| byte.is_ascii_lowercase())));
        let all: std::collections::BTreeSet<&String> = ends.iter().collect();
        assert!(all.len() > 195, "{}", all.len());
        assert_eq!(name_end(&note(7)), ends[6]);
    }

    #[test]
    fn what_was_made_says_for_what_and_what_came_of_it() {
        let outcome = |status: Value| made(Why::Description, status).unwrap().outcome;
        assert_eq!(outcome(json!({})), OperationOutcome::Open);
        assert_eq!(outcome(json!({"status": "Running", "phase": "Resuming"})), OperationOutcome::Open);
        assert_eq!(outcome(json!({"status": "Succeeded", "phase": "Succeeded"})), OperationOutcome::Succeeded);
        assert_eq!(outcome(json!({"status": "Failed", "phase": "Cancelled"})), OperationOutcome::Waits);
        assert_eq!(outcome(json!({"status": "Failed", "phase": "Failed", "lastError": {"kind": "Input"}})), OperationOutcome::Waits);
        assert_eq!(outcome(json!({"status": "Failed", "phase": "Failed", "lastError": {"kind": "Host"}})), OperationOutcome::Failed);
        let begun = made(Why::Description, json!({"inputs": {"clusterGeneration": 4, "versions": "w"}})).unwrap();
        assert_eq!((begun.note.target.generation, begun.note.target.versions.as_str()), (4, "w"), "what it began with counts");
        let hosts = json!([{"name": "w1", "state": "Unreachable"}, {"name": "w2", "state": "Done"}]);
        assert_eq!(made(Why::Deletion, json!({"status": "Succeeded", "hosts": hosts})).unwrap().left_out, ["w1"]);
    }

    #[test]
    fn one_of_somebody_else_is_not_taken_for_the_operators() {
        let mut object = json!({"apiVersion": "v1", "kind": "ClusterOperation", "metadata": {"name": "o", "labels": {MADE_BECAUSE: "deletion"},
            "annotations": {MADE_FOR: serde_json::to_string(&note(1)).unwrap()}}, "spec": {"cluster": "c", "action": "ping.yml"}});
        let read = |object: &Value| Made::from_operation(&serde_json::from_value(object.clone()).unwrap()).map(|made| made.why);
        assert_eq!(read(&object), None, "it has taken nothing down");
        object["spec"]["action"] = json!("reset.yml");
        assert_eq!(read(&object), Some(Why::Deletion));
        object["metadata"]["annotations"] = json!({});
        assert_eq!(read(&object), None);
    }

    #[test]
    fn approval_and_deadline_are_those_of_the_cluster() {
        let key = ClusterKey { group: Group::Kubean, name: "berlin".to_owned() };
        let settings = json!({"approval": "Manual", "deletionDeadlineSeconds": 99});
        let cluster = json!({"apiVersion": "kubean.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "berlin", "uid": "u"}, "spec": {"operator": settings}});
        let cluster: DynamicObject = serde_json::from_value(cluster).unwrap();
        let of = |why| operation(&key, &cluster, &Make { why, note: note(1) });
        let (apply, reset) = (of(Why::Drift), of(Why::Deletion));
        assert_eq!((&apply["spec"]["operator"]["approval"], &apply["spec"]["action"]), (&json!("Manual"), &json!("cluster.yml")));
        assert_eq!(apply["metadata"]["ownerReferences"][0]["uid"], "u");
        assert_eq!((&reset["spec"]["activeDeadlineSeconds"], &reset["spec"]["action"]), (&json!(99), &json!("reset.yml")));
        assert_eq!(reset["metadata"].get("ownerReferences"), None, "it outlasts a deletion in the foreground");
    }
}
