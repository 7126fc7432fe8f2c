//! Taking workers out of a cluster that goes on.

use std::collections::BTreeSet;

use kok_tasks::change::Verdict;
use kok_tasks::drain::{Cordon, Cordoner, DrainSettings, Pod, PodOwner, Workload};
use kok_tasks::observe::{ApiServerState, Kind, KubernetesState, Look, Metadata, NodeState, Observations, PathState, UnitState};
use kok_tasks::operations::{Operation, RemoveNode};
use kok_tasks::plan::{Leaving, Making, Plan, Refusal, Seen, leave, reset_looks};

use crate::support::shell::script_of;
use crate::support::{good_facts, highly_available, step_id};

/// What each control plane says of its API server; nothing of one that is away.
type Planes<'a> = [(&'a str, ApiServerState)];

fn nodes(names: &[&str]) -> KubernetesState {
    let nodes = names.iter().map(|name| ((*name).to_owned(), NodeState::default())).collect();
    KubernetesState::Ready { nodes, objects: Default::default(), bootstrap_tokens: Vec::new() }
}

/// The plan for these workers, of which those in `ours` have not been reset yet.
fn made(chosen: &[&str], ours: &[&str], planes: &Planes<'_>, kubernetes: &KubernetesState) -> Result<Plan, Vec<Refusal>> {
    made_of(chosen, ours, planes, kubernetes, (&[], false))
}

/// The same with pods, of nodes with whose names theirs begin, and with hosts that may be dead.
fn made_of(
    chosen: &[&str],
    ours: &[&str],
    planes: &Planes<'_>,
    kubernetes: &KubernetesState,
    (pods, dead): (&[Pod], bool),
) -> Result<Plan, Vec<Refusal>> {
    let (cluster, mut seen) = (highly_available(), Seen::default());
    for host in &cluster.hosts {
        let state = planes.iter().find(|(name, _)| *name == host.name).map(|(_, state)| state.clone());
        if state.is_none() && !chosen.contains(&host.name.as_str()) {
            continue;
        }
        let mut facts = good_facts(&host.name, 11);
        facts.cluster = (state.is_some() || ours.contains(&host.name.as_str())).then(|| cluster.name.clone());
        seen.add_facts(&host.name, facts);
        seen.add_observations(&host.name, Observations { api_server: state, ..Observations::default() });
    }
    let chosen: Vec<String> = chosen.iter().map(|name| (*name).to_owned()).collect();
    loop {
        let dead = if dead { chosen.iter().cloned().collect() } else { BTreeSet::new() };
        let wanted = Leaving { hosts: &chosen, dead: &dead, drain: DrainSettings::default(), members: None, even: false };
        match leave(&cluster, &wanted, &seen)? {
            Making::Made(plan) => return Ok(*plan),
            Making::LookFirst(looks) => looks.into_iter().for_each(|(host, looks)| {
                let mut there = Observations::default();
                for look in looks.iter() {
                    match look {
                        Look::Path(path) => drop(there.paths.insert(path, PathState::Present(file()))),
                        Look::Unit(name) => drop(there.units.insert(name, UnitState { active: "active".into(), ..UnitState::default() })),
                        Look::Workload(node) => {
                            let own = pods.iter().filter(|pod| pod.name.starts_with(&node)).cloned().collect();
                            let workload = Workload { pods: [(node.clone(), own)].into(), budgets: Vec::new() };
                            there.merge(Observations { workload: Some(Ok(workload)), ..Observations::default() });
                        }
                        Look::Kubernetes => there.kubernetes = Some(kubernetes.clone()),
                        other => panic!("{other:?}"),
                    }
                }
                seen.add_observations(&host, there);
            }),
            other => panic!("{other:?}"),
        }
    }
}

fn file() -> Metadata {
    Metadata { kind: Kind::File, mode: 0o600, user: 0, group: 0, size: 1, changed_nanoseconds: 0, sha256: None }
}

fn steps(plan: &Plan) -> Vec<(&str, &str)> {
    plan.changes().map(|(step, _)| (step.id.as_str(), step.host.as_str())).collect()
}

#[test]
fn a_worker_goes_and_then_its_node() {
    let planes = [("cp2", ApiServerState::Ready), ("cp3", ApiServerState::NotReady("no".into()))];
    let plan = made(&["worker2"], &["worker2"], &planes, &nodes(&["cp2", "worker1", "worker2"])).unwrap();
    let in_order = [("cordoned", "cp2"), ("reset", "worker2"), ("node", "cp2")].map(|(step, host)| (format!("worker2/reset/{step}"), host));
    assert_eq!(steps(&plan), in_order.each_ref().map(|(step, host)| (step.as_str(), *host)), "there is no pod to be evicted");
    let needs = |step: &str| -> Vec<String> {
        plan.needs(&step_id("worker2", "reset", step)).iter().map(|(need, _)| need.id.to_string()).collect()
    };
    assert_eq!(needs("node"), ["worker2/reset/reset"], "its kubelet would make it again");
    assert_eq!((needs("reset"), needs("drained")), (vec!["worker2/reset/drained".to_owned()], vec!["worker2/reset/cordoned".to_owned()]));
}

#[test]
fn an_interrupted_one_is_finished_and_a_finished_one_has_nothing_to_do() {
    let planes = [("cp1", ApiServerState::Ready)];
    let plan = made(&["worker1", "worker2"], &["worker2"], &planes, &nodes(&["cp1", "worker1"])).unwrap();
    // Nobody drains a host that was taken down already: its kubelet would never say that the pods have ended.
    assert_eq!(steps(&plan), [("worker1/reset/node", "cp1"), ("worker2/reset/reset", "worker2")]);
    assert!(made(&["worker1"], &[], &planes, &nodes(&["cp1"])).unwrap().is_empty());
}

#[test]
fn somebody_has_to_forget_the_node_unless_there_is_no_cluster_yet() {
    let absent = ["cp1", "cp2", "cp3"].map(|name| (name, ApiServerState::Absent));
    let plan = made(&["worker2"], &["worker2"], &absent, &KubernetesState::Absent).unwrap();
    assert_eq!(steps(&plan), [("worker2/reset/reset", "worker2")]);
    let planes = [("cp1", ApiServerState::Absent), ("cp2", ApiServerState::NotReady("x\nrefused".into()))];
    let refusal = made(&["worker2"], &["worker2"], &planes, &KubernetesState::Absent).unwrap_err().remove(0);
    assert_eq!(refusal.because.as_deref(), Some("cp1 has none yet; cp2: refused; cp3 can't be reached"));
}

#[test]
fn a_node_is_forgotten_when_the_cluster_says_so() {
    let operation = Operation::RemoveNode(RemoveNode { node: "worker2".to_owned() });
    let verdict = |state: KubernetesState| operation.diff(&Observations { kubernetes: Some(state), ..Observations::default() });
    assert_eq!(operation.diff(&Observations::default()), Verdict::Unseen);
    assert_eq!((verdict(nodes(&["worker1"])), verdict(KubernetesState::Absent)), (Verdict::Same, Verdict::Same));
    let Verdict::Differs(change) = verdict(nodes(&["worker2"])) else { panic!("it is there") };
    assert!(script_of(&operation.act(&change)).contains("delete node --ignore-not-found --timeout=60s 'worker2' "));
    assert!(matches!(verdict(KubernetesState::NotReady("no".into())), Verdict::Differs(change) if change.assumed));
}

#[test]
fn only_control_planes_are_asked_who_answers() {
    let cluster = highly_available();
    let looks = |host: &str| reset_looks(cluster.host(host).unwrap(), false).iter().collect::<Vec<_>>();
    assert_eq!((looks("cp1"), looks("worker1")), (vec![Look::ApiServer], Vec::new()));
}

fn pod(name: &str) -> Pod {
    Pod { namespace: "shop".to_owned(), name: name.to_owned(), owner: PodOwner::Another, ..Pod::default() }
}

#[test]
fn pods_leave_before_and_those_that_would_be_lost_are_named() {
    let planes = [("cp1", ApiServerState::Ready)];
    let with = |pods: &[Pod]| made_of(&["worker1"], &["worker1"], &planes, &nodes(&["cp1", "worker1"]), (pods, false));
    let plan = with(&[pod("worker1-a"), Pod { owner: PodOwner::DaemonSet, ..pod("worker1-b") }]).unwrap();
    let drained = step_id("worker1", "reset", "drained");
    assert!(plan.change(&drained).unwrap().because.contains("shop/worker1-a"));
    assert!(plan.step(&step_id("worker1", "reset", "cordoned")).unwrap().gate.is_some(), "one worker after the other");
    let lost = [Pod { owner: PodOwner::Nobody, ..pod("worker1-c") }, Pod { has_empty_dir: true, ..pod("worker1-d") }];
    let refusal = with(&lost).unwrap_err().remove(0);
    assert!(refusal.hint.unwrap().ends_with(": --delete-unmanaged --delete-emptydir"));
    let because = refusal.because.unwrap();
    assert!(
        because.contains("shop/worker1-c: no controller") && because.contains("shop/worker1-d: what it has in an emptyDir"),
        "{because}"
    );
}

#[test]
fn one_that_is_dead_is_forgotten_once_its_node_is_silent() {
    let planes = [("cp1", ApiServerState::Ready)];
    let state = |silent: bool| {
        let node = NodeState { silent, ..NodeState::default() };
        KubernetesState::Ready { nodes: [("gone".to_owned(), node)].into(), objects: Default::default(), bootstrap_tokens: Vec::new() }
    };
    let plan = made_of(&["gone"], &[], &planes, &state(true), (&[], true)).unwrap();
    assert_eq!(steps(&plan), [("gone/reset/kept-out", "cp1"), ("gone/reset/node", "cp1")], "it need not be in the file any more");
    let refusal = made_of(&["gone"], &[], &planes, &state(false), (&[], true)).unwrap_err().remove(0);
    assert_eq!(refusal.what, "gone is not dead");
    assert!(made_of(&["other"], &[], &planes, &state(true), (&[], true)).unwrap().is_empty());
}

#[test]
fn a_silent_kubelet_ends_no_pod_and_a_cordon_of_others_stays_theirs() {
    let planes = [("cp1", ApiServerState::Ready)];
    let of = |silent: bool, cordon: Cordon, pods: &[Pod]| {
        let node = NodeState { silent, cordon, ..NodeState::default() };
        let state = KubernetesState::Ready {
            nodes: [("worker1".to_owned(), node)].into(),
            objects: Default::default(),
            bootstrap_tokens: Vec::new(),
        };
        made_of(&["worker1"], &["worker1"], &planes, &state, (pods, false)).unwrap()
    };
    let ending = [Pod { is_leaving: true, ..pod("worker1-a") }];
    let differs = |plan: &Plan, step: &str| plan.change(&step_id("worker1", "reset", step)).is_some();
    assert!(differs(&of(false, Cordon::None, &ending), "drained") && !differs(&of(true, Cordon::None, &ending), "drained"));
    for cordon in [Cordon::Others, Cordon::Ours(Cordoner::Word), Cordon::Ours(Cordoner::Run)] {
        assert!(!differs(&of(false, cordon, &[]), "cordoned"), "{cordon:?}");
    }
}
