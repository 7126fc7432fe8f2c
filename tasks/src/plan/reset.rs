//! Plans that take hosts out of their cluster: all of them, or some.

use std::time::Duration;

use kok_crds::listed;
use kok_crds::model::{Cluster, Host};

use super::draft::{Draft, Edge};
use super::graph::Plan;
use super::id::StepId;
use super::make::{Making, Seen, compared, defect, enter};
use super::reason::Reason;
use super::refusal::Refusal;
use super::select::Selection;
use crate::observe::{ApiServerState, Look, Looks};
use crate::operations::{Operation, RemoveNode, Reset};
use crate::preconditions;
use crate::snapshot;

/// Ending the containers of a busy host takes its time.
const DEADLINE: Duration = Duration::from_secs(300);

/// What a first probe of a host looks at: for the whole cluster what there is of etcd, for some of its hosts who can be told of it.
#[must_use]
pub fn reset_looks(host: &Host, whole: bool) -> Looks {
    let mut looks = Looks::default();
    if whole {
        snapshot::looks(host).into_iter().for_each(|look| looks.add(look));
    } else if host.roles.control_plane {
        looks.add(Look::ApiServer);
    }
    looks
}

/// The plan that takes every host out of the cluster, in parallel. A host that kokctl never changed has nothing to lose by it.
///
/// # Errors
/// [`Refusal`] for each host that belongs to another cluster.
pub fn reset(cluster: &Cluster, seen: &Seen) -> Result<Making, Vec<Refusal>> {
    let refusals = preconditions::check_reset(cluster, seen);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let mut plan = Plan::default();
    for host in cluster.hosts.iter().filter(|host| is_ours(cluster, host, seen)) {
        enter(&mut plan, leaving(cluster, host).0).map_err(|refusal| vec![refusal])?;
    }
    compared(plan, seen, &Selection::whole())
}

/// The plan that takes these workers out of the cluster, which goes on without them and forgets them.
///
/// # Errors
/// [`Refusal`] for each host that belongs to another cluster, and where no API server could be told.
pub fn reset_part(cluster: &Cluster, chosen: &[String], seen: &Seen) -> Result<Making, Vec<Refusal>> {
    let mut refusals = preconditions::check_reset(cluster, seen);
    let speaker = match speaker(cluster, chosen, seen) {
        Ok(speaker) => speaker,
        Err(refusal) => {
            refusals.push(refusal);
            None
        }
    };
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let mut plan = Plan::default();
    let mut edges = Vec::new();
    for host in cluster.hosts.iter().filter(|host| chosen.contains(&host.name)) {
        let (mut draft, reset) =
            if is_ours(cluster, host, seen) { leaving(cluster, host) } else { (Draft::new(&host.name, "reset"), None) };
        if let Some(speaker) = speaker {
            let forgotten = draft.add_on(&speaker.name, "node", Operation::RemoveNode(RemoveNode { node: host.name.clone() }));
            if let Some(reset) = reset {
                draft.needs(&forgotten, &reset, Reason::Because("a kubelet that still runs would make it again"));
            }
        }
        edges.extend(enter(&mut plan, draft).map_err(|refusal| vec![refusal])?);
    }
    for Edge { later, earlier, reason } in edges {
        plan.order(&later, &earlier, reason).map_err(|sentence| vec![defect(sentence)])?;
    }
    compared(plan, seen, &Selection::whole())
}

fn is_ours(cluster: &Cluster, host: &Host, seen: &Seen) -> bool {
    seen.facts(&host.name).is_some_and(|facts| facts.cluster.as_ref() == Some(&cluster.name))
}

fn leaving<'a>(cluster: &Cluster, host: &'a Host) -> (Draft<'a>, Option<StepId>) {
    let mut draft = Draft::new(&host.name, "reset");
    let etcd = host.roles.etcd;
    let step = draft.add("reset", Operation::Reset(Reset { etcd, etcd_unit: etcd && cluster.has_etcd_units() }));
    draft.within(DEADLINE);
    (draft, Some(step))
}

/// The control plane whose API server is told; none where no control plane was ever set up. While one may have been, somebody has to be told:
/// the cluster would wait for these nodes for ever, and a later run could not take them out.
fn speaker<'a>(cluster: &'a Cluster, chosen: &[String], seen: &Seen) -> Result<Option<&'a Host>, Refusal> {
    let state = |host: &Host| seen.observations(&host.name).api_server.clone();
    if let Some(speaker) = cluster.control_planes().find(|host| state(host) == Some(ApiServerState::Ready)) {
        return Ok(Some(speaker));
    }
    if cluster.control_planes().all(|host| state(host) == Some(ApiServerState::Absent)) {
        return Ok(None);
    }
    let said = cluster.control_planes().map(|host| match state(host) {
        Some(ApiServerState::NotReady(said)) => format!("{}: {}", host.name, said.lines().next_back().unwrap_or_default()),
        Some(_) => format!("{} has none yet", host.name),
        None => format!("{} can't be reached", host.name),
    });
    let nodes = listed(chosen.iter().map(String::as_str));
    Err(Refusal::new(format!("no API server of the cluster answers, and one has to forget the node of {nodes}"))
        .because(said.collect::<Vec<_>>().join("; "))
        .hint("mend a control plane first; or, if the whole cluster can go, leave out --limit")
        .passing())
}
