#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::artifact::{Artifact, Supply};
use crate::gate::{Disruption, Need};
use crate::observe::{EtcdMember, KubernetesState, NodeState, UnitState};
use crate::operations::{EndApiServer, KubeletFinalize};
use crate::plan::StepId;
use crate::resources::{Archive, Directory, File, KernelModule, Resource, Unpacked};

fn id(name: &str) -> StepId {
    StepId::new("a", "test", name)
}

fn folder(path: &str) -> Resource {
    Resource::Directory(Directory::new(path.to_owned(), 0o755))
}

fn step(name: &str, resource: Resource) -> Step {
    Step {
        id: id(name),
        host: "a".to_owned(),
        task: "test",
        action: resource.into(),
        deadline: Duration::from_secs(1),
        triggers: Vec::new(),
        gate: None,
    }
}

/// A plan with nothing wrong, in which `one` needs `two`, changed in one respect.
fn plan(change: impl Fn(&mut Step, &mut Step), reason: Reason) -> Plan {
    let (mut one, mut two) = (step("one", folder("/one")), step("two", folder("/two")));
    change(&mut one, &mut two);
    let mut plan = Plan::default();
    plan.add(two).unwrap();
    plan.add(one).unwrap();
    plan.order(&id("one"), &id("two"), reason).unwrap();
    plan
}

fn found(change: impl Fn(&mut Step, &mut Step)) -> Vec<String> {
    lint(&plan(change, Reason::Inside)).iter().map(ToString::to_string).collect()
}

#[test]
fn a_sound_plan_has_no_findings() {
    assert_eq!(found(|_, _| {}), Vec::<String>::new());
}

#[test]
fn a_step_without_a_probe_is_found() {
    let artifact = Artifact { title: "x".to_owned(), path: "x".to_owned(), size: 1, sha256: String::new(), supply: Supply::Sent };
    // An archive of which nothing is put in place could only be unpacked for ever.
    let nothing = Resource::Archive(Archive { artifact, folder: "/x".to_owned(), unpacked: Unpacked::Files(Vec::new()) });
    let found = found(|one, _| one.action = nothing.clone().into());
    assert_eq!(found, ["a/test/one: has no probe, so nobody could tell whether it is done"]);
}

#[test]
fn two_writers_of_one_path_are_found_on_one_host_and_not_on_two() {
    let same = |one: &mut Step| one.action = folder("/two").into();
    assert_eq!(found(|one, _| same(one)), ["a/test/one: writes /two, which a/test/two writes too"]);
    // Of whatever kind they are.
    let file = found(|one, _| one.action = Resource::File(File::text("/two", "x".to_owned())).into());
    assert_eq!(file, ["a/test/one: writes /two, which a/test/two writes too"]);
    let elsewhere = found(|one, _| {
        same(one);
        one.host = "b".to_owned();
    });
    assert_eq!(elsewhere, Vec::<String>::new());
}

#[test]
fn an_edge_without_a_reason_is_found() {
    for nothing in ["", "  "] {
        let findings = lint(&plan(|_, _| {}, Reason::Because(nothing)));
        assert_eq!(findings, [LintFinding { step: "a/test/one".to_owned(), rule: "comes after a/test/two without a reason".to_owned() }]);
    }
}

#[test]
fn triggers_that_are_no_needs_are_found() {
    assert_eq!(found(|one, _| one.triggers.push(id("two"))), Vec::<String>::new());
    assert_eq!(found(|one, _| one.triggers.push(id("three"))), ["a/test/one: is triggered by a/test/three, which is no step of the plan"]);
    assert_eq!(found(|_, two| two.triggers.push(id("one"))), ["a/test/two: is triggered by a/test/one, and could be done before it"]);
}

#[test]
fn steps_without_a_deadline_or_with_the_name_of_another_task_are_found() {
    assert_eq!(found(|one, _| one.deadline = Duration::ZERO), ["a/test/one: has no deadline"]);
    assert_eq!(found(|one, _| one.task = "other"), ["a/test/one: does not have its task other in its name"]);
}

#[test]
fn a_cycle_is_refused_with_the_whole_of_it() {
    let mut plan = plan(|_, _| {}, Reason::Inside);
    plan.add(step("three", Resource::KernelModule(KernelModule { name: "x".to_owned() }))).unwrap();
    plan.order(&id("two"), &id("three"), Reason::Inside).unwrap();
    let refused = plan.order(&id("three"), &id("one"), Reason::Inside).unwrap_err();
    assert_eq!(refused, "a/test/three needs a/test/one, which needs a/test/two, which needs a/test/three");
    let refused = plan.order(&id("one"), &id("one"), Reason::Inside).unwrap_err();
    assert_eq!(refused, "a/test/one needs a/test/one");
}

#[test]
fn unknown_steps_and_names_used_twice_are_refused() {
    let mut plan = plan(|_, _| {}, Reason::Inside);
    assert_eq!(
        plan.order(&id("one"), &id("four"), Reason::Inside).unwrap_err(),
        "a/test/one needs a/test/four, which is no step of the plan"
    );
    assert_eq!(plan.add(step("one", folder("/other"))), Err(id("one")));
}

/// A plan of one step, what it acts on being as said.
fn ungated_with(action: Action, seen: Observations, gate: Option<(Disruption, Need)>) -> Vec<String> {
    let mut all = Seen::default();
    all.add_observations("a", seen);
    let mut plan = Plan::default();
    plan.add(Step { action, gate, ..step("one", folder("/one")) }).unwrap();
    ungated(&plan, &all).iter().map(ToString::to_string).collect()
}

#[test]
fn a_step_that_restarts_what_works_without_asking_the_gate_is_found() {
    let pods = |component| {
        Action::Operation(Operation::StaticPods(StaticPods {
            component,
            configuration: String::new(),
            of_member: None,
            source: String::new(),
            source_alone: None,
        }))
    };
    let unit = |name: &str| Action::Resource(Resource::Unit(Unit { name: name.to_owned(), goal: UnitGoal::Running, reads: Vec::new() }));
    let finalize = Action::Operation(Operation::KubeletFinalize(KubeletFinalize { configuration: String::new() }));
    let active = |name: &str| (name.to_owned(), UnitState { active: "active".to_owned(), ..UnitState::default() });
    let node = ("a".to_owned(), NodeState { ready: true, ..NodeState::default() });
    let kubernetes = KubernetesState::Ready { nodes: [node].into(), objects: BTreeMap::new(), bootstrap_tokens: Vec::new() };
    let works = || Observations {
        etcd: Some(EtcdState::Ready(EtcdMember::default())),
        api_server: Some(ApiServerState::Ready),
        kubernetes: Some(kubernetes.clone()),
        units: [active("kubelet.service"), active("containerd.service")].into(),
        ..Observations::default()
    };
    let cases = [
        (pods(Component::Etcd), "a member of etcd"),
        (unit("etcd.service"), "a member of etcd"),
        (pods(Component::ControlPlane), "an API server"),
        (Action::Operation(Operation::EndApiServer(EndApiServer)), "an API server"),
        (unit("containerd.service"), "containerd below an API server"),
        (finalize, "a kubelet"),
    ];
    for (action, what) in cases {
        let found = format!("a/test/one: restarts {what} that works, and does not ask the gate");
        assert_eq!(ungated_with(action.clone(), works(), None), [found]);
        assert_eq!(ungated_with(action.clone(), Observations::default(), None), Vec::<String>::new(), "nothing works there");
        let gate = Some((Disruption::StopHost { host: "a".to_owned() }, Need::Wanted));
        assert_eq!(ungated_with(action, works(), gate), Vec::<String>::new());
    }
    assert_eq!(ungated_with(unit("chrony.service"), works(), None), Vec::<String>::new());
}
