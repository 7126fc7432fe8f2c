//! Bringing a cluster to another version of Kubernetes, stage by stage.

mod away;
mod way;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use kok_crds::model::Cluster;
use kok_tasks::plan::{Choice, Selection};
use kok_tasks::upgrade::{CheckName, Found, Running, StageName, Turn, Wish, left};
use semver::Version;

use super::apply::{Apply, ApplyRequest};
use super::context::{Context, Options};
use super::converge::Base;
use super::driver::Run;
use super::error::Error;
use super::given::Given;
use super::keep::keep;
use super::replace::{self, Stages};
use super::store::{Lock, Store};
use crate::artifacts::BundleFolder;
use crate::failure::{Failure, Kind};
use crate::run::Outcome;
use crate::state::KeptSnapshot;
pub use away::Meant;
pub use way::Way;

/// What is to be upgraded.
#[derive(Clone)]
pub struct UpgradeRequest<'a> {
    /// The cluster as its file says, in whatever version.
    pub cluster: &'a Cluster,
    /// The version that it is to have.
    pub to: &'a Version,
    /// Whether it goes there at once, or in a way that may be taken back; or is taken back.
    pub turn: Turn,
    /// Which part of it, and how.
    pub wish: &'a Wish,
    /// How many hosts may fail in a stage before nothing new is begun; so many workers may be away, and are left out.
    pub most_failed: Option<usize>,
    /// Checks whose findings do not matter.
    pub ignored: &'a [CheckName],
    /// Where artifacts come from.
    pub bundle: Arc<BundleFolder>,
    /// What is random, and what the user said.
    pub given: &'a Given,
}

/// What was upgraded.
pub struct Upgraded {
    /// How it ended, with what all stages have done; nothing, if there was nothing to do.
    pub outcome: Option<Outcome>,
    /// The snapshot of etcd that was taken before.
    pub kept: Option<KeptSnapshot>,
    /// The stages that are done.
    pub stages: Vec<StageName>,
    /// What is left to do, by what it is, with the hosts.
    pub left: BTreeMap<&'static str, BTreeSet<String>>,
}

impl UpgradeRequest<'_> {
    fn meant(&self) -> Meant<'_> {
        Meant { cluster: self.cluster, limit: &self.wish.limit, most_away: self.most_failed }
    }

    /// What is wished of the hosts that answer.
    fn wish_without(&self, left_out: &BTreeMap<String, String>) -> Wish {
        let meant = self.cluster.hosts.iter().map(|host| &host.name).filter(|host| self.meant().has(host));
        let (missing, others): (Vec<String>, Vec<String>) = meant.cloned().partition(|host| left_out.contains_key(host));
        let limit = if missing.is_empty() { self.wish.limit.clone() } else { others };
        Wish { limit, away: left_out.keys().cloned().collect(), ..self.wish.clone() }
    }

    /// The arguments by which it goes on, as the journal has them.
    fn part(&self) -> String {
        let turn = match self.turn {
            Turn::Whole => format!("--to {}", self.to),
            Turn::Emulate => format!("--emulate --to {}", self.to),
            Turn::Finish => "--finish".to_owned(),
            Turn::TakeBack => "--take-back".to_owned(),
            Turn::Components => "--part components".to_owned(),
        };
        let limit = Some(self.wish.limit.join(",")).filter(|limit| !limit.is_empty());
        limit.map_or(turn.clone(), |limit| format!("{turn} --limit {limit}"))
    }

    /// The hosts of which everything is looked at in each stage.
    fn selection(&self, left_out: &BTreeSet<String>) -> Result<Selection, Vec<Failure>> {
        let is_looked_at = |host: &str| !left_out.contains(host) && (self.turn != Turn::Components || self.meant().has(host));
        let mut limit: Vec<String> = self.cluster.hosts.iter().map(|host| host.name.clone()).collect();
        limit.retain(|host| is_looked_at(host));
        // All of them are the whole, which is more than each of them.
        if limit.len() == self.cluster.hosts.len() {
            limit.clear();
        }
        let refused = |refusals: Vec<_>| refusals.into_iter().map(|it| Failure::refusal(Kind::Input, it)).collect::<Vec<_>>();
        let selection = Selection::new(Choice { only: &[], skip: &[], limit: &limit }, self.cluster).map_err(refused)?;
        Ok(selection.without(left_out))
    }
}

/// Which versions run, of workers that may be away by what the API knows of them. Nothing is changed.
///
/// # Errors
/// [`Failure`]s if that is not known of a host.
pub async fn running(context: &Context, meant: Meant<'_>) -> Result<Running, Vec<Failure>> {
    running_of(meant.cluster, &meant.base(meant.tolerance(true), context).await?)
}

fn running_of(cluster: &Cluster, base: &Base) -> Result<Running, Vec<Failure>> {
    let refused = |refusals: Vec<_>| refusals.into_iter().map(|refusal| Failure::refusal(Kind::Host, refusal)).collect::<Vec<_>>();
    Running::from_seen(cluster, &base.seen).map_err(refused)
}

/// The way that an upgrade would go, and what is in it. Nothing is changed.
///
/// # Errors
/// [`Failure`]s if there is none.
pub async fn upgrade_way(context: &Context, request: &UpgradeRequest<'_>) -> Result<Way, Vec<Failure>> {
    let tolerance = request.meant().tolerance(true);
    let base = request.meant().base(tolerance, context).await?;
    request.planned_way(&base, tolerance, context).await
}

/// Brings a cluster to another version, or goes on with that. Whoever calls has the cluster's lock, which ends with the run.
///
/// # Errors
/// [`Error`] if not all of it is done.
pub async fn upgrade(
    context: &Context,
    (store, lock): (&dyn Store, Lock),
    request: &UpgradeRequest<'_>,
    options: Options<'_>,
) -> Result<Upgraded, Error> {
    let UpgradeRequest { cluster, bundle, given, .. } = request;
    let run = Run::begin("upgrade", cluster, Some(request.part()), (context, lock), options);
    let tolerance = request.meant().tolerance(run.options.take_over);
    let (base, way) = run.unless_stopped(request.settled_way(tolerance, context)).await?;
    // What was awaited has had its time.
    let blocking: Vec<Failure> = way.found.iter().filter(|found| found.blocks).map(blocking).collect();
    if !blocking.is_empty() {
        return run.recorded(Err(blocking));
    }
    let mut kept = None;
    if !way.stages.is_empty() {
        run.begins()?;
        kept = run.unless_stopped(keep(cluster, &base.links, base.snapshot, (store, run.options.run, None), &context.events)).await?;
    }
    // What the look held of connections is given back before each stage connects anew.
    drop(base.links);
    let selection = run.recorded(request.selection(&way.left_out))?;
    let stages = way.stages.iter();
    let requests: Vec<ApplyRequest<'_>> = stages
        .map(|stage| ApplyRequest::of_stage(&stage.cluster, &selection, (bundle, *given)).with_most_failed(request.most_failed))
        .collect();
    let mut becomes = requests.iter().map(|request| replace::Stage::Become(Apply { request }));
    let Some(first) = becomes.next() else {
        let outcome = Outcome::default();
        context.events.send(outcome.to_event(context.events.milliseconds()));
        return Ok(Upgraded { outcome: None, kept, stages: Vec::new(), left: left(&way.running, &way.to) });
    };
    let mut order = Stages::new(first, becomes);
    let driven = run.drive(&mut order).await?;
    let names = way.stages.iter().map(|stage| stage.name).collect();
    Ok(Upgraded { outcome: driven.outcome, kept, stages: names, left: left_after(&way, order.left_out()) })
}

/// What is left when these stages are done, each without the hosts that could not be reached by then.
fn left_after(way: &Way, left_out: &[BTreeSet<String>]) -> BTreeMap<&'static str, BTreeSet<String>> {
    let Some(cluster) = way.stages.last().map(|stage| &stage.cluster) else { return left(&way.running, &way.to) };
    let planes = cluster.control_planes().map(|host| (host.name.clone(), cluster.plane_version(host).clone())).collect();
    let is_lost = |host: &String| way.stages.iter().zip(left_out).any(|(stage, lost)| stage.hosts.contains(host) && lost.contains(host));
    let changed = cluster.nodes().filter(|host| !way.left_out.contains(&host.name) && !is_lost(&host.name));
    let changed = changed.map(|host| (host.name.clone(), cluster.kubelet_version(host).clone()));
    let kubelets = way.running.kubelets.clone().into_iter().chain(changed).collect();
    left(&Running { planes, kubelets, ..way.running.clone() }, &way.to)
}

/// A finding as what stops an upgrade.
fn blocking(found: &Found) -> Failure {
    let failure = Failure::refusal(Kind::Host, found.refusal.clone());
    let hint = failure.hint.clone().unwrap_or_default();
    failure.hint(format!("{hint}; or, if it does not matter: --ignore {}", found.name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use kok_crds::model::Underway;
    use kok_tasks::upgrade::Stage;

    use super::*;

    const FILE: &str =
        "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec:\n  kubernetesVersion: 1.37.1\n  hosts:\n
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}\n  - {name: w1, address: 10.0.0.12, roles: [worker]}\n
  - {name: w2, address: 10.0.0.13, roles: [worker]}\n";

    pub(super) fn two_workers() -> Cluster {
        kok_crds::read_cluster("c.yaml", FILE).unwrap()
    }

    /// Whoever shows the way before it is gone refuses it for what is to be mended, and not for what comes by itself.
    #[test]
    fn a_member_that_is_awaited_stops_nobody() {
        let refusal = kok_tasks::plan::Refusal::new("its member of etcd does not answer");
        let mut way = Way {
            running: Running::default(),
            to: "1.37.1".parse().unwrap(),
            hops: Vec::new(),
            stages: Vec::new(),
            left_out: BTreeSet::new(),
            found: vec![kok_tasks::upgrade::Found { name: CheckName::Etcd, blocks: true, refusal }],
            awaited: BTreeSet::new(),
            plan: None,
        };
        let hints = |way: &Way| way.blocking().into_iter().map(|failure| failure.hint.unwrap()).collect::<Vec<_>>();
        assert!(matches!(&hints(&way)[..], [hint] if hint.contains("--ignore etcd")), "{:?}", hints(&way));
        way.awaited.insert("cp1".to_owned());
        assert_eq!(hints(&way), [""; 0]);
    }

    /// Whether a worker was there when its turn came is what counts, not whether it is there in the end.
    #[test]
    fn a_worker_that_was_lost_before_its_turn_is_left() {
        let (old, new): (Version, Version) = ("1.36.3".parse().unwrap(), "1.37.1".parse().unwrap());
        let cluster = two_workers();
        let versions = |version: &Version, hosts: &[&str]| hosts.iter().map(|host| ((*host).to_owned(), version.clone())).collect();
        let kubelets = versions(&old, &["cp1", "w1", "w2"]);
        let underway = Underway { kubelets: versions(&new, &["cp1", "w1", "w2"]), ..Underway::default() };
        let done = Cluster { underway: Some(underway), ..cluster };
        let stage = |name, hosts: &[&str]| Stage { name, cluster: done.clone(), hosts: hosts.iter().map(ToString::to_string).collect() };
        let way = Way {
            running: Running { planes: versions(&new, &["cp1"]), kubelets, ..Running::default() },
            to: new,
            hops: Vec::new(),
            stages: vec![stage(StageName::Configuration, &["cp1"]), stage(StageName::Kubelets, &["cp1", "w1", "w2"])],
            left_out: BTreeSet::new(),
            found: Vec::new(),
            awaited: BTreeSet::new(),
            plan: None,
        };
        let lost = |hosts: &[&str]| hosts.iter().map(ToString::to_string).collect::<BTreeSet<String>>();
        assert_eq!(left_after(&way, &[lost(&[]), lost(&[])]), BTreeMap::new());
        assert_eq!(left_after(&way, &[lost(&[]), lost(&["w2"])]), BTreeMap::from([("kubelets", lost(&["w2"]))]));
        assert_eq!(left_after(&way, &[lost(&["w2"]), lost(&[])]), BTreeMap::new(), "it came back in time");
    }
}
