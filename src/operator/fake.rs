//! An API server of a few lines, for tests: it keeps objects by their paths, with versions and uids, and refuses what is about another version.
#![allow(clippy::unwrap_used, reason = "it is for tests")]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri};
use kube::runtime::events::Recorder;
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};

use super::attend::{Attendant, Wish};
use super::group::{ClusterKey, Group};
use super::lease::ClusterLease;
use super::life::OperationLife;
use super::outputs::owner;
use super::shared::{OperatorSettings, Shared};
use crate::state::StateFolder;

/// The API server.
#[derive(Default)]
pub(super) struct Fake(Mutex<Held>);

#[derive(Default)]
struct Held {
    objects: FakeObjects,
    version: u64,
    /// So many requests are not answered as they should be.
    failing: usize,
    /// Methods and paths of all that were asked.
    asked: Vec<String>,
    meanwhile: Option<Meanwhile>,
}

/// Objects by their paths.
pub(super) type FakeObjects = BTreeMap<String, Value>;
type Meanwhile = Box<dyn FnOnce(&mut FakeObjects) + Send>;

type Answer = (StatusCode, String);

/// When all objects are made, by the clock of the server.
const MADE: &str = "2026-01-31T12:00:00Z";

/// Where the Cluster `c` and its operation `make` are.
pub(super) const CLUSTER: &str = "/apis/kubeonkube.clay.io/v1alpha1/clusters/c";
pub(super) const OPERATION: &str = "/apis/kubeonkube.clay.io/v1alpha1/clusteroperations/make";
/// Where the Lease of the Cluster is: its name is of the uid of the object that was put there first.
pub(super) const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kok/leases/kokctl-uid-1";

/// The Cluster and its operation are there, and this replica, `a`, attends to it, with so many places for runs.
pub(super) fn attendant(fake: &Fake, client: Client, runs: usize) -> Attendant {
    let of_group = |kind: &str, spec: Value| json!({"apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": kind, "spec": spec});
    let reference = json!({"namespace": "kok", "name": "hosts"});
    fake.put(CLUSTER, of_group("Cluster", json!({"hostsConfRef": reference})));
    let operation = json!({"cluster": "c", "actionType": "playbook", "action": "cluster.yml"});
    let operation = fake.put(OPERATION, of_group("ClusterOperation", operation));
    let settings = OperatorSettings {
        kubeconfig: None,
        context: None,
        namespaces: vec!["kok".to_owned()],
        own_namespace: None,
        groups: vec![Group::KubeOnKube],
        bundle: None,
        state: StateFolder::at("/nonexistent"),
        runs,
        run_deadline: Duration::from_secs(7200),
        history: 30,
        metrics: None,
        health: None,
        web: None,
        identity: "a".to_owned(),
        accept_new_host_keys: false,
        stop: watch::channel(false).1,
    };
    let shared = Shared {
        recorder: Recorder::new(client.clone(), "kokctl".into()),
        meta: "meta".to_owned(),
        permits: Arc::new(Semaphore::new(runs)),
        looks: Arc::new(Semaphore::new(1)),
        limits: Arc::default(),
        client,
        settings,
        namespaces: vec!["kok".to_owned()],
        own: "kok".to_owned(),
        fleeting: None,
        identity: "a".to_owned(),
        engine: tokio::runtime::Handle::current(),
        metrics: Arc::default(),
        board: super::page::ClusterBoard::default(),
        journals: Arc::new(Semaphore::new(1)),
    };
    Attendant {
        shared: Arc::new(shared),
        key: ClusterKey { group: Group::KubeOnKube, name: "c".to_owned() },
        operation: "make".to_owned(),
        uid: operation.pointer("/metadata/uid").and_then(Value::as_str).unwrap().to_owned(),
        wish: Arc::new(watch::channel(Wish::None).0),
    }
}

/// The operation as the replica `a` attends to it, while the Lease is of this holder.
pub(super) async fn life(holder: &str) -> (Arc<Fake>, OperationLife) {
    let (fake, client) = Fake::start().await;
    let at = attendant(&fake, client.clone(), 1);
    let found = at.objects().await.unwrap().unwrap();
    let lease = ClusterLease::new(client, "kok", &at.key, "a", owner(&found.cluster, false));
    fake.put(LEASE, json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"holderIdentity": holder}}));
    let life = OperationLife::begin(at, found, ("kok".to_owned(), lease), None).await;
    (fake, life)
}

impl Fake {
    /// Starts it, with a client of it.
    pub(super) async fn start() -> (Arc<Self>, Client) {
        Self::with(&[]).await
    }

    /// The same, with exactly these objects.
    pub(super) async fn with(objects: &[(&str, Value)]) -> (Arc<Self>, Client) {
        let (fake, address) = Self::serve(objects).await;
        let client = Client::try_from(Config::new(format!("http://{address}").parse().unwrap())).unwrap();
        (fake, client)
    }

    /// The same, with where it listens.
    pub(super) async fn serve(objects: &[(&str, Value)]) -> (Arc<Self>, SocketAddr) {
        let objects = objects.iter().map(|(path, object)| ((*path).to_owned(), object.clone())).collect();
        let fake = Arc::new(Self(Mutex::new(Held { objects, ..Held::default() })));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answers =
            |State(fake): State<Arc<Self>>, method: Method, uri: Uri, body: Bytes| async move { fake.answer(&method, &uri, &body) };
        let router = Router::new().fallback(answers).with_state(Arc::clone(&fake));
        tokio::spawn(async move { axum::serve(listener, router).await });
        (fake, address)
    }

    /// Has somebody else write an object.
    pub(super) fn put(&self, path: &str, object: Value) -> Value {
        self.0.lock().unwrap().put(path, object)
    }

    /// What is there.
    pub(super) fn get(&self, path: &str) -> Option<Value> {
        self.0.lock().unwrap().objects.get(path).cloned()
    }

    /// Somebody else has taken it away.
    pub(super) fn remove(&self, path: &str) {
        self.0.lock().unwrap().objects.remove(path);
    }

    /// What somebody else does after the next object was read, and before anything is written.
    pub(super) fn meanwhile(&self, does: impl FnOnce(&mut FakeObjects) + Send + 'static) {
        self.0.lock().unwrap().meanwhile = Some(Box::new(does));
    }

    /// The paths of all objects.
    pub(super) fn paths(&self) -> Vec<String> {
        self.0.lock().unwrap().objects.keys().cloned().collect()
    }

    /// Has so many requests fail that come next.
    pub(super) fn fail(&self, count: usize) {
        self.0.lock().unwrap().failing = count;
    }

    /// Methods and paths of what was asked so far.
    pub(super) fn asked(&self) -> Vec<String> {
        self.0.lock().unwrap().asked.clone()
    }

    fn answer(&self, method: &Method, uri: &Uri, body: &[u8]) -> Answer {
        let mut held = self.0.lock().unwrap();
        held.asked.push(format!("{method} {}", uri.path()));
        if held.failing > 0 {
            held.failing -= 1;
            return refusal(StatusCode::INTERNAL_SERVER_ERROR, "InternalError");
        }
        if let Some(meanwhile) = held.meanwhile.take_if(|_| method != Method::GET) {
            meanwhile(&mut held.objects);
        }
        let is_dry = uri.query().unwrap_or_default().contains("dryRun=All");
        let path = uri.path().trim_end_matches("/status").to_owned();
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let known = held.objects.get(&path).cloned();
        match (method.as_str(), known) {
            ("GET", Some(object)) => (StatusCode::OK, object.to_string()),
            ("GET", None) if is_list(&path) => held.list(&path),
            ("POST", _) => held.create(&path, body, is_dry),
            ("PATCH", Some(mut object)) => {
                if is_of_another(&body, &object) {
                    return refusal(StatusCode::CONFLICT, "Conflict");
                }
                merge(&mut object, &body);
                (StatusCode::OK, held.put(&path, object).to_string())
            }
            ("PATCH", None) if body.get("kind").is_some() => (StatusCode::OK, held.put(&path, body).to_string()),
            ("PUT", Some(object)) if is_of_another(&body, &object) => refusal(StatusCode::CONFLICT, "Conflict"),
            ("PUT", Some(_)) => (StatusCode::OK, held.put(&path, body).to_string()),
            _ => refusal(StatusCode::NOT_FOUND, "NotFound"),
        }
    }
}

impl Held {
    fn put(&mut self, path: &str, mut object: Value) -> Value {
        self.version += 1;
        let uid = self.objects.get(path).and_then(|known| known.pointer("/metadata/uid").cloned());
        let name = path.rsplit('/').next().unwrap_or_default();
        let metadata = object.as_object_mut().unwrap().entry("metadata").or_insert_with(|| json!({})).as_object_mut().unwrap();
        metadata.insert("name".to_owned(), json!(name));
        metadata.insert("resourceVersion".to_owned(), json!(self.version.to_string()));
        let new = json!(format!("uid-{}", self.version));
        metadata.entry("uid").or_insert_with(|| uid.unwrap_or(new));
        self.objects.insert(path.to_owned(), object.clone());
        object
    }

    fn create(&mut self, path: &str, mut body: Value, is_dry: bool) -> Answer {
        let name = body.pointer("/metadata/name").and_then(Value::as_str).unwrap_or("event").to_owned();
        let path = format!("{path}/{name}");
        if self.objects.contains_key(&path) {
            return refusal(StatusCode::CONFLICT, "AlreadyExists");
        }
        merge(&mut body, &json!({"metadata": {"creationTimestamp": MADE}}));
        if is_dry {
            return (StatusCode::CREATED, body.to_string());
        }
        (StatusCode::CREATED, self.put(&path, body).to_string())
    }

    fn list(&self, path: &str) -> Answer {
        let items: Vec<&Value> = self.objects.iter().filter(|(at, _)| at.starts_with(path)).map(|(_, object)| object).collect();
        (StatusCode::OK, json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items}).to_string())
    }
}

fn is_list(path: &str) -> bool {
    path.ends_with('s') && path.matches('/').count() <= 4
}

/// Whether it is about another version of an object, or another object of its name.
fn is_of_another(asked: &Value, known: &Value) -> bool {
    let differs = |pointer: &str| asked.pointer(pointer).is_some_and(|wanted| Some(wanted) != known.pointer(pointer));
    differs("/metadata/resourceVersion") || differs("/metadata/uid")
}

/// RFC 7386.
fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else { return patch.clone_into(object) };
    if !object.is_object() {
        *object = json!({});
    }
    for (name, value) in fields {
        let object = object.as_object_mut().unwrap();
        if value.is_null() {
            object.remove(name);
        } else {
            merge(object.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}

fn refusal(code: StatusCode, reason: &str) -> Answer {
    let status =
        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": reason, "code": code.as_u16()});
    (code, status.to_string())
}
