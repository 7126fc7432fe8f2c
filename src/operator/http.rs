//! Health and metrics over HTTP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use tokio::net::TcpListener;

use super::metrics::Metrics;
use crate::clock::Clock;
use crate::failure::{Failure, Kind};

/// Whoever decides has to have turned round within so many seconds.
const ALIVE_SECONDS: i64 = 60;
/// The API has to have answered within so many seconds.
const READY_SECONDS: i64 = 30;

/// Signs of life.
#[derive(Debug, Default)]
pub(super) struct Health {
    turned: AtomicI64,
    answered: AtomicI64,
}

impl Health {
    /// The loop that decides has turned round.
    pub(super) fn turned(&self) {
        self.turned.store(Clock::seconds(), Ordering::Relaxed);
    }

    /// The API has answered, and everything was listed once.
    pub(super) fn answered(&self) {
        self.answered.store(Clock::seconds(), Ordering::Relaxed);
    }

    /// How many seconds ago the API answered when all was listed; nothing if it never has.
    pub(super) fn heard(&self, now: i64) -> Option<i64> {
        let at = self.answered.load(Ordering::Relaxed);
        (at > 0).then(|| (now - at).max(0))
    }

    fn is_alive(&self, now: i64) -> bool {
        now - self.turned.load(Ordering::Relaxed) <= ALIVE_SECONDS
    }

    fn is_ready(&self, now: i64) -> bool {
        now - self.answered.load(Ordering::Relaxed) <= READY_SECONDS
    }
}

fn code(is_well: bool) -> (StatusCode, &'static str) {
    if is_well { (StatusCode::OK, "ok\n") } else { (StatusCode::SERVICE_UNAVAILABLE, "not ok\n") }
}

/// Answers `/livez` and `/readyz` there, for as long as the program runs.
///
/// # Errors
/// [`Failure`] if nobody can listen there.
pub(super) async fn serve_health(address: SocketAddr, health: Arc<Health>) -> Result<(), Failure> {
    let live = |State(health): State<Arc<Health>>| async move { code(health.is_alive(Clock::seconds())) };
    let ready = |State(health): State<Arc<Health>>| async move { code(health.is_ready(Clock::seconds())) };
    serve(address, Router::new().route("/livez", get(live)).route("/readyz", get(ready)).with_state(health), "--health").await
}

/// Answers `/metrics` there, for as long as the program runs.
///
/// # Errors
/// [`Failure`] if nobody can listen there.
pub(super) async fn serve_metrics(address: SocketAddr, metrics: Arc<Metrics>) -> Result<(), Failure> {
    let text = |State(metrics): State<Arc<Metrics>>| async move { metrics.text() };
    serve(address, Router::new().route("/metrics", get(text)).with_state(metrics), "--metrics").await
}

/// Answers there, for as long as the program runs. `option` is the one by which another address is given.
///
/// # Errors
/// [`Failure`] if nobody can listen there.
pub(super) async fn serve(address: SocketAddr, router: Router, option: &str) -> Result<(), Failure> {
    let listener = TcpListener::bind(address).await.map_err(|error| {
        let failure = Failure::new(Kind::Input, format!("nobody can listen at {address}")).because(error.to_string());
        failure.hint(format!("give another address with {option}"))
    })?;
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::error!(%error, "the server of {address} has ended");
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_not_been_heard_of_for_long_is_not_well() {
        let health = Health::default();
        assert!(!health.is_alive(Clock::seconds()) && !health.is_ready(Clock::seconds()));
        health.turned();
        health.answered();
        let now = Clock::seconds();
        assert!(health.is_alive(now) && health.is_ready(now) && health.is_alive(now + 31) && !health.is_ready(now + 32));
        assert!(!health.is_alive(now + 62));
        assert_eq!((health.heard(now + 40).map(|seconds| seconds / 40), Health::default().heard(now)), (Some(1), None));
    }
}
