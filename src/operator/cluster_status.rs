//! The status of a Cluster: kubean's list of its operations, and how the cluster is.

use std::collections::BTreeSet;

use kube::Api;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Map, Value, json};

use super::object::{CLUSTER_NAME, Condition, MANAGER, MOST_BYTES, condition, only_this, shortened};
use super::status::OperationStatus;
use crate::clock::Clock;

/// Operations that are listed.
const MOST_LISTED: usize = 200;

/// So often it is written at the most where others write at the same time.
const MOST_TRIES: usize = 5;

/// What there is to say about a Cluster. Of what is not said here the status says what it said before.
#[derive(Debug, Default)]
pub(super) struct StatusPatch {
    pub(super) conditions: Vec<Condition>,
    /// Kinds of those of which it is not known.
    unknown: BTreeSet<&'static str>,
    /// Other fields; null takes one out.
    pub(super) fields: Map<String, Value>,
}

impl StatusPatch {
    /// With one more condition.
    pub(super) fn condition(mut self, kind: &'static str, is: bool, reason: &'static str, message: impl Into<String>) -> Self {
        self.conditions.push(Condition { kind, is, reason, message: message.into() });
        self
    }

    /// With one of which it is not known whether it is so.
    pub(super) fn unknown(mut self, kind: &'static str, reason: &'static str, message: impl Into<String>) -> Self {
        self.unknown.insert(kind);
        self.condition(kind, false, reason, message)
    }

    /// With one more field.
    pub(super) fn field(mut self, name: &str, value: Value) -> Self {
        self.fields.insert(name.to_owned(), value);
        self
    }
}

/// The list of operations with the one that is told of. `known` are those that there still are.
fn listed(before: &Value, name: &str, status: &OperationStatus, known: &BTreeSet<String>) -> Vec<Value> {
    let mut entry = Map::from_iter([("clusterOps".to_owned(), json!(name))]);
    let fields = [("status", status.phase.kubeans()), ("startTime", status.start.as_deref()), ("endTime", status.end.as_deref())];
    entry.extend(fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?)))));
    let others = before.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let named = |entry: &Value| entry.get("clusterOps").and_then(Value::as_str).map(str::to_owned).unwrap_or_default();
    let is_there = others.iter().any(|other| named(other) == name);
    let mut all: Vec<Value> = if is_there { Vec::new() } else { vec![Value::Object(entry.clone())] };
    all.extend(
        others
            .into_iter()
            .filter(|other| named(other) == name || known.contains(&named(other)))
            .map(|other| if named(&other) == name { Value::Object(entry.clone()) } else { other }),
    );
    all.truncate(MOST_LISTED);
    all
}

/// Conditions as they are after something was said: those that nothing was said of stay.
fn conditions(before: &Value, (written, unknown): (&[Condition], &BTreeSet<&str>), generation: i64, now: &str) -> Vec<Value> {
    let old = before.pointer("/status/clusterConditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_said = |old: &Value| written.iter().any(|condition| old.get("type").is_some_and(|kind| kind == condition.kind));
    let new = written.iter().map(|it| {
        let word = if unknown.contains(it.kind) { "Unknown" } else { it.word() };
        it.json_as(word, condition(before, "clusterConditions", it.kind), generation, now)
    });
    old.iter().filter(|old| !is_said(old)).cloned().chain(new).collect()
}

/// Shortens what is said until the whole status is short enough, with what stays of the one before: first the list of hosts, then that of operations,
/// of which the oldest go. Other programs read that one, so that it says nothing of those.
fn fit(before: &Value, fields: &mut Map<String, Value>) {
    let mut whole = before.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    whole.extend(fields.clone());
    for (name, least) in [("hosts", 0), ("conditions", 1)] {
        let Some(all) = whole.get(name).and_then(Value::as_array).cloned() else { continue };
        let mut most = all.len();
        while most > least && Value::Object(whole.clone()).to_string().len() > MOST_BYTES {
            most = (most / 2).max(least);
            let short = if name == "hosts" { shortened(&all, most) } else { all.iter().take(most).cloned().collect() };
            whole.insert(name.to_owned(), short.clone().into());
            fields.insert(name.to_owned(), short.into());
        }
    }
}

/// Writes what is said about a Cluster, with the operation under way in its list, if there is one.
///
/// # Errors
/// Those of the API.
pub(super) async fn write(
    (clusters, operations): (&Api<DynamicObject>, &Api<DynamicObject>),
    cluster: &DynamicObject,
    operation: Option<(&str, &OperationStatus)>,
    status_patch: StatusPatch,
) -> kube::Result<()> {
    let name = cluster.metadata.name.clone().unwrap_or_default();
    let params = ListParams::default().labels(&format!("{CLUSTER_NAME}={name}"));
    let known = operations.list_metadata(&params).await?.items.into_iter().filter_map(|it| it.metadata.name).collect();
    let mut tries = 0;
    loop {
        let before = clusters.get_opt(&name).await?;
        // Another one of the same name is not the one that this is said of.
        let Some(before) = before.filter(|before| before.metadata.uid == cluster.metadata.uid) else { return Ok(()) };
        tries += 1;
        let patch = Patch::Merge(patch(&before, operation, &status_patch, &known));
        match clusters.patch_status(&name, &PatchParams::apply(MANAGER), &patch).await {
            Err(kube::Error::Api(status)) if status.is_conflict() && tries < MOST_TRIES => {}
            written => return written.map(drop),
        }
    }
}

/// What is said as a patch of exactly this version of the Cluster.
fn patch(before: &DynamicObject, operation: Option<(&str, &OperationStatus)>, patch: &StatusPatch, known: &BTreeSet<String>) -> Value {
    let generation = before.metadata.generation.unwrap_or_default();
    let mut fields = patch.fields.clone();
    if let Some((operation, status)) = operation {
        fields.insert("conditions".to_owned(), listed(&before.data, operation, status, known).into());
    }
    let all = conditions(&before.data, (&patch.conditions, &patch.unknown), generation, &Clock::rfc3339());
    fields.insert("clusterConditions".to_owned(), all.into());
    fields.insert("observedGeneration".to_owned(), json!(generation));
    fit(&before.data, &mut fields);
    json!({"metadata": only_this(&before.metadata), "status": fields})
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use super::*;
    use crate::operator::fake::Fake;
    use crate::operator::group::Group;
    use crate::operator::status::Phase;

    #[test]
    fn the_list_has_one_entry_for_each_operation_that_there_is() {
        let status = OperationStatus { phase: Phase::Running, start: Some("1".to_owned()), ..OperationStatus::default() };
        let before = json!({"status": {"conditions": [{"clusterOps": "b", "status": "Succeeded"}, {"clusterOps": "gone"}]}});
        let known = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
        let all = listed(&before, "a", &status, &known);
        assert_eq!(
            all,
            [json!({"clusterOps": "a", "status": "Running", "startTime": "1"}), json!({"clusterOps": "b", "status": "Succeeded"})]
        );
        let ended = OperationStatus { phase: Phase::Cancelled, end: Some("2".to_owned()), ..status };
        let again = listed(&json!({"status": {"conditions": all}}), "a", &ended, &known);
        assert_eq!(again[0], json!({"clusterOps": "a", "status": "Failed", "startTime": "1", "endTime": "2"}));
        assert_eq!(again.len(), 2);
    }

    #[test]
    fn what_nothing_is_said_of_stays() {
        let before =
            json!({"status": {"clusterConditions": [{"type": "Ready", "status": "True"}, {"type": "HostKeysTrusted", "status": "True"}]}});
        let said = [Condition { kind: "Ready", is: false, reason: "Failed", message: String::new() }];
        let all = conditions(&before, (&said, &BTreeSet::new()), 3, "9");
        assert_eq!(all[0], json!({"type": "HostKeysTrusted", "status": "True"}));
        assert_eq!((&all[1]["status"], &all[1]["lastTransitionTime"], all.len()), (&json!("False"), &json!("9"), 2));
    }

    #[tokio::test]
    async fn a_cluster_made_anew_under_the_same_name_is_not_written_to() {
        let (fake, client) = Fake::start().await;
        let path = "/apis/kubeonkube.clay.io/v1alpha1/clusters/c";
        let cluster = || json!({"apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": "Cluster", "spec": {}});
        let group = Group::KubeOnKube;
        let apis: (Api<DynamicObject>, Api<DynamicObject>) =
            (Api::all_with(client.clone(), &group.clusters()), Api::all_with(client, &group.operations()));
        let first: DynamicObject = serde_json::from_value(fake.put(path, cluster())).unwrap();
        let said = || StatusPatch::default().field("phase", json!("Ready"));
        let status = OperationStatus::default();
        write((&apis.0, &apis.1), &first, Some(("make", &status)), said()).await.unwrap();
        assert_eq!(fake.get(path).unwrap()["status"]["phase"], "Ready");
        fake.remove(path);
        let other = fake.put(path, cluster());
        write((&apis.0, &apis.1), &first, Some(("make", &status)), said()).await.unwrap();
        assert_eq!(fake.get(path).unwrap(), other);
    }

    #[test]
    fn a_status_of_many_hosts_and_operations_is_short() {
        let long = "é".repeat(240);
        let hosts: Vec<Value> = (0..100).map(|number| json!({"name": format!("host-{number}"), "offeredHostKey": long})).collect();
        let operations: Vec<Value> =
            (0..200).map(|number| json!({"clusterOps": format!("{number}-{long}"), "status": "Succeeded"})).collect();
        // The hosts stand there already, and nothing is said of them now.
        let before = json!({"status": {"hosts": hosts, "phase": "Ready"}});
        let mut fields = Map::from_iter([("conditions".to_owned(), Value::from(operations))]);
        fit(&before, &mut fields);
        let mut whole = before["status"].as_object().cloned().unwrap_or_default();
        whole.extend(fields.clone());
        assert!(Value::Object(whole).to_string().len() <= MOST_BYTES);
        assert_eq!(fields["conditions"][0]["clusterOps"], format!("0-{long}"), "the newest stay");
        let more = fields["hosts"].as_array().and_then(|all| all.last()).map(|last| last["name"].clone());
        assert!(more.is_some_and(|name| name.as_str().is_some_and(|name| name.starts_with("and ") && name.ends_with(" more"))));
        let mut short = Map::from_iter([("phase".to_owned(), json!("Ready"))]);
        fit(&json!({"status": {"hosts": [{"name": "a"}]}}), &mut short);
        assert_eq!(short, Map::from_iter([("phase".to_owned(), json!("Ready"))]), "what is short stays as it is");
    }
}
