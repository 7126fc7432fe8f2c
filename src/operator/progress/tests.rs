//! What is shown of a run.
#![allow(clippy::indexing_slicing, reason = "these are tests")]

use super::*;
use crate::event::Lane;

fn take(progress: &mut RunProgress, kind: EventKind) -> bool {
    progress.take(&Event { sequence: 0, milliseconds: 0, kind })
}

fn planned(step: &str, host: &str) -> EventKind {
    let (task, title, summary) = (String::new(), String::new(), String::new());
    EventKind::StepPlanned { step: step.to_owned(), host: host.to_owned(), task, title, summary, lane: Lane::Script, needs: Vec::new() }
}

fn started(step: &str, host: &str) -> EventKind {
    EventKind::StepStarted { step: step.to_owned(), host: host.to_owned(), title: String::new(), summary: String::new() }
}

fn done(step: &str, host: &str) -> EventKind {
    EventKind::StepDone { step: step.to_owned(), host: host.to_owned(), took_milliseconds: 1 }
}

#[test]
fn a_run_is_told_step_by_step() {
    let mut progress = RunProgress::default();
    assert_eq!(progress.json(false), Value::Null);
    take(&mut progress, EventKind::PlanMade { steps: 9, changes: 3 });
    for (step, host) in [("a/x", "a"), ("a/y", "a"), ("b/x", "b")] {
        take(&mut progress, planned(step, host));
    }
    take(&mut progress, started("a/x", "a"));
    assert_eq!(progress.json(false)["now"], json!(["a/x"]));
    take(&mut progress, done("a/x", "a"));
    take(&mut progress, started("b/x", "b"));
    let failed = EventKind::StepFailed { step: "b/x".to_owned(), host: "b".to_owned(), error: "no".to_owned(), unknown: false };
    take(&mut progress, failed);
    let json = progress.json(false);
    assert_eq!((&json["done"], &json["failed"], &json["text"], &json["now"]), (&json!(1), &json!(1), &json!("33 %"), &json!([])));
    assert_eq!(progress.plan_json()["text"], "3 changes on 2 hosts");
    let hosts = progress.hosts_json(9);
    assert_eq!((&hosts[0]["name"], &hosts[0]["state"], &hosts[0]["message"]), (&json!("b"), &json!("Failed"), &json!("b/x: no")));
    assert_eq!(progress.host_counts(), (2, 1, 0));
}

#[test]
fn a_second_stage_comes_on_top_of_the_first() {
    let mut progress = RunProgress::default();
    take(&mut progress, EventKind::PlanMade { steps: 1, changes: 1 });
    take(&mut progress, planned("a/x", "a"));
    take(&mut progress, done("a/x", "a"));
    take(&mut progress, EventKind::PlanMade { steps: 4, changes: 3 });
    take(&mut progress, planned("b/x", "b"));
    assert_eq!((progress.done, progress.total, progress.percent(false)), (1, 4, 25));
    assert_eq!(progress.plan_json()["text"], "3 changes on 1 host");
    assert!(!take(&mut progress, EventKind::SecretsReady { made: 1 }));
}

fn failed(step: &str, host: &str) -> EventKind {
    EventKind::StepFailed { step: step.to_owned(), host: host.to_owned(), error: "no".to_owned(), unknown: false }
}

fn run_started() -> EventKind {
    let text = String::new;
    EventKind::RunStarted { v: 1, run: text(), verb: text(), cluster: text(), time: text(), version: text(), who: text(), part: None }
}

/// Done and total of the run and of a host.
fn counts(progress: &RunProgress, host: &str) -> [usize; 4] {
    let of = progress.hosts.get(host).cloned().unwrap_or_default();
    [progress.done, progress.total, of.done, of.total]
}

#[test]
fn a_stage_that_is_done_is_not_the_end() {
    let mut progress = RunProgress::default();
    take(&mut progress, EventKind::PlanMade { steps: 1, changes: 1 });
    assert_eq!(progress.json(false)["text"], "0 %");
    take(&mut progress, planned("a/x", "a"));
    take(&mut progress, done("a/x", "a"));
    assert_eq!((progress.json(false)["percent"].clone(), progress.json(true)["percent"].clone()), (json!(99), json!(100)));
    let mut nothing = RunProgress::default();
    take(&mut nothing, EventKind::PlanMade { steps: 7, changes: 0 });
    assert_eq!((nothing.percent(false), nothing.percent(true)), (0, 100));
}

/// A plan that is made anew is of what is left, on each host as in all.
#[test]
fn what_is_planned_again_is_counted_once() {
    let mut progress = RunProgress::default();
    let plan = |progress: &mut RunProgress, steps: &[&str]| {
        take(progress, EventKind::PlanMade { steps: 9, changes: steps.len() });
        for step in steps {
            take(progress, planned(step, "a"));
        }
    };
    plan(&mut progress, &["a/x", "a/y", "a/z"]);
    // Dropped before anything was begun.
    plan(&mut progress, &["a/x", "a/y", "a/z"]);
    assert_eq!(counts(&progress, "a"), [0, 3, 0, 3]);
    take(&mut progress, done("a/x", "a"));
    take(&mut progress, failed("a/y", "a"));
    assert_eq!(progress.hosts_json(1)[0]["state"], "Failed");
    take(&mut progress, run_started());
    plan(&mut progress, &["a/y", "a/z"]);
    assert_eq!((counts(&progress, "a"), progress.failed), ([1, 3, 1, 3], 0));
    assert_eq!((&progress.hosts_json(1)[0]["state"], progress.hosts_json(1)[0].get("message")), (&json!("Waiting"), None));
    for step in ["a/y", "a/z"] {
        take(&mut progress, started(step, "a"));
        take(&mut progress, done(step, "a"));
    }
    assert_eq!((counts(&progress, "a"), &progress.hosts_json(1)[0]["state"]), ([3, 3, 3, 3], &json!("Done")));
}

#[test]
fn no_more_is_done_than_there_was_to_do() {
    let mut progress = RunProgress::default();
    take(&mut progress, EventKind::PlanMade { steps: 1, changes: 1 });
    take(&mut progress, planned("a/x", "a"));
    for step in ["a/x", "a/x", "a/y"] {
        take(&mut progress, done(step, "a"));
    }
    assert_eq!(counts(&progress, "a"), [3, 3, 3, 3]);
}
