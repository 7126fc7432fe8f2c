//! From what hosts say to the view.

use std::collections::BTreeMap;

use kok_crds::model::Cluster;

use super::*;
use crate::drain::{Cordon, Cordoner};
use crate::observe::{ApiServerState, EtcdMember, EtcdPeer, EtcdState, KubernetesState, NodeState, Observations};
use crate::plan::Seen;

fn cluster() -> Cluster {
    kok_crds::read_cluster("cluster.yaml", include_str!("../../fixtures/highly-available.yaml")).unwrap()
}

const NAMES: [&str; 3] = ["cp1", "cp2", "cp3"];

fn url(name: &str) -> String {
    member_url(cluster().host(name).unwrap())
}

/// The list of three, as each of them has it.
fn peers() -> Vec<EtcdPeer> {
    let peer = |(place, name): (usize, &str)| EtcdPeer {
        id: id(place),
        name: name.to_owned(),
        peer_url: url(name).replace("2379", "2380"),
        is_started: true,
        ..EtcdPeer::default()
    };
    NAMES.into_iter().enumerate().map(peer).collect()
}

fn says(place: usize) -> EtcdMember {
    EtcdMember {
        cluster_id: "7".to_owned(),
        id: id(place),
        leader: 1,
        has_leader: true,
        version: "3.7.0".to_owned(),
        applied_index: 5_000,
        members: peers(),
        ..EtcdMember::default()
    }
}

/// Three members of which these are as said; the others are well.
fn seen_with(hosts: &[(&str, Option<EtcdState>)]) -> Seen {
    let mut seen = Seen::default();
    for (place, name) in NAMES.into_iter().enumerate() {
        let own = hosts.iter().find(|(other, _)| *other == name);
        let etcd = own.map_or_else(|| Some(EtcdState::Ready(says(place))), |(_, state)| state.clone());
        seen.add_observations(name, Observations { etcd, ..Observations::default() });
    }
    seen
}

fn hear(seen: &mut Seen, on: &str, about: &str, said: &str) {
    let etcd_peers = BTreeMap::from([(url(about), said.to_owned())]);
    seen.add_observations(on, Observations { etcd_peers, ..Observations::default() });
}

fn states(seen: &Seen) -> Vec<MemberState> {
    View::from_seen(&cluster(), seen).members.iter().map(|member| member.state).collect()
}

fn silent() -> Option<EtcdState> {
    Some(EtcdState::NotReady("connection refused".to_owned()))
}

use MemberState::{Alarmed, Dead, Doubtful, Healthy, Unstarted};

#[test]
fn members_that_answer_are_healthy_and_one_leads() {
    let view = View::from_seen(&cluster(), &seen_with(&[]));
    assert_eq!(view.lists, Lists::Agree);
    assert_eq!(view.members.iter().map(|member| member.host.as_deref().unwrap()).collect::<Vec<_>>(), NAMES);
    assert_eq!(
        view.members.iter().map(|member| (member.state, member.leader)).collect::<Vec<_>>(),
        [(Healthy, true), (Healthy, false), (Healthy, false)]
    );
    assert_eq!(view.members[0].version.as_ref().unwrap().to_string(), "3.7.0");
}

#[test]
fn one_is_dead_by_two_viewpoints_only() {
    for (own, is_away) in [(silent(), false), (Some(EtcdState::Absent), false), (None, true)] {
        let mut seen = seen_with(&[("cp3", own)]);
        if is_away {
            seen.add_unreachable("cp3");
        }
        assert_eq!(states(&seen), [Healthy, Healthy, Doubtful], "nobody else was asked");
        let mut reached = seen.clone();
        hear(&mut reached, "cp1", "cp3", "healthy");
        assert_eq!(states(&reached), [Healthy, Healthy, Doubtful], "one viewpoint says that it works");
        hear(&mut seen, "cp1", "cp3", "connection refused");
        assert_eq!(states(&seen), [Healthy, Healthy, Dead]);
    }
    // What one without a leader says is no viewpoint.
    let alone = EtcdMember { has_leader: false, leader: 0, ..says(0) };
    let mut seen = seen_with(&[("cp1", Some(EtcdState::Ready(alone))), ("cp2", silent()), ("cp3", silent())]);
    hear(&mut seen, "cp1", "cp3", "connection refused");
    assert_eq!(states(&seen), [Doubtful; 3]);
}

#[test]
fn a_host_that_is_no_part_of_the_run_is_known_by_what_others_say_of_it() {
    let mut seen = seen_with(&[("cp3", None)]);
    assert_eq!(states(&seen), [Healthy, Healthy, Doubtful]);
    hear(&mut seen, "cp1", "cp3", "healthy");
    assert_eq!(states(&seen), [Healthy; 3]);
    hear(&mut seen, "cp1", "cp3", "connection refused");
    assert_eq!(states(&seen), [Healthy, Healthy, Doubtful], "one viewpoint");
}

#[test]
fn alarms_are_of_the_member_that_they_name() {
    let mut with = says(0);
    with.errors = vec!["memberID:2 alarm:NOSPACE ".to_owned()];
    let state = |member: &EtcdMember| states(&seen_with(&[("cp1", Some(EtcdState::Ready(member.clone())))]));
    assert_eq!(state(&with), [Healthy, Alarmed(EtcdAlarm::NoSpace), Healthy]);
    with.errors = vec!["alarm:CORRUPT".to_owned()];
    assert_eq!(state(&with), [Alarmed(EtcdAlarm::Corrupt), Healthy, Healthy]);
    // A number that is none of etcd's.
    with.errors = vec![format!("memberID:{} alarm:CORRUPT", "9".repeat(40))];
    assert_eq!(state(&with), [Alarmed(EtcdAlarm::Corrupt), Healthy, Healthy]);
}

#[test]
fn lists_that_differ_and_other_clusters_are_seen() {
    let mut other = says(1);
    other.members.pop();
    let lists = |member: EtcdMember| View::from_seen(&cluster(), &seen_with(&[("cp2", Some(EtcdState::Ready(member)))])).lists;
    assert_eq!(lists(other), Lists::Differ(NAMES.map(str::to_owned).into()));
    assert_eq!(lists(EtcdMember { cluster_id: "8".to_owned(), ..says(1) }), Lists::Differ(NAMES.map(str::to_owned).into()));
}

#[test]
fn learners_their_lag_and_members_that_never_started_are_seen() {
    let list = |is_started: bool| {
        let mut list = peers();
        (list[2].is_learner, list[2].is_started) = (true, is_started);
        list
    };
    let well = |place: usize, is_started: bool| Some(EtcdState::Ready(EtcdMember { members: list(is_started), ..says(place) }));
    let learner = EtcdMember { is_learner: true, applied_index: 3_000, members: list(true), ..says(2) };
    let seen = seen_with(&[("cp1", well(0, true)), ("cp2", well(1, true)), ("cp3", Some(EtcdState::Ready(learner)))]);
    let view = View::from_seen(&cluster(), &seen);
    assert_eq!((view.members[2].learner, view.members[2].behind, view.members[2].state), (true, 2_000, Healthy));
    let seen = seen_with(&[("cp1", well(0, false)), ("cp2", well(1, false)), ("cp3", Some(EtcdState::Absent))]);
    assert_eq!(states(&seen), [Healthy, Healthy, Unstarted]);
}

/// It may be started anew; and if it is gone for good, its member never works.
#[test]
fn a_learner_whose_host_is_away_is_waited_for_no_longer_than_a_host_is() {
    let mut list = peers();
    list[2].is_learner = true;
    let well = |place: usize| Some(EtcdState::Ready(EtcdMember { members: list.clone(), ..says(place) }));
    let promote = Disruption::Promote { host: "cp3".to_owned() };
    let ruling = |seen: &Seen| gate(&promote, Need::Wanted, &View::from_seen(&cluster(), seen));
    let starting = seen_with(&[("cp1", well(0)), ("cp2", well(1)), ("cp3", silent())]);
    let Ruling::Wait(cause) = ruling(&starting) else { panic!("it may come up") };
    assert_eq!((cause.patience(), cause), (None, Cause::NotWell("cp3".to_owned())));
    let mut away = seen_with(&[("cp1", well(0)), ("cp2", well(1)), ("cp3", None)]);
    away.add_unreachable("cp3");
    let Ruling::Wait(cause) = ruling(&away) else { panic!("it may come back") };
    assert_eq!(cause.patience().map(|patience| patience.as_secs()), Some(120));
    assert_eq!(cause.to_string(), "cp3, whose member is to get a vote, can't be reached");
    assert!(cause.hint().contains("`kokctl remove -f FILE cp3 --dead`"), "{}", cause.hint());
}

#[test]
fn before_there_is_a_list_nothing_votes() {
    let seen = seen_with(&[("cp1", silent()), ("cp2", Some(EtcdState::Absent)), ("cp3", silent())]);
    let view = View::from_seen(&cluster(), &seen);
    assert_eq!(view.members.len(), 2);
    for name in NAMES {
        assert_eq!(gate(&Disruption::RestartMember { host: name.to_owned() }, Need::Repair, &view), Ruling::Allow);
    }
}

#[test]
fn api_servers_count_by_their_own_word_and_by_that_of_others() {
    let mut seen = Seen::default();
    let at = |name: &str| api_server_url(&cluster(), cluster().host(name).unwrap());
    let api_endpoints = BTreeMap::from([(at("cp2"), ApiServerState::Ready), (at("cp3"), ApiServerState::NotReady("refused".to_owned()))]);
    seen.add_observations("cp1", Observations { api_server: Some(ApiServerState::Ready), api_endpoints, ..Observations::default() });
    let ready: Vec<bool> = View::from_seen(&cluster(), &seen).planes.iter().map(|plane| plane.ready).collect();
    assert_eq!(ready, [true, true, false]);
}

#[test]
fn nodes_are_those_of_the_first_api_server_that_answers() {
    let mut seen = Seen::default();
    let node = |ready: bool| NodeState { ready, ..NodeState::default() };
    let nodes =
        [("cp1", true), ("worker1", true), ("worker2", true), ("stranger", false)].map(|(name, ready)| (name.to_owned(), node(ready)));
    let kubernetes = KubernetesState::Ready { nodes: nodes.into(), objects: BTreeMap::new(), bootstrap_tokens: Vec::new() };
    let say = |kubernetes: KubernetesState| Observations { kubernetes: Some(kubernetes), ..Observations::default() };
    seen.add_observations("cp1", say(KubernetesState::NotReady("refused".to_owned())));
    assert_eq!(View::from_seen(&cluster(), &seen).nodes, []);
    seen.add_observations("cp2", say(kubernetes));
    seen.add_unreachable("worker2");
    let view = View::from_seen(&cluster(), &seen);
    let lives: Vec<(&str, bool)> = view.nodes.iter().map(|node| (node.host.as_str(), node.available)).collect();
    assert_eq!(lives, [("cp1", true), ("worker1", true), ("worker2", false)], "unreachable is unavailable");
    let availability = |cordon: Cordon| {
        let node = NodeState { ready: true, cordon, ..NodeState::default() };
        let nodes = [("worker1".to_owned(), node)].into();
        let mut seen = Seen::default();
        seen.add_observations("cp1", say(KubernetesState::Ready { nodes, objects: BTreeMap::new(), bootstrap_tokens: Vec::new() }));
        View::from_seen(&cluster(), &seen).nodes[0].available
    };
    assert!(!availability(Cordon::Ours(Cordoner::Run)), "a run has taken it away, and may do more there");
    assert!([Cordon::None, Cordon::Others, Cordon::Ours(Cordoner::Word)].into_iter().all(availability));
}

#[test]
fn no_more_is_looked_at_than_is_needed() {
    let cluster = cluster();
    let restart = Disruption::RestartMember { host: "cp2".to_owned() };
    let hosts = |looks: BTreeMap<String, crate::observe::Looks>| looks.into_keys().collect::<Vec<_>>();
    assert_eq!(hosts(first_looks(&cluster, &[&restart], &|_| true)), NAMES);
    assert_eq!(hosts(first_looks(&cluster, &[&restart], &|host| host == "cp2")), ["cp2"], "of a part, the others are asked about");
    let api_server = Disruption::RestartApiServer { host: "cp2".to_owned() };
    assert_eq!(hosts(first_looks(&cluster, &[&api_server], &|_| true)), ["cp2"]);
    let kubelet = Disruption::RestartKubelet { host: "worker1".to_owned() };
    assert_eq!(hosts(first_looks(&cluster, &[&kubelet, &kubelet], &|_| true)), ["cp1"]);
    assert_eq!(further_looks(&cluster, &[&restart, &api_server], &seen_with(&[]), &|_| true), BTreeMap::new());
    let seen = seen_with(&[("cp1", silent())]);
    assert_eq!(hosts(further_looks(&cluster, &[&restart], &seen, &|_| true)), ["cp2"], "the first that is healthy");
    let mut seen = Seen::default();
    seen.add_unreachable("cp1");
    assert_eq!(hosts(further_looks(&cluster, &[&kubelet], &seen, &|_| true)), ["cp2"], "the next API server");
}

/// What one disruption asks of a host does not take the place of what another one asks.
#[test]
fn members_and_nodes_are_looked_at_together() {
    let ops = [Disruption::RestartMember { host: "cp2".to_owned() }, Disruption::DrainWorker { host: "worker1".to_owned() }];
    let ops: Vec<&Disruption> = ops.iter().collect();
    let first = first_looks(&cluster(), &ops, &|_| true);
    let of_cp1: Vec<_> = first["cp1"].iter().collect();
    assert!(of_cp1.contains(&crate::observe::Look::Etcd) && of_cp1.contains(&crate::observe::Look::Kubernetes), "{of_cp1:?}");
}
