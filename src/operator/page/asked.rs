//! What a run of an operation did, for the page that asks for it.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Json, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::super::journal::{self, Journals};
use super::super::journals::chosen;
use super::super::object;
use super::super::shared::Shared;
use super::super::status::ANSWER;
use super::{Page, key};
use crate::state::{StateFolder, Story};

#[derive(Deserialize)]
pub(super) struct RunQuery {
    group: String,
    operation: String,
    run: Option<String>,
}

/// What a run of an operation did.
pub(super) async fn run(State(page): State<Arc<Page>>, Query(asked): Query<RunQuery>) -> Response {
    match timeout(ANSWER, found(&page.shared, &asked)).await {
        Ok(Ok(document)) => Json(document).into_response(),
        Ok(Err(why)) => (StatusCode::NOT_FOUND, Json(json!({ "why": why }))).into_response(),
        Err(_) => (StatusCode::GATEWAY_TIMEOUT, Json(json!({ "why": "the operator, or its API server, takes too long" }))).into_response(),
    }
}

/// The operation with its last run, or the one that is asked for.
///
/// # Errors
/// Why there is none to be shown.
async fn found(shared: &Shared, asked: &RunQuery) -> Result<Value, String> {
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
    match journal::place(operation).filter(|place| shared.namespaces.iter().any(|known| known == place.0)) {
        Some(place) => journal::kept(&shared.client, place).await.map_err(|error| error.to_string()),
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
        Story::read(run, journal::public(&text).as_bytes(), true).ok()
    });
    let story = own.map_or_else(|| chosen(operation, journals, run).map_err(|failure| failure.one_line()), Ok);
    let (field, value) = match story {
        Ok(story) => ("record", super::run::document(&story)),
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

    use super::super::super::journal::packed;
    use super::*;

    /// The replica that is at work knows more than what it has kept so far; and another one shows that.
    #[test]
    fn a_run_is_shown_as_it_is_or_as_it_was_kept() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::at(folder.path());
        let operation = json!({"spec": {"action": "cluster.yml"}, "status": {"run": "2-b", "status": "Running", "phase": "Running"}});
        let started = |run: &str, verb: &str| {
            format!(
                "{{\"sequence\":0,\"milliseconds\":0,\"event\":\"run-started\",\"v\":1,\"run\":\"{run}\",\"verb\":\"{verb}\",\"cluster\":\"c\",\
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
        std::fs::write(folder.path().join("runs/2-b/events.jsonl"), started("2-b", "own")).unwrap();
        let verbs = [None, Some("1-a")].map(|run| of(run)["record"]["verb"].clone());
        assert_eq!(verbs, ["own", "kept"]);
        let nothing = document("up", &json!({}), &Journals::new(), &state, None);
        assert!(nothing["why"].as_str().unwrap().starts_with("nothing is kept yet"), "{nothing}");
        let over = document("up", &json!({"status": {"status": "Failed"}}), &Journals::new(), &state, None);
        assert!(over["why"].as_str().unwrap().starts_with("nothing was kept"), "{over}");
    }
}
