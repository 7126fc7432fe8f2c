//! What the page shows of each cluster: made of its objects whenever something about it is decided, and handed to whoever looks when it has changed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use kube::api::DynamicObject;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::super::group::ClusterKey;
use super::super::made::MADE_BECAUSE;
use super::super::object;

/// Operations of a cluster that are named, the newest first.
const MOST_OPERATIONS: usize = 60;

/// What there is about a cluster.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Card {
    /// Its line in the list of all.
    row: Value,
    /// All of it.
    detail: Value,
}

/// A card, and by which change it became what it is.
#[derive(Debug, Clone)]
struct Shown {
    card: Card,
    revision: u64,
}

/// The cards of all clusters.
#[derive(Debug)]
pub(in super::super) struct ClusterBoard {
    shown: Mutex<BTreeMap<ClusterKey, Shown>>,
    revision: watch::Sender<u64>,
}

impl Default for ClusterBoard {
    fn default() -> Self {
        Self { shown: Mutex::default(), revision: watch::channel(0).0 }
    }
}

impl ClusterBoard {
    /// Shows this of a cluster from now on; nothing if there is none any more.
    pub(in super::super) fn put(&self, key: &ClusterKey, card: Option<Card>) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.get(key).map(|shown| &shown.card) == card.as_ref() {
            return;
        }
        let revision = *self.revision.borrow() + 1;
        match card {
            Some(card) => drop(shown.insert(key.clone(), Shown { card, revision })),
            None => drop(shown.remove(key)),
        }
        drop(shown);
        self.revision.send_replace(revision);
    }

    /// Tells of every change.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    /// What is new to somebody who has seen this much, and whom one cluster concerns more than the others; nothing if nothing is.
    pub(super) fn news(&self, seen: &mut BoardSeen) -> Option<Value> {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = |key: &ClusterKey, shown: &Shown| seen.rows.get(key) != Some(&shown.revision);
        let rows: Vec<Value> = shown.iter().filter(|(key, shown)| is_new(key, shown)).map(|(_, shown)| shown.card.row.clone()).collect();
        let gone: Vec<String> = seen.rows.keys().filter(|key| !shown.contains_key(*key)).map(id).collect();
        let mut news = Map::new();
        if seen.is_first || !rows.is_empty() || !gone.is_empty() {
            news.extend([("rows".to_owned(), rows.into()), ("gone".to_owned(), gone.into())]);
        }
        let chosen = seen.chosen.as_ref().and_then(|key| Some((shown.get(key)?, is_new(key, shown.get(key)?))));
        match chosen {
            Some((shown, true)) => drop(news.insert("cluster".to_owned(), shown.card.detail.clone())),
            None if seen.is_first && seen.chosen.is_some() => drop(news.insert("cluster".to_owned(), Value::Null)),
            _ => {}
        }
        seen.rows = shown.iter().map(|(key, shown)| (key.clone(), shown.revision)).collect();
        seen.is_first = false;
        (!news.is_empty()).then_some(Value::Object(news))
    }
}

/// What somebody has seen so far.
#[derive(Debug)]
pub(super) struct BoardSeen {
    rows: BTreeMap<ClusterKey, u64>,
    /// The cluster of which all is shown.
    chosen: Option<ClusterKey>,
    is_first: bool,
}

impl BoardSeen {
    /// Nothing yet.
    pub(super) fn new(chosen: Option<ClusterKey>) -> Self {
        Self { rows: BTreeMap::new(), chosen, is_first: true }
    }
}

/// How the page names a cluster.
fn id(key: &ClusterKey) -> String {
    format!("{}/{}", key.group.name(), key.name)
}

/// Fields of an object; what is not there is not said.
fn pick(object: &Value, fields: &[&str]) -> Map<String, Value> {
    let found = fields.iter().filter_map(|field| Some(((*field).to_owned(), object.get(field)?.clone())));
    found.filter(|(_, value)| !value.is_null()).collect()
}

impl Card {
    /// Of a cluster, or of operations whose Cluster does not exist.
    pub(in super::super) fn from_objects<'a>(
        key: &ClusterKey,
        cluster: Option<&DynamicObject>,
        operations: impl Iterator<Item = &'a Arc<DynamicObject>>,
    ) -> Option<Self> {
        let mut operations: Vec<&DynamicObject> = operations.map(AsRef::as_ref).collect();
        if cluster.is_none() && operations.is_empty() {
            return None;
        }
        operations.sort_by_key(|operation| (std::cmp::Reverse(object::created(&operation.metadata)), operation.metadata.name.clone()));
        let nothing = json!({});
        let data = cluster.map_or(&nothing, |cluster| &cluster.data);
        let status = data.get("status").unwrap_or(&nothing);
        let now = now(&operations).map(live);
        let id = id(key);
        let phase = object::text(data, "/status/phase").unwrap_or(if cluster.is_some() { "Pending" } else { "Missing" });
        let row = json!({
            "id": id, "name": key.name, "group": key.group.name(), "phase": phase,
            "version": object::text(data, "/spec/kubernetesVersion"), "hosts": object::text(data, "/status/hostSummary/text"),
            "message": object::text(data, "/status/lastError/what"),
            "now": now.as_ref().map(|now| json!({
                "name": now.get("name"), "action": now.get("action"), "phase": now.get("phase"), "percent": now.pointer("/progress/percent"),
            })),
        });
        let mut detail = pick(status, &["hostSummary", "clusterConditions", "lastError", "drift", "certificates", "hostKeys", "hosts"]);
        detail.extend([
            ("phase".to_owned(), json!(phase)),
            ("suspended".to_owned(), json!(object::flag(data, "/spec/operator/suspend"))),
            ("operations".to_owned(), operations.iter().take(MOST_OPERATIONS).map(|operation| line(operation)).collect()),
            ("moreOperations".to_owned(), json!(operations.len().saturating_sub(MOST_OPERATIONS))),
            ("now".to_owned(), now.unwrap_or_default()),
        ]);
        Some(Self { row, detail: Value::Object(detail) })
    }
}

/// The operation that somebody who looks wants to see: the one at work, or else the first of those that wait.
fn now<'a>(operations: &[&'a DynamicObject]) -> Option<&'a DynamicObject> {
    let mut live: Vec<&&DynamicObject> = operations.iter().filter(|operation| !object::is_over(&operation.data)).collect();
    let waits = |operation: &DynamicObject| {
        // Of what is not accepted nobody knows whether it ever begins.
        let refused =
            object::condition(&operation.data, "conditions", "Accepted").and_then(|it| object::text(it, "/status")) == Some("False");
        (refused, matches!(object::text(&operation.data, "/status/phase"), None | Some("Queued")))
    };
    live.sort_by_key(|operation| (waits(operation), object::created(&operation.metadata)));
    live.first().map(|operation| **operation)
}

fn line(operation: &DynamicObject) -> Value {
    let data = &operation.data;
    let mut line = pick(data.get("status").unwrap_or(&Value::Null), &["phase", "startTime", "endTime"]);
    let because = operation.metadata.labels.as_ref().and_then(|labels| labels.get(MADE_BECAUSE));
    line.extend(because.map(|because| ("because".to_owned(), json!(because))));
    line.extend([("name".to_owned(), json!(operation.metadata.name)), ("action".to_owned(), json!(object::text(data, "/spec/action")))]);
    Value::Object(line)
}

fn live(operation: &DynamicObject) -> Value {
    let status = operation.data.get("status").cloned().unwrap_or_default();
    let mut all = pick(&status, &["plan", "progress", "hosts", "conditions", "lastError", "attempt"]);
    if let Value::Object(line) = line(operation) {
        all.extend(line);
    }
    Value::Object(all)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use super::super::super::group::Group;
    use super::*;

    fn key(name: &str) -> ClusterKey {
        ClusterKey { group: Group::KubeOnKube, name: name.to_owned() }
    }

    fn object(kind: &str, name: &str, created: &str, rest: Value) -> Arc<DynamicObject> {
        let mut all = json!({
            "apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": kind, "metadata": {"name": name, "creationTimestamp": created},
        });
        all.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        Arc::new(serde_json::from_value(all).unwrap())
    }

    fn operation(name: &str, created: &str, status: Value) -> Arc<DynamicObject> {
        object("ClusterOperation", name, created, json!({"spec": {"cluster": "c", "action": "cluster.yml"}, "status": status}))
    }

    fn card(phase: &str) -> Option<Card> {
        let cluster = object("Cluster", "c", "2026-01-01T00:00:00Z", json!({"spec": {}, "status": {"phase": phase}}));
        Card::from_objects(&key("c"), Some(&cluster), std::iter::empty())
    }

    #[test]
    fn the_operation_at_work_goes_before_those_that_wait_and_those_before_what_nobody_takes() {
        let refused = json!({"conditions": [{"type": "Accepted", "status": "False"}]});
        let all = [
            operation("old", "2026-01-01T00:00:00Z", refused),
            operation("over", "2026-01-02T00:00:00Z", json!({"status": "Failed", "phase": "Failed"})),
            operation("queued", "2026-01-03T00:00:00Z", json!({"status": "Blocked", "phase": "Queued"})),
            operation("runs", "2026-01-04T00:00:00Z", json!({"status": "Running", "phase": "Running", "progress": {"percent": 7}})),
        ];
        let card = |all: &[Arc<DynamicObject>]| Card::from_objects(&key("c"), None, all.iter()).unwrap();
        let whole = card(&all);
        assert_eq!(whole.row["now"], json!({"name": "runs", "action": "cluster.yml", "phase": "Running", "percent": 7}));
        let names: Vec<&Value> = whole.detail["operations"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
        assert_eq!(names, ["runs", "queued", "over", "old"]);
        assert_eq!((&card(&all[..3]).row["now"]["name"], &card(&all[..2]).row["now"]["name"]), (&json!("queued"), &json!("old")));
        assert_eq!((&card(&all[1..2]).row["now"], &whole.row["phase"]), (&Value::Null, &json!("Missing")));
    }

    #[test]
    fn whoever_looks_hears_of_what_has_changed_alone() {
        let board = ClusterBoard::default();
        let (mut all, mut one) = (BoardSeen::new(None), BoardSeen::new(Some(key("c"))));
        assert_eq!(board.news(&mut all).unwrap(), json!({"rows": [], "gone": []}), "that there is none is said once");
        assert_eq!(board.news(&mut one).unwrap()["cluster"], Value::Null);
        board.put(&key("c"), card("Pending"));
        assert_eq!(board.news(&mut all).unwrap()["rows"][0]["phase"], "Pending");
        assert_eq!(board.news(&mut one).unwrap()["cluster"]["phase"], "Pending");
        board.put(&key("c"), card("Pending"));
        assert_eq!((board.news(&mut all), board.news(&mut one)), (None, None));
        board.put(&key("d"), card("Ready"));
        assert!(board.news(&mut one).unwrap().get("cluster").is_none(), "another one is no news of this");
        board.put(&key("c"), None);
        assert_eq!(board.news(&mut all).unwrap()["gone"], json!(["kubeonkube.clay.io/c"]));
    }
}
