//! Reading the journal of an operation's run from the meta-cluster.

use kube::api::DynamicObject;
use kube::{Api, Client};
use serde_json::Value;

use super::connect::client;
use super::journal::{Journals, kept, place, unpacked};
use super::object;
use super::watching::Watched;
use crate::failure::{Failure, Kind};
use crate::state::Story;

/// A run of an operation, of all that are kept of it.
#[derive(Debug)]
pub struct OperationRun {
    /// The run.
    pub story: Story,
    /// The names of all, the oldest first.
    pub runs: Vec<String>,
}

/// Reads what a run of an operation did. Without the name of a run, or a part of it that no other has, it is the last one.
///
/// # Errors
/// [`Failure`] if there is no such operation or run, nothing is kept of it yet, or it can't be read.
pub async fn operation_run(watched: &Watched, run: Option<&str>) -> Result<OperationRun, Failure> {
    let client = client(watched.kubeconfig.as_deref(), watched.context.clone()).await?;
    let name = watched.name.clone().unwrap_or_default();
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &watched.group.operations());
    let found = api.get_opt(&name).await.map_err(unread)?.ok_or_else(|| {
        let failure = Failure::new(Kind::Input, format!("there is no operation `{}`", name.escape_debug()));
        failure.hint(format!("`kubectl get clusteroperations.{}` lists them", watched.group.name()))
    })?;
    let journals = journals(&client, &found.data).await?;
    let runs: Vec<String> = journals.keys().cloned().collect();
    let story = chosen(&found.data, &journals, run)?;
    Ok(OperationRun { story, runs })
}

/// What is kept of an operation's runs.
///
/// # Errors
/// [`Failure`] if it can't be read.
async fn journals(client: &Client, operation: &Value) -> Result<Journals, Failure> {
    let Some(place) = place(operation) else { return Ok(Journals::new()) };
    kept(client, place).await.map_err(|error| {
        let failure = Failure::new(Kind::Input, format!("the ConfigMap {}/{} can't be read", place.0, place.1));
        failure.because(error.to_string()).hint("see that you may get ConfigMaps in that namespace")
    })
}

/// The run that is meant.
///
/// # Errors
/// [`Failure`] if there is none, or several.
pub(super) fn chosen(operation: &Value, journals: &Journals, run: Option<&str>) -> Result<Story, Failure> {
    let is_meant = |name: &str| run.is_none_or(|run| name == run || name.starts_with(run) || name.ends_with(run));
    let meant: Vec<&String> = journals.keys().filter(|name| is_meant(name)).collect();
    let named = |names: Vec<&String>| names.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    // The last one is the one that the status names: clocks of replicas may differ.
    let wanted = run.or_else(|| object::text(operation, "/status/run"));
    let exact = wanted.and_then(|run| journals.get_key_value(run)).map(|(name, _)| name);
    let name: &String = match (exact, meant.as_slice(), run) {
        (Some(name), ..) => name,
        (None, [.., name], None) | (None, [name], Some(_)) => name,
        (None, [], _) if journals.is_empty() => {
            let (what, because) = if object::is_over(operation) {
                ("nothing was kept of what the operation did", "it ended before a run began, or its journal could not be kept")
            } else {
                ("nothing is kept yet of what the operation did", "a journal is kept some seconds after its run has begun")
            };
            return Err(Failure::new(Kind::Input, what).because(because).hint("`kubectl describe` the operation tells what became of it"));
        }
        (None, [], Some(run)) if object::text(operation, "/status/run") == Some(run) => {
            let failure = Failure::new(Kind::Input, format!("nothing is kept yet of the run {run}"));
            return Err(failure.because("it is at work in another replica, and has just begun").hint("look again in some seconds"));
        }
        (None, [], _) => {
            let failure = Failure::new(Kind::Input, format!("the operation has no run `{}`", run.unwrap_or_default().escape_debug()));
            return Err(failure.hint(format!("it has {}", named(journals.keys().collect()))));
        }
        (None, several, _) => {
            let failure = Failure::new(Kind::Input, format!("`{}` is part of several runs", run.unwrap_or_default().escape_debug()));
            return Err(failure.because(named(several.to_vec())).hint("give more of the name"));
        }
    };
    let is_alive = !object::is_over(operation) && object::text(operation, "/status/run") == Some(name.as_str());
    let text = journals.get(name).map_or(Ok(Vec::new()), |bytes| unpacked(bytes));
    text.and_then(|text| Story::read(name, &text, is_alive)).map_err(|because| {
        let failure = Failure::new(Kind::Internal, format!("the journal of the run {name} can't be read")).because(because);
        failure.hint("read it with the kokctl that the operator is of")
    })
}

fn unread(error: kube::Error) -> Failure {
    let failure = Failure::new(Kind::Input, "the operation can't be read").because(error.to_string());
    failure.hint("see that --kubeconfig leads to the meta-cluster, and that you may get its clusteroperations")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use serde_json::json;

    use super::super::journal::packed;
    use super::*;

    fn journals(runs: &[&str]) -> Journals {
        let start = |run: &str| {
            format!(
                "{{\"sequence\":0,\"milliseconds\":0,\"event\":\"run-started\",\"v\":1,\"run\":\"{run}\",\"verb\":\"apply\",\"cluster\":\"c\",\
                 \"time\":\"2026-11-21T12:00:00Z\",\"version\":\"0.1.0\",\"who\":\"a@b\"}}\n"
            )
        };
        runs.iter().map(|run| ((*run).to_owned(), packed(&start(run)).unwrap())).collect()
    }

    #[test]
    fn the_last_run_is_meant_or_the_one_that_is_named() {
        let (operation, all) = (json!({"status": {"run": "2-b", "status": "Running"}}), journals(&["1-a", "1-b", "2-b"]));
        let of = |run| chosen(&operation, &all, run).map(|story| (story.id, story.alive)).map_err(|failure| failure.what);
        assert_eq!(of(None), Ok(("2-b".to_owned(), true)));
        assert_eq!(of(Some("1-a")), Ok(("1-a".to_owned(), false)));
        assert_eq!(of(Some("2")), Ok(("2-b".to_owned(), true)));
        assert_eq!(of(Some("b")).unwrap_err(), "`b` is part of several runs");
        assert_eq!(of(Some("c")).unwrap_err(), "the operation has no run `c`");
        let behind = json!({"status": {"run": "1-b", "status": "Running"}});
        assert_eq!(chosen(&behind, &all, None).unwrap().id, "1-b", "the clock of the replica that began it is behind");
        let new = json!({"status": {"run": "3-c", "status": "Running"}});
        assert_eq!(chosen(&new, &all, Some("3-c")).unwrap_err().what, "nothing is kept yet of the run 3-c");
        assert_eq!(chosen(&new, &all, None).unwrap().id, "2-b");
        let over = json!({"status": {"run": "2-b", "status": "Failed"}});
        assert!(!chosen(&over, &all, None).unwrap().alive, "one that has ended is at work no more");
    }

    #[test]
    fn that_nothing_is_kept_is_said() {
        let of = |journals: &Journals| chosen(&json!({}), journals, None).unwrap_err().what;
        assert_eq!(of(&Journals::new()), "nothing is kept yet of what the operation did");
        assert_eq!(of(&[("r".to_owned(), b"x".to_vec())].into()), "the journal of the run r can't be read");
    }
}
