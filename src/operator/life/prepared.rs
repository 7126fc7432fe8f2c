//! What an operation is done by: as it was when it began. Until all host keys are known nothing has begun.

use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::core::Status;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::super::approval::Mode;
use super::super::attend::{Objects, Wish};
use super::super::carry_out::refused;
use super::super::inputs::{self, Key, ObjectFiles, OperationTask, Snapshot, Sources, Unready, gather, key, named_files};
use super::super::object;
use super::super::outputs::{ObjectEvent, owner};
use super::super::owned::{Put, put, taken};
use super::super::status::{ANSWER, Phase};
use super::super::trust::ClusterKnownHosts;
use super::super::versions::versions;
use super::begin::digest;
use super::{End, Failure, Kind, OperationLife, first};
impl OperationLife {
    /// Everything that is to be done, with hosts whose keys are known.
    pub(super) async fn prepared(&mut self) -> Result<(Snapshot, Vec<Arc<OperationTask>>), End> {
        let (snapshot, files) = self.snapshot().await?;
        let operation = self.operation_document();
        let key = self.key(&snapshot, &operation).await?;
        let folder = self.at.shared.state(self.at.key.group).path().join("hosts");
        let known = ClusterKnownHosts::from_cluster(self.at.shared.client.clone(), &self.found.cluster, &self.at.key, &self.home, &folder);
        let known = known.map_err(|failure| End::failed("InputRefused", failure))?;
        self.fetch_known(&known).await?;
        let sources = Sources { snapshot: &snapshot, operation: &operation, key: key.as_ref(), files: &files, known_hosts: &known.path };
        let tasks = inputs::tasks(sources).map_err(|failures| End::failed("InputRefused", first(failures)))?;
        let mode = Mode::from_operation(&self.found.operation.data);
        if let Some(failure) = tasks.iter().find_map(|task| refused(task.verb, mode)) {
            return Err(End::failed("ActionRefused", failure.at(format!("ClusterOperation {}", self.at.operation))));
        }
        self.told_ready().await;
        self.told_inputs(&snapshot, key.as_ref());
        let tasks: Vec<Arc<OperationTask>> = tasks.into_iter().map(Arc::new).collect();
        if let Some(task) = tasks.first() {
            self.trusted(&task.cluster, &known, &snapshot).await?;
        }
        self.is_open = false;
        self.told_begun().await?;
        Ok((snapshot, tasks))
    }

    /// Returns when the status says that it has begun. Whoever dies of it in the next moment has not only waited: that counts as an attempt, and the
    /// next one goes on with the same inputs.
    async fn told_begun(&mut self) -> Result<(), End> {
        tokio::select! {
            () = self.writer.written(|status| status.phase != Phase::Pending) => Ok(()),
            _ = self.wish.wait_for(|wish| *wish != Wish::None) => Err(End::Stopped),
        }
    }

    /// The operation as it is read.
    fn operation_document(&self) -> Value {
        let operation = &self.found.operation;
        let types = operation.types.clone().unwrap_or_default();
        let mut spec = operation.data.get("spec").cloned().unwrap_or_default();
        spec.as_object_mut().map(|spec| spec.remove("operator"));
        inputs::document(&types.api_version, &types.kind, &self.at.operation, &spec)
    }

    /// What the operation is done by: as it was when it began, also if it began long ago.
    async fn snapshot(&mut self) -> Result<(Snapshot, ObjectFiles), End> {
        let stored = self.stored().await?;
        let Some(stored) = stored.as_ref().filter(|_| !self.is_open) else { return self.gathered(stored).await };
        let (client, home, cluster) = (self.at.shared.client.clone(), self.home.clone(), self.found.cluster.clone());
        let files = self.ready(|| async { named_files(&client, &cluster, &home).await }).await?;
        if stored.is_of(&files) { Ok((stored.clone(), files)) } else { Err(End::failed("InputRefused", other_files())) }
    }

    /// What is kept of it, if it has begun.
    async fn stored(&mut self) -> Result<Option<Snapshot>, End> {
        let (api, name) = self.inputs();
        let uid = self.found.operation.metadata.uid.clone();
        // Where its roles are missing they may come, as what else is waited for.
        let stored = self.ready(|| async { api.get_opt(&name).await.map_err(Unready::Api) }).await?;
        let is_ours = |secret: &Secret| secret.metadata.owner_references.iter().flatten().any(|owner| Some(&owner.uid) == uid.as_ref());
        let bytes = stored.filter(is_ours).and_then(|secret| secret.data?.remove("inputs"));
        bytes.map(|bytes| Snapshot::unpacked(&bytes.0)).transpose().map_err(|failure| End::failed("InputRefused", failure))
    }

    /// Reads it, and keeps it. What is random in it stays what it was `before`.
    async fn gathered(&mut self, before: Option<Snapshot>) -> Result<(Snapshot, ObjectFiles), End> {
        let (client, home, attendant) = (self.at.shared.client.clone(), self.home.clone(), self.at.clone());
        let gathered = self.ready(|| async {
            // The references may be mended while they are waited for.
            let found = attendant.objects().await.map_err(|()| Unready::Unanswered)?;
            let found = found.ok_or_else(|| Unready::Missing("the Cluster".to_owned()))?;
            // Before what they are of: a change in between is one that the next operation is made for.
            let versions = versions(&attendant.shared, &found.cluster).await?;
            let files = named_files(&client, &found.cluster, &home).await?;
            let snapshot = gather(&client, &found.cluster, &found.operation, &home).await?;
            Ok((found, Snapshot { versions, ..snapshot.with_files(&files) }, files))
        });
        let (found, snapshot, files) = gathered.await?;
        let snapshot = if let Some(before) = before { snapshot.with_ids_of(&before) } else { snapshot };
        self.found = found;
        let operation = &self.found.operation;
        let (digest, generation) = (digest(&operation.data), operation.metadata.generation.unwrap_or_default());
        let action = object::text(&operation.data, "/spec/action").unwrap_or_default().to_owned();
        self.writer.change(|status| (status.digest, status.generation, status.action) = (digest, generation, action));
        let bytes = snapshot.packed().map_err(|failure| End::failed("InputRefused", failure))?;
        let (api, name) = self.inputs();
        let mut secret = Secret { type_: Some("kokctl.io/inputs".to_owned()), ..Secret::default() };
        secret.metadata.name = Some(name.clone());
        secret.metadata.owner_references = Some(vec![owner(&self.found.operation, false)]);
        secret.data = Some([("inputs".to_owned(), ByteString(bytes))].into());
        let kept = self.ready(|| async { put(&api, &secret).await.map_err(|error| without_namespace(error, &home)) });
        match kept.await? {
            Put::Done => Ok((snapshot, files)),
            Put::Taken => Err(End::failed("NameTaken", taken("secret", &self.home, &name))),
        }
    }

    /// The name of an object that goes with the operation.
    pub(super) fn name_of(&self, what: &str) -> String {
        self.at.key.group.object_name(&self.at.operation, what)
    }

    /// Whether somebody has changed what it is done by, since this was read. What can't be read now has not changed.
    pub(super) async fn is_changed(&self, snapshot: &Snapshot) -> bool {
        let Ok(Some(now)) = self.at.objects().await else { return false };
        let generations = |objects: &Objects| (objects.operation.metadata.generation, objects.cluster.metadata.generation);
        if generations(&now) != generations(&self.found) {
            return true;
        }
        let gathered = timeout(ANSWER, gather(&self.at.shared.client, &now.cluster, &now.operation, &self.home)).await;
        matches!(gathered, Ok(Ok(gathered)) if gathered.texts != snapshot.texts)
    }

    async fn key(&mut self, snapshot: &Snapshot, operation: &Value) -> Result<Option<Key>, End> {
        let (client, home) = (self.at.shared.client.clone(), self.home.clone());
        self.ready(|| async { key(&client, snapshot, operation, &home).await }).await
    }

    fn told_inputs(&self, snapshot: &Snapshot, key: Option<&Key>) {
        let inputs = json!({
            "secret": format!("{}/{}", self.home, self.name_of("inputs")),
            "sshSecretResourceVersion": key.map(|key| key.resource_version.as_str()).unwrap_or_default(),
            "clusterGeneration": snapshot.generation,
            "versions": snapshot.versions,
        });
        self.writer.change(|status| {
            status.inputs = inputs;
            status.error = None;
            status.phase = if status.attempt > 1 { Phase::Resuming } else { Phase::Planning };
        });
        let attempt = self.writer.now().attempt;
        self.teller.tell(match attempt {
            0 | 1 => ObjectEvent::normal("Started", format!("of cluster {}", self.at.key.name)),
            _ => ObjectEvent::normal("Resumed", format!("attempt {attempt} of cluster {}", self.at.key.name)),
        });
    }
}

/// Of an object that could not be made: its namespace is not there, or about to go, which is waited for as for what is in it.
fn without_namespace(error: kube::Error, namespace: &str) -> Unready {
    let is_going = |status: &Status| {
        let causes = status.details.iter().flat_map(|details| &details.causes);
        causes.into_iter().any(|cause| cause.reason == "NamespaceTerminating")
    };
    match error {
        kube::Error::Api(status) if status.is_not_found() || is_going(&status) => Unready::Missing(format!("Namespace {namespace}")),
        error => Unready::Api(error),
    }
}

fn other_files() -> Failure {
    let failure = Failure::new(Kind::Input, "the files that the Cluster names are others than when the operation began");
    let failure = failure.because("it was cut off, and would go on with a part of the one and a part of the other");
    failure.hint(
        "put the ConfigMap of `filesRef` and the Secret of `secretFilesRef` back, or make another operation: it takes what is there now",
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

    use super::super::super::fake::{CLUSTER, Fake, OPERATION, life};
    use super::*;

    const HOSTS: &str = "/api/v1/namespaces/kok/configmaps/hosts";

    fn hosts(fake: &Fake, text: &str) {
        fake.put(HOSTS, json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"hosts.yml": text}}));
    }

    /// It takes the pause before what was not answered is asked again.
    #[tokio::test]
    async fn a_moment_without_the_api_server_is_nothing_that_is_missing() {
        let (fake, mut life) = life("a").await;
        hosts(&fake, "all:");
        fake.fail(1);
        let Ok((snapshot, _)) = life.gathered(None).await else { panic!("it has failed") };
        assert_eq!((snapshot.texts.len(), life.writer.now().error), (1, None));
    }

    #[tokio::test]
    async fn what_somebody_changes_before_it_begins_is_seen() {
        let (fake, mut life) = life("a").await;
        hosts(&fake, "all:");
        let Ok((snapshot, _)) = life.gathered(None).await else { panic!("it has failed") };
        assert!(!life.is_changed(&snapshot).await);
        hosts(&fake, "all: {}");
        assert!(life.is_changed(&snapshot).await, "the inventory");
        hosts(&fake, "all:");
        for path in [CLUSTER, OPERATION] {
            let before = fake.get(path).unwrap();
            let mut object = before.clone();
            object.pointer_mut("/metadata").and_then(Value::as_object_mut).unwrap().insert("generation".to_owned(), json!(2));
            fake.put(path, object);
            assert!(life.is_changed(&snapshot).await, "{path}");
            fake.put(path, before);
            assert!(!life.is_changed(&snapshot).await, "{path}");
        }
    }

    #[tokio::test]
    async fn what_has_begun_goes_on_with_what_it_began_with() {
        let (fake, mut life) = life("a").await;
        hosts(&fake, "all:");
        let Ok((first, _)) = life.gathered(None).await else { panic!("it has failed") };
        hosts(&fake, "all: {}");
        life.is_open = false;
        let Ok((snapshot, _)) = life.snapshot().await else { panic!("it has failed") };
        assert!(snapshot == first);
        life.is_open = true;
        let Ok((snapshot, _)) = life.snapshot().await else { panic!("it has failed") };
        assert!(snapshot.texts != first.texts && snapshot.new_cluster_id == first.new_cluster_id);
    }
    /// A status is written once a second at the most, and a process may be killed before the second one is.
    #[tokio::test]
    async fn nothing_begins_before_its_status_says_so() {
        let (fake, mut life) = life("a").await;
        let phase = || fake.get(OPERATION).unwrap().pointer("/status/phase").cloned();
        life.writer.written(|_| true).await;
        assert_eq!(phase(), Some(json!("Pending")));
        life.writer.change(|status| status.phase = Phase::Planning);
        assert!(life.told_begun().await.is_ok());
        assert_eq!(phase(), Some(json!("Planning")));
    }

    #[test]
    fn what_can_t_be_made_without_its_namespace_waits_for_that() {
        let of = |status: Value| {
            let error = kube::Error::Api(Box::new(serde_json::from_value(status).unwrap_or_default()));
            if let Unready::Missing(what) = without_namespace(error, "kok") { what } else { "the API".to_owned() }
        };
        assert_eq!(of(json!({"code": 404, "reason": "NotFound"})), "Namespace kok");
        let cause = json!({"reason": "NamespaceTerminating", "message": "it is being terminated", "field": "metadata.namespace"});
        assert_eq!(of(json!({"code": 403, "reason": "Forbidden", "details": {"causes": [cause]}})), "Namespace kok");
        assert_eq!(of(json!({"code": 403, "reason": "Forbidden"})), "the API", "its roles are missing");
    }
}
