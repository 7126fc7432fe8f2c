//! The life of an operation whose cluster's Lease this replica has: inputs, host keys, runs, outputs, and its end.

mod approved;
mod begin;
mod boots;
mod end;
mod run;
mod trusted;
mod wait;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kok_crds::operation::Verb;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::approval::Mode;
use super::attend::{Attendant, Attended, Objects, Wish};
use super::carry_out::refused;
use super::inputs::{self, Key, Snapshot, Sources, Task, Unready, gather, key, named_files};
use super::lease::ClusterLease;
use super::object::MANAGER;
use super::outputs::{Teller, Told, owner};
use super::status::Phase;
use super::trust::KnownHosts;
use super::writer::StatusWriter;
use crate::failure::{Failure, Kind};
use end::{is_changing, keeps_kubeconfig};

/// The last thing that an operation has begun about what the cluster is. Who only looks is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Changed {
    verb: Verb,
    /// Whether it came to its end.
    is_done: bool,
}

/// How long something may be missing that an operation names.
const MISSING: Duration = Duration::from_secs(600);

/// Why an operation comes to an end before its end.
pub(super) enum End {
    /// It has failed, for this reason.
    Failed(&'static str, Box<Failure>),
    /// It was wished.
    Stopped,
}

impl End {
    fn failed(reason: &'static str, failure: Failure) -> Self {
        Self::Failed(reason, Box::new(failure))
    }
}

/// One operation under way.
pub(super) struct Life {
    at: Attendant,
    found: Objects,
    home: String,
    lease: ClusterLease,
    writer: StatusWriter,
    teller: Teller,
    wish: watch::Receiver<Wish>,
    /// What it has done so far about what the cluster is.
    changed: Option<Changed>,
    /// Whether the Cluster's status says that another run holds the hosts.
    is_held: bool,
    /// The right to be one of the runs under way. Who waits for something else lets others have it.
    permit: Option<OwnedSemaphorePermit>,
}

impl Life {
    /// To its end.
    pub(super) async fn live(mut self) -> Attended {
        let end = self.all().await;
        self.end(end).await
    }

    async fn all(&mut self) -> Result<(), End> {
        self.is_no_crash_loop()?;
        if !self.at.shared.namespaces.contains(&self.home) {
            let failure = Failure::new(Kind::Input, format!("the operator does not read the namespace {}", self.home));
            let failure = failure.because(format!("it reads {}", self.at.shared.namespaces.join(", ")));
            return Err(End::failed("NamespaceNotAllowed", failure.hint("start `kokctl operator` with --namespaces")));
        }
        let snapshot = self.snapshot().await?;
        let operation = self.operation_document();
        let key = self.key(&snapshot, &operation).await?;
        let files = self.named_files().await?;
        let folder = self.at.shared.state(self.at.key.group).path().join("hosts");
        let known = KnownHosts::of(self.at.shared.client.clone(), &self.found.cluster, &self.at.key, &self.home, &folder);
        let known = known.map_err(|failure| End::failed("InputRefused", failure))?;
        self.fetch_known(&known).await?;
        let sources = Sources { snapshot: &snapshot, operation: &operation, key: key.as_ref(), files: &files, known_hosts: &known.path };
        let tasks = inputs::tasks(sources).map_err(|failures| End::failed("InputRefused", first(failures)))?;
        if let Some(failure) = tasks.iter().find_map(|task| refused(task.verb)) {
            return Err(End::failed("ActionRefused", failure.at(format!("ClusterOperation {}", self.at.operation))));
        }
        self.told_inputs(&snapshot, key.as_ref());
        let tasks: Vec<Arc<Task>> = tasks.into_iter().map(Arc::new).collect();
        if let Some(task) = tasks.first() {
            self.trusted(&task.cluster, &known).await?;
        }
        self.take_permit().await?;
        self.carry_out_all(&tasks, &snapshot).await
    }

    /// Everything in its order, and after the last one that changes something what others want of the cluster: hooks may come after it.
    async fn carry_out_all(&mut self, tasks: &[Arc<Task>], snapshot: &Snapshot) -> Result<(), End> {
        let mode = Mode::of(&self.found.operation.data);
        let is_dry = mode == Mode::DryRun;
        let verbs: Vec<Verb> = tasks.iter().map(|task| task.verb).collect();
        let done = self.writer.now().invocations_done;
        for (place, task) in tasks.iter().enumerate() {
            let changes = !is_dry && is_changing(task.verb);
            let is_done = task.place < done || !mode.concerns(task.is_main);
            if changes {
                self.changed = Some(Changed { verb: task.verb, is_done });
            }
            if is_done {
                continue;
            }
            self.carry_out(task, snapshot).await?;
            if changes {
                self.changed = Some(Changed { verb: task.verb, is_done: true });
            }
            if !is_dry && keeps_kubeconfig(&verbs, place) {
                self.outputs(task).await?;
                self.say(|said| self.of_standing(said, "Succeeded", String::new())).await;
            }
            self.is_done(task, place + 1 < tasks.len()).await;
        }
        Ok(())
    }

    /// Notes that a task is done, for whoever goes on with the operation. Before another task is begun the note has to be there.
    async fn is_done(&mut self, task: &Task, is_followed: bool) {
        let done = task.place + 1;
        self.writer.change(|status| (status.invocations_done, status.fruitless) = (done, 0));
        if is_followed {
            tokio::select! {
                () = self.writer.written(|status| status.invocations_done >= done) => {}
                _ = self.wish.wait_for(|wish| *wish != Wish::None) => {}
            }
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
    async fn snapshot(&mut self) -> Result<Snapshot, End> {
        let name = format!("{}-inputs", self.at.operation);
        let api: Api<Secret> = Api::namespaced(self.at.shared.client.clone(), &self.home);
        let uid = self.found.operation.metadata.uid.clone();
        let stored = self.answered(|| async { api.get_opt(&name).await }).await?;
        let is_ours = |secret: &Secret| secret.metadata.owner_references.iter().flatten().any(|owner| Some(&owner.uid) == uid.as_ref());
        if let Some(bytes) = stored.filter(is_ours).and_then(|secret| secret.data?.remove("inputs")) {
            return Snapshot::unpacked(&bytes.0).map_err(|failure| End::failed("InputRefused", failure));
        }
        let (client, home) = (self.at.shared.client.clone(), self.home.clone());
        let attendant = self.at.clone();
        let gathered = self
            .ready(|| async {
                // The references may be mended while they are waited for.
                let found = attendant.objects().await.map_err(|()| Unready::Unanswered)?;
                let found = found.ok_or_else(|| Unready::Missing("the Cluster".to_owned()))?;
                let snapshot = gather(&client, &found.cluster, &found.operation, &home).await?;
                Ok((snapshot, found))
            })
            .await?;
        let (snapshot, found) = gathered;
        self.found = found;
        let bytes = snapshot.packed().map_err(|failure| End::failed("InputRefused", failure))?;
        let mut secret = Secret { type_: Some("kokctl.io/inputs".to_owned()), ..Secret::default() };
        secret.metadata.name = Some(name.clone());
        secret.metadata.owner_references = Some(vec![owner(&self.found.operation, false)]);
        secret.data = Some([("inputs".to_owned(), ByteString(bytes))].into());
        let params = PatchParams::apply(MANAGER).force();
        self.answered(|| async { api.patch(&name, &params, &Patch::Apply(&secret)).await }).await?;
        Ok(snapshot)
    }

    async fn key(&mut self, snapshot: &Snapshot, operation: &Value) -> Result<Option<Key>, End> {
        let (client, home) = (self.at.shared.client.clone(), self.home.clone());
        self.ready(|| async { key(&client, snapshot, operation, &home).await }).await
    }

    async fn named_files(&mut self) -> Result<inputs::ObjectFiles, End> {
        let (client, home, cluster) = (self.at.shared.client.clone(), self.home.clone(), self.found.cluster.clone());
        self.ready(|| async { named_files(&client, &cluster, &home).await }).await
    }

    fn told_inputs(&self, snapshot: &Snapshot, key: Option<&Key>) {
        let inputs = json!({
            "secret": format!("{}/{}-inputs", self.home, self.at.operation),
            "sshSecretResourceVersion": key.map(|key| key.resource_version.as_str()).unwrap_or_default(),
            "clusterGeneration": snapshot.generation,
        });
        self.writer.change(|status| {
            status.inputs = inputs;
            status.error = None;
            status.phase = if status.attempt > 1 { Phase::Resuming } else { Phase::Planning };
        });
        let attempt = self.writer.now().attempt;
        self.teller.tell(match attempt {
            0 | 1 => Told::normal("Started", format!("of cluster {}", self.at.key.name)),
            _ => Told::normal("Resumed", format!("attempt {attempt} of cluster {}", self.at.key.name)),
        });
    }
}

/// The first of several, which says how many more there are.
pub(super) fn first(failures: Vec<Failure>) -> Failure {
    let more = failures.len().saturating_sub(1);
    let mut all = failures.into_iter();
    let first = all.next().unwrap_or_else(|| Failure::new(Kind::Internal, "nothing is said of what failed"));
    if more == 0 {
        return first;
    }
    let others: Vec<String> = all.take(3).map(|failure| failure.one_line()).collect();
    let because = first.because.clone().unwrap_or_default();
    first.because(format!("{because}; and {more} more: {}", others.join("; ")))
}
