//! The plan that takes hosts out of a cluster that goes on.

use std::collections::BTreeSet;

use kok_crds::model::{Cluster, Roles};
use kok_tasks::plan::{self, Leaving, Refusal};
use kok_tasks::preconditions;
use kok_tasks::snapshot::{self, Snapshot};

use super::super::context::Context;
use super::super::reset::{Removal, Silent};
use super::away::{answers, perhaps_gone};
use super::{Observed, Planned, Tolerance, refused};
use crate::clock::Clock;
use crate::failure::{Failure, Kind};

/// A plan, those of the hosts that are dead, and of which member a snapshot is to be taken before one of etcd leaves.
type TakenOut = (Planned, BTreeSet<String>, Option<Result<Snapshot, Refusal>>);

/// Makes the plan that takes these hosts out of the cluster, and says which of them are dead, and of which member a snapshot is to be taken before one of
/// etcd leaves. Of the control planes that stay one has to answer.
pub(in super::super) async fn take_out(
    cluster: &Cluster,
    removal: &Removal<'_>,
    tolerance: Tolerance,
    context: &Context,
) -> Result<TakenOut, Vec<Failure>> {
    let mut observed = Observed::to_reset(cluster, false, tolerance, context);
    let of_etcd = cluster.etcd_hosts().any(|host| removal.hosts.contains(&host.name));
    let of_planes = cluster.control_planes().any(|host| removal.hosts.contains(&host.name));
    for host in cluster.hosts.iter().filter(|_| of_etcd || of_planes) {
        let looks = observed.looks.entry(host.name.clone()).or_default();
        looks.add_others(&plan::reset_looks(host, of_etcd));
        looks.add_others(&plan::looks_beside());
    }
    for host in cluster.hosts.iter().filter(|_| removal.rejoins) {
        observed.looks.entry(host.name.clone()).or_default().extend(preconditions::looks(cluster, host));
    }
    let leaves = |host: &str| removal.hosts.iter().any(|name| name == host);
    match removal.silent {
        Silent::Refused => observed.ask(leaves).await.map_err(perhaps_gone)?,
        Silent::Dead | Silent::AllDead => observed.ask_who_answers(leaves).await?,
    }
    let alive: Vec<Failure> = observed.links.keys().filter(|_| removal.silent == Silent::AllDead).map(|host| answers(host)).collect();
    if !alive.is_empty() {
        return Err(alive);
    }
    let dead: BTreeSet<String> = removal.hosts.iter().filter(|host| !observed.links.contains_key(*host)).cloned().collect();
    observed.ask_those_that_stay(removal, of_planes).await?;
    let leaving = Leaving { hosts: removal.hosts, dead: &dead, drain: removal.drain.clone(), even: removal.even };
    let plan = observed.repeat(|seen| plan::leave(cluster, &leaving, seen)).await?;
    let refusals = if removal.rejoins { preconditions::check_beside(cluster, &observed.seen, removal.hosts) } else { Vec::new() };
    if !refusals.is_empty() {
        return Err(refused(Kind::Host)(refusals));
    }
    // Where a member leaves, those that are dead are looked for by the others.
    observed.left_out = dead.iter().map(|host| (host.clone(), "it is dead".to_owned())).collect();
    let snapshot = of_etcd.then(|| snapshot::decide(cluster, &observed.seen));
    Ok((observed.planned(plan, Vec::new(), Clock::seconds()), dead, snapshot))
}

impl Observed<'_> {
    /// Connects to the hosts that stay, as far as they are needed: all, if the others come back; one control plane, what answers of etcd if a member leaves, and
    /// of workers if a control plane does that they may ask at its own address.
    async fn ask_those_that_stay(&mut self, removal: &Removal<'_>, of_planes: bool) -> Result<(), Vec<Failure>> {
        let stays = |host: &str| removal.hosts.iter().all(|name| name != host);
        if removal.rejoins {
            return self.ask(stays).await;
        }
        self.ask_speakers(removal.hosts).await?;
        let cluster = self.cluster;
        let asks_members = plan::asks_members(cluster, removal.hosts);
        let is_asked = |roles: Roles| !roles.control_plane && ((asks_members && roles.etcd) || (of_planes && roles.is_node()));
        if asks_members || of_planes {
            self.ask_who_answers(|host| cluster.host(host).is_some_and(|host| is_asked(host.roles)) && stays(host)).await?;
        }
        Ok(())
    }
}
