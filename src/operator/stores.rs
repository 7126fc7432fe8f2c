//! What the watches have told of Clusters and their operations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::api::DynamicObject;
use kube::runtime::watcher::Event;
use serde_json::{Map, Value};

use super::group::{ClusterKey, Group};
use super::made::MADE_FOR;
use super::object;

/// Annotation: what `kubectl apply` has applied.
const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// Clusters.
    Clusters,
    /// Their operations.
    Operations,
}

/// Everything that the watches have told. As values in memory objects take five times what their texts do, and there may be tens of thousands of which nothing is
/// to be decided for days: they are kept as texts.
#[derive(Default)]
pub(super) struct Stores {
    clusters: BTreeMap<ClusterKey, Box<str>>,
    /// Operations that have not ended, by their clusters.
    live: BTreeMap<ClusterKey, BTreeMap<String, Arc<DynamicObject>>>,
    ended: BTreeMap<ClusterKey, BTreeMap<String, Box<str>>>,
    /// The cluster that each operation names.
    named: BTreeMap<(Group, String), ClusterKey>,
    /// What a list that has begun has told so far.
    listed: BTreeMap<(Group, What), BTreeSet<String>>,
    /// Lists that were whole once.
    synced: BTreeSet<(Group, What)>,
}

/// What is known of one cluster.
pub(super) struct Known {
    pub(super) cluster: Option<DynamicObject>,
    /// All operations that name it.
    pub(super) operations: Vec<Arc<DynamicObject>>,
}

impl Known {
    /// The operation of this name.
    pub(super) fn operation(&self, name: &str) -> Option<&DynamicObject> {
        self.operations.iter().map(AsRef::as_ref).find(|operation| operation.metadata.name.as_deref() == Some(name))
    }
}

impl Stores {
    /// What is known of the cluster of this key.
    pub(super) fn known_of(&self, key: &ClusterKey) -> Known {
        let live = self.live.get(key).into_iter().flat_map(BTreeMap::iter).map(|(name, object)| (name, Arc::clone(object)));
        let ended = self.ended.get(key).into_iter().flat_map(BTreeMap::iter);
        let ended = ended.filter_map(|(name, text)| Some((name, Arc::new(unpacked(text)?))));
        // In the order of their names, as if they were kept in one place.
        let operations: BTreeMap<&String, Arc<DynamicObject>> = live.chain(ended).collect();
        Known { cluster: self.clusters.get(key).and_then(|text| unpacked(text)), operations: operations.into_values().collect() }
    }

    /// All clusters that there are, and that operations name.
    pub(super) fn keys(&self) -> BTreeSet<ClusterKey> {
        self.clusters.keys().chain(self.live.keys()).chain(self.ended.keys()).cloned().collect()
    }

    /// Whether everything of these groups was listed once.
    pub(super) fn is_synced(&self, groups: &[Group]) -> bool {
        groups.iter().all(|group| [What::Clusters, What::Operations].into_iter().all(|what| self.synced.contains(&(*group, what))))
    }

    /// When the operations were made that wait for another one, in seconds since 1970.
    pub(super) fn queued(&self) -> impl Iterator<Item = i64> {
        let all = self.live.values().flat_map(BTreeMap::values);
        let queued = all.filter(|operation| object::text(&operation.data, "/status/phase") == Some("Queued"));
        queued.map(|operation| object::created(&operation.metadata))
    }

    /// Takes what a watch tells, and says about which clusters something is to be decided.
    pub(super) fn take(&mut self, (group, what): (Group, What), event: Event<DynamicObject>) -> BTreeSet<ClusterKey> {
        match event {
            Event::Init => {
                self.listed.insert((group, what), BTreeSet::new());
                BTreeSet::new()
            }
            Event::InitApply(object) => {
                let name = object.metadata.name.clone().unwrap_or_default();
                self.listed.entry((group, what)).or_default().insert(name);
                self.put((group, what), object)
            }
            Event::Apply(object) => self.put((group, what), object),
            Event::Delete(object) => self.drop_one((group, what), &object.metadata.name.unwrap_or_default()),
            Event::InitDone => {
                self.synced.insert((group, what));
                let listed = self.listed.remove(&(group, what)).unwrap_or_default();
                let gone: Vec<String> = self.names((group, what)).filter(|name| !listed.contains(name)).collect();
                gone.iter().flat_map(|name| self.drop_one((group, what), name)).collect()
            }
        }
    }

    fn names(&self, (group, what): (Group, What)) -> impl Iterator<Item = String> {
        let names: Vec<String> = match what {
            What::Clusters => self.clusters.keys().filter(|key| key.group == group).map(|key| key.name.clone()).collect(),
            What::Operations => self.named.keys().filter(|(owner, _)| *owner == group).map(|(_, name)| name.clone()).collect(),
        };
        names.into_iter()
    }

    fn put(&mut self, (group, what): (Group, What), object: DynamicObject) -> BTreeSet<ClusterKey> {
        let name = object.metadata.name.clone().unwrap_or_default();
        let (object, has_ended) = lean(object);
        if what == What::Clusters {
            let key = ClusterKey { group, name };
            self.clusters.insert(key.clone(), packed(&object));
            return BTreeSet::from([key]);
        }
        let key = ClusterKey { group, name: object::text(&object.data, "/spec/cluster").unwrap_or_default().to_owned() };
        // Before it begins it may come to mean another cluster.
        let mut touched = self.drop_one((group, what), &name);
        self.named.insert((group, name.clone()), key.clone());
        if has_ended {
            self.ended.entry(key.clone()).or_default().insert(name, packed(&object));
        } else {
            self.live.entry(key.clone()).or_default().insert(name, Arc::new(object));
        }
        touched.insert(key);
        touched
    }

    fn drop_one(&mut self, (group, what): (Group, What), name: &str) -> BTreeSet<ClusterKey> {
        if what == What::Clusters {
            let key = ClusterKey { group, name: name.to_owned() };
            self.clusters.remove(&key);
            return BTreeSet::from([key]);
        }
        let Some(key) = self.named.remove(&(group, name.to_owned())) else { return BTreeSet::new() };
        take_out(&mut self.live, &key, name);
        take_out(&mut self.ended, &key, name);
        BTreeSet::from([key])
    }
}

fn take_out<T>(all: &mut BTreeMap<ClusterKey, BTreeMap<String, T>>, key: &ClusterKey, name: &str) {
    if let Some(of_cluster) = all.get_mut(key) {
        of_cluster.remove(name);
        if of_cluster.is_empty() {
            all.remove(key);
        }
    }
}

/// An object as text. It came as one, so that it can be written and read again.
fn packed(object: &DynamicObject) -> Box<str> {
    serde_json::to_string(object).unwrap_or_default().into_boxed_str()
}

fn unpacked(text: &str) -> Option<DynamicObject> {
    serde_json::from_str(text).ok()
}

fn with(mut object: Value, more: Value) -> Value {
    if let (Value::Object(fields), Value::Object(more)) = (&mut object, more) {
        fields.extend(more);
    }
    object
}

/// An object without what nobody asks of it, and whether it is an operation that has ended: of one little is asked.
fn lean(mut object: DynamicObject) -> (DynamicObject, bool) {
    object.metadata.managed_fields = None;
    // kubectl has written the whole object in it once more.
    object.metadata.annotations.as_mut().map(|all| all.remove(APPLIED));
    let has_ended = object.metadata.labels.as_ref().and_then(|labels| labels.get(object::COMPLETED)).is_some_and(|value| value == "done");
    let is_operation = object.data.pointer("/spec/cluster").is_some();
    let has_ended = has_ended && is_operation;
    if has_ended {
        let pick = |part: &str, fields: &[&str]| -> Value {
            let found = fields.iter().filter_map(|field| Some(((*field).to_owned(), object.data.get(part)?.get(field)?.clone())));
            Value::Object(found.collect::<Map<String, Value>>())
        };
        let spec = pick("spec", &["cluster", "action"]);
        // What the operator has made by itself says for what, and what came of it.
        let status = pick("status", &["status", "phase", "startTime", "endTime"]);
        let made = if object.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(MADE_FOR)) {
            pick("status", &["inputs", "lastError", "hosts"])
        } else {
            Value::Null
        };
        let status = with(status, made);
        object.data = Value::Object(Map::from_iter([("spec".to_owned(), spec), ("status".to_owned(), status)]));
    }
    (object, has_ended)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use serde_json::json;

    use super::*;

    fn operation(name: &str, cluster: &str, labels: Value) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": "ClusterOperation",
            "metadata": {"name": name, "labels": labels},
            "spec": {"cluster": cluster, "extraArgs": "-v"}, "status": {"status": "Succeeded", "progress": {"done": 7}},
        }))
        .unwrap()
    }

    const OPERATIONS: (Group, What) = (Group::KubeOnKube, What::Operations);

    fn key(name: &str) -> ClusterKey {
        ClusterKey { group: Group::KubeOnKube, name: name.to_owned() }
    }

    fn count(stores: &Stores, cluster: &str) -> usize {
        stores.known_of(&key(cluster)).operations.len()
    }

    #[test]
    fn a_list_replaces_what_was_known() {
        let mut stores = Stores::default();
        stores.take(OPERATIONS, Event::Apply(operation("old", "a", json!({}))));
        assert!(!stores.is_synced(&[Group::KubeOnKube]));
        stores.take(OPERATIONS, Event::Init);
        stores.take(OPERATIONS, Event::InitApply(operation("new", "b", json!({}))));
        assert_eq!(stores.take(OPERATIONS, Event::InitDone), BTreeSet::from([key("a")]));
        assert_eq!((count(&stores, "a"), count(&stores, "b")), (0, 1));
    }

    #[test]
    fn an_operation_that_means_another_cluster_leaves_the_first_one() {
        let mut stores = Stores::default();
        stores.take(OPERATIONS, Event::Apply(operation("o", "a", json!({}))));
        let touched = stores.take(OPERATIONS, Event::Apply(operation("o", "b", json!({}))));
        assert_eq!(touched, BTreeSet::from([key("a"), key("b")]));
        assert_eq!((count(&stores, "a"), count(&stores, "b")), (0, 1));
        assert_eq!(stores.take(OPERATIONS, Event::Delete(operation("o", "b", json!({})))), BTreeSet::from([key("b")]));
        assert!(stores.live.is_empty() && stores.named.is_empty());
    }

    #[test]
    fn of_what_has_ended_little_is_kept() {
        let data = |labels: Value| lean(operation("o", "a", labels)).0.data;
        assert!(data(json!({})).pointer("/status/progress").is_some());
        assert_eq!(data(json!({"hasCompleted": "done"})), json!({"spec": {"cluster": "a"}, "status": {"status": "Succeeded"}}));
    }

    /// It is in one place at a time, and says the same in both.
    #[test]
    fn an_operation_that_ends_is_kept_as_text() {
        let mut stores = Stores::default();
        stores.take(OPERATIONS, Event::Apply(operation("b", "a", json!({}))));
        stores.take(OPERATIONS, Event::Apply(operation("o", "a", json!({}))));
        stores.take(OPERATIONS, Event::Apply(operation("b", "a", json!({"hasCompleted": "done"}))));
        let known = stores.known_of(&key("a"));
        let names: Vec<_> = known.operations.iter().filter_map(|operation| operation.metadata.name.as_deref()).collect();
        assert_eq!((names, stores.live.len(), stores.ended.len()), (vec!["b", "o"], 1, 1));
        assert_eq!(known.operation("b"), Some(&lean(operation("b", "a", json!({"hasCompleted": "done"}))).0));
        stores.take(OPERATIONS, Event::Delete(operation("b", "a", json!({}))));
        assert!(stores.ended.is_empty() && count(&stores, "a") == 1);
    }

    #[test]
    fn a_cluster_is_what_it_was_told_to_be() {
        let mut stores = Stores::default();
        let metadata = json!({"name": "a", "uid": "1", "resourceVersion": "7", "creationTimestamp": "2026-01-31T12:00:00Z",
            "finalizers": ["kokctl.io/cluster"], "annotations": {APPLIED: "{}", "kokctl.io/reconcile-at": "now"}});
        let object = json!({"apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": "Cluster", "metadata": metadata, "spec": {"hosts": [{"name": "cp1"}]}});
        stores.take((Group::KubeOnKube, What::Clusters), Event::Apply(serde_json::from_value(object.clone()).unwrap()));
        let mut expected: DynamicObject = serde_json::from_value(object).unwrap();
        expected.metadata.annotations.as_mut().map(|all| all.remove(APPLIED));
        assert_eq!(stores.known_of(&key("a")).cluster, Some(expected));
    }
}
