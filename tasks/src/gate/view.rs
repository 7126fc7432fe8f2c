//! The cluster as it is now, for the gate: what answers, who leads, which nodes are there.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use kok_crds::model::{Cluster, Host};
use semver::Version;

use super::Disruption;
use crate::ETCD_CLIENT_PORT;
use crate::membership::{self, peer_url};
use crate::observe::{ApiServerState, ETCD_HEALTHY, EtcdAlarm, EtcdMember, EtcdPeer, EtcdState, KubernetesState, version_of};
use crate::plan::Seen;

/// How many of the workers may be away at a time: as the file says, or a fifth; one at least. Pods of a node whose kubelet was started anew are taken
/// for not ready for some seconds, so a Service would lose all of them at once.
#[must_use]
pub fn workers_at_a_time(cluster: &Cluster) -> usize {
    cluster.settings.serial.count_of(cluster.nodes().filter(|host| !host.roles.control_plane).count())
}

/// The cluster as it is now. What nobody has looked at is not in it, or is doubtful.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The members of etcd, of all lists together.
    pub members: Vec<Member>,
    /// Whether they know the same members.
    pub lists: Lists,
    /// The API servers.
    pub planes: Vec<Plane>,
    /// The nodes, but for those that an upgrade leaves out; none if no API server has said which there are.
    pub nodes: Vec<NodeLife>,
    /// How many workers may be away at a time.
    pub serial: usize,
    /// What this run disturbs already.
    pub under_way: Vec<Disruption>,
}

impl View {
    /// Whether this run disturbs the node of a host.
    pub(super) fn disturbs_node(&self, host: &str) -> bool {
        let on =
            |op: &Disruption| matches!(op, Disruption::DrainWorker { host: of } | Disruption::RestartKubelet { host: of } if of == host);
        self.under_way.iter().any(on)
    }

    /// Takes nodes out that may fail and have: that they are away keeps no other one from its turn. One that works, or that this run disturbs just now, counts
    /// as any other.
    pub fn excuse(&mut self, failed: &BTreeSet<String>) {
        let nodes = std::mem::take(&mut self.nodes);
        let is_excused = |node: &NodeLife| failed.contains(&node.host) && !node.available && !self.disturbs_node(&node.host);
        self.nodes = nodes.into_iter().filter(|node| !is_excused(node)).collect();
    }
}

/// A member of etcd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its id; 0 while no list is known.
    pub id: u64,
    /// Its host, if the file has it.
    pub host: Option<String>,
    /// Whether it only learns, and has no vote.
    pub learner: bool,
    /// Whether it leads.
    pub leader: bool,
    /// How it is.
    pub state: MemberState,
    /// Whether its host can't be reached.
    pub host_is_away: bool,
    /// By how many entries its log is behind the leader's.
    pub behind: u64,
    /// Which version it runs, if it says so.
    pub version: Option<Version>,
}

/// How a member of etcd is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemberState {
    /// It answers, and knows a leader.
    Healthy,
    /// It answers, and has an alarm.
    Alarmed(EtcdAlarm),
    /// It does not work, or nobody can say.
    Doubtful,
    /// It does not answer on its host or by SSH, and no healthy member reaches it: two viewpoints.
    Dead,
    /// It was announced, and nothing of it is on its host.
    Unstarted,
}

impl MemberState {
    /// Whether it votes: one whose room has run out does so, too.
    pub(super) const fn votes(self) -> bool {
        matches!(self, Self::Healthy | Self::Alarmed(EtcdAlarm::NoSpace))
    }
}

/// Whether all members that answer have one list and one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lists {
    /// They have.
    Agree,
    /// They have not: the hosts that answer.
    Differ(Vec<String>),
}

/// An API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plane {
    /// Its host.
    pub host: String,
    /// Whether it was seen to be ready.
    pub ready: bool,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeLife {
    /// Its host.
    pub host: String,
    /// Whether it is a control plane.
    pub control_plane: bool,
    /// Whether it is Ready, its host can be reached, and no run of ours keeps pods away from it.
    pub available: bool,
}

impl Member {
    /// The name by which people know it.
    pub(super) fn name(&self) -> String {
        self.host.clone().unwrap_or_else(|| format!("{:x}", self.id))
    }
}

/// Where clients reach a host's member.
#[must_use]
pub fn member_url(host: &Host) -> String {
    format!("https://{}", SocketAddr::new(host.address, ETCD_CLIENT_PORT))
}

/// Where a host's API server is.
#[must_use]
pub fn api_server_url(cluster: &Cluster, host: &Host) -> String {
    format!("https://{}", SocketAddr::new(host.address, cluster.api_server_port()))
}

impl View {
    /// What `seen` says of the cluster.
    #[must_use]
    pub fn from_seen(cluster: &Cluster, seen: &Seen) -> Self {
        Self {
            members: members(cluster, seen),
            lists: lists(cluster, seen),
            planes: cluster.control_planes().map(|host| plane(cluster, seen, host)).collect(),
            nodes: nodes(cluster, seen),
            serial: workers_at_a_time(cluster),
            under_way: Vec::new(),
        }
    }
}

/// The members that answer on their hosts, those that learn among them.
fn reached<'a>(cluster: &'a Cluster, seen: &'a Seen) -> impl Iterator<Item = (&'a Host, &'a EtcdMember)> {
    cluster.etcd_hosts().filter_map(|host| match &seen.observations(&host.name).etcd {
        Some(EtcdState::Ready(member)) => Some((host, member)),
        _ => None,
    })
}

fn lists(cluster: &Cluster, seen: &Seen) -> Lists {
    let list = |member: &EtcdMember| -> BTreeSet<(u64, String, String, bool)> {
        let entry = |peer: &EtcdPeer| (peer.id, peer.name.clone(), peer.peer_url.clone(), peer.is_learner);
        member.members.iter().map(entry).collect()
    };
    let all: Vec<_> = membership::answering(cluster, seen).map(|(host, member)| (host, (&member.cluster_id, list(member)))).collect();
    match all.first() {
        Some((_, first)) if all.iter().any(|(_, other)| other != first) => {
            Lists::Differ(all.iter().map(|(host, _)| host.name.clone()).collect())
        }
        _ => Lists::Agree,
    }
}

fn members(cluster: &Cluster, seen: &Seen) -> Vec<Member> {
    let entries: BTreeMap<u64, &EtcdPeer> =
        reached(cluster, seen).flat_map(|(_, member)| &member.members).map(|peer| (peer.id, peer)).collect();
    if entries.is_empty() {
        // Without a list, those are taken for members of which something is there.
        return cluster.etcd_hosts().filter(|host| may_have_member(seen, host)).map(unlisted).collect();
    }
    let alarms: BTreeMap<u64, EtcdAlarm> = reached(cluster, seen).flat_map(|(_, member)| member.alarms()).collect();
    entries.into_values().map(|peer| member(cluster, seen, peer, alarms.get(&peer.id).copied())).collect()
}

fn may_have_member(seen: &Seen, host: &Host) -> bool {
    matches!(seen.observations(&host.name).etcd, Some(EtcdState::NotReady(_))) || seen.is_unreachable(&host.name)
}

fn unlisted(host: &Host) -> Member {
    let host = Some(host.name.clone());
    Member { id: 0, host, learner: false, leader: false, state: MemberState::Doubtful, host_is_away: false, behind: 0, version: None }
}

fn member(cluster: &Cluster, seen: &Seen, peer: &EtcdPeer, alarm: Option<EtcdAlarm>) -> Member {
    let host = cluster
        .etcd_hosts()
        .find(|host| peer.peer_url == peer_url(host))
        .or_else(|| cluster.etcd_hosts().find(|host| host.name == peer.name));
    let own = reached(cluster, seen).map(|(_, member)| member).find(|member| member.id == peer.id);
    let applied = |member: &EtcdMember| member.applied_index;
    let furthest = reached(cluster, seen).map(|(_, member)| applied(member)).max().unwrap_or_default();
    let leader = reached(cluster, seen).map(|(_, member)| member).find(|member| member.id == member.leader).map_or(furthest, applied);
    Member {
        id: peer.id,
        host: host.map(|host| host.name.clone()),
        learner: peer.is_learner,
        leader: reached(cluster, seen).any(|(_, member)| member.leader == peer.id),
        state: state(cluster, seen, (peer, host), own, alarm),
        host_is_away: host.is_some_and(|host| seen.is_unreachable(&host.name)),
        behind: own.map_or(u64::MAX, |own| leader.saturating_sub(own.applied_index)),
        version: own.and_then(|own| version_of(&own.version)),
    }
}

fn state(
    cluster: &Cluster,
    seen: &Seen,
    (peer, host): (&EtcdPeer, Option<&Host>),
    own: Option<&EtcdMember>,
    alarm: Option<EtcdAlarm>,
) -> MemberState {
    let on_host = host.and_then(|host| seen.observations(&host.name).etcd.as_ref());
    let by_others = host.map(|host| said_by_others(cluster, seen, host)).unwrap_or_default();
    match (alarm, own, on_host) {
        (Some(alarm), ..) => MemberState::Alarmed(alarm),
        (None, Some(own), _) if own.has_leader => MemberState::Healthy,
        // Another member may answer at its place.
        (None, Some(_), _) | (None, None, Some(EtcdState::Ready(_))) => MemberState::Doubtful,
        (None, None, Some(EtcdState::Absent)) if !peer.is_started => MemberState::Unstarted,
        (None, None, Some(EtcdState::Absent | EtcdState::NotReady(_))) if by_others == Some(false) => MemberState::Dead,
        (None, None, None) if by_others == Some(false) && host.is_some_and(|host| seen.is_unreachable(&host.name)) => MemberState::Dead,
        // Its host is no part of the run, so what the others say of it is all that there is.
        (None, None, None) if by_others == Some(true) && host.is_some_and(|host| !seen.is_unreachable(&host.name)) => MemberState::Healthy,
        _ => MemberState::Doubtful,
    }
}

/// Whether a healthy member reaches the one of a host; nothing if none was asked.
fn said_by_others(cluster: &Cluster, seen: &Seen, host: &Host) -> Option<bool> {
    let url = member_url(host);
    let healthy = membership::answering(cluster, seen).filter(|(other, member)| other.name != host.name && member.has_leader);
    let answers: Vec<&String> = healthy.filter_map(|(other, _)| seen.observations(&other.name).etcd_peers.get(&url)).collect();
    (!answers.is_empty()).then(|| answers.iter().any(|answer| *answer == ETCD_HEALTHY))
}

fn plane(cluster: &Cluster, seen: &Seen, host: &Host) -> Plane {
    let own = seen.observations(&host.name).api_server == Some(ApiServerState::Ready);
    let url = api_server_url(cluster, host);
    let by = |other: &Host| seen.observations(&other.name).api_endpoints.get(&url) == Some(&ApiServerState::Ready);
    Plane { host: host.name.clone(), ready: own || cluster.control_planes().any(by) }
}

fn nodes(cluster: &Cluster, seen: &Seen) -> Vec<NodeLife> {
    let state = cluster.control_planes().filter_map(|host| seen.observations(&host.name).kubernetes.as_ref());
    let Some(KubernetesState::Ready { nodes, .. }) = state.into_iter().find(|state| matches!(state, KubernetesState::Ready { .. })) else {
        return Vec::new();
    };
    let life = |host: &Host| {
        let node = nodes.get(&host.name)?;
        let available = node.ready && !node.cordon.is_of_run() && !seen.is_unreachable(&host.name);
        Some(NodeLife { host: host.name.clone(), control_plane: host.roles.control_plane, available })
    };
    cluster.awaited_nodes().filter_map(life).collect()
}
