//! The plan that takes hosts out of a cluster that goes on without them and forgets them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kok_crds::listed;
use kok_crds::model::{Cluster, HookPlace, Host};

use super::draft::{Draft, Edge};
use super::graph::Plan;
use super::hooked;
use super::id::StepId;
use super::leave_etcd;
use super::machine;
use super::make::{Making, Seen, compared, defect, enter};
use super::reason::Reason;
use super::refusal::Refusal;
use super::reset::{is_ours, leaving};
use super::select::Selection;
use crate::drain::{Blocker, Cordoner, DrainSettings, judge};
use crate::gate::{Disruption, Need};
use crate::list::hooks;
use crate::observe::{ApiServerState, KubernetesState, Look, Looks};
use crate::operations::{CordonNode, DrainNode, KeepOut, Operation, RemoveNode};
use crate::preconditions;

/// Which hosts leave their cluster, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaving<'a> {
    /// Their names. Those that are dead need not be in the file any more.
    pub hosts: &'a [String],
    /// Those of them that are gone for good: nothing is done on them.
    pub dead: &'a BTreeSet<String>,
    /// How their pods leave them.
    pub drain: DrainSettings,
    /// How many members etcd has at the end of the run, if others join in it after these have left.
    pub members: Option<usize>,
    /// Whether etcd may be left with an even number of members.
    pub even: bool,
}

/// The plan for these hosts: each is cordoned and drained, its member leaves etcd, it is taken down, and its node deleted. Of a dead one the member and
/// the node are left. Control planes leave one after the other.
///
/// # Errors
/// [`Refusal`] for each host that belongs to another cluster; where no API server could be told; for a host that is called dead and has a node that
/// speaks; and for pods that would be lost and that nobody has given up.
pub fn leave(cluster: &Cluster, wanted: &Leaving<'_>, seen: &Seen) -> Result<Making, Vec<Refusal>> {
    let mut refusals = preconditions::check_reset(cluster, seen);
    let speaker = match speaker(cluster, wanted.hosts, seen) {
        Ok(speaker) => speaker,
        Err(refusal) => {
            refusals.push(refusal);
            None
        }
    };
    if !refusals.is_empty() {
        return Err(refusals);
    }
    if let Some(looks) = unseen_etcd(cluster, wanted, seen) {
        return Ok(Making::LookFirst(looks));
    }
    let refusals = leave_etcd::refused(cluster, wanted, seen);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let (mut plan, mut edges) = (Plan::default(), Vec::new());
    let mut before: Option<StepId> = None;
    for name in wanted.hosts {
        let (draft, last) = draft(cluster, wanted, name, (speaker, before.as_ref()), seen);
        if is_in_turn(cluster, name) {
            before = last.or(before);
        }
        edges.extend(enter(&mut plan, draft).map_err(|refusal| vec![refusal])?);
    }
    for Edge { later, earlier, reason } in edges {
        plan.order(&later, &earlier, reason).map_err(|sentence| vec![defect(sentence)])?;
    }
    hooks_of(&mut plan, cluster, wanted, (speaker, seen)).map_err(|refusal| vec![refusal])?;
    let making = compared(plan, seen, &Selection::whole())?;
    let refusals = speaker.map(|speaker| refused(cluster, wanted, speaker, seen)).unwrap_or_default();
    if refusals.is_empty() { Ok(making) } else { Err(refusals) }
}

/// What is to be looked at before it is known which members of etcd leave: nothing, if none does.
fn unseen_etcd(cluster: &Cluster, wanted: &Leaving<'_>, seen: &Seen) -> Option<BTreeMap<String, Looks>> {
    let leaves = leave_etcd::asks_members(cluster, wanted.hosts);
    let is_unseen = |host: &&Host| seen.facts(&host.name).is_some() && seen.observations(&host.name).etcd.is_none();
    let unseen = cluster.etcd_hosts().filter(|_| leaves).filter(is_unseen);
    let looks: BTreeMap<String, Looks> = unseen.map(|host| (host.name.clone(), [Look::Etcd].into_iter().collect())).collect();
    (!looks.is_empty()).then_some(looks)
}

/// Whether a host leaves after others that are control planes or members of etcd.
fn is_in_turn(cluster: &Cluster, name: &str) -> bool {
    cluster.host(name).is_some_and(|host| host.roles.control_plane || host.roles.etcd)
}

/// The steps of a host, of which a control plane's, and those of a host of etcd, come after those of the one before it; and the last of them.
fn draft<'a>(
    cluster: &'a Cluster,
    wanted: &Leaving<'_>,
    name: &'a str,
    (speaker, before): (Option<&Host>, Option<&StepId>),
    seen: &Seen,
) -> (Draft<'a>, Option<StepId>) {
    let is_dead = wanted.dead.contains(name);
    let host = cluster.host(name).filter(|host| !is_dead && is_ours(cluster, host, seen));
    let (mut draft, reset) = host.map_or_else(|| (Draft::new(name, "reset"), None), |host| leaving(cluster, host));
    // Of a host without a line in the file nobody knows what it was.
    let is_node = cluster.host(name).is_none_or(|host| host.roles.is_node());
    let speaker = speaker.filter(|_| is_node);
    let forgotten = speaker.map(|speaker| forgotten(&mut draft, name, speaker, is_dead));
    let drained = speaker.zip(reset.as_ref()).map(|(speaker, reset)| {
        let drained = drained(&mut draft, name, speaker, (&wanted.drain, wanted.hosts.len()));
        draft.needs(reset, &drained, Reason::Because("its pods have to be elsewhere before"));
        drained
    });
    if let (Some(forgotten), Some(reset)) = (&forgotten, &reset) {
        draft.needs(forgotten, reset, Reason::Because("a kubelet that still runs would make it again"));
    }
    let begins = drained.as_ref().map(|_| StepId::new(name, "reset", "cordoned")).or_else(|| reset.clone());
    if let (Some(before), Some(begins)) = (before, &begins) {
        draft.needs(begins, before, in_turn());
    }
    let member = leave_etcd::member(cluster, wanted, name, seen);
    let is_plane = host.is_some_and(|host| host.roles.control_plane) && (member.is_some() || cluster.has_etcd_units());
    let ended = drained.as_ref().zip(reset.as_ref()).filter(|_| is_plane).map(|(drained, reset)| {
        let before = leave_etcd::address_moves(&mut draft, cluster, drained);
        let ended = leave_etcd::api_server_ends(&mut draft, name, before.as_ref().unwrap_or(drained));
        draft.needs(reset, &ended, Reason::Because("clients have to find the others before"));
        ended
    });
    let left = member.map(|member| {
        let left = leave_etcd::leaves(&mut draft, cluster, &member, ended.as_ref().or(drained.as_ref()));
        before.into_iter().for_each(|before| draft.needs(&left, before, in_turn()));
        let reason = || Reason::Because("the others have to go on without its member before it ends");
        reset.iter().chain(&forgotten).for_each(|later| draft.needs(later, &left, reason()));
        left
    });
    (draft, forgotten.or(reset).or(left))
}

/// The user's own scripts around all that. Of a host that is gone for good the one after it is left.
fn hooks_of(plan: &mut Plan, cluster: &Cluster, wanted: &Leaving<'_>, (speaker, seen): (Option<&Host>, &Seen)) -> Result<(), Refusal> {
    let all: Vec<&str> = wanted.hosts.iter().filter_map(|name| cluster.host(name)).map(|host| host.name.as_str()).collect();
    let is_alive = |name: &&&str| !wanted.dead.contains(**name) && cluster.host(name).is_some_and(|host| is_ours(cluster, host, seen));
    let alive: Vec<&str> = all.iter().filter(is_alive).copied().collect();
    let nodes: Vec<&str> = alive.iter().filter(|name| cluster.host(name).is_some_and(|host| host.roles.is_node())).copied().collect();
    let staying = speaker.and_then(|speaker| cluster.host(&speaker.name)).map(|host| host.name.as_str());
    let kubernetes = staying.and_then(|staying| seen.observations(staying).kubernetes.as_ref());
    let node = |host: &str| kubernetes.and_then(|state| state.node(host));
    // One that comes back is another node.
    let occasion = |host: &str| format!("removal of {host} {}", node(host).map(|node| node.uid.clone()).unwrap_or_default());
    let mut drafts = Vec::new();
    for (at, hosts) in [(HookPlace::BeforeRemoval, &alive), (HookPlace::BeforeDrain, &nodes), (HookPlace::AfterDrain, &nodes)] {
        drafts.extend(hooks::of_hosts(cluster, at, (hosts, staying), occasion)?);
    }
    let going: Vec<&str> = all.iter().copied().filter(|host| alive.contains(host) || node(host).is_some()).collect();
    if let Some(staying) = staying {
        drafts.extend(hooks::after_removal(cluster, (&all, &going), staying)?);
    }
    for draft in drafts {
        for Edge { later, earlier, reason } in enter(plan, draft)? {
            plan.order(&later, &earlier, reason).map_err(defect)?;
        }
    }
    hooked::order(plan, cluster, seen);
    Ok(())
}

fn in_turn() -> Reason {
    Reason::InTurn("one control plane or host of etcd after the other leaves")
}

/// The step after which the cluster has no node of a host any more; one that is dead is kept from making it anew.
fn forgotten(draft: &mut Draft<'_>, name: &str, speaker: &Host, is_dead: bool) -> StepId {
    let kept_out = is_dead.then(|| draft.add_on(&speaker.name, "kept-out", Operation::KeepOut(KeepOut { node: name.to_owned() })));
    let forgotten = draft.add_on(&speaker.name, "node", Operation::RemoveNode(RemoveNode { node: name.to_owned() }));
    if let Some(kept_out) = kept_out {
        draft.needs(&forgotten, &kept_out, Reason::Because("its kubelet, should it start again, would make it anew"));
    }
    forgotten
}

/// What is done on a node that is drained, before the next one may be.
const IN_BETWEEN: Duration = Duration::from_secs(300);

/// The steps after which no pod is left on a node that has to leave it; the last of them.
pub(super) fn drained(draft: &mut Draft<'_>, node: &str, speaker: &Host, (settings, of_all): (&DrainSettings, usize)) -> StepId {
    let cordon = CordonNode { node: node.to_owned(), by: Cordoner::Run };
    let cordoned = draft.add_on(&speaker.name, "cordoned", Operation::CordonNode(cordon));
    // From then on the node counts as one that is away, until it is deleted or takes pods again.
    draft.gated(&cordoned, Disruption::DrainWorker { host: node.to_owned() }, Need::Wanted);
    // Each of those before it may take as long as it may.
    draft.within(settings.timeout.saturating_mul(u32::try_from(of_all).unwrap_or(u32::MAX)) + IN_BETWEEN);
    let drain = DrainNode { node: node.to_owned(), settings: settings.clone() };
    let drained = draft.add_on(&speaker.name, "drained", Operation::DrainNode(drain));
    draft.within(settings.timeout);
    draft.needs(&drained, &cordoned, Reason::Because("new pods would come in their place"));
    drained
}

/// What the cluster says against it.
fn refused(cluster: &Cluster, wanted: &Leaving<'_>, speaker: &Host, seen: &Seen) -> Vec<Refusal> {
    let observed = seen.observations(&speaker.name);
    let Some(KubernetesState::Ready { nodes, .. }) = &observed.kubernetes else { return Vec::new() };
    let of_one = |name: &String| match nodes.get(name).filter(|_| wanted.dead.contains(name)) {
        node if leave_etcd::without_line(cluster, name, node).is_some() => leave_etcd::without_line(cluster, name, node),
        Some(node) if !node.silent => Some(still_speaks(name, node.ready)),
        Some(_) => None,
        None => machine::another(cluster, name, nodes, seen).or_else(|| lost_pods(name, &wanted.drain, seen, speaker)),
    };
    wanted.hosts.iter().filter_map(of_one).collect()
}

fn still_speaks(name: &str, is_ready: bool) -> Refusal {
    let because = if is_ready { "its kubelet says that the node is Ready" } else { "its kubelet still speaks with the API" };
    Refusal::new(format!("{name} is not dead")).at(format!("node {name}")).because(because).hint(format!(
        "let it be reached by SSH, and leave --dead out, so that {name} is drained and cleaned; or, if it was switched off a moment ago, wait a minute: the cluster gives a node up after 50 s"
    ))
}

/// Pods that an eviction would lose, said before the first one.
pub(super) fn lost_pods(name: &str, settings: &DrainSettings, seen: &Seen, speaker: &Host) -> Option<Refusal> {
    let workload = seen.observations(&speaker.name).workload.as_ref()?.as_ref().ok()?;
    let drain = judge(workload.pods.get(name)?, &workload.budgets, settings);
    let lost: Vec<String> =
        drain.blocked.iter().filter(|(_, blocker)| blocker.is_decision()).map(|(pod, why)| format!("{pod}: {why}")).collect();
    if lost.is_empty() {
        return None;
    }
    let refusal = Refusal::new(format!("{name} has pods that would be lost")).at(format!("node {name}")).because(lost.join("; "));
    let has = |wanted: &Blocker| drain.blocked.iter().any(|(_, blocker)| blocker == wanted);
    let options = [(Blocker::Unmanaged, "--delete-unmanaged"), (Blocker::EmptyDir, "--delete-emptydir")];
    let options: Vec<&str> = options.iter().filter(|(blocker, _)| has(blocker)).map(|(_, option)| *option).collect();
    Some(refusal.hint(format!("save what is worth it and delete them, or say that they may go: {}", options.join(" "))))
}

/// The control plane whose API server is told; none where no control plane was ever set up. While one may have been, somebody has to be told:
/// the cluster would wait for these nodes for ever, and a later run could not take them out.
fn speaker<'a>(cluster: &'a Cluster, chosen: &[String], seen: &Seen) -> Result<Option<&'a Host>, Refusal> {
    let state = |host: &Host| seen.observations(&host.name).api_server.clone();
    let stays = |host: &&Host| !chosen.contains(&host.name);
    if let Some(speaker) = cluster.control_planes().filter(stays).find(|host| state(host) == Some(ApiServerState::Ready)) {
        return Ok(Some(speaker));
    }
    if cluster.control_planes().all(|host| state(host) == Some(ApiServerState::Absent)) {
        return Ok(None);
    }
    // One that is to become a control plane is none yet.
    if cluster.control_planes().filter(stays).all(|host| state(host) == Some(ApiServerState::Absent)) {
        let nodes = listed(chosen.iter().map(String::as_str));
        let refusal = Refusal::new("no control plane would be left").at(format!("host {nodes}"));
        return Err(refusal
            .because("of the hosts that stay none is one yet, whatever the file says")
            .hint("give the cluster another control plane first, by a line in the file and `kokctl apply`; to take down the whole cluster: `kokctl reset`"));
    }
    let outputs = cluster.control_planes().map(|host| match state(host) {
        Some(ApiServerState::NotReady(output)) => format!("{}: {}", host.name, output.lines().next_back().unwrap_or_default()),
        Some(_) => format!("{} has none yet", host.name),
        None => format!("{} can't be reached", host.name),
    });
    let nodes = listed(chosen.iter().map(String::as_str));
    Err(Refusal::new(format!("no API server of the cluster answers, and one has to forget the node of {nodes}"))
        .because(outputs.collect::<Vec<_>>().join("; "))
        .hint(
            "mend a control plane first; if more than half of the members of etcd are gone for good, `kokctl recover`; or, if the whole cluster can go, take it \
             down with `kokctl reset`",
        )
        .passing())
}
