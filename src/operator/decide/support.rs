//! What tests of decisions know of a cluster.

use super::super::made::{ClusterTarget, Made, Note, name_end};
use super::super::view::Operation;
use super::*;

/// What the cluster `u` is to be, as most tests have it.
pub(super) fn target(generation: i64, versions: &str) -> ClusterTarget {
    ClusterTarget { generation, versions: versions.to_owned(), asked: String::new() }
}

/// One that the operator has made, with its number and how many before it did not succeed.
pub(super) fn ended(why: Why, (number, failures): (u64, u32), outcome: OperationOutcome, at: i64) -> Made {
    let note = Note { cluster: "u".to_owned(), number, failures, gives_up: false, moment: None, target: target(3, "v") };
    Made { why, note, outcome, ended: at, awaits_approval: false, error: String::new(), left_out: Vec::new() }
}

/// The intent that makes one.
pub(super) fn make(why: Why, number: u64, failures: u32, target: ClusterTarget) -> Intent {
    Intent::Make(Make { why, note: Note { cluster: "u".to_owned(), number, failures, gives_up: false, moment: None, target } })
}

/// An operation of somebody.
pub(super) fn live(name: &str, life: Life) -> Operation {
    Operation {
        name: name.to_owned(),
        uid: format!("{name}-1"),
        created: 200,
        score: 0,
        life,
        behind: None,
        refused: None,
        has_job: false,
        is_wanted: false,
        is_cancelled: false,
        is_labelled: life == Life::Ended,
        is_left: false,
        made: None,
    }
}

/// The operation as its cluster has it.
pub(super) fn operation_of(made: Made) -> Operation {
    let life = if made.outcome == OperationOutcome::Open { Life::New } else { Life::Ended };
    let name = format!("c{}", name_end(&made.note));
    Operation { made: Some(made), ..live(&name, life) }
}

/// A Cluster with what the operator has made for it.
pub(super) fn view(cluster: Served, made: Vec<Made>) -> View {
    let operations = made.into_iter().map(operation_of).collect();
    View { cluster: Some(cluster), operations, first_start: 100, history: Some(30), ..View::default() }
}
