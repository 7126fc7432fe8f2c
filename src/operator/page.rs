//! The page of the operator: clusters, hosts, and what runs did, to look at. It changes nothing. It listens on loopback alone and is reached by
//! `kubectl port-forward`, so who may see it is for Kubernetes to say.

mod board;
mod run;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse as _, Json, Response};
use axum::{Router, routing::get};
use futures_util::stream;
use kok_tasks::digest::sha256;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

pub(super) use board::{Board, Card};

use super::group::{ClusterKey, Group};
use super::http::{Health, serve};
use super::journal::{Journals, kept, public};
use super::journals::chosen;
use super::object;
use super::shared::Shared;
use super::status::ANSWER;
use crate::clock::Clock;
use crate::failure::{Failure, Kind};
use crate::state::{StateFolder, Story};
use board::Seen;

const HTML: &str = include_str!("page/page.html");
const SCRIPT: &str = include_str!("page/page.js");
const STYLE: &str = include_str!("page/page.css");
const ICON: &str = include_str!("page/icon.svg");

/// So many look at the same time: each costs a connection and a look at all clusters at each change.
const WATCHERS: usize = 32;
/// Changes that come closer together are told at once.
const PAUSE: Duration = Duration::from_millis(400);
/// Something is told at least so often: a browser that hears nothing for three times as long knows that nobody is there.
const ALIVE: Duration = Duration::from_secs(15);

/// Nothing is loaded from elsewhere, nothing that stands in the page itself is run, no other site has it in a frame, and nothing is kept.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];

struct Page {
    shared: Arc<Shared>,
    health: Arc<Health>,
    watchers: Arc<Semaphore>,
    /// Tells this page from that of another version, which a browser then loads.
    build: String,
}

/// Serves the page there, for as long as the program runs.
///
/// # Errors
/// [`Failure`] if others than this machine, or pod, could reach it, or nobody can listen there.
pub(super) async fn serve_page(address: SocketAddr, shared: Arc<Shared>, health: Arc<Health>) -> Result<(), Failure> {
    if !address.ip().is_loopback() {
        let failure = Failure::new(Kind::Input, format!("the page is not served at {address}"));
        let because = "it asks nobody who they are: whoever reaches it sees every cluster";
        return Err(failure.because(because).hint("give `--web 127.0.0.1:8082`, and reach it by `kubectl port-forward`"));
    }
    let build = sha256([HTML, SCRIPT, STYLE].concat().as_bytes());
    let page = Page { shared, health, watchers: Arc::new(Semaphore::new(WATCHERS)), build };
    serve(address, router(Arc::new(page)), "--web").await
}

fn router(page: Arc<Page>) -> Router {
    let text = |kind: &'static str, text: &'static str| get(move || async move { ([(header::CONTENT_TYPE, kind)], text) });
    Router::new()
        .route("/", text("text/html; charset=utf-8", HTML))
        .route("/page.js", text("text/javascript; charset=utf-8", SCRIPT))
        .route("/page.css", text("text/css; charset=utf-8", STYLE))
        .route("/icon.svg", text("image/svg+xml", ICON))
        .route("/events", get(events))
        .route("/run", get(run_of))
        .with_state(page)
        .layer(middleware::from_fn(guarded))
}

/// Answers only who asks for this machine by a name that is always its own: another site that a browser shows can have a name that leads here, and would
/// read the page as its own by it. And every answer says what a browser may do with it.
async fn guarded(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let mut response = if is_own(host) {
        next.run(request).await
    } else {
        (StatusCode::MISDIRECTED_REQUEST, "ask for localhost or 127.0.0.1\n").into_response()
    };
    response.headers_mut().extend(HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))));
    response
}

/// Whether a `Host` header names this machine itself.
fn is_own(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    ["localhost", "127.0.0.1", "[::1]"].contains(&name)
}

#[derive(Deserialize)]
struct Chosen {
    cluster: Option<String>,
}

/// A cluster as the page names it: `GROUP/NAME`.
fn key(id: &str) -> Option<ClusterKey> {
    let (group, name) = id.split_once('/')?;
    let group = Group::ALL.into_iter().find(|known| known.name() == group)?;
    is_name(name).then(|| ClusterKey { group, name: name.to_owned() })
}

/// Whether an object of Kubernetes may have this name: what comes from a browser becomes part of no path before.
fn is_name(name: &str) -> bool {
    let is_right = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    !name.is_empty() && name.len() <= 253 && name.bytes().all(is_right) && !name.contains("..") && !name.starts_with('.')
}

struct Watcher {
    page: Arc<Page>,
    seen: Seen,
    changes: watch::Receiver<u64>,
    is_first: bool,
    _permit: OwnedSemaphorePermit,
}

impl Watcher {
    /// What there is to tell next; nothing when the operator ends.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        let is_first = std::mem::replace(&mut self.is_first, false);
        if !is_first {
            tokio::time::sleep(PAUSE).await;
            // That nothing has changed is told too.
            if let Ok(changed) = timeout(ALIVE, self.changes.changed()).await {
                changed.ok()?;
            }
        }
        self.changes.borrow_and_update();
        let mut news = self.page.shared.board.news(&mut self.seen).unwrap_or_else(|| json!({}));
        if let Some(fields) = news.as_object_mut() {
            fields.insert("heard".to_owned(), json!(self.page.health.heard(Clock::seconds())));
            if is_first {
                fields.insert("build".to_owned(), json!(self.page.build));
                fields.insert("replica".to_owned(), json!(self.page.shared.settings.identity));
            }
        }
        Some((Ok(Event::default().data(news.to_string())), self))
    }
}

/// Everything that changes, as server-sent events; the first has all that there is.
async fn events(State(page): State<Arc<Page>>, Query(query): Query<Chosen>) -> Response {
    let Ok(permit) = Arc::clone(&page.watchers).try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, format!("{WATCHERS} look at it already\n")).into_response();
    };
    let seen = Seen::new(query.cluster.as_deref().and_then(key));
    let changes = page.shared.board.changes();
    let watcher = Watcher { page, seen, changes, is_first: true, _permit: permit };
    Sse::new(stream::unfold(watcher, Watcher::next)).into_response()
}

#[derive(Deserialize)]
struct Asked {
    group: String,
    operation: String,
    run: Option<String>,
}

/// What a run of an operation did.
async fn run_of(State(page): State<Arc<Page>>, Query(asked): Query<Asked>) -> Response {
    match timeout(ANSWER, found(&page.shared, &asked)).await {
        Ok(Ok(document)) => Json(document).into_response(),
        Ok(Err(why)) => (StatusCode::NOT_FOUND, Json(json!({ "why": why }))).into_response(),
        Err(_) => (StatusCode::GATEWAY_TIMEOUT, Json(json!({ "why": "the API server does not answer" }))).into_response(),
    }
}

/// The operation with its last run, or the one that is asked for.
///
/// # Errors
/// Why there is none to be shown.
async fn found(shared: &Shared, asked: &Asked) -> Result<Value, String> {
    let key = key(&format!("{}/{}", asked.group, asked.operation)).ok_or("no operation has such a name")?;
    if !shared.settings.groups.contains(&key.group) {
        return Err(format!("{} is not served here", key.group.name()));
    }
    let api = shared.operations(key.group);
    let operation = api.get_opt(&key.name).await.map_err(|error| error.to_string())?.ok_or("there is no such operation any more")?;
    let data = operation.data;
    let journals = journals(shared, &data).await?;
    let (state, run) = (shared.state(key.group), asked.run.clone());
    // A journal of many hosts takes a while to read: nobody who renews Leases waits for that, and no two are read at a time.
    let one = Arc::clone(&shared.journals).acquire_owned().await.map_err(|error| error.to_string())?;
    let read = tokio::task::spawn_blocking(move || {
        let document = document(&key.name, &data, &journals, &state, run.as_deref());
        drop(one);
        document
    });
    read.await.map_err(|error| error.to_string())
}

/// What is kept of an operation's runs, in the namespaces that the operator reads.
async fn journals(shared: &Shared, operation: &Value) -> Result<Journals, String> {
    let place = object::text(operation, "/status/journal/configMap").and_then(|place| place.split_once('/'));
    match place.filter(|place| shared.namespaces.iter().any(|known| known == place.0)) {
        Some(place) => kept(&shared.client, place).await.map_err(|error| error.to_string()),
        None => Ok(Journals::new()),
    }
}

/// An operation with a run of it, or why there is none.
fn document(name: &str, operation: &Value, journals: &Journals, state: &StateFolder, run: Option<&str>) -> Value {
    let at_work = object::text(operation, "/status/run").filter(|_| !object::is_over(operation));
    let runs: BTreeSet<&str> = journals.keys().map(String::as_str).chain(at_work).collect();
    let status = |field: &str| operation.pointer(&format!("/status/{field}")).cloned().unwrap_or_default();
    let mut document = json!({
        "operation": name, "action": object::text(operation, "/spec/action"), "cluster": object::text(operation, "/spec/cluster"),
        "phase": status("phase"), "lastError": status("lastError"), "over": object::is_over(operation), "runs": runs,
    });
    // As this replica writes it down just now, or else as it was kept.
    let own = at_work.filter(|at_work| run.is_none_or(|run| run == *at_work)).and_then(|run| {
        let text = state.journal_of(run)?;
        Story::read(run, public(&text).as_bytes(), true).ok()
    });
    let story = own.map_or_else(|| chosen(operation, journals, run).map_err(|failure| failure.one_line()), Ok);
    let (field, value) = match story {
        Ok(story) => ("record", run::document(&story)),
        Err(why) => ("why", json!(why)),
    };
    if let Some(fields) = document.as_object_mut() {
        fields.insert(field.to_owned(), value);
    }
    document
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use super::super::journal::packed;
    use super::*;

    #[test]
    fn a_name_that_leads_here_from_elsewhere_is_not_answered() {
        for host in ["localhost", "localhost:8082", "127.0.0.1:9", "[::1]:8082", "[::1]"] {
            assert!(is_own(host), "{host}");
        }
        for host in
            ["", "evil.example", "evil.example:8082", "127.0.0.1.evil.example", "localhost.evil.example:8082", "10.0.0.1:8082", "::1"]
        {
            assert!(!is_own(host), "{host}");
        }
    }

    /// The replica that is at work knows more than what it has kept so far; and another one shows that.
    #[test]
    fn a_run_is_shown_as_it_is_or_as_it_was_kept() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::at(folder.path());
        let operation = json!({"spec": {"action": "cluster.yml"}, "status": {"run": "2-b", "status": "Running", "phase": "Running"}});
        let started = |run: &str, cluster: &str| {
            format!(
                "{{\"sequence\":0,\"milliseconds\":0,\"event\":\"run-started\",\"v\":1,\"run\":\"{run}\",\"verb\":\"apply\",\"cluster\":\"{cluster}\",\
                 \"time\":\"2026-11-21T12:00:00Z\",\"version\":\"0.1.0\",\"who\":\"a@b\"}}\n"
            )
        };
        let kept = |run: &str| (run.to_owned(), packed(&started(run, "kept")).unwrap());
        let journals = Journals::from([kept("1-a"), kept("2-b")]);
        let of = |run| document("up", &operation, &journals, &state, run);
        assert_eq!((&of(None)["record"]["ending"], &of(None)["runs"]), (&json!("at-work"), &json!(["1-a", "2-b"])));
        assert_eq!(of(Some("1-a"))["record"]["ending"], "died");
        assert!(of(Some("x"))["why"].as_str().unwrap().contains("has no run"));
        std::fs::create_dir_all(folder.path().join("runs/2-b")).unwrap();
        std::fs::write(folder.path().join("runs/2-b/events.jsonl"), started("2-b", "own").replace("a@b", "me@here")).unwrap();
        assert_eq!((&of(None)["record"]["who"], &of(Some("1-a"))["record"]["who"]), (&json!("me@here"), &json!("a@b")));
        let nothing = document("up", &json!({}), &Journals::new(), &state, None);
        assert!(nothing["why"].as_str().unwrap().starts_with("nothing is kept yet"), "{nothing}");
        let over = document("up", &json!({"status": {"status": "Failed"}}), &Journals::new(), &state, None);
        assert!(over["why"].as_str().unwrap().starts_with("nothing was kept"), "{over}");
    }

    #[test]
    fn what_a_browser_asks_for_is_a_name_of_kubernetes() {
        assert_eq!(key("kubean.io/a-b.c").map(|key| key.name), Some("a-b.c".to_owned()));
        for id in ["", "x", "other.io/a", "kubean.io/", "kubean.io/..", "kubean.io/a/b", "kubean.io/A", "kubean.io/a?b", "kubean.io/.a"] {
            assert_eq!(key(id).map(|key| key.name), None, "{id}");
        }
    }

    /// It is read by people who have no other tab of documentation open.
    #[test]
    fn the_page_is_small_and_has_nothing_that_its_own_policy_forbids() {
        assert!(HTML.len() + SCRIPT.len() + STYLE.len() <= 40 << 10);
        for inline in ["onclick", "onload", "style=", "<style", "javascript:", "http://", "https://"] {
            assert!(!HTML.contains(inline), "{inline}");
        }
        for risky in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "http://", "https://"] {
            assert!(!SCRIPT.contains(risky), "{risky}");
        }
    }
}
