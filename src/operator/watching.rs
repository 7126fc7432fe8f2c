//! Somebody who watches an operation from elsewhere, by its status.

use std::path::PathBuf;
use std::time::Instant;

use futures_util::StreamExt as _;
use kube::api::{DynamicObject, ListParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};
use serde_json::Value;

use super::connect::client;
use super::follow::{Followed, FollowedEvent};
use super::group::Group;
use super::object;
use crate::event::elapsed;
use crate::failure::{Failure, Kind};

/// What is watched.
#[derive(Debug, Clone)]
pub struct Watched {
    /// The kubeconfig of the meta-cluster.
    pub kubeconfig: Option<PathBuf>,
    /// Its context; the current one if none is given.
    pub context: Option<String>,
    /// The group of the object.
    pub group: Group,
    /// Name of an operation, or of a Cluster; nothing for the one operation that is under way.
    pub name: Option<String>,
}

/// Tells what happens in an operation until it is over. Of a Cluster it is the operation under way, or else the next one.
///
/// # Errors
/// [`Failure`] as the operation has it, if it does not succeed; or if there is none to be watched.
pub async fn watch(watched: &Watched, mut tell: impl FnMut(FollowedEvent)) -> Result<(), Failure> {
    let client = client(watched.kubeconfig.as_deref(), watched.context.clone()).await?;
    let operations: Api<DynamicObject> = Api::all_with(client.clone(), &watched.group.operations());
    let name = operation(&client, watched, &operations, &mut tell).await?;
    let (mut followed, began) = (Followed::default(), Instant::now());
    let mut objects = watcher::watch_object(operations, &name).default_backoff().boxed();
    while let Some(object) = objects.next().await {
        match object {
            Ok(Some(object)) => {
                followed.take(&object.data, elapsed(began)).into_iter().for_each(&mut tell);
                if followed.is_over() {
                    return ended(&name, &object.data);
                }
            }
            Ok(None) => return Err(gone(&name)),
            Err(error) => tracing::warn!(%error, "the watch is interrupted"),
        }
    }
    Err(gone(&name))
}

/// The operation that is meant.
async fn operation(
    client: &Client,
    watched: &Watched,
    operations: &Api<DynamicObject>,
    tell: &mut impl FnMut(FollowedEvent),
) -> Result<String, Failure> {
    let Some(name) = &watched.name else { return only_one(operations).await };
    if operations.get_opt(name).await.map_err(unread)?.is_some() {
        return Ok(name.clone());
    }
    let clusters: Api<DynamicObject> = Api::all_with(client.clone(), &watched.group.clusters());
    let mut objects = watcher::watch_object(clusters, name).default_backoff().boxed();
    let mut was_told = false;
    while let Some(object) = objects.next().await {
        match object {
            Ok(Some(cluster)) => match under_way(&cluster.data) {
                Some(operation) => return Ok(operation),
                None if was_told => {}
                None => {
                    was_told = true;
                    tell(FollowedEvent::Line(format!("no operation of {name} is under way: waits for one")));
                }
            },
            Ok(None) => break,
            Err(error) => tracing::warn!(%error, "the watch is interrupted"),
        }
    }
    let failure = Failure::new(Kind::Input, format!("there is no operation and no Cluster `{}`", name.escape_debug()));
    let group = watched.group.name();
    Err(failure.hint(format!("`kubectl get clusters.{group},clusteroperations.{group}` lists them")))
}

/// The operation of a Cluster that is not over.
fn under_way(cluster: &Value) -> Option<String> {
    let all = cluster.pointer("/status/conditions")?.as_array()?;
    let live = all.iter().find(|entry| !matches!(entry.get("status").and_then(Value::as_str), Some("Succeeded" | "Failed")))?;
    live.get("clusterOps")?.as_str().map(str::to_owned)
}

/// The operation that is not over, if there is one alone.
async fn only_one(operations: &Api<DynamicObject>) -> Result<String, Failure> {
    let all = operations.list(&ListParams::default()).await.map_err(unread)?;
    let live = all.items.into_iter().filter(|operation| !object::is_over(&operation.data)).filter_map(|it| it.metadata.name);
    let live: Vec<String> = live.collect();
    match live.as_slice() {
        [name] => Ok(name.clone()),
        [] => Err(Failure::new(Kind::Input, "no operation is under way").hint("name a Cluster, and its next one is waited for")),
        several => {
            let failure = Failure::new(Kind::Input, format!("{} are under way", kok_crds::count(several.len(), "operation")));
            Err(failure.hint(format!("name one of {}", several.join(", "))))
        }
    }
}

fn unread(error: kube::Error) -> Failure {
    let failure = Failure::new(Kind::Input, "the operations of the meta-cluster can't be read").because(error.to_string());
    failure.hint("see that --kubeconfig leads to the meta-cluster, and that you may get, list and watch its clusters and clusteroperations")
}

fn gone(name: &str) -> Failure {
    let failure = Failure::new(Kind::Input, format!("the operation {name} is gone")).because("somebody has deleted it");
    failure.hint("what is under way on hosts then ends in good order; another operation goes on")
}

/// How it has ended.
fn ended(name: &str, operation: &Value) -> Result<(), Failure> {
    if object::text(operation, "/status/status") == Some("Succeeded") {
        return Ok(());
    }
    let error = |part: &str| object::text(operation, &format!("/status/lastError/{part}")).map(str::to_owned);
    let kind = match error("kind").as_deref() {
        Some("Input") => Kind::Input,
        Some("Host") => Kind::Host,
        Some("Internal") => Kind::Internal,
        _ => Kind::Incomplete,
    };
    let is_cancelled = object::text(operation, "/status/phase") == Some("Cancelled");
    let otherwise = if is_cancelled { format!("{name} was cancelled") } else { format!("{name} has failed") };
    let failure = Failure::new(kind, error("what").unwrap_or(otherwise));
    let hint = error("hint").unwrap_or_else(|| "make another operation: it goes on where this one stopped".to_owned());
    Err(Failure { at: error("at"), because: error("because"), hint: Some(hint), ..failure })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use serde_json::json;

    use super::super::fake::Fake;
    use super::*;

    #[test]
    fn a_failure_is_that_of_the_operation() {
        assert_eq!(ended("o", &json!({"status": {"status": "Succeeded"}})), Ok(()));
        let error = json!({"kind": "Host", "what": "no route to w1", "at": "host w1", "because": "no route", "hint": "mend it"});
        let failure = ended("o", &json!({"status": {"status": "Failed", "phase": "Failed", "lastError": error}})).unwrap_err();
        assert_eq!((failure.kind, failure.what.as_str(), failure.hint.as_deref()), (Kind::Host, "no route to w1", Some("mend it")));
        let cancelled = ended("o", &json!({"status": {"status": "Failed", "phase": "Cancelled"}})).unwrap_err();
        assert_eq!((cancelled.kind, cancelled.what.as_str()), (Kind::Incomplete, "o was cancelled"));
    }

    #[test]
    fn of_a_cluster_the_operation_under_way_is_meant() {
        let list = json!([{"clusterOps": "b", "status": "Succeeded"}, {"clusterOps": "a", "status": "Running"}]);
        assert_eq!(under_way(&json!({"status": {"conditions": list}})).as_deref(), Some("a"));
        assert_eq!(under_way(&json!({"status": {"conditions": [{"clusterOps": "b", "status": "Failed"}]}})), None);
        assert_eq!(under_way(&json!({})), None);
    }

    #[tokio::test]
    async fn without_a_name_the_only_one_under_way_is_meant() {
        let (fake, client) = Fake::start().await;
        let api: Api<DynamicObject> = Api::all_with(client, &Group::KubeOnKube.operations());
        assert_eq!(only_one(&api).await.unwrap_err().what, "no operation is under way");
        let put = |name: &str, status: Value| {
            let object = json!({"apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": "ClusterOperation", "spec": {}, "status": status});
            fake.put(&format!("/apis/kubeonkube.clay.io/v1alpha1/clusteroperations/{name}"), object);
        };
        put("over", json!({"status": "Failed"}));
        put("one", json!({"status": "Running"}));
        assert_eq!(only_one(&api).await.unwrap(), "one");
        put("two", json!({}));
        assert_eq!(only_one(&api).await.unwrap_err().hint.unwrap_or_default(), "name one of one, two");
    }
}
