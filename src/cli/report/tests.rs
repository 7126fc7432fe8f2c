#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use kok_tasks::plan::StepId;

use super::*;

fn failed(host: &str, error: &str) -> StepFailure {
    let step = StepId::parse(&format!("{host}/host/sysctl")).unwrap();
    StepFailure { step, host: host.to_owned(), title: "kernel parameters".to_owned(), error: error.to_owned(), unknown: false }
}

#[test]
fn a_run_that_max_fail_ended_says_so_with_who_failed_and_what_is_left() {
    let outcome = Outcome {
        done: 1,
        failed: vec![failed("w1", "no room"), failed("w2", "no room")],
        blocked: 5,
        stopped: Some("2 hosts have failed (w1, w2), and --max-fail allows 1".to_owned()),
        not_begun: BTreeMap::from([("w2".to_owned(), 1), ("w3".to_owned(), 4)]),
        ..Outcome::default()
    };
    let told: Vec<String> = failures(&outcome, "apply").iter().map(ToString::to_string).collect();
    let [step, run] = told.as_slice() else { panic!("{told:?}") };
    assert!(step.contains("w1/host/sysctl, w2/host/sysctl") && step.contains("no room"), "{step}");
    let because = "2 hosts have failed (w1, w2), and --max-fail allows 1; 1 step is done, 5 not begun: 1 on w2, 4 on w3";
    assert!(run.contains(because), "{run}");
}

#[test]
fn one_step_is_not_several() {
    let outcome = Outcome { failed: vec![failed("w1", "no room")], blocked: 1, ..Outcome::default() };
    let hint = failures(&outcome, "apply").remove(0).hint.unwrap();
    assert!(hint.ends_with("1 step was not begun"), "{hint}");
}

/// What is done for a host on another one is that host's.
#[test]
fn of_a_host_that_was_lost_on_the_way_it_is_said_how_to_do_without_it() {
    let promoted = StepFailure { step: StepId::parse("cp2/etcd/promoted").unwrap(), ..failed("cp1", "cp2 can't be reached") };
    let outcome = |lost: &[&str]| {
        let failed = vec![failed("w1", "no room"), promoted.clone()];
        Outcome { failed, lost: lost.iter().map(|host| (*host).to_owned()).collect(), ..Outcome::default() }
    };
    let hints = |lost: &[&str], verb: &str| {
        let mut hints: Vec<String> = failures(&outcome(lost), verb).into_iter().filter_map(|failure| failure.hint).collect();
        hints.retain(|hint| hint.contains("gone for good"));
        hints.join("\n")
    };
    assert_eq!(hints(&[], "apply"), "");
    assert_eq!(hints(&["cp3"], "apply"), "", "nothing failed for it");
    let said = hints(&["cp2"], "apply");
    assert!(
        said.ends_with("or, if cp2 is gone for good: `kokctl remove -f FILE cp2 --dead`, then take the line out of the file"),
        "{said}"
    );
    let said = hints(&["cp2"], "recover --continue");
    assert!(said.ends_with("or, if cp2 is gone for good: `kokctl recover --continue --lost cp2`"), "{said}");
    assert!(!hints(&["cp2", "w1"], "reset").contains("--dead"));
}
