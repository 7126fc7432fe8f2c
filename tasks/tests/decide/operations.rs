//! When operations are done, in every state that means something.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kok_tasks::change::Verdict;
use kok_tasks::digest::sha256;
use kok_tasks::observe::{
    ApiServerState, BootstrapTokenState, EtcdMember, EtcdPeer, EtcdState, Kind, KubernetesObject, KubernetesState, Metadata, NodeState,
    Observations, PathState, UnitState,
};
use kok_tasks::operations::{
    ApiServerReady, BootstrapToken, ControllersRun, EtcdMemberReady, KubeletStart, KubeletStays, LoadBalancersReady, NodesReady, Operation,
    RemoveTokens, StaticPodsSettled, WorkloadReady,
};
use kok_tasks::plan::{Action, Step, StepId};
use serde_json::{Value, json};

use crate::support::world::World;

pub(crate) fn diff_text(operation: &Operation, seen: &Observations) -> String {
    match operation.diff(seen) {
        Verdict::Same => "same".to_owned(),
        Verdict::Unseen => "unseen".to_owned(),
        Verdict::Differs(change) => change.because,
    }
}

pub(crate) fn put(seen: &mut Observations, path: &str, content: Option<&str>) {
    let found = |content: &str| Metadata {
        kind: Kind::File,
        mode: 0o600,
        user: 0,
        group: 0,
        size: 0,
        changed_nanoseconds: 5_000_000_000,
        sha256: Some(sha256(content.as_bytes())),
    };
    seen.paths.insert(path.to_owned(), content.map_or(PathState::Missing, |content| PathState::Present(found(content))));
}

pub(crate) fn keep(seen: &mut Observations, path: &str, content: &str) {
    put(seen, path, Some(content));
    seen.contents.insert(path.to_owned(), content.as_bytes().to_vec());
}

#[test]
fn a_kubelet_runs_with_what_is_written() {
    let files = ["/var/lib/kubelet/config.yaml", "/var/lib/kubelet/kubeadm-flags.env"];
    let operation = Operation::KubeletStart(KubeletStart {
        configuration: "/c".into(),
        source: "s".into(),
        source_alone: None,
        reads: vec!["/usr/local/bin/kubelet".into()],
        ends_member: false,
    });
    let seen = |active: &str, started_microseconds: u64| {
        let mut seen = Observations { monotonic_microseconds: 10_000_000, clock_nanoseconds: 10_000_000_000, ..Observations::default() };
        files.iter().chain(&["/usr/local/bin/kubelet"]).for_each(|path| put(&mut seen, path, Some("x")));
        let lines: String = files.iter().map(|path| format!("{}  {path}\n", sha256(b"x"))).collect();
        keep(&mut seen, "/var/lib/kokctl/made/kubelet", &format!("s  configuration\n{lines}"));
        seen.units.insert("kubelet.service".into(), UnitState { active: active.into(), started_microseconds, ..UnitState::default() });
        seen
    };
    assert_eq!(diff_text(&operation, &seen("active", 6_000_000)), "same");
    assert_eq!(diff_text(&operation, &seen("activating", 6_000_000)), "same", "systemd starts it");
    assert_eq!(diff_text(&operation, &seen("failed", 6_000_000)), "kubelet.service is failed");
    assert_eq!(diff_text(&operation, &seen("active", 4_000_000)), "/usr/local/bin/kubelet changed after kubelet.service was started");
}

/// Neither one that ends at once is taken for one that runs, nor one that the kubelet has not started yet for one that needs nothing.
#[test]
fn controllers_run_when_both_have_got_over_their_start() {
    let of = |programs: &[(&str, i128)]| {
        let programs = programs.iter().map(|(name, seconds)| ((*name).to_owned(), seconds * 1_000_000_000)).collect();
        let seen = Observations { programs: Some(programs), clock_nanoseconds: 10_000_000_000, ..Observations::default() };
        diff_text(&Operation::ControllersRun(ControllersRun), &seen)
    };
    let (manager, scheduler) = ("kube-controller-manager", "kube-scheduler");
    assert_eq!(of(&[(manager, 7), (scheduler, 2)]), "same");
    assert_eq!(of(&[(manager, 7), (scheduler, 8)]), "kube-scheduler was started just now");
    assert_eq!(of(&[(scheduler, 2)]), "kube-controller-manager does not run");
    assert_eq!(of(&[(manager, 2), ("kube-apiserver", 2)]), "kube-scheduler does not run");
}

/// A node says that it is Ready before the new kubelet has made its static pods anew, and old and new ones run beside each other for a moment.
#[test]
fn static_pods_are_settled_when_the_new_kubelet_has_made_them_anew_or_does_not() {
    let settled = |with_etcd| StaticPodsSettled { was_started_microseconds: Some(1_000_000), with_etcd };
    let at = |kubelet_seconds: u64, now_seconds: u64, programs: &[(&str, u64)]| {
        let started_microseconds = kubelet_seconds * 1_000_000;
        let unit = UnitState { active: "active".into(), started_microseconds, ..UnitState::default() };
        let nanoseconds = |seconds: u64| i128::from(seconds) * 1_000_000_000;
        Observations {
            units: [("kubelet.service".to_owned(), unit)].into(),
            programs: Some(programs.iter().map(|(name, seconds)| ((*name).to_owned(), nanoseconds(*seconds))).collect()),
            monotonic_microseconds: now_seconds * 1_000_000,
            clock_nanoseconds: nanoseconds(now_seconds),
            api_server: Some(ApiServerState::Ready),
            ..Observations::default()
        }
    };
    let (server, manager, scheduler) = ("kube-apiserver", "kube-controller-manager", "kube-scheduler");
    let of = |seen: &Observations| diff_text(&Operation::StaticPodsSettled(settled(false)), seen);
    let old = [(server, 5), (manager, 5), (scheduler, 5)];
    assert_eq!(of(&at(10, 14, &old)), "the new kubelet may still make kube-apiserver anew");
    assert_eq!(of(&at(10, 40, &old)), "same", "one that knows them makes nothing anew");
    assert_eq!(of(&at(1, 14, &old)), "same", "the kubelet from before does not either");
    assert_eq!(of(&at(10, 15, &[(server, 13), (manager, 12), (scheduler, 12)])), "kube-apiserver was started just now");
    assert_eq!(of(&at(10, 16, &[(server, 13), (manager, 12), (scheduler, 5)])), "the new kubelet may still make kube-scheduler anew");
    assert_eq!(of(&at(10, 16, &[(server, 13), (manager, 12)])), "kube-scheduler does not run");
    let new = at(10, 16, &[(server, 13), (manager, 12), (scheduler, 12)]);
    assert_eq!(of(&new), "same");
    let away = Observations { api_server: Some(ApiServerState::NotReady("[-]etcd failed".into())), ..new.clone() };
    assert_eq!(of(&away), "the API server is not ready yet: etcd");
    let with_etcd = |seen: &Observations| diff_text(&Operation::StaticPodsSettled(settled(true)), seen);
    assert_eq!(with_etcd(&new), "etcd does not run");
}

#[test]
fn a_kubelet_goes_on_when_it_has_got_over_its_start() {
    let stays = Operation::KubeletStays(KubeletStays { was_started_microseconds: Some(8_500_000), for_at_least: Duration::ZERO });
    let again = |active: &str, started_microseconds: u64, restarts: u64| {
        let unit = UnitState { active: active.into(), started_microseconds, restarts, ..UnitState::default() };
        let units = [("kubelet.service".to_owned(), unit)].into();
        diff_text(&stays, &Observations { units, monotonic_microseconds: 10_000_000, ..Observations::default() })
    };
    let of = |active: &str, started_microseconds: u64| again(active, started_microseconds, 0);
    assert_eq!(of("active", 7_000_000), "same");
    assert_eq!(of("active", 8_000_000), "the kubelet was started just now");
    assert_eq!(of("activating", 1), "the kubelet is activating; `journalctl -u kubelet` on the host says why");
    assert_eq!(again("active", 7_000_000, 3), "same", "it was started when containerd was not there yet");
    // Whenever it is looked at, dead or for a moment alive.
    let ends = "the kubelet ends after its start, and systemd starts it again; `journalctl -u kubelet` on the host says why";
    assert_eq!((again("active", 9_900_000, 1).as_str(), again("activating", 9_900_000, 1).as_str()), (ends, ends));
    // What was started just before the run is none of its matters, if it does not end again and again.
    assert_eq!((of("active", 8_500_000).as_str(), again("active", 8_500_000, 1).as_str()), ("same", ends));
    assert_eq!(diff_text(&stays, &Observations::default()), "unseen");
}

#[test]
fn what_keeps_an_api_server_away_is_told_and_does_not_change_from_look_to_look() {
    let said = |active: &str, started_microseconds: u64, restarts: u64| {
        let unit = UnitState { active: active.into(), started_microseconds, restarts, ..UnitState::default() };
        let units = [("kubelet.service".to_owned(), unit)].into();
        let api_server = Some(ApiServerState::NotReady("refused".to_owned()));
        diff_text(
            &Operation::ApiServerReady(ApiServerReady::default()),
            &Observations { units, api_server, monotonic_microseconds: 10_000_000, ..Observations::default() },
        )
    };
    let ends = "the kubelet ends after its start, and systemd starts it again; `journalctl -u kubelet` on the host says why";
    assert_eq!([said("activating", 9_900_000, 2), said("active", 9_900_000, 2)], [ends, ends]);
    assert_eq!(said("active", 1_000_000, 2), "the API server does not answer: refused", "what it got over once is no cause");
    assert_eq!(said("failed", 0, 0), "the kubelet is failed and can't start it; `journalctl -u kubelet` on the host says why");
}

pub(crate) fn ready(objects: &[(&str, Value)], tokens: &[&str]) -> Observations {
    let node = |ready| NodeState {
        uid: "u".into(),
        kubelet_version: "v1.37.1".into(),
        ready,
        message: "no network".into(),
        said_at_seconds: Some(77),
        ..NodeState::default()
    };
    let state = KubernetesState::Ready {
        nodes: [("a".to_owned(), node(true)), ("b".to_owned(), node(false))].into(),
        objects: objects.iter().map(|(key, object)| ((*key).to_owned(), KubernetesObject(object.clone()))).collect::<BTreeMap<_, _>>(),
        bootstrap_tokens: tokens.iter().map(|name| BootstrapTokenState { name: (*name).to_owned(), ends_seconds: None }).collect(),
    };
    with(state)
}

pub(crate) fn with(state: KubernetesState) -> Observations {
    let mut seen = Observations { kubernetes: Some(state), ..Observations::default() };
    seen.units.insert("kubelet.service".into(), UnitState { active: "active".into(), ..UnitState::default() });
    seen
}

#[test]
fn the_api_server_is_ready_when_it_says_so() {
    let operation = Operation::ApiServerReady(ApiServerReady::default());
    assert_eq!(diff_text(&operation, &Observations::default()), "unseen");
    let with = |state| Observations { api_server: Some(state), ..with(KubernetesState::Absent) };
    assert_eq!(diff_text(&operation, &with(ApiServerState::Ready)), "same");
    assert_ne!(diff_text(&operation, &with(ApiServerState::Absent)), "same");
    let refused = with(ApiServerState::NotReady("connection refused".into()));
    assert!(diff_text(&operation, &refused).contains("connection refused"));
    let mut failed = refused;
    failed.units.get_mut("kubelet.service").unwrap().active = "failed".into();
    assert!(diff_text(&operation, &failed).starts_with("the kubelet is failed"));
}

/// Where no cluster is yet, all is known; where one does not answer, nothing is but that.
#[test]
fn what_could_not_be_asked_is_assumed() {
    let assumed = |operation: Operation, state: KubernetesState| match operation.diff(&with(state)) {
        Verdict::Differs(change) => change.assumed,
        other => panic!("{other:?}"),
    };
    let token = || {
        Operation::BootstrapToken(BootstrapToken {
            host: "cp1".into(),
            id: "kokab2".into(),
            needed: true,
            kubelet_client: false,
            server: None,
        })
    };
    assert!(!assumed(token(), KubernetesState::Absent));
    assert!(assumed(token(), KubernetesState::NotReady("connection refused".into())));
    assert!(assumed(Operation::RemoveTokens(RemoveTokens), KubernetesState::Unanswered("Forbidden".into())));
}

/// A member of three that works.
fn member() -> EtcdMember {
    let peer = |name: &str| EtcdPeer { name: name.to_owned(), is_started: true, ..EtcdPeer::default() };
    let members = ["cp1", "cp2", "cp3"].map(peer).into();
    EtcdMember { cluster_id: "7".into(), version: "3.7.0".into(), has_leader: true, members, ..EtcdMember::default() }
}

#[test]
fn a_member_of_etcd_is_ready_with_all_others_and_a_vote() {
    let members = ["cp1", "cp2", "cp3"].map(str::to_owned).into();
    let operation = Operation::EtcdMemberReady(EtcdMemberReady { version: "3.7.0".into(), members, joining: Vec::new() });
    let of = |state| diff_text(&operation, &Observations { etcd: Some(state), ..Observations::default() });
    assert_eq!(diff_text(&operation, &Observations::default()), "unseen");
    assert_eq!(of(EtcdState::Absent), "there is no etcd yet");
    assert_eq!(of(EtcdState::NotReady("x\nconnection refused".into())), "etcd does not answer: connection refused");
    let with = |change: &dyn Fn(&mut EtcdMember)| {
        let mut member = member();
        change(&mut member);
        of(EtcdState::Ready(member))
    };
    assert_eq!(with(&|_| ()), "same");
    assert!(with(&|member| member.has_leader = false).contains("not elected a leader"));
    assert!(with(&|member| member.is_learner = true).contains("no vote"));
    assert_eq!(with(&|member| member.errors.push("NOSPACE".into())), "etcd complains: NOSPACE");
    assert_eq!(with(&|member| member.version = "3.6.8".into()), "it runs etcd 3.6.8, and the cluster is to have 3.7.0");
    assert_eq!(with(&|member| drop(member.members.pop())), "its list lacks cp3");
    assert_eq!(with(&|member| member.members[2].is_started = false), "the member cp3 was never started");
    let other = |member: &mut EtcdMember| member.members.push(EtcdPeer { name: "old".into(), is_started: true, ..EtcdPeer::default() });
    assert_eq!(with(&other), "its list has 4 members, and the cluster 3");
}

#[test]
fn load_balancers_are_ready_on_every_node_that_should_have_one() {
    let operation = Operation::LoadBalancersReady(LoadBalancersReady { nodes: vec!["w1".into(), "w2".into()] });
    let of = |found: &[(&str, bool)]| {
        let load_balancers = Some(found.iter().map(|(node, ready)| ((*node).to_owned(), *ready)).collect());
        diff_text(&operation, &Observations { api_server: Some(ApiServerState::Ready), load_balancers, ..Observations::default() })
    };
    assert_eq!(of(&[("w1", true), ("w2", true), ("w3", false)]), "same");
    assert_eq!(of(&[("w1", true)]), "node w2 has no load balancer");
    assert_eq!(of(&[("w1", false), ("w2", true)]), "the load balancer of node w1 is not ready");
    let away = Observations { api_server: Some(ApiServerState::NotReady("refused".into())), ..Observations::default() };
    assert_eq!(diff_text(&operation, &away), "the API server does not answer yet");
}

#[test]
fn nodes_and_workloads_are_ready_when_all_are() {
    let nodes = |names: &[&str], version: &str| {
        Operation::NodesReady(NodesReady { versions: names.iter().map(|name| ((*name).to_owned(), version.to_owned())).collect() })
    };
    assert_eq!(diff_text(&nodes(&["a"], "1.37.1"), &ready(&[], &[])), "same");
    assert_eq!(diff_text(&nodes(&["a", "b"], "1.37.1"), &ready(&[], &[])), "node b is not Ready: no network");
    assert_eq!(diff_text(&nodes(&["c"], "1.37.1"), &ready(&[], &[])), "node c does not exist");
    assert_eq!(diff_text(&nodes(&["a"], "1.37.2"), &ready(&[], &[])), "the kubelet of node a is v1.37.1");
    let started =
        |name: &str, nanoseconds: i128| Observations { kubelets_started: [(name.to_owned(), nanoseconds)].into(), ..ready(&[], &[]) };
    let second = 1_000_000_000;
    let before = "the kubelet of node a has not said that it is Ready since it was started";
    for (name, at, is) in [("a", 78 * second, before), ("a", 78 * second - 1, "same"), ("a", 7, "same"), ("b", 78 * second, "same")] {
        assert_eq!(diff_text(&nodes(&["a"], "1.37.1"), &started(name, at)), is, "{name} {at}");
    }
    let daemon = Operation::WorkloadReady(WorkloadReady { kind: "DaemonSet", namespace: "n", name: "d", at_least: 2 });
    let status = |desired: u64, updated: u64, available: u64, observed: u64| {
        ready(
            &[(
                "DaemonSet/n/d",
                json!({"metadata": {"generation": 3}, "status": {"desiredNumberScheduled": desired, "updatedNumberScheduled": updated, "numberAvailable": available, "observedGeneration": observed}}),
            )],
            &[],
        )
    };
    assert_eq!(diff_text(&daemon, &status(2, 2, 2, 3)), "same");
    assert_ne!(diff_text(&daemon, &status(1, 1, 1, 3)), "same", "a daemon set that does not know all nodes is taken at its word");
    assert_ne!(diff_text(&daemon, &status(2, 2, 2, 2)), "same", "the status is of an older generation");
    assert_ne!(diff_text(&daemon, &status(2, 1, 2, 3)), "same", "old pods count");
    let mut all_ready = status(3, 3, 2, 3);
    if let Some(KubernetesState::Ready { nodes, .. }) = &mut all_ready.kubernetes {
        nodes.values_mut().for_each(|node| node.ready = true);
    }
    assert_ne!(diff_text(&daemon, &all_ready), "same", "a pod is missing on a node that is Ready");
    assert_eq!(diff_text(&daemon, &status(3, 3, 2, 3)), "same", "node b is away, and the file has two others");
    for (desired, updated, available) in [(4, 4, 2), (3, 1, 2), (3, 3, 1), (2, 2, 1)] {
        assert_ne!(
            diff_text(&daemon, &status(desired, updated, available, 3)),
            "same",
            "{desired} {updated} {available}: only one is away"
        );
    }
    assert_eq!(diff_text(&daemon, &ready(&[], &[])), "it does not exist");
}

#[test]
fn a_file_that_is_gone_has_no_content() {
    let mut seen = Observations::default();
    keep(&mut seen, "/f", "text");
    let mut later = Observations::default();
    put(&mut later, "/f", None);
    seen.merge(later);
    assert_eq!(seen.contents.get("/f"), None);
}

/// What an operation says of itself reaches the plan: a function that could not be seen from where it is called would be passed over in silence.
#[test]
fn what_operations_write_and_how_long_they_last_is_known() {
    let plan = World::bare().plan();
    let operations = || plan.steps().filter(|step| matches!(step.action, Action::Operation(_)));
    let written: BTreeSet<String> = operations().flat_map(Step::writes).collect();
    for path in ["/etc/kubernetes/pki", "/etc/kubernetes/manifests/etcd.yaml", "/etc/kubernetes/manifests/kube-apiserver.yaml"] {
        assert!(written.contains(path), "{path} is not in {written:?}");
    }
    assert!(written.iter().any(|path| path.contains("kubelet")), "{written:?}");
    let lasting: Vec<&StepId> = operations().filter(|step| step.lasts().is_some()).map(|step| &step.id).collect();
    assert!(matches!(lasting.as_slice(), [token] if token.name() == "bootstrap-token"), "{lasting:?}");
    assert!(operations().any(|step| !step.secret_files().is_empty()));
}
