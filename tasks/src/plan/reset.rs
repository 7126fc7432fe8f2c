//! The plan that takes all hosts out of their cluster.

use std::time::Duration;

use kok_crds::model::{Cluster, HookPlace, Host};

use super::draft::Draft;
use super::graph::Plan;
use super::hooked;
use super::id::StepId;
use super::make::{Making, Seen, compared, enter};
use super::refusal::Refusal;
use super::select::Selection;
use crate::list::hooks;
use crate::observe::{Look, Looks};
use crate::operations::{Operation, Reset};
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
    // Whoever gives up the whole cluster gives up its recovery, too.
    let refusals = preconditions::check_strangers(cluster, seen);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let mut plan = Plan::default();
    for host in cluster.hosts.iter().filter(|host| is_ours(cluster, host, seen)) {
        enter(&mut plan, leaving(cluster, host).0).map_err(|refusal| vec![refusal])?;
    }
    let ours: Vec<&str> = cluster.hosts.iter().filter(|host| is_ours(cluster, host, seen)).map(|host| host.name.as_str()).collect();
    let keeper = cluster.control_planes().map(|host| host.name.as_str()).find(|name| ours.contains(name));
    let occasion = |host: &str| format!("removal of {host}");
    for draft in hooks::of_hosts(cluster, HookPlace::BeforeRemoval, (&ours, keeper), occasion).map_err(|refusal| vec![refusal])? {
        enter(&mut plan, draft).map_err(|refusal| vec![refusal])?;
    }
    hooked::order(&mut plan, cluster, seen);
    compared(plan, seen, &Selection::whole())
}

pub(super) fn is_ours(cluster: &Cluster, host: &Host, seen: &Seen) -> bool {
    seen.facts(&host.name).is_some_and(|facts| facts.cluster.as_ref() == Some(&cluster.name))
}

pub(super) fn leaving<'a>(cluster: &Cluster, host: &'a Host) -> (Draft<'a>, Option<StepId>) {
    let mut draft = Draft::new(&host.name, "reset");
    let etcd = host.roles.etcd;
    let step = draft.add("reset", Operation::Reset(Reset { etcd, etcd_unit: etcd && cluster.has_etcd_units() }));
    draft.within(DEADLINE);
    (draft, Some(step))
}
