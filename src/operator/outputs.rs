//! What an operation leaves in the meta-cluster for others: the kubeconfig, and Events.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ObjectReference, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kok_crds::model::Cluster;
use kube::api::DynamicObject;
use kube::runtime::events::{Event, EventType, Recorder};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::group::ClusterKey;
use super::made::Why;
use super::object::{CLUSTER_NAME, MANAGER, fitted};
use super::owned::{Put, put};
use super::status::ANSWER;
use crate::engine::{Context, Server, kubeconfig};
use crate::event::{self, EventKind, Sink};
use crate::failure::{Failure, Kind};

/// Bytes of the note of an Event, which may have 1 kB.
const MOST_NOTE: usize = 900;
/// Steps that failed, of one run, for which there are Events.
const MOST_FAILED: usize = 5;

/// The name of the Secret with the kubeconfig of a cluster.
pub(super) fn kubeconfig_name(key: &ClusterKey) -> String {
    key.group.object_name(&key.name, "kubeconfig")
}

/// Fetches the administrator's kubeconfig, with the address at which this machine reaches the API.
///
/// # Errors
/// [`Failure`]s of hosts that have none.
pub(super) async fn fetch_kubeconfig(context: &Context, cluster: &Cluster) -> Result<Vec<u8>, Vec<Failure>> {
    let found = kubeconfig(context, cluster, "an operation with the action `cluster.yml`").await?;
    let server = found.answering.clone().or_else(|| found.servers.iter().find(|server| server.host == found.host).cloned());
    let server: Server = server.ok_or_else(|| vec![Failure::new(Kind::Internal, format!("{} has no address", found.host))])?;
    Ok(server.pointed_at(found.kubeconfig.expose()).into_bytes())
}

/// Keeps the kubeconfig of a cluster as a Secret, as Cluster API has it.
///
/// # Errors
/// Those of the API.
pub(super) async fn keep_kubeconfig(
    client: &Client,
    (key, home): (&ClusterKey, &str),
    owner: OwnerReference,
    bytes: Vec<u8>,
) -> kube::Result<Put> {
    let mut secret = Secret { type_: Some("cluster.x-k8s.io/secret".to_owned()), ..Secret::default() };
    secret.metadata.name = Some(kubeconfig_name(key));
    secret.metadata.namespace = Some(home.to_owned());
    secret.metadata.labels = Some(
        [("cluster.x-k8s.io/cluster-name", key.name.as_str()), ("app.kubernetes.io/managed-by", MANAGER)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
    );
    secret.metadata.owner_references = Some(vec![owner]);
    secret.data = Some([("value".to_owned(), ByteString(bytes))].into());
    put(&Api::namespaced(client.clone(), home), &secret).await
}

/// That an object goes with another one.
pub(super) fn owner(object: &DynamicObject, is_controller: bool) -> OwnerReference {
    let types = object.types.clone().unwrap_or_default();
    OwnerReference {
        api_version: types.api_version,
        kind: types.kind,
        name: object.metadata.name.clone().unwrap_or_default(),
        uid: object.metadata.uid.clone().unwrap_or_default(),
        controller: is_controller.then_some(true),
        block_owner_deletion: None,
    }
}

/// The metadata of an operation by which it is found, and goes with its Cluster. One that goes with something already stays with that.
pub(super) fn belonging(operation: &DynamicObject, cluster: &DynamicObject) -> Value {
    let name = cluster.metadata.name.clone().unwrap_or_default();
    let labels = json!({CLUSTER_NAME: name});
    let is_free = operation.metadata.owner_references.as_ref().is_none_or(Vec::is_empty);
    // What takes a Cluster down outlasts the deletion of what goes with it.
    if is_free && Why::from_operation(operation) != Some(Why::Deletion) {
        json!({"labels": labels, "ownerReferences": [owner(cluster, true)]})
    } else {
        json!({"labels": labels})
    }
}

/// Something that people see by `kubectl describe`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ObjectEvent {
    pub(super) is_warning: bool,
    pub(super) reason: &'static str,
    pub(super) note: String,
}

impl ObjectEvent {
    pub(super) fn normal(reason: &'static str, note: impl Into<String>) -> Self {
        Self { is_warning: false, reason, note: note.into() }
    }

    pub(super) fn warning(reason: &'static str, note: impl Into<String>) -> Self {
        Self { is_warning: true, reason, note: note.into() }
    }
}

/// Tells what happens to one object. What can't be told is left: Events are for people.
#[derive(Clone)]
pub(super) struct Teller(mpsc::UnboundedSender<ObjectEvent>);

impl Teller {
    /// For this object.
    pub(super) fn new(recorder: Recorder, object: &DynamicObject) -> Self {
        let (sender, mut receiver) = mpsc::unbounded_channel::<ObjectEvent>();
        let types = object.types.clone().unwrap_or_default();
        let reference = ObjectReference {
            api_version: Some(types.api_version),
            kind: Some(types.kind),
            name: object.metadata.name.clone(),
            uid: object.metadata.uid.clone(),
            ..ObjectReference::default()
        };
        tokio::spawn(async move {
            while let Some(object_event) = receiver.recv().await {
                let type_ = if object_event.is_warning { EventType::Warning } else { EventType::Normal };
                let (reason, note) = (object_event.reason.to_owned(), Some(fitted(&object_event.note, MOST_NOTE)));
                let event = Event { type_, reason, note, action: "Operate".to_owned(), secondary: None };
                if let Ok(Err(error)) = timeout(ANSWER, recorder.publish(&event, &reference)).await {
                    tracing::warn!(%error, "an Event can't be written");
                }
            }
        });
        Self(sender)
    }

    /// Tells it.
    pub(super) fn tell(&self, object_event: ObjectEvent) {
        let _ = self.0.send(object_event);
    }
}

/// Makes Events of what happens in a run, at its turning points.
pub(super) struct EventsSink {
    teller: Teller,
    failed: usize,
}

impl EventsSink {
    pub(super) fn new(teller: Teller) -> Self {
        Self { teller, failed: 0 }
    }
}

impl Sink for EventsSink {
    fn take(&mut self, event: &event::Event) {
        let object_event = match &event.kind {
            EventKind::PlanMade { steps, changes } => {
                ObjectEvent::normal("PlanMade", format!("{changes} of {steps} steps change something"))
            }
            EventKind::HostLeftOut { host, because } => ObjectEvent::warning("HostUnreachable", format!("{host}: {because}")),
            EventKind::HostLost { host, because } => ObjectEvent::warning("HostLost", format!("{host}: {because}")),
            EventKind::LossTold { what } => ObjectEvent::warning("DataLoss", what.clone()),
            EventKind::StepFailed { step, error, .. } if self.failed < MOST_FAILED => {
                self.failed += 1;
                ObjectEvent::warning("StepFailed", format!("{step}: {error}"))
            }
            EventKind::SnapshotTaken { path, .. } => ObjectEvent::normal("SnapshotTaken", format!("the snapshot of etcd is in {path}")),
            _ => return,
        };
        self.teller.tell(object_event);
    }
}

/// Where the kubeconfig is, as part of a status.
pub(super) fn certificates(key: &ClusterKey, home: &str) -> Value {
    json!({"kubeconfigSecret": {"namespace": home, "name": kubeconfig_name(key)}})
}
