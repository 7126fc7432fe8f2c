//! An API server for tests: it keeps objects of all kinds by their paths, with their versions, and lets somebody else write in between.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Objects by their paths.
pub(super) type Objects = BTreeMap<String, Value>;
type Meanwhile = Box<dyn FnOnce(&mut Objects) + Send>;

/// The server, and a client of it.
pub(super) struct FakeApi {
    pub(super) client: Client,
    kept: Arc<Mutex<Keeper>>,
}

#[derive(Default)]
struct Keeper {
    objects: Objects,
    version: u64,
    meanwhile: Option<Meanwhile>,
}

impl FakeApi {
    /// One with these objects.
    pub(super) async fn start(objects: &[(&str, Value)]) -> Self {
        let objects = objects.iter().map(|(path, object)| ((*path).to_owned(), object.clone())).collect();
        let kept = Arc::new(Mutex::new(Keeper { objects, ..Keeper::default() }));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let config = Config::new(format!("http://{}", listener.local_addr().unwrap()).parse().unwrap());
        let router = Router::new().fallback(answer).with_state(Arc::clone(&kept));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { client: Client::try_from(config).unwrap(), kept }
    }

    /// What somebody else does after the next object was read, and before anything is written.
    pub(super) fn meanwhile(&self, does: impl FnOnce(&mut Objects) + Send + 'static) {
        self.kept.lock().unwrap().meanwhile = Some(Box::new(does));
    }

    /// The object at this path.
    pub(super) fn object(&self, path: &str) -> Option<Value> {
        self.kept.lock().unwrap().objects.get(path).cloned()
    }

    /// The paths of all objects.
    pub(super) fn paths(&self) -> Vec<String> {
        self.kept.lock().unwrap().objects.keys().cloned().collect()
    }
}

type Answer = (StatusCode, String);

async fn answer(State(kept): State<Arc<Mutex<Keeper>>>, method: Method, uri: Uri, body: Bytes) -> Answer {
    let mut kept = kept.lock().unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let is_dry = uri.query().unwrap_or_default().contains("dryRun=All");
    if method == Method::GET {
        return kept.objects.get(uri.path()).map_or_else(|| failed(StatusCode::NOT_FOUND, "NotFound"), found);
    }
    if let Some(meanwhile) = kept.meanwhile.take() {
        meanwhile(&mut kept.objects);
    }
    if method == Method::POST {
        let path = format!("{}/{}", uri.path(), body["metadata"]["name"].as_str().unwrap());
        if kept.objects.contains_key(&path) {
            return failed(StatusCode::CONFLICT, "AlreadyExists");
        }
        let mut body = body;
        body["metadata"]["creationTimestamp"] = json!("2026-01-31T12:00:00Z");
        return if is_dry { found(&body) } else { kept.keep(path, body) };
    }
    let path = uri.path().to_owned();
    let Some(before) = kept.objects.get(&path).cloned() else { return failed(StatusCode::NOT_FOUND, "NotFound") };
    let wanted = &body["metadata"]["resourceVersion"];
    if !wanted.is_null() && *wanted != before["metadata"]["resourceVersion"] {
        return failed(StatusCode::CONFLICT, "Conflict");
    }
    let mut object = if method == Method::PUT { json!({}) } else { before };
    merge(&mut object, body);
    kept.keep(path, object)
}

impl Keeper {
    fn keep(&mut self, path: String, mut object: Value) -> Answer {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(format!("v{}", self.version));
        let answer = found(&object);
        self.objects.insert(path, object);
        answer
    }
}

fn found(object: &Value) -> Answer {
    (StatusCode::OK, object.to_string())
}

fn failed(code: StatusCode, reason: &str) -> Answer {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": reason, "code": code.as_u16(), "message": reason});
    (code, status.to_string())
}

fn merge(target: &mut Value, patch: Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (name, value) in patch {
                if value.is_null() { drop(target.remove(&name)) } else { merge(target.entry(name).or_insert(Value::Null), value) }
            }
        }
        (target, patch) => *target = patch,
    }
}
