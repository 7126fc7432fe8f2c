//! The versions of everything that a Cluster names: where one is another, the cluster is described otherwise. Nothing of what is in them is read.

use kok_tasks::digest::sha256;
use kube::Api;
use kube::api::{ApiResource, DynamicObject};
use serde_json::Value;

use super::object::Reference;
use super::shared::Shared;

/// What was read, and when that began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Versions {
    /// In seconds since 1970.
    pub(super) at: i64,
    /// What stands for exactly these versions.
    pub(super) text: String,
}

/// What the references of a Cluster lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    ConfigMap,
    Secret,
    /// A Secret of which only matters whether it is there, and whether it is another one: another key leads to the same hosts.
    Login,
}

/// Fields of the spec, and of `operator` in it.
const FIELDS: [(bool, &str, Kind); 5] = [
    (false, "hostsConfRef", Kind::ConfigMap),
    (false, "varsConfRef", Kind::ConfigMap),
    (false, "sshAuthRef", Kind::Login),
    (true, "filesRef", Kind::ConfigMap),
    (true, "secretFilesRef", Kind::Secret),
];

/// Reads them. What is not there, or may not be read, is a version, too: the operation that is made for it says so.
///
/// # Errors
/// Those of the API.
pub(super) async fn versions(shared: &Shared, cluster: &DynamicObject) -> kube::Result<String> {
    let home = shared.home(cluster);
    let spec = cluster.data.get("spec").cloned().unwrap_or_default();
    let operator = spec.get("operator").cloned().unwrap_or_default();
    let mut lines = vec![cluster.metadata.uid.clone().unwrap_or_default()];
    for (is_of_operator, field, kind) in FIELDS {
        let owner: &Value = if is_of_operator { &operator } else { &spec };
        let Some(reference) = Reference::from_field(owner, field).map(|reference| reference.or_in(&home)) else { continue };
        // Who may write a Cluster learns nothing of what is elsewhere.
        let is_read = reference.namespace == home && shared.namespaces.contains(&home);
        let version = if is_read { version(shared, &reference, kind).await? } else { "elsewhere".to_owned() };
        lines.push(format!("{field} {}/{} {version}", reference.namespace, reference.name));
    }
    Ok(sha256(lines.join("\n").as_bytes()).chars().take(32).collect())
}

async fn version(shared: &Shared, reference: &Reference, kind: Kind) -> kube::Result<String> {
    let resource = match kind {
        Kind::ConfigMap => ApiResource::erase::<k8s_openapi::api::core::v1::ConfigMap>(&()),
        Kind::Secret | Kind::Login => ApiResource::erase::<k8s_openapi::api::core::v1::Secret>(&()),
    };
    let api: Api<DynamicObject> = Api::namespaced_with(shared.client.clone(), &reference.namespace, &resource);
    match api.get_metadata_opt(&reference.name).await {
        Ok(None) => Ok("absent".to_owned()),
        Ok(Some(found)) => {
            let meta = found.metadata;
            let version = meta.resource_version.filter(|_| kind != Kind::Login).unwrap_or_default();
            Ok(format!("{} {version}", meta.uid.unwrap_or_default()))
        }
        Err(kube::Error::Api(status)) if status.is_forbidden() => Ok("forbidden".to_owned()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use serde_json::json;

    use super::super::fake::{CLUSTER, Fake, attendant};
    use super::*;

    const HOSTS: &str = "/api/v1/namespaces/kok/configmaps/hosts";
    const KEY: &str = "/api/v1/namespaces/kok/secrets/key";

    async fn read(fake: &Fake, shared: &Shared) -> String {
        versions(shared, &serde_json::from_value(fake.get(CLUSTER).unwrap()).unwrap()).await.unwrap()
    }

    #[tokio::test]
    async fn another_version_of_what_is_named_is_another_description_and_another_key_is_none() {
        let (fake, client) = Fake::start().await;
        let shared = attendant(&fake, client, 1).shared;
        let mut cluster = fake.get(CLUSTER).unwrap();
        cluster.pointer_mut("/spec").and_then(Value::as_object_mut).unwrap().insert("sshAuthRef".to_owned(), json!({"name": "key"}));
        fake.put(CLUSTER, cluster);
        let absent = read(&fake, &shared).await;
        let map = |text: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"hosts.yml": text}});
        fake.put(HOSTS, map("all:"));
        let there = read(&fake, &shared).await;
        assert_ne!(absent, there);
        assert_eq!(read(&fake, &shared).await, there);
        fake.put(HOSTS, map("all: {}"));
        let other = read(&fake, &shared).await;
        assert_ne!(there, other);
        let secret = |key: &str| json!({"apiVersion": "v1", "kind": "Secret", "data": {"ssh-privatekey": key}});
        let made = fake.put(KEY, secret("YQ=="));
        let with_key = read(&fake, &shared).await;
        assert_ne!(other, with_key, "it is there now");
        let mut again = secret("Yg==");
        again.as_object_mut().unwrap().insert("metadata".to_owned(), json!({"uid": made.pointer("/metadata/uid")}));
        fake.put(KEY, again);
        assert_eq!(read(&fake, &shared).await, with_key);
        fake.fail(1);
        let cluster = serde_json::from_value(fake.get(CLUSTER).unwrap()).unwrap();
        assert!(versions(&shared, &cluster).await.is_err(), "what is not answered is no version");
    }
}
