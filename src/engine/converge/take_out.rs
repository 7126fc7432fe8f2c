//! The plan that takes hosts out of a cluster that goes on.

use std::collections::BTreeSet;

use kok_crds::model::{Cluster, Roles};
use kok_tasks::plan::{self, Leaving, Refusal};
use kok_tasks::preconditions;
use kok_tasks::present::{looks_at_leaving, present};
use kok_tasks::snapshot::{self, Snapshot};

use super::super::context::Context;
use super::super::reset::{Follows, Removal, Silent};
use super::away::{answers, perhaps_gone};
use super::{Observed, Planned, Tolerance, refused};
use crate::clock::Clock;
use crate::failure::{Failure, Kind};

/// A plan, those of the hosts that are dead, and of which member a snapshot is to be taken before one of etcd leaves.
type TakenOut = (Planned, BTreeSet<String>, Option<Result<Snapshot, Refusal>>);

/// Makes the plan that takes these hosts out of the cluster, as what they are and not as what the file makes of them, and says which of them are dead, and of
/// which member a snapshot is to be taken before one of etcd leaves. Of the control planes that stay one has to answer.
pub(in super::super) async fn take_out(
    cluster: &Cluster,
    removal: &Removal<'_>,
    tolerance: Tolerance,
    context: &Context,
) -> Result<TakenOut, Vec<Failure>> {
    let mut observed = Observed::to_reset(cluster, false, tolerance, context);
    observed.add_looks(removal);
    observed.ask_those_that_leave(removal).await?;
    let dead: BTreeSet<String> = removal.hosts.iter().filter(|host| !observed.links.contains_key(*host)).cloned().collect();
    observed.ask_those_that_stay(removal, &dead).await?;
    let is = present(cluster, removal.hosts, &observed.seen);
    let of_etcd = is.etcd_hosts().any(|host| removal.hosts.contains(&host.name));
    observed.ask_others(&is, removal).await?;
    let leaving = Leaving { hosts: removal.hosts, dead: &dead, drain: removal.drain.clone(), members: removal.members, even: removal.even };
    // What only the cluster says of them may be known after a further look.
    let plan = observed.repeat(|seen| plan::leave(&present(cluster, removal.hosts, seen), &leaving, seen)).await?;
    let refusals = match removal.follows.is_followed(&dead) {
        true => preconditions::check_beside(cluster, &observed.seen, removal.hosts),
        false => Vec::new(),
    };
    if !refusals.is_empty() {
        return Err(refused(Kind::Host)(refusals));
    }
    // Where a member leaves, those that are dead are looked for by the others.
    observed.left_out = dead.iter().map(|host| (host.clone(), "it is dead".to_owned())).collect();
    // Of those that stay: one that leaves may have the data of an etcd that was given up.
    let leaving: Vec<&str> = removal.hosts.iter().map(String::as_str).collect();
    let is = present(cluster, removal.hosts, &observed.seen);
    let snapshot = of_etcd.then(|| snapshot::decide(&is.without(&leaving), &observed.seen));
    Ok((observed.with_cluster(&is).planned(plan, Vec::new(), Clock::seconds()), dead, snapshot))
}

impl<'a> Observed<'a> {
    /// The same of the cluster as it is.
    fn with_cluster<'b>(self, cluster: &'b Cluster) -> Observed<'b>
    where
        'a: 'b,
    {
        let Observed { looks, facts, tolerance, left_out, links, seen, context, .. } = self;
        Observed { cluster, looks, facts, tolerance, left_out, links, seen, context }
    }

    /// What is looked at besides: what those that leave are, and who takes part in etcd.
    fn add_looks(&mut self, removal: &Removal<'_>) {
        for host in &self.cluster.hosts {
            let looks = self.looks.entry(host.name.clone()).or_default();
            looks.add_others(&plan::looks_beside());
            if removal.hosts.contains(&host.name) {
                looks.add_others(&looks_at_leaving(host));
            } else {
                looks.add_others(&plan::reset_looks(host, host.roles.etcd));
            }
            if removal.follows != Follows::Nothing {
                looks.extend(preconditions::looks(self.cluster, host));
            }
        }
    }

    async fn ask_those_that_leave(&mut self, removal: &Removal<'_>) -> Result<(), Vec<Failure>> {
        let leaves = |host: &str| removal.hosts.iter().any(|name| name == host);
        match removal.silent {
            Silent::Refused => self.ask(leaves).await.map_err(perhaps_gone)?,
            Silent::Dead | Silent::AllDead => self.ask_who_answers(leaves).await?,
        }
        if removal.silent != Silent::AllDead {
            return Ok(());
        }
        // A machine that came back with an empty disk, or another one in its place, is no part of the cluster that could be lost.
        let alive = self.links.keys().filter(|host| removal.follows == Follows::Nothing || self.is_ours(host));
        let alive: Vec<Failure> = alive.map(|host| answers(host)).collect();
        if alive.is_empty() { Ok(()) } else { Err(alive) }
    }

    /// Connects to the hosts that stay, as far as they are needed: all, if everything is applied afterwards, and otherwise one control plane.
    async fn ask_those_that_stay(&mut self, removal: &Removal<'_>, dead: &BTreeSet<String>) -> Result<(), Vec<Failure>> {
        if removal.follows.is_followed(dead) {
            return self.ask(|host| removal.hosts.iter().all(|name| name != host)).await;
        }
        self.ask_speakers(removal.hosts).await
    }

    /// Connects to those that answer of etcd, if a member leaves, and of the workers, if a control plane does that they may ask at its own address.
    async fn ask_others(&mut self, is: &Cluster, removal: &Removal<'_>) -> Result<(), Vec<Failure>> {
        let leaves = |name: &str| removal.hosts.iter().any(|host| host == name);
        let of_planes = is.control_planes().any(|host| leaves(&host.name));
        let asks_members = plan::asks_members(is, removal.hosts);
        let is_meant = |roles: Roles| !roles.control_plane && ((asks_members && roles.etcd) || (of_planes && roles.is_node()));
        if !asks_members && !of_planes {
            return Ok(());
        }
        let asked: BTreeSet<String> = self.links.keys().cloned().collect();
        let is_missing = |name: &str| is.host(name).is_some_and(|host| is_meant(host.roles)) && !asked.contains(name) && !leaves(name);
        self.ask_who_answers(is_missing).await
    }
}
