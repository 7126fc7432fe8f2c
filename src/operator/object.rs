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
/// Annotation of a Cluster: it is made as it is described once more, whenever this says something else.
pub(super) const RECONCILE_AT: &str = "kokctl.io/reconcile-at";
/// Finalizer of a Cluster: its hosts are taken down before it goes.
pub(super) const FINALIZER: &str = "kokctl.io/cluster";
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
/// The mode of a Cluster that is changed whenever it is described otherwise.
pub(super) const DECLARATIVE: &str = "Declarative";

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

/// Whether a status says that whoever was at its operation leaves it to others, or that one of these has just begun.
pub(super) fn is_left(data: &Value) -> bool {
    text(data, "/status/phase") == Some("Resuming")
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
    pub(super) fn from_field(spec: &Value, field: &str) -> Option<Self> {
        let part = |part: &str| spec.get(field)?.get(part)?.as_str().map(str::to_owned);
        let name = part("name").filter(|name| !name.is_empty())?;
        Some(Self { namespace: part("namespace").unwrap_or_default(), name })
    }

    /// The same, in this namespace if it says none.
    pub(super) fn or_in(self, namespace: &str) -> Self {
        if self.namespace.is_empty() { Self { namespace: namespace.to_owned(), ..self } } else { self }
    }
}

/// The namespace in which everything of a cluster is, by its spec; nothing if no reference says one.
pub(super) fn home(spec: &Value) -> Option<String> {
    let named = ["hostsConfRef", "sshAuthRef"].into_iter().filter_map(|field| Reference::from_field(spec, field));
    named.map(|reference| reference.namespace).find(|namespace| !namespace.is_empty())
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
        self.json_as(self.word(), before, generation, now)
    }

    /// Whether it is so, in Kubernetes' word.
    pub(super) const fn word(&self) -> &'static str {
        if self.is { "True" } else { "False" }
    }

    /// The same with another word for whether it is so.
    pub(super) fn json_as(&self, status: &str, before: Option<&Value>, generation: i64, now: &str) -> Value {
        let same = before.filter(|before| before.get("status").is_some_and(|found| found == status));
        let since = same.and_then(|before| before.get("lastTransitionTime")?.as_str()).unwrap_or(now);
        json!({
            "type": self.kind, "status": status, "reason": self.reason, "message": fitted(&self.message, MOST_MESSAGE),
            "observedGeneration": generation, "lastTransitionTime": since,
        })
    }
}

/// The first entries of a list of things with names, and one that says how many more there are.
pub(super) fn shortened(all: &[Value], most: usize) -> Vec<Value> {
    let (named, before) = match all.split_last() {
        Some((last, others)) if more_of(last).is_some() => (others, more_of(last).unwrap_or_default()),
        _ => (all, 0),
    };
    let more = before + named.len().saturating_sub(most);
    let mut list: Vec<Value> = named.iter().take(most).cloned().collect();
    if more > 0 {
        list.push(json!({"name": format!("and {more} more"), "message": "not named, for a status has to be short"}));
    }
    list
}

/// How many more an entry says that there are.
fn more_of(entry: &Value) -> Option<usize> {
    text(entry, "/name")?.strip_prefix("and ")?.strip_suffix(" more")?.parse().ok()
}

/// Bytes of a whole status. An object of etcd has little more than a megabyte, and a watch of many has all of them.
pub(super) const MOST_BYTES: usize = 32 << 10;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_where_its_first_reference_is_that_says_it() {
        let reference = |namespace: &str, name: &str| json!({"namespace": namespace, "name": name});
        let of = |hosts: Value, key: Value| home(&json!({"hostsConfRef": hosts, "sshAuthRef": key}));
        assert_eq!(of(reference("a", "x"), reference("b", "y")).as_deref(), Some("a"));
        assert_eq!(of(json!({"name": "x"}), reference("b", "y")).as_deref(), Some("b"));
        assert_eq!(of(reference("a", ""), reference("b", "y")).as_deref(), Some("b"), "one without a name is none");
        assert_eq!(of(Value::Null, json!({"name": "y"})), None);
    }

    #[test]
    fn a_list_that_is_shortened_says_how_many_more_there_are() {
        let all: Vec<Value> = ["a", "b", "c", "d"].map(|name| json!({"name": name})).into();
        let names = |list: &[Value]| list.iter().map(|entry| text(entry, "/name").unwrap_or_default().to_owned()).collect::<Vec<_>>();
        assert_eq!(names(&shortened(&all, 4)), ["a", "b", "c", "d"]);
        let short = shortened(&all, 3);
        assert_eq!(names(&short), ["a", "b", "c", "and 1 more"]);
        assert_eq!(names(&shortened(&short, 1)), ["a", "and 3 more"]);
    }
}
