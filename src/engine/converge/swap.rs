//! Hosts that change their roles with each other: who is to be a control plane becomes one before those go that are to be none.

use kok_crds::model::{Cluster, Host};
use kok_tasks::present::{looks_at_leaving, present};

use super::super::context::Context;
use super::super::reset::{Removal, Silent};
use super::{Observed, Tolerance};
use crate::failure::Failure;

/// The way of hosts that change their roles, so that etcd never has fewer members than before.
pub(in super::super) struct Swap {
    /// The cluster in between, with those that are control planes and those that are to be.
    pub(in super::super) between: Cluster,
    /// Workers that become control planes.
    pub(in super::super) first: Vec<String>,
    /// The others that are made afresh.
    pub(in super::super) then: Vec<String>,
}

/// Looks whether of these hosts some are to become control planes, and others are to be none any more. Nothing, if it is not so.
pub(in super::super) async fn swap(
    cluster: &Cluster,
    removal: &Removal<'_>,
    tolerance: Tolerance,
    context: &Context,
) -> Result<Option<Swap>, Vec<Failure>> {
    let chosen = || cluster.hosts.iter().filter(|host| removal.hosts.contains(&host.name));
    let may_be = removal.silent == Silent::Refused && !cluster.has_etcd_units();
    if !may_be || chosen().all(|host| host.roles.control_plane) || chosen().all(|host| !host.roles.control_plane) {
        return Ok(None);
    }
    let mut observed = Observed::to_reset(cluster, false, tolerance, context);
    for host in chosen() {
        observed.looks.entry(host.name.clone()).or_default().add_others(&looks_at_leaving(host));
    }
    observed.ask(|host| removal.hosts.iter().any(|name| name == host)).await?;
    Ok(of(cluster, &present(cluster, removal.hosts, &observed.seen), removal.hosts))
}

fn of(cluster: &Cluster, is: &Cluster, chosen: &[String]) -> Option<Swap> {
    let was_plane = |host: &Host| is.host(&host.name).is_some_and(|is| is.roles.control_plane);
    let is_chosen = |host: &&Host| chosen.contains(&host.name);
    let becomes = |host: &Host| host.roles.control_plane && !was_plane(host);
    let ceases = |host: &Host| !host.roles.control_plane && was_plane(host);
    let (first, then): (Vec<&Host>, Vec<&Host>) = cluster.hosts.iter().filter(is_chosen).partition(|host| becomes(host));
    if first.is_empty() || !then.iter().any(|host| ceases(host)) {
        return None;
    }
    let between =
        cluster.hosts.iter().map(|host| is.host(&host.name).filter(|_| chosen.contains(&host.name) && ceases(host)).unwrap_or(host));
    let between = Cluster { hosts: between.cloned().collect(), ..cluster.clone() };
    let names = |hosts: Vec<&Host>| hosts.into_iter().map(|host| host.name.clone()).collect();
    Some(Swap { between, first: names(first), then: names(then) })
}
