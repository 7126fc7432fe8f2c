//! What was decided about operations that are not under way, as writes.

use std::sync::Arc;

use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ObjectMeta, Patch, PatchParams, PostParams, Preconditions};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::decide::{Intent, Refused};
use super::group::ClusterKey;
use super::made;
use super::object::{BEHIND, CANCEL, COMPLETED, Condition, FINALIZER, MANAGER, TAKE_OVER, condition, only_this};
use super::outputs::{ObjectEvent, Teller, belonging};
use super::shared::Shared;
use super::status::{ANSWER, Phase};
use super::stores::Known;
use crate::clock::Clock;

/// A write about one operation, or about its Cluster, as it was when that was decided: if anybody, such as the replica that has begun it meanwhile, has changed it, it is
/// decided anew.
pub(super) struct Write {
    api: Api<DynamicObject>,
    about: ObjectMeta,
    what: What,
}

enum What {
    Metadata(Value),
    Status(Value),
    Delete,
    /// An object that is not there yet.
    Create(Box<DynamicObject>),
    /// Whether a Cluster is held; and what is told of it then, to whom.
    Finalizers(Vec<String>, Option<(Teller, ObjectEvent)>),
}

/// The write that an intent is, if it is one.
pub(super) fn write_of(intent: &Intent, shared: &Arc<Shared>, key: &ClusterKey, known: &Known) -> Option<Write> {
    let found = |name: &str| known.operation(name);
    let write = |name: &str, what| Some(Write { api: shared.operations(key.group), about: found(name)?.metadata.clone(), what });
    let status =
        |name: &str, fields: Value, conditions: Vec<Condition>| write(name, What::Status(patched(&found(name)?.data, fields, &conditions)));
    match intent {
        Intent::Make(_) | Intent::Hold | Intent::LetGo { .. } | Intent::Phase(_) => of_cluster(intent, shared, key, known),
        Intent::Supersede { operation } => write(operation, What::Metadata(json!({"annotations": {CANCEL: "superseded"}}))),
        Intent::Label { operation } => write(operation, What::Metadata(ended(found(operation)?, known.cluster.as_ref()))),
        Intent::Prune { operation } => write(operation, What::Delete),
        Intent::Refuse { operation, because } => {
            let accepted = Condition { kind: "Accepted", is: false, reason: because.reason(), message: words(*because, key, operation) };
            // One that was queued before has said so in kubean's word too.
            status(operation, json!({"phase": Phase::Pending.word(), "status": Phase::Pending.kubeans()}), vec![accepted])
        }
        Intent::Queue { operation, behind } => {
            let accepted = Condition { kind: "Accepted", is: true, reason: "Queued", message: format!("{BEHIND}{behind}") };
            status(operation, json!({"phase": Phase::Queued.word(), "status": Phase::Queued.kubeans()}), vec![accepted])
        }
        Intent::Cancel { operation } => {
            let now = Clock::rfc3339();
            let fields = json!({"phase": Phase::Cancelled.word(), "status": Phase::Cancelled.kubeans(), "endTime": now});
            let ready = |kind, is| Condition { kind, is, reason: "Cancelled", message: "before it began".to_owned() };
            status(operation, fields, vec![ready("Ready", false), ready("Stalled", true)])
        }
        Intent::Start { .. } | Intent::Stop(_) | Intent::Look | Intent::Check | Intent::Requeue(_) => None,
    }
}

/// The metadata of an operation that has ended. One that never began has nothing else by which it would go with its Cluster.
fn ended(operation: &DynamicObject, cluster: Option<&DynamicObject>) -> Value {
    let mut metadata = cluster.map_or_else(|| json!({"labels": {}}), |cluster| belonging(operation, cluster));
    if let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut) {
        labels.insert(COMPLETED.to_owned(), json!("done"));
    }
    metadata
}

/// The write about the Cluster itself.
fn of_cluster(intent: &Intent, shared: &Arc<Shared>, key: &ClusterKey, known: &Known) -> Option<Write> {
    let cluster = known.cluster.as_ref()?;
    let about = cluster.metadata.clone();
    let others = about.finalizers.iter().flatten().filter(|name| *name != FINALIZER).cloned();
    let what = match intent {
        Intent::Make(make) => {
            let object = serde_json::from_value(made::operation(key, cluster, make)).ok()?;
            return Some(Write { api: shared.operations(key.group), about, what: What::Create(Box::new(object)) });
        }
        Intent::Phase(phase) => What::Status(json!({"phase": phase})),
        Intent::Hold => What::Finalizers(others.chain([FINALIZER.to_owned()]).collect(), None),
        Intent::LetGo { given_up } => {
            let event = given_up.as_ref().map(|because| {
                tracing::warn!(cluster = %key, because, "the Cluster goes");
                (Teller::new(shared.recorder.clone(), cluster), ObjectEvent::warning("HostsGivenUp", because.clone()))
            });
            What::Finalizers(others.collect(), event)
        }
        _ => return None,
    };
    Some(Write { api: shared.clusters(key.group), about, what })
}

/// The status with conditions in the place of those of the same kind.
fn patched(before: &Value, changed_fields: Value, conditions: &[Condition]) -> Value {
    let now = Clock::rfc3339();
    let old = before.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_said = |old: &Value| conditions.iter().any(|new| old.get("type").is_some_and(|kind| kind == new.kind));
    let new = conditions.iter().map(|it| it.json(condition(before, "conditions", it.kind), 0, &now));
    let all: Vec<Value> = old.iter().filter(|old| !is_said(old)).cloned().chain(new).collect();
    let mut changed_fields = changed_fields;
    if let Value::Object(fields) = &mut changed_fields {
        fields.insert("conditions".to_owned(), all.into());
    }
    changed_fields
}

/// An object with the fields of another one.
fn with(mut object: Value, more: Value) -> Value {
    if let (Value::Object(fields), Value::Object(more)) = (&mut object, more) {
        fields.extend(more);
    }
    object
}

fn words(because: Refused, key: &ClusterKey, operation: &str) -> String {
    let group = key.group.name();
    match because {
        Refused::ClusterNotFound => format!("there is no Cluster {}", key.name),
        Refused::FoundAtTakeOver => {
            let command = format!("kubectl annotate clusteroperations.{group} {operation} --overwrite {TAKE_OVER}=true");
            format!("`{command}` begins it, which is older than the operator")
        }
        Refused::HandledByAnotherOperator => "another operator has made a Job for it".to_owned(),
        Refused::Suspended => {
            let command = format!(
                "kubectl patch clusters.{group} {} --type=merge -p '{{\"spec\":{{\"operator\":{{\"suspend\":false}}}}}}'",
                key.name
            );
            format!("`{command}` lets it begin; until then `spec.operator.suspend` of its Cluster is true")
        }
    }
}

impl Write {
    /// Writes it. Whether it is written.
    pub(super) async fn write(self) -> bool {
        let Self { api, about, what } = self;
        let (name, params) = (about.name.clone().unwrap_or_default(), PatchParams::apply(MANAGER));
        let written = match what {
            What::Metadata(metadata) => {
                let patch = Patch::Merge(json!({"metadata": with(only_this(&about), metadata)}));
                timeout(ANSWER, api.patch(&name, &params, &patch)).await.map(|result| result.map(drop))
            }
            What::Status(status) => {
                let patch = Patch::Merge(json!({"metadata": only_this(&about), "status": status}));
                timeout(ANSWER, api.patch_status(&name, &params, &patch)).await.map(|result| result.map(drop))
            }
            What::Create(object) => match timeout(ANSWER, api.create(&PostParams::default(), &object)).await {
                // Whoever has made it meanwhile has made the same one.
                Ok(Err(kube::Error::Api(status))) if status.is_already_exists() => Ok(Ok(())),
                made => made.map(|result| result.map(drop)),
            },
            What::Finalizers(names, event) => {
                let patch = Patch::Merge(json!({"metadata": with(only_this(&about), json!({"finalizers": names}))}));
                let written = timeout(ANSWER, api.patch(&name, &params, &patch)).await;
                if let (Ok(Ok(_)), Some((teller, event))) = (&written, event) {
                    teller.tell(event);
                }
                written.map(|result| result.map(drop))
            }
            What::Delete => {
                let only = Preconditions { uid: about.uid, resource_version: about.resource_version };
                timeout(ANSWER, api.delete(&name, &DeleteParams::background().preconditions(only))).await.map(|result| result.map(drop))
            }
        };
        match written {
            Ok(Ok(())) => true,
            Ok(Err(kube::Error::Api(status))) if status.is_not_found() => true,
            Ok(Err(kube::Error::Api(status))) if status.is_conflict() => false,
            Ok(Err(error)) => {
                tracing::warn!(about = name, %error, "what was decided can't be written");
                false
            }
            Err(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use kube::runtime::watcher::Event;

    use super::super::decide::decide;
    use super::super::fake::{CLUSTER, Fake, OPERATION, attendant};
    use super::super::group::Group;
    use super::super::stores::{self, Stores};
    use super::super::versions::Versions;
    use super::super::view::View;
    use super::*;

    /// A declared Cluster without operations, as a replica knows it that has just heard of it.
    fn known(fake: &Fake, key: &ClusterKey) -> Stores {
        let mut cluster = fake.get(CLUSTER).unwrap();
        cluster["spec"]["operator"] = json!({"mode": "Declarative"});
        cluster["metadata"]["generation"] = json!(3);
        let mut stores = Stores::default();
        stores.take((key.group, stores::What::Clusters), Event::Apply(serde_json::from_value(cluster).unwrap()));
        stores
    }

    async fn write_all(intents: &[Intent], shared: &Arc<Shared>, key: &ClusterKey, stores: &Stores) {
        let known = stores.known_of(key);
        for write in intents.iter().filter_map(|intent| write_of(intent, shared, key, &known)) {
            assert!(write.write().await);
        }
    }

    /// An operator that dies after that has noted nothing anywhere else; and another replica may not have heard of it.
    #[tokio::test]
    async fn whoever_makes_an_operation_again_finds_it_there() {
        let (fake, client) = Fake::start().await;
        let attendant = attendant(&fake, client, 1);
        let (shared, key) = (attendant.shared, attendant.key);
        let decided = |stores: &Stores, versions: &str| {
            let versions = Some(Versions { at: 7, text: versions.to_owned() });
            decide(&View { versions, ..View::from_known(&stores.known_of(&key), &key, None) }, 7)
        };
        let made = |fake: &Fake| fake.paths().into_iter().filter(|path| path.contains("/clusteroperations/c-3-")).collect::<Vec<_>>();
        let mut stores = known(&fake, &key);
        for versions in ["v", "v", "seen by another one"] {
            write_all(&decided(&stores, versions), &shared, &key, &stores).await;
        }
        let paths = made(&fake);
        assert_eq!(paths.len(), 1, "{paths:?}");
        let object = fake.get(&paths[0]).unwrap();
        assert_eq!((&object["spec"]["action"], &object["metadata"]["ownerReferences"][0]["name"]), (&json!("cluster.yml"), &json!("c")));
        // Whoever hears of it makes none either, whether it waits or is over.
        for status in [json!({}), json!({"status": "Succeeded", "phase": "Succeeded"})] {
            let mut object = object.clone();
            object["status"] = status;
            stores.take((key.group, stores::What::Operations), Event::Apply(serde_json::from_value(object).unwrap()));
            let intents = decided(&stores, "v");
            assert!(!intents.iter().any(|intent| matches!(intent, Intent::Make(_))), "{intents:?}");
        }
    }

    #[tokio::test]
    async fn what_was_cancelled_before_it_began_goes_with_its_cluster() {
        let (fake, client) = Fake::start().await;
        let attendant = attendant(&fake, client, 1);
        let (shared, key) = (attendant.shared, attendant.key);
        let mut operation = fake.get(OPERATION).unwrap();
        operation["status"] = json!({"status": "Failed", "phase": "Cancelled"});
        let mut stores = known(&fake, &key);
        stores.take((key.group, stores::What::Operations), Event::Apply(serde_json::from_value(fake.put(OPERATION, operation)).unwrap()));
        write_all(&[Intent::Label { operation: "make".to_owned() }], &shared, &key, &stores).await;
        let metadata = fake.get(OPERATION).unwrap()["metadata"].clone();
        assert_eq!(metadata["labels"], json!({"clusterName": "c", "hasCompleted": "done"}));
        assert_eq!(metadata["ownerReferences"][0]["uid"], fake.get(CLUSTER).unwrap()["metadata"]["uid"]);
    }

    #[tokio::test]
    async fn finalizers_of_others_stay() {
        let (fake, client) = Fake::start().await;
        let attendant = attendant(&fake, client, 1);
        let (shared, key) = (attendant.shared, attendant.key);
        let mut cluster = fake.get(CLUSTER).unwrap();
        cluster["metadata"]["finalizers"] = json!(["of.others/one"]);
        fake.put(CLUSTER, cluster);
        let written = async |intent: Intent| {
            let stores = known(&fake, &key);
            write_all(&[intent], &shared, &key, &stores).await;
            fake.get(CLUSTER).unwrap()["metadata"]["finalizers"].clone()
        };
        assert_eq!(written(Intent::Hold).await, json!(["of.others/one", FINALIZER]));
        assert_eq!(written(Intent::LetGo { given_up: None }).await, json!(["of.others/one"]));
    }

    /// A message of a status is cut off at its end. Kinds have short names in one group only.
    #[test]
    fn what_can_be_run_comes_first_in_a_message() {
        let key = ClusterKey { group: Group::Kubean, name: "berlin".to_owned() };
        let all = [Refused::FoundAtTakeOver, Refused::Suspended].map(|because| words(because, &key, "make"));
        assert!(
            all[0].starts_with("`kubectl annotate clusteroperations.kubean.io make --overwrite kokctl.io/take-over=true` "),
            "{}",
            all[0]
        );
        assert!(all[1].starts_with("`kubectl patch clusters.kubean.io berlin "), "{}", all[1]);
    }
}
