//! Reading what a Cluster and an operation name. What is not there yet is waited for by the caller.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::DynamicObject;
use kube::{Api, Client};
use serde_json::Value;

use super::super::object::Reference;
use super::{HeldText, Key, ObjectFiles, Snapshot, document};
use crate::engine::Given;
use crate::failure::{Failure, Kind};

/// Why there are no inputs.
pub(in super::super) enum Unready {
    /// Something is not there, and may come.
    Missing(String),
    /// Something is wrong.
    Wrong(Failure),
    /// The API did not answer.
    Api(kube::Error),
    /// The same, and why is said already.
    Unanswered,
}

impl From<kube::Error> for Unready {
    fn from(error: kube::Error) -> Self {
        Self::Api(error)
    }
}

/// Fields of both kinds that name texts, with the keys that these have.
const TEXTS: [(&str, &str); 2] = [("hostsConfRef", "hosts.yml"), ("varsConfRef", "group_vars.yml")];

/// Reads everything but private keys. `home` is the namespace in which all of it has to be.
pub(in super::super) async fn gather(
    client: &Client,
    cluster: &DynamicObject,
    operation: &DynamicObject,
    home: &str,
) -> Result<Snapshot, Unready> {
    let mut texts = Vec::new();
    for (reference, key) in texts_of(cluster, operation, home) {
        is_at_home(&reference, home).map_err(Unready::Wrong)?;
        let api: Api<ConfigMap> = Api::namespaced(client.clone(), &reference.namespace);
        let missing = || Unready::Missing(format!("ConfigMap {}/{}", reference.namespace, reference.name));
        let found = api.get_opt(&reference.name).await?.ok_or_else(missing)?;
        let text = found.data.and_then(|mut data| data.remove(key));
        let text = text.ok_or_else(|| Unready::Missing(format!("key {key} of ConfigMap {}/{}", reference.namespace, reference.name)))?;
        texts.push(HeldText { namespace: reference.namespace, name: reference.name, key: key.to_owned(), text });
    }
    let given = Given::new(false).map_err(|failures| Unready::Wrong(first(failures)))?;
    let types = cluster.types.clone().unwrap_or_default();
    let name = cluster.metadata.name.clone().unwrap_or_default();
    let mut spec = spec(cluster).clone();
    // It is about the operator, and not about the cluster.
    spec.as_object_mut().map(|spec| spec.remove("operator"));
    Ok(Snapshot {
        cluster: document(&types.api_version, &types.kind, &name, &spec),
        generation: cluster.metadata.generation.unwrap_or_default(),
        texts,
        files: String::new(),
        versions: String::new(),
        new_cluster_id: given.new_cluster_id,
        token_id: given.token.id.clone(),
    })
}

fn first(failures: Vec<Failure>) -> Failure {
    failures.into_iter().next().unwrap_or_else(|| Failure::new(Kind::Internal, "the system gives no randomness"))
}

fn spec(object: &DynamicObject) -> &Value {
    object.data.get("spec").unwrap_or(&Value::Null)
}

fn texts_of(cluster: &DynamicObject, operation: &DynamicObject, home: &str) -> BTreeSet<(Reference, &'static str)> {
    let references_of = |object: &DynamicObject| {
        let found = TEXTS.iter().filter_map(|(field, key)| Some((Reference::from_field(spec(object), field)?.or_in(home), *key)));
        found.collect::<Vec<_>>()
    };
    references_of(cluster).into_iter().chain(references_of(operation)).collect()
}

/// Who may write a Cluster must not reach into a namespace of others by it.
fn is_at_home(reference: &Reference, home: &str) -> Result<(), Failure> {
    if reference.namespace == home {
        return Ok(());
    }
    let what = format!("{}/{} is in another namespace", reference.namespace, reference.name);
    let failure = Failure::new(Kind::Input, what).because(format!("everything that a cluster names is in one, which is {home} here"));
    Err(failure.hint(format!("put it into the namespace {home}")))
}

/// The private key that the operation names, or else its Cluster.
pub(in super::super) async fn key(client: &Client, snapshot: &Snapshot, operation: &Value, home: &str) -> Result<Option<Key>, Unready> {
    let reference_of = |object: &Value| Reference::from_field(object.get("spec")?, "sshAuthRef");
    let Some(reference) = reference_of(operation).or_else(|| reference_of(&snapshot.cluster)) else { return Ok(None) };
    let reference = reference.or_in(home);
    is_at_home(&reference, home).map_err(Unready::Wrong)?;
    let api: Api<Secret> = Api::namespaced(client.clone(), &reference.namespace);
    let missing = || Unready::Missing(format!("Secret {}/{}", reference.namespace, reference.name));
    let found = api.get_opt(&reference.name).await?.ok_or_else(missing)?;
    let bytes = found.data.and_then(|mut data| data.remove("ssh-privatekey"));
    let bytes =
        bytes.ok_or_else(|| Unready::Missing(format!("key ssh-privatekey of Secret {}/{}", reference.namespace, reference.name)))?;
    let resource_version = found.metadata.resource_version.unwrap_or_default();
    Ok(Some(Key { reference, bytes: bytes.0, resource_version }))
}

/// The files that a Cluster names by `spec.operator`.
pub(in super::super) async fn named_files(client: &Client, cluster: &DynamicObject, home: &str) -> Result<ObjectFiles, Unready> {
    let operator = spec(cluster).get("operator").cloned().unwrap_or_default();
    let mut files = BTreeMap::new();
    if let Some(reference) = Reference::from_field(&operator, "filesRef").map(|reference| reference.or_in(home)) {
        is_at_home(&reference, home).map_err(Unready::Wrong)?;
        let api: Api<ConfigMap> = Api::namespaced(client.clone(), &reference.namespace);
        let missing = || Unready::Missing(format!("ConfigMap {}/{}", reference.namespace, reference.name));
        let found = api.get_opt(&reference.name).await?.ok_or_else(missing)?;
        files.extend(found.data.unwrap_or_default().into_iter().map(|(name, text)| (name, text.into_bytes())));
        files.extend(found.binary_data.unwrap_or_default().into_iter().map(|(name, bytes)| (name, bytes.0)));
    }
    if let Some(reference) = Reference::from_field(&operator, "secretFilesRef").map(|reference| reference.or_in(home)) {
        is_at_home(&reference, home).map_err(Unready::Wrong)?;
        let api: Api<Secret> = Api::namespaced(client.clone(), &reference.namespace);
        let missing = || Unready::Missing(format!("Secret {}/{}", reference.namespace, reference.name));
        let found = api.get_opt(&reference.name).await?.ok_or_else(missing)?;
        files.extend(found.data.unwrap_or_default().into_iter().map(|(name, bytes)| (name, bytes.0)));
    }
    Ok(ObjectFiles(files))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use serde_json::json;

    use super::super::super::fake::Fake;
    use super::*;

    fn object(kind: &str, spec: Value) -> DynamicObject {
        let metadata = json!({"name": "berlin", "generation": 3});
        let object = json!({"apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec});
        serde_json::from_value(object).unwrap()
    }

    async fn client() -> Client {
        let map = |data: Value| json!({"metadata": {"name": "it"}, "data": data});
        let (_, client) = Fake::with(&[
            ("/api/v1/namespaces/home/configmaps/hosts", map(json!({"hosts.yml": "all:"}))),
            ("/api/v1/namespaces/home/configmaps/files", map(json!({"a__b.yaml": "file"}))),
            ("/api/v1/namespaces/other/configmaps/hosts", map(json!({"hosts.yml": "of others"}))),
            ("/api/v1/namespaces/home/secrets/key", map(json!({"ssh-privatekey": "a2V5"}))),
        ])
        .await;
        client
    }

    #[tokio::test]
    async fn a_reference_without_a_namespace_is_in_that_of_the_cluster() {
        let client = client().await;
        let spec = json!({"hostsConfRef": {"name": "hosts"}, "sshAuthRef": {"name": "key"}, "operator": {"filesRef": {"name": "files"}}});
        let (cluster, operation) = (object("Cluster", spec), object("ClusterOperation", json!({"cluster": "berlin"})));
        let Ok(snapshot) = gather(&client, &cluster, &operation, "home").await else { unreachable!("it is there") };
        let texts: Vec<(&str, &str)> = snapshot.texts.iter().map(|held| (held.namespace.as_str(), held.text.as_str())).collect();
        assert_eq!(texts, [("home", "all:")]);
        let Ok(Some(key)) = key(&client, &snapshot, &json!({"spec": {}}), "home").await else { unreachable!("it is there") };
        assert_eq!((key.reference.namespace.as_str(), key.bytes.as_slice()), ("home", b"key".as_slice()));
        let Ok(files) = named_files(&client, &cluster, "home").await else { unreachable!("they are there") };
        assert_eq!(files.get("a/b.yaml"), Some(b"file".as_slice()));
    }

    #[tokio::test]
    async fn a_reference_into_another_namespace_is_refused() {
        let client = client().await;
        let cluster = object("Cluster", json!({"hostsConfRef": {"name": "hosts", "namespace": "other"}}));
        let refused = gather(&client, &cluster, &object("ClusterOperation", json!({})), "home").await;
        assert!(matches!(refused, Err(Unready::Wrong(failure)) if failure.what == "other/hosts is in another namespace"));
    }
}
