#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "these are tests")]

use std::collections::BTreeMap;
use std::time::Duration;

use kok_crds::model::{HookPlace, OnFailure, Text};
use kok_tasks::bundle::Bundle;
use kok_tasks::facts::Extent;
use kok_tasks::observe::{Nonce, parse};
use kok_tasks::plan::{Inputs, Making, Seen, looks, make};
use kok_tasks::resources::Hook;

use super::*;

const CLUSTER: &str = include_str!("../../../tasks/tests/fixtures/cluster.yaml");
const BUNDLE: &str = include_str!("../../../tasks/tests/fixtures/bundle.json");
const CP1: &[u8] = include_bytes!("../../../tasks/tests/fixtures/answers/bare-cp1.txt");
const WORKER1: &[u8] = include_bytes!("../../../tasks/tests/fixtures/answers/bare-worker1.txt");

/// The plan of one control plane and one worker that answered a probe when they were bare.
fn plan() -> Plan {
    let text: String = CLUSTER.lines().filter(|line| !line.contains("worker2")).map(|line| format!("{line}\n")).collect();
    let cluster = kok_crds::read_cluster("cluster.yaml", &text).unwrap();
    let bundle = Bundle::parse(BUNDLE).unwrap();
    let inputs =
        Inputs { cluster: &cluster, bundle: &bundle, token_id: "kokab2", new_cluster_id: "c1", now_seconds: 1_795_257_889, prune: false };
    let nonce = Nonce::new([0x5a; 16]);
    let mut seen = Seen::default();
    for (host, answer) in [("cp1", CP1), ("worker1", WORKER1)] {
        // The hosts of the recording ran on a machine with cgroup v1.
        let facts = kok_tasks::facts::HostFacts { cgroup_v2: true, ..kok_tasks::facts::parse(&nonce, Extent::Node, answer).unwrap() };
        seen.add_facts(host, facts);
        seen.add_observations(host, parse(&nonce, &looks(&inputs).unwrap()[host], answer).unwrap());
    }
    match make(&inputs, &seen).unwrap() {
        Making::Made(plan) => *plan,
        other => panic!("not everything was looked at: {other:?}"),
    }
}

fn id(text: &str) -> StepId {
    StepId::parse(text).unwrap()
}

/// Everything that can begin now, begun.
fn begin(schedule: &mut Schedule<'_>) -> Vec<Vec<StepId>> {
    let mut begun = Vec::new();
    loop {
        let single = [schedule.next_stream(true, |_| true), schedule.next_wait()].into_iter().flatten().map(|step| vec![step.id.clone()]);
        let mut next: Vec<Vec<StepId>> = single.collect();
        next.push(schedule.next_script().into_iter().map(|step| step.id.clone()).collect());
        next.retain(|batch| !batch.is_empty());
        if next.is_empty() {
            return begun;
        }
        next.iter().flatten().for_each(|id| schedule.set(id, Status::Running));
        begun.extend(next);
    }
}

/// Runs everything that can begin until nothing can, but for one step, which fails.
fn run(schedule: &mut Schedule<'_>, failing: Option<&StepId>) -> Vec<StepId> {
    let mut begun = Vec::new();
    loop {
        let next: Vec<StepId> = begin(schedule).concat();
        if next.is_empty() {
            return begun;
        }
        for id in next {
            begun.push(id.clone());
            if Some(&id) == failing {
                schedule.stop_behind(&id, None);
            } else {
                schedule.set(&id, if schedule.has_its_needs(&id) { Status::Done } else { Status::Pending });
            }
        }
    }
}

#[test]
fn everything_is_begun_once_and_after_what_it_needs() {
    let plan = plan();
    let mut schedule = Schedule::new(&plan);
    let begun = run(&mut schedule, None);
    assert_eq!(begun.len(), plan.changes().count());
    assert_eq!(schedule.pending(), 0);
    assert!(plan.steps().all(|step| schedule.status(&step.id) == Status::Done));
    let place = |id: &StepId| begun.iter().position(|other| other == id);
    for step in &begun {
        for (need, _) in plan.needs(step) {
            assert!(place(&need.id) < place(step), "{step} began before {}", need.id);
        }
    }
}

#[test]
fn what_changes_nothing_is_done_only_after_what_it_needs() {
    let plan = plan();
    let unchanged = plan.steps().find(|step| plan.change(&step.id).is_none() && !plan.needs(&step.id).is_empty());
    let unchanged = unchanged.map(|step| step.id.clone()).unwrap_or_else(|| panic!("the recorded hosts lack nothing"));
    let mut schedule = Schedule::new(&plan);
    assert_eq!(schedule.status(&unchanged), Status::Pending);
    run(&mut schedule, None);
    assert_eq!(schedule.status(&unchanged), Status::Done);
}

#[test]
fn a_failure_stops_what_is_behind_it_and_nothing_else() {
    let plan = plan();
    let failing = id("worker1/container-runtime/service");
    let mut schedule = Schedule::new(&plan);
    run(&mut schedule, Some(&failing));
    let (mut behind, mut next) = (BTreeMap::from([(failing.clone(), ())]), vec![failing.clone()]);
    while let Some(id) = next.pop() {
        next.extend(
            plan.needed_by(&id)
                .into_iter()
                .filter(|(step, _)| behind.insert(step.id.clone(), ()).is_none())
                .map(|(step, _)| step.id.clone()),
        );
    }
    for step in plan.steps() {
        let wanted = if behind.contains_key(&step.id) { Status::Stopped } else { Status::Done };
        assert_eq!(schedule.status(&step.id), wanted, "{}", step.id);
    }
    assert_eq!(schedule.status(&id("worker1/kubelet-join/joined")), Status::Stopped);
    assert_eq!(schedule.status(&id("cp1/control-plane/api-server")), Status::Done);
    assert_eq!(schedule.pending(), 0);
}

#[test]
fn what_is_stopped_is_said_once_and_only_if_it_would_change_something() {
    let plan = plan();
    let mut schedule = Schedule::new(&plan);
    let stopped = schedule.stop_behind(&id("cp1/container-runtime/service"), None);
    assert!(stopped.contains(&id("cp1/control-plane/kubelet")));
    assert!(stopped.iter().all(|id| plan.change(id).is_some()));
    let mut unique = stopped.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), stopped.len());
    assert_eq!(schedule.stop_behind(&id("cp1/control-plane/kubelet"), None), Vec::new());
}

#[test]
fn changes_of_resources_become_one_script_and_operations_stay_alone() {
    let plan = plan();
    let mut schedule = Schedule::new(&plan);
    let (mut fused, mut alone) = (0, 0);
    loop {
        let batches = begin(&mut schedule);
        if batches.is_empty() {
            break;
        }
        for batch in &batches {
            let steps: Vec<&Step> = batch.iter().map(|id| plan.step(id).unwrap()).collect();
            let operations = steps.iter().filter(|step| matches!(step.action, Action::Operation(_))).count();
            assert!(operations == 0 || batch.len() == 1, "{batch:?}");
            assert!(steps.iter().all(|step| step.host == steps[0].host), "{batch:?}");
            (fused, alone) = (fused.max(batch.len()), alone + operations);
        }
        batches.concat().iter().for_each(|id| schedule.set(id, Status::Done));
    }
    assert!(fused >= 5, "at the most {fused} changes share a script");
    assert!(alone >= 5, "{alone} operations");
}

/// Scripts of users may take an hour: whoever wishes the end of a run waits for the one at work, and not for all that its host has.
#[test]
fn hooks_stay_alone() {
    let resource = plan().steps().find(|step| matches!(step.action, Action::Resource(_))).unwrap().clone();
    let hook = Hook {
        name: "a".to_owned(),
        at: HookPlace::BeforePreparation,
        about: vec!["cp1".to_owned()],
        cluster: "c".to_owned(),
        script: Text::new("true"),
        creates: None,
        unless: None,
        timeout: Duration::from_secs(300),
        environment: Vec::new(),
        secrets: Vec::new(),
        on_failure: OnFailure::Stop,
        occasion: String::new(),
        owed: None,
    };
    assert!(!is_alone(&resource));
    let short = Hook { timeout: SHORT_HOOK, ..hook.clone() };
    assert!(!is_alone(&Step { action: Resource::Hook(short).into(), ..resource.clone() }));
    assert!(is_alone(&Step { action: Resource::Hook(hook).into(), ..resource }));
}
