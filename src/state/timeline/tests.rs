#![allow(clippy::unwrap_used, reason = "these are tests")]

use super::*;
use crate::state::{Fate, Record, Story};

fn step(name: &str, lane: Lane, needs: &[&str], (began, ended): (u64, u64)) -> StepRecord {
    StepRecord {
        step: name.to_owned(),
        host: name.split('/').next().unwrap().to_owned(),
        task: "t".to_owned(),
        title: name.to_owned(),
        summary: String::new(),
        lane,
        needs: needs.iter().map(|need| (*need).to_owned()).collect(),
        began: Some(began),
        ended: Some(ended),
        fate: Fate::Done,
        said: None,
    }
}

fn record(steps: Vec<StepRecord>) -> Record {
    let story = Story { id: "r".to_owned(), events: Vec::new(), unknown: 0, alive: false };
    let end = steps.iter().filter_map(|step| step.ended).max().unwrap();
    Record { steps, took_milliseconds: end, marks: vec![("planned", 1000), ("verified", 1500)], ..Record::from_story(&story) }
}

/// Two hosts: `a` streams something that its service needs; `b` joins when the service is there.
fn two_hosts() -> Record {
    record(vec![
        step("a/claim", Lane::Script, &[], (2000, 2200)),
        step("a/program", Lane::Stream, &["a/claim"], (2200, 6200)),
        step("a/file", Lane::Script, &["a/claim"], (2200, 2900)),
        // Both by one script, and the second needs the first.
        step("a/unit", Lane::Script, &["a/program"], (6210, 7000)),
        step("a/service", Lane::Script, &["a/unit", "a/file"], (6210, 7000)),
        step("a/ready", Lane::Wait, &["a/service"], (7000, 9000)),
        step("b/claim", Lane::Script, &[], (2000, 2100)),
        step("b/join", Lane::Script, &["a/ready", "b/claim"], (9000, 12000)),
    ])
}

#[test]
fn the_critical_path_goes_through_needs_to_the_first_change() {
    let timeline = Timeline::from_record(&two_hosts());
    let path: Vec<(&str, u64, u64)> =
        timeline.critical_path.iter().map(|link| (link.step.as_str(), link.took_milliseconds, link.waited_milliseconds)).collect();
    assert_eq!(path, [("a/claim", 200, 0), ("a/program", 4000, 0), ("a/service", 790, 10), ("a/ready", 2000, 0), ("b/join", 3000, 0)]);
    assert_eq!(timeline.critical_path.iter().map(|link| link.together).collect::<Vec<_>>(), [1, 1, 2, 1, 1]);
    // Together with what came before the first change it is the whole run but for 500 ms in which nothing happened.
    let sum: u64 = path.iter().map(|(_, took, waited)| took + waited).sum();
    assert_eq!((sum, timeline.changes_milliseconds, timeline.before), (10_000, 10_000, vec![("planned", 1000), ("verified", 500)]));
}

#[test]
fn a_step_that_waits_for_its_turn_stands_behind_what_had_its_lane() {
    let timeline = Timeline::from_record(&record(vec![
        step("a/one", Lane::Stream, &[], (0, 5000)),
        step("a/need", Lane::Script, &[], (0, 1000)),
        step("a/two", Lane::Stream, &["a/need"], (5000, 7000)),
    ]));
    let path: Vec<(&str, bool)> = timeline.critical_path.iter().map(|link| (link.step.as_str(), link.for_its_turn)).collect();
    assert_eq!(path, [("a/one", false), ("a/two", true)]);
}

#[test]
fn the_time_of_hosts_adds_up() {
    let timeline = Timeline::from_record(&two_hosts());
    let told: Vec<_> = timeline
        .hosts
        .iter()
        .map(|host| {
            (host.host.as_str(), host.scripts_milliseconds, host.streams_milliseconds, host.waits_milliseconds, host.idle_milliseconds)
        })
        .collect();
    // Script and stream of `a` overlap by 700 ms.
    assert_eq!(told, [("b", 3100, 0, 0, 6900), ("a", 1690, 4000, 2000, 3010)]);
}

#[test]
fn a_run_that_changed_nothing_has_no_path() {
    let story = Story { id: "r".to_owned(), events: Vec::new(), unknown: 0, alive: false };
    let timeline = Timeline::from_record(&Record::from_story(&story));
    assert!(timeline.critical_path.is_empty() && timeline.hosts.is_empty());
    assert_eq!(timeline.changes_milliseconds, 0);
}
