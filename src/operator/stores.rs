//! What the watches have told of Clusters and their operations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::api::DynamicObject;
use kube::runtime::watcher::Event;
use serde_json::{Map, Value};

use super::group::{ClusterKey, Group};
use super::made::MADE_FOR;
use super::object;

/// What is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// Clusters.
    Clusters,
    /// Their operations.
    Operations,
}

/// Everything that the watches have told.
#[derive(Default)]
pub(super) struct Stores {
    clusters: BTreeMap<ClusterKey, Arc<DynamicObject>>,
    operations: BTreeMap<ClusterKey, BTreeMap<String, Arc<DynamicObject>>>,
    /// The cluster that each operation names.
    named: BTreeMap<(Group, String), ClusterKey>,
    /// What a list that has begun has told so far.
    listed: BTreeMap<(Group, What), BTreeSet<String>>,
    /// Lists that were whole once.
    synced: BTreeSet<(Group, What)>,
}

impl Stores {
    /// The Cluster of this key.
    pub(super) fn cluster(&self, key: &ClusterKey) -> Option<&Arc<DynamicObject>> {
        self.clusters.get(key)
    }

    /// All clusters that there are, and that operations name.
    pub(super) fn keys(&self) -> BTreeSet<ClusterKey> {
        self.clusters.keys().chain(self.operations.keys()).cloned().collect()
    }

    /// All operations that name a cluster.
    pub(super) fn operations(&self, key: &ClusterKey) -> impl Iterator<Item = &Arc<DynamicObject>> {
        self.operations.get(key).into_iter().flat_map(BTreeMap::values)
    }

    /// Whether everything of these groups was listed once.
    pub(super) fn is_synced(&self, groups: &[Group]) -> bool {
        groups.iter().all(|group| [What::Clusters, What::Operations].into_iter().all(|what| self.synced.contains(&(*group, what))))
    }

    /// When the operations were made that wait for another one, in seconds since 1970.
    pub(super) fn queued(&self) -> impl Iterator<Item = i64> {
        let all = self.operations.values().flat_map(BTreeMap::values);
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
        let object = lean(object);
        if what == What::Clusters {
            let key = ClusterKey { group, name };
            self.clusters.insert(key.clone(), Arc::new(object));
            return BTreeSet::from([key]);
        }
        let key = ClusterKey { group, name: object::text(&object.data, "/spec/cluster").unwrap_or_default().to_owned() };
        // Before it begins it may come to mean another cluster.
        let mut touched = match self.named.get(&(group, name.clone())) {
            Some(before) if *before != key => self.drop_one((group, what), &name),
            _ => BTreeSet::new(),
        };
        self.named.insert((group, name.clone()), key.clone());
        self.operations.entry(key.clone()).or_default().insert(name, Arc::new(object));
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
        if let Some(all) = self.operations.get_mut(&key) {
            all.remove(name);
            if all.is_empty() {
                self.operations.remove(&key);
            }
        }
        BTreeSet::from([key])
    }
}

fn with(mut object: Value, more: Value) -> Value {
    if let (Value::Object(fields), Value::Object(more)) = (&mut object, more) {
        fields.extend(more);
    }
    object
}

/// An object without what nobody asks of it: of an operation that has ended little is.
fn lean(mut object: DynamicObject) -> DynamicObject {
    object.metadata.managed_fields = None;
    let has_ended = object.metadata.labels.as_ref().and_then(|labels| labels.get(object::COMPLETED)).is_some_and(|value| value == "done");
    let is_operation = object.data.pointer("/spec/cluster").is_some();
    if has_ended && is_operation {
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
    object
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

    #[test]
    fn a_list_replaces_what_was_known() {
        let mut stores = Stores::default();
        stores.take(OPERATIONS, Event::Apply(operation("old", "a", json!({}))));
        assert!(!stores.is_synced(&[Group::KubeOnKube]));
        stores.take(OPERATIONS, Event::Init);
        stores.take(OPERATIONS, Event::InitApply(operation("new", "b", json!({}))));
        assert_eq!(stores.take(OPERATIONS, Event::InitDone), BTreeSet::from([key("a")]));
        assert_eq!((stores.operations(&key("a")).count(), stores.operations(&key("b")).count()), (0, 1));
    }

    #[test]
    fn an_operation_that_means_another_cluster_leaves_the_first_one() {
        let mut stores = Stores::default();
        stores.take(OPERATIONS, Event::Apply(operation("o", "a", json!({}))));
        let touched = stores.take(OPERATIONS, Event::Apply(operation("o", "b", json!({}))));
        assert_eq!(touched, BTreeSet::from([key("a"), key("b")]));
        assert_eq!((stores.operations(&key("a")).count(), stores.operations(&key("b")).count()), (0, 1));
        assert_eq!(stores.take(OPERATIONS, Event::Delete(operation("o", "b", json!({})))), BTreeSet::from([key("b")]));
        assert!(stores.operations.is_empty() && stores.named.is_empty());
    }

    #[test]
    fn of_what_has_ended_little_is_kept() {
        let data = |labels: Value| lean(operation("o", "a", labels)).data;
        assert!(data(json!({})).pointer("/status/progress").is_some());
        assert_eq!(data(json!({"hasCompleted": "done"})), json!({"spec": {"cluster": "a"}, "status": {"status": "Succeeded"}}));
    }
}
