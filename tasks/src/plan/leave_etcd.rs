//! The steps by which a member of etcd and a control plane leave, and what keeps them from that.

use std::time::Duration;

use kok_crds::model::{Cluster, Host};
use kok_crds::{counted, listed};

use super::draft::Draft;
use super::id::StepId;
use super::leave::Leaving;
use super::make::Seen;
use super::reason::Reason;
use super::refusal::Refusal;
use crate::gate::{Disruption, Need, Removal, member_url};
use crate::identity;
use crate::membership::{answering, has_vote, peer_url};
use crate::observe::{EtcdPeer, EtcdState, Look, Looks, NodeState};
use crate::operations::{API_SERVER_MANIFEST, EndApiServer, MoveLeader, NoVirtualRouter, Operation, RemoveMember};
use crate::preconditions::uploaded_endpoint;

/// Where a kubelet has where it asks.
const KUBELET_CONF: &str = "/etc/kubernetes/kubelet.conf";

/// Says of a node that it is a control plane (kubeadm's `mark-control-plane`).
const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

/// Until an API server has answered what it was asked, all members have heard of the change before, another one leads, and what is not certain has become so.
const WITHIN: Duration = Duration::from_secs(240);

/// A member that leaves.
pub(super) struct LeavingMember<'a> {
    /// The host of the member that is asked about the others.
    asked: &'a Host,
    host: String,
    id: u64,
    leads: bool,
    /// Whether it knows a leader: one that is cut off from the others leads nobody.
    takes_part: bool,
    why: Removal,
}

/// The member of a host that leaves, if etcd's list has one.
pub(super) fn member<'a>(cluster: &'a Cluster, wanted: &Leaving<'_>, name: &str, seen: &'a Seen) -> Option<LeavingMember<'a>> {
    let host = cluster.host(name).filter(|host| host.roles.etcd)?;
    let stays = |host: &Host| !wanted.hosts.contains(&host.name);
    let (asked, list) = answering(cluster, seen).find(|(host, member)| stays(host) && member.has_leader)?;
    let peer = list.members.iter().find(|peer| peer.peer_url == peer_url(host))?;
    let takes_part = matches!(&seen.observations(name).etcd, Some(EtcdState::Ready(own)) if own.has_leader);
    Some(LeavingMember { asked, host: name.to_owned(), id: peer.id, leads: list.leader == peer.id, takes_part, why: why(peer, host, seen) })
}

fn why(peer: &EtcdPeer, host: &Host, seen: &Seen) -> Removal {
    match &seen.observations(&host.name).etcd {
        _ if peer.is_learner => Removal::Learner,
        _ if !has_vote(peer) => Removal::Unstarted,
        Some(EtcdState::Ready(_)) => Removal::Leaving,
        _ => Removal::Dead,
    }
}

/// Says that the address that moves leaves a host after `before`, while its API server still answers those who have found it there.
pub(super) fn address_moves(draft: &mut Draft<'_>, cluster: &Cluster, before: &StepId) -> Option<StepId> {
    cluster.virtual_address()?;
    let step = draft.add("virtual-address", Operation::NoVirtualRouter(NoVirtualRouter));
    draft.needs(&step, before, Reason::Because("a host that stays keeps it, if its pods can't leave"));
    Some(step)
}

/// Says that the API server of a host that works ends after `before`, while clients find the others: that is the gate's word.
pub(super) fn api_server_ends(draft: &mut Draft<'_>, host: &str, before: &StepId) -> StepId {
    let step = draft.add("api-server", Operation::EndApiServer(EndApiServer));
    draft.within(WITHIN);
    draft.gated(&step, Disruption::RestartApiServer { host: host.to_owned() }, Need::Wanted);
    draft.needs(&step, before, Reason::Because("its pods, and the address that moves, have to be elsewhere before"));
    step
}

/// Says that the member of a host leaves etcd: after `before`, by the word of another one. The last of the steps.
pub(super) fn leaves(draft: &mut Draft<'_>, cluster: &Cluster, member: &LeavingMember<'_>, before: Option<&StepId>) -> StepId {
    let LeavingMember { asked, host, id, why, leads, takes_part } = member;
    let moved = (*why == Removal::Leaving && *takes_part).then(|| moved(draft, cluster, (host, asked, *id, *leads), before));
    let step = draft.add_on(&asked.name, "member", Operation::RemoveMember(RemoveMember { host: host.clone(), id: *id }));
    draft.within(WITHIN);
    draft.gated(&step, Disruption::RemoveMember { member: *id, why: *why }, Need::Wanted);
    if let Some(moved) = moved {
        draft.needs(&step, &moved, Reason::Because("etcd would be without a leader for seconds"));
    }
    if let Some(before) = before {
        draft.needs(&step, before, Reason::Because("the host leaves as one that works"));
    }
    step
}

/// Another member leads before the one that leaves does; who leads may be another one by then, so it is asked again.
fn moved(draft: &mut Draft<'_>, cluster: &Cluster, (host, asked, id, leads): (&str, &Host, u64, bool), before: Option<&StepId>) -> StepId {
    let to = cluster.host(&asked.name).map(peer_url).unwrap_or_default();
    let step = draft.add("leader", Operation::MoveLeader(MoveLeader { to }));
    draft.within(WITHIN);
    if leads {
        draft.gated(&step, Disruption::MoveLeader { from: id }, Need::Wanted);
    }
    if let Some(before) = before {
        draft.follows(&step, before, Reason::Because("the host leaves as one that works"));
    }
    debug_assert_ne!(host, asked.name, "a member does not ask itself");
    step
}

/// Whether the members of etcd are asked before these hosts leave: one of them may be a member. Where members are units, any host may, whatever the file says.
#[must_use]
pub fn asks_members(cluster: &Cluster, hosts: &[String]) -> bool {
    cluster.has_etcd_units() || hosts.iter().any(|name| cluster.host(name).is_some_and(|host| host.roles.etcd))
}

/// What keeps control planes and members from leaving, said before anything is begun.
pub(super) fn refused(cluster: &Cluster, wanted: &Leaving<'_>, seen: &Seen) -> Vec<Refusal> {
    let leaves = |host: &&Host| wanted.hosts.contains(&host.name);
    let addressed = cluster.control_planes().filter(leaves).filter(|host| is_endpoint(cluster, host, seen)).map(endpoint);
    let asked = cluster.control_planes().filter(leaves).flat_map(|host| asked_by_kubelets(cluster, host, wanted, seen));
    let of_planes: Vec<Refusal> = addressed.chain(asked).collect();
    let unknown: Vec<Refusal> = wanted.hosts.iter().filter_map(|name| member_without_line(cluster, name, seen)).collect();
    let members: Vec<&Host> = cluster.etcd_hosts().filter(leaves).collect();
    if members.is_empty() {
        return of_planes.into_iter().chain(unknown).collect();
    }
    if answering(cluster, seen).all(|(host, member)| wanted.hosts.contains(&host.name) || !member.has_leader) {
        let refusal = Refusal::new("no member of etcd that stays works, and one has to let the others go");
        let hint = "mend etcd first: `kokctl status` shows its members; if more than half of them are gone for good, `kokctl recover`";
        return vec![refusal.hint(hint).passing()];
    }
    let all = of_planes.into_iter().chain(unknown).chain(cut_off(cluster, wanted, seen)).chain(too_few(cluster, wanted, seen));
    all.chain(even(cluster, wanted, seen)).collect()
}

/// A member without a line in the file: its host can't be asked, and what the others say of it needs its address.
fn member_without_line(cluster: &Cluster, name: &str, seen: &Seen) -> Option<Refusal> {
    let is_listed = || answering(cluster, seen).any(|(_, member)| member.members.iter().any(|peer| peer.name == name));
    (cluster.host(name).is_none() && is_listed()).then(|| {
        Refusal::new(format!("{name} is a member of etcd, and the file has no such host"))
            .at(format!("host {name}"))
            .because("its member is known by the address that stands there")
            .hint(format!("put the line of {name} back, and remove it then"))
    })
}

/// What the gate would say when it comes to the member, said before the pods of the host are elsewhere and its API server has ended.
fn too_few(cluster: &Cluster, wanted: &Leaving<'_>, seen: &Seen) -> Option<Refusal> {
    let stays = |host: &&Host| !wanted.hosts.contains(&host.name);
    let (_, list) = answering(cluster, seen).find(|(host, member)| stays(host) && member.has_leader)?;
    let goes = |peer: &&EtcdPeer| cluster.etcd_hosts().any(|host| !stays(&host) && peer.peer_url == peer_url(host));
    let (gone, left): (Vec<&EtcdPeer>, Vec<&EtcdPeer>) = list.members.iter().filter(|peer| has_vote(peer)).partition(goes);
    let is_well = |peer: &&EtcdPeer| answering(cluster, seen).any(|(host, member)| member.has_leader && peer.peer_url == peer_url(host));
    let (well, ill): (Vec<&EtcdPeer>, Vec<&EtcdPeer>) = left.iter().copied().partition(is_well);
    let need = left.len() / 2 + 1;
    let names = listed(ill.iter().map(|peer| peer.name.as_str()));
    (!gone.is_empty() && well.len() < need).then(|| {
        Refusal::new(format!("of the {} that etcd would be left with {} would vote, and {need} have to", counted(left.len(), "member", "members"), well.len()))
            .because(format!("on {names} it does not work"))
            .hint("mend it there first (`kokctl status` shows the members); or, where a machine is gone for good, take that one out first, with --dead")
            .passing()
    })
}

/// API servers that would know no member that works. Where members are units, they learn of new ones by `apply`.
fn cut_off(cluster: &Cluster, wanted: &Leaving<'_>, seen: &Seen) -> Vec<Refusal> {
    let stays = |host: &Host| !wanted.hosts.contains(&host.name);
    let members: Vec<String> = answering(cluster, seen).filter(|(host, _)| stays(host)).map(|(host, _)| member_url(host)).collect();
    let servers = |host: &Host| {
        let text = seen.observations(&host.name).contents.get(API_SERVER_MANIFEST)?;
        let text = String::from_utf8_lossy(text);
        text.lines().find_map(|line| line.trim().strip_prefix("- --etcd-servers=").map(str::to_owned))
    };
    let refused = |host: &Host| {
        let servers = servers(host)?;
        servers.split(',').all(|url| members.iter().all(|member| member != url)).then(|| {
            Refusal::new(format!("the API server of {} would know no member of etcd that works", host.name))
                .at(format!("host {} ({})", host.name, host.address))
                .because(format!("it knows those at {servers}"))
                .hint("`kokctl apply` tells it of all members; remove these after that")
        })
    };
    cluster.control_planes().filter(|host| cluster.has_etcd_units() && stays(host)).filter_map(refused).collect()
}

/// Kubelets that ask at the address of what was the only control plane once, and have not been told the name.
fn asked_by_kubelets(cluster: &Cluster, host: &Host, wanted: &Leaving<'_>, seen: &Seen) -> Vec<Refusal> {
    let own = format!("https://{}", identity::address(cluster, host));
    let asks = |other: &&Host| {
        let stays = !wanted.hosts.contains(&other.name) && !other.roles.control_plane;
        stays && seen.observations(&other.name).kubeconfig_servers.get(KUBELET_CONF) == Some(&own)
    };
    let refused = |other: &Host| {
        Refusal::new(format!("the kubelet of {} asks the API at the address of {}", other.name, host.name))
            .at(format!("host {} ({})", other.name, other.address))
            .because("it would lose the API with that host")
            .hint("`kokctl apply` tells it the name that leads to all control planes; remove the host after that")
    };
    cluster.nodes().filter(asks).map(refused).collect()
}

/// What has to be seen of the others before a control plane or a member leaves: where kubelets ask, and which members API servers know.
#[must_use]
pub fn looks_beside() -> Looks {
    [Look::KubeconfigCertificate(KUBELET_CONF.to_owned()), Look::Content(API_SERVER_MANIFEST.to_owned())].into_iter().collect()
}

/// A control plane without a line in the file: nobody knows which member of etcd is its own.
pub(super) fn without_line(cluster: &Cluster, name: &str, node: Option<&NodeState>) -> Option<Refusal> {
    let is_plane = node.is_some_and(|node| node.labels.contains_key(CONTROL_PLANE));
    (is_plane && cluster.host(name).is_none() && !cluster.has_etcd_units()).then(|| {
        Refusal::new(format!("{name} is a control plane, and the file has no such host"))
            .at(format!("node {name}"))
            .because("its member of etcd is known by the address that stands there")
            .hint(format!("put the line of {name} back, and remove it then"))
    })
}

/// Whether everything asks the API at the address of this one host.
fn is_endpoint(cluster: &Cluster, host: &Host, seen: &Seen) -> bool {
    let own = identity::address(cluster, host);
    cluster.external_endpoint().is_none() && uploaded_endpoint(cluster, seen) == Some(own)
}

fn endpoint(host: &Host) -> Refusal {
    Refusal::new(format!("the whole cluster asks the API at the address of {}", host.name))
        .at(format!("host {}", host.name))
        .because("it was the only control plane once, and ConfigMap kube-system/kubeadm-config names it as the endpoint")
        .hint(
            "`kokctl apply` with the other control planes in the file gives the API a name that leads to all of them; remove it after that",
        )
}

/// An even number of members is no better than one less, and of two either is needed.
fn even(cluster: &Cluster, wanted: &Leaving<'_>, seen: &Seen) -> Option<Refusal> {
    let (_, list) = answering(cluster, seen).find(|(host, _)| !wanted.hosts.contains(&host.name))?;
    let goes = |peer: &&EtcdPeer| wanted.hosts.iter().filter_map(|name| cluster.host(name)).any(|host| peer.peer_url == peer_url(host));
    let (gone, left): (Vec<&EtcdPeer>, Vec<&EtcdPeer>) = list.members.iter().filter(|peer| has_vote(peer)).partition(goes);
    let is_leaving = |peer: &&EtcdPeer| {
        let host = cluster.etcd_hosts().find(|host| peer.peer_url == peer_url(host));
        host.is_some_and(|host| why(peer, host, seen) == Removal::Leaving)
    };
    // A member that does not work is better gone, whatever is left.
    let left = wanted.members.unwrap_or(left.len());
    if wanted.even || left % 2 == 1 || !gone.iter().any(is_leaving) {
        return None;
    }
    let (hosts, one) = if cluster.has_etcd_units() { ("members", "member") } else { ("control planes", "control plane") };
    Some(
        Refusal::new(format!("etcd would be left with {left} members"))
            .because(format!("of {left} members no more may be lost than of {}, and the file may not have so many {hosts}", left - 1))
            .hint(format!("name another {one}, too; or use `kokctl replace`; or add --yes-even, and give the cluster another one soon")),
    )
}
