//! The page of the operator: clusters, hosts, and what runs did, to look at. It changes nothing. It listens on loopback alone and is reached by
//! `kubectl port-forward`, so who may see it is for Kubernetes to say.

mod asked;
mod board;
mod run;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse as _, Response};
use axum::{Router, routing::get};
use futures_util::stream;
use kok_crds::wrong_in_dns_name;
use kok_tasks::digest::sha256;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

pub(super) use board::{Card, ClusterBoard};

use super::group::{ClusterKey, Group};
use super::http::{Health, serve};
use super::shared::Shared;
use crate::clock::Clock;
use crate::failure::{Failure, Kind};
use board::BoardSeen;

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
        .route("/run", get(asked::run))
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

/// A cluster, or an operation, as the page names it: `GROUP/NAME`. What comes from a browser becomes no part of a path before it is such a name.
fn key(id: &str) -> Option<ClusterKey> {
    let (group, name) = id.split_once('/')?;
    let group = Group::ALL.into_iter().find(|known| known.name() == group)?;
    wrong_in_dns_name(name).is_none().then(|| ClusterKey { group, name: name.to_owned() })
}

struct Watcher {
    page: Arc<Page>,
    seen: BoardSeen,
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
    let seen = BoardSeen::new(query.cluster.as_deref().and_then(key));
    let changes = page.shared.board.changes();
    let watcher = Watcher { page, seen, changes, is_first: true, _permit: permit };
    Sse::new(stream::unfold(watcher, Watcher::next)).into_response()
}

#[cfg(test)]
mod tests {
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
