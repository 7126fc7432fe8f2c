//! Objects as JSON: what is read of them, by name.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value, json};

/// Annotation: the operation is to end.
pub(super) const CANCEL: &str = "kokctl.io/cancel";
/// Annotation: the operation is begun though it is older than the operator; and hosts are taken from the run that this names.
pub(super) const TAKE_OVER: &str = "kokctl.io/take-over";
/// Annotation: the plan of this digest may be carried out.
pub(super) const APPROVED_PLAN: &str = "kokctl.io/approved-plan";
/// Annotation of a Cluster: the host keys of this digest are right.
pub(super) const TRUSTED_HOST_KEYS: &str = "kokctl.io/trusted-host-keys";
/// Label: the operation has ended, if it says `done`.
pub(super) const COMPLETED: &str = "hasCompleted";
/// Label: the cluster of an operation.
pub(super) const CLUSTER_NAME: &str = "clusterName";
/// Condition of a Cluster: another run holds its hosts.
pub(super) const HELD: &str = "HeldByAnother";
/// What comes before the name of another operation in what one says that waits for it.
pub(super) const BEHIND: &str = "behind ";
/// Who writes, in `managedFields`.
pub(super) const MANAGER: &str = "kokctl";

/// Text at a JSON pointer.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str()
}

/// Whether it says `true` there.
pub(super) fn flag(value: &Value, pointer: &str) -> bool {
    value.pointer(pointer).and_then(Value::as_bool).unwrap_or_default()
}

/// A condition of a status, by its type.
pub(super) fn condition<'a>(data: &'a Value, list: &str, kind: &str) -> Option<&'a Value> {
    let all = data.pointer("/status")?.get(list)?.as_array()?;
    all.iter().find(|condition| condition.get("type").is_some_and(|found| found == kind))
}

/// Whether a status says that its operation is over.
pub(super) fn is_over(data: &Value) -> bool {
    matches!(text(data, "/status/status"), Some("Succeeded" | "Failed"))
}

/// The part of a patch by which it is about this object, and about this version of it: of another one the API server refuses it as a conflict. (Of a
/// status it looks at the version alone, which no two objects of one name have.)
pub(super) fn only_this(meta: &ObjectMeta) -> Value {
    let parts = [("uid", &meta.uid), ("resourceVersion", &meta.resource_version)];
    parts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value.as_ref()?)))).collect::<Map<String, Value>>().into()
}

/// When an object was made, in seconds since 1970.
pub(super) fn created(meta: &ObjectMeta) -> i64 {
    meta.creation_timestamp.as_ref().map(|time| time.0.as_second()).unwrap_or_default()
}

/// A reference to an object of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reference {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Reference {
    /// The one of this field of a spec; one without a name is none.
    pub(super) fn of(spec: &Value, field: &str) -> Option<Self> {
        let part = |part: &str| spec.get(field)?.get(part)?.as_str().map(str::to_owned);
        let name = part("name").filter(|name| !name.is_empty())?;
        Some(Self { namespace: part("namespace").unwrap_or_default(), name })
    }
}

/// A condition as Kubernetes has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) kind: &'static str,
    pub(super) is: bool,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Condition {
    /// As part of a status. The time of its last transition is kept where it says what it said before.
    pub(super) fn json(&self, before: Option<&Value>, generation: i64, now: &str) -> Value {
        let status = if self.is { "True" } else { "False" };
        let same = before.filter(|before| before.get("status").is_some_and(|found| found == status));
        let since = same.and_then(|before| before.get("lastTransitionTime")?.as_str()).unwrap_or(now);
        json!({
            "type": self.kind, "status": status, "reason": self.reason, "message": fitted(&self.message, MOST_MESSAGE),
            "observedGeneration": generation, "lastTransitionTime": since,
        })
    }
}

/// Bytes of one message in a status.
pub(super) const MOST_MESSAGE: usize = 512;

/// A text of so many bytes at the most.
pub(super) fn fitted(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most.saturating_sub(3)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    format!("{}…", text.get(..end).unwrap_or_default())
}
