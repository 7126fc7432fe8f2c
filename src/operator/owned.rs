//! Objects that the operator makes beside those of its users, in their namespaces: one of the same name that is not its own stays as it is.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;

use super::object::MANAGER;
use crate::failure::{Failure, Kind};

/// What came of putting an object there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Put {
    /// It is there as it is to be.
    Done,
    /// One of the same name is there that somebody else has made, and it was not touched.
    Taken,
}

/// Somebody who writes the same object at the same moment is waited out so often.
const TRIES: usize = 4;

/// Puts an object there that says by a reference whom it goes with. One of the same name is changed only if it goes with the same.
///
/// # Errors
/// Those of the API.
pub(super) async fn put<K>(api: &Api<K>, wanted: &K) -> kube::Result<Put>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize,
{
    let mut tried = 1;
    loop {
        match try_to_put(api, wanted).await {
            Err(kube::Error::Api(status))
                if tried < TRIES && (status.is_conflict() || status.is_already_exists() || status.is_not_found()) =>
            {
                tried += 1
            }
            done => return done,
        }
    }
}

async fn try_to_put<K>(api: &Api<K>, wanted: &K) -> kube::Result<Put>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize,
{
    let name = wanted.meta().name.clone().unwrap_or_default();
    let Some(found) = api.get_opt(&name).await? else {
        return api.create(&PostParams::default(), wanted).await.map(|_| Put::Done);
    };
    if !goes_with(found.owner_references(), wanted.owner_references()) {
        return Ok(Put::Taken);
    }
    // Whoever makes another one of it meanwhile, or changes it, is not overwritten.
    let mut patch = serde_json::to_value(wanted).map_err(kube::Error::SerdeError)?;
    if let Some(metadata) = patch.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".to_owned(), json!(found.resource_version()));
    }
    api.patch(&name, &PatchParams::apply(MANAGER), &Patch::Merge(&patch)).await.map(|_| Put::Done)
}

/// Whether an object goes with one of those with which another one goes.
pub(super) fn goes_with(found: &[OwnerReference], wanted: &[OwnerReference]) -> bool {
    found.iter().any(|owner| wanted.iter().any(|ours| is_same(owner, ours)))
}

/// Whether two references are to the same, or to one of the same name that there was before it: what went with that one is removed a while after it, and
/// who makes it anew does not wait for that.
fn is_same(one: &OwnerReference, other: &OwnerReference) -> bool {
    one.uid == other.uid || (&one.api_version, &one.kind, &one.name) == (&other.api_version, &other.kind, &other.name)
}

/// That the name of an object is taken. `kind` is how kubectl calls it.
pub(super) fn taken(kind: &str, namespace: &str, name: &str) -> Failure {
    let failure = Failure::new(Kind::Input, format!("there is a {kind} {namespace}/{name} that the operator has not made for this"));
    let failure = failure.because("the operator changes no object of somebody else, nor one of another cluster or of another operation");
    failure
        .hint(format!("`kubectl delete {kind} -n {namespace} {name}` if nobody needs it, or name the cluster or the operation otherwise"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::Client;
    use serde_json::json;

    use super::super::fake::Fake;
    use super::*;

    const PATH: &str = "/api/v1/namespaces/n/configmaps/made";

    fn made(uid: &str, text: &str) -> ConfigMap {
        made_for(("kubeonkube.clay.io/v1alpha1", "berlin"), uid, text)
    }

    fn made_for((version, cluster): (&str, &str), uid: &str, text: &str) -> ConfigMap {
        let owner = json!({"apiVersion": version, "kind": "Cluster", "name": cluster, "uid": uid});
        let metadata = json!({"name": "made", "ownerReferences": [owner]});
        serde_json::from_value(json!({"metadata": metadata, "data": {"key": text}})).unwrap()
    }

    fn stored(map: &ConfigMap) -> Value {
        let mut object = serde_json::to_value(map).unwrap();
        object["metadata"]["resourceVersion"] = json!("v0");
        object
    }

    async fn put_there(client: &Client, wanted: &ConfigMap) -> Put {
        put(&Api::namespaced(client.clone(), "n"), wanted).await.unwrap()
    }

    #[tokio::test]
    async fn what_the_operator_has_made_is_changed() {
        let (server, client) = Fake::start().await;
        for text in ["a", "b"] {
            assert_eq!(put_there(&client, &made("1", text)).await, Put::Done);
            assert_eq!(server.get(PATH).unwrap()["data"]["key"], text);
        }
    }

    /// The one before is gone, and what went with it not yet.
    #[tokio::test]
    async fn who_is_made_anew_has_what_the_one_before_had() {
        let (server, client) = Fake::with(&[(PATH, stored(&made("0", "old")))]).await;
        assert_eq!(put_there(&client, &made("1", "new")).await, Put::Done);
        let object = server.get(PATH).unwrap();
        assert_eq!((&object["data"]["key"], &object["metadata"]["ownerReferences"][0]["uid"]), (&json!("new"), &json!("1")));
    }

    #[tokio::test]
    async fn what_others_have_made_stays() {
        let of_nobody = json!({"metadata": {"name": "made", "resourceVersion": "v0"}, "data": {"key": "theirs"}});
        let of_another = made_for(("kubeonkube.clay.io/v1alpha1", "oslo"), "2", "theirs");
        let of_another_group = made_for(("kubean.io/v1alpha1", "berlin"), "2", "theirs");
        for before in [of_nobody, stored(&of_another), stored(&of_another_group)] {
            let (server, client) = Fake::with(&[(PATH, before.clone())]).await;
            assert_eq!(put_there(&client, &made("1", "ours")).await, Put::Taken);
            assert_eq!(server.get(PATH), Some(before));
        }
    }

    /// Between the look and the write somebody else makes an object of this name, or puts another one into its place.
    #[tokio::test]
    async fn what_others_make_meanwhile_stays_too() {
        let theirs = json!({"metadata": {"name": "made", "resourceVersion": "other"}, "data": {"key": "theirs"}});
        for before in [vec![], vec![(PATH, stored(&made("1", "old")))]] {
            let (server, client) = Fake::with(&before).await;
            let meant = theirs.clone();
            server.meanwhile(|objects| drop(objects.insert(PATH.to_owned(), meant)));
            assert_eq!(put_there(&client, &made("1", "ours")).await, Put::Taken);
            assert_eq!(server.get(PATH), Some(theirs.clone()));
        }
    }
}
