//! The changes of one stage of a run, from taking hosts to its end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kok_crds::model::Cluster;
use kok_tasks::holder::Standing;
use kok_tasks::plan::Plan;
use tokio::sync::watch;

use super::batch::Writer;
use super::dispatch::Dispatcher;
use super::holder::{ByLinks, Held, Taken, Taking, take};
use super::link::Links;
use super::outcome::Outcome;
use super::over_ssh::OverSsh;
use super::secrets::Secrets;
use super::wish::{Stop, unless_wished};
use crate::artifacts::BundleFolder;
use crate::event::{EventKind, Events};
use crate::failure::Failure;
use crate::pools::Pools;

/// What carrying out a plan needs besides it.
pub struct PlanMeans<'a> {
    /// The cluster that the plan is of.
    pub cluster: &'a Cluster,
    /// The connections.
    pub links: &'a Links,
    /// What stood in the hosts' holder records when they were probed.
    pub standing: &'a BTreeMap<String, Standing>,
    /// Who wants to write.
    pub taking: Taking,
    /// The secrets that the plan names.
    pub secrets: Secrets,
    /// Where artifacts come from; may be left out where the plan streams none.
    pub bundle: Option<Arc<BundleFolder>>,
    /// Whether the plan is for a whole cluster, whose hosts are all taken; of a part only those that are changed.
    pub whole: bool,
    /// Hosts that can't be reached, and why.
    pub left_out: &'a BTreeMap<String, String>,
    /// How many hosts may fail before nothing new is begun.
    pub most_failed: Option<usize>,
    /// What the user wishes of the run.
    pub stop: watch::Receiver<Stop>,
    /// How much may be under way at the same time.
    pub pools: Pools,
}

/// What carrying out a plan came to.
#[derive(Debug)]
pub enum Carried {
    /// How the run ended.
    Out(Outcome),
    /// Not begun: the plan is too old, for these hosts changed hands since they were probed. Nobody holds them for this run.
    NotBegun(BTreeSet<String>),
}

/// Whose API servers write to an etcd whose lead may move.
fn writers(cluster: &Cluster) -> Vec<String> {
    let has_several = cluster.etcd_hosts().count() > 1;
    cluster.control_planes().filter(|_| has_several).map(|host| host.name.clone()).collect()
}

/// Takes those of the plan's hosts that the run does not hold yet, and runs the plan. Whoever calls lets go of what is `held` when its last
/// stage has ended, however it did. A first SIGINT or SIGTERM ends the run in good order, also while hosts are being taken.
///
/// # Errors
/// [`Failure`]s if hosts can't be taken; nothing of this plan has been done then, and all hosts have been let go.
pub async fn carry_out(plan: &Plan, means: PlanMeans<'_>, held: &mut Held, events: &Events) -> Result<Carried, Vec<Failure>> {
    let mut stop = means.stop;
    let hosts = taken_by(plan, means.whole);
    held.reached_by(means.links);
    let door = ByLinks::new(means.links, events);
    match unless_wished(&mut stop, Stop::Finish, take(&door, &hosts, means.standing, &means.taking, held, events)).await {
        Some(Ok(Taken::AsProbed)) => {}
        Some(Ok(Taken::ChangedHands(hosts))) => return Ok(Carried::NotBegun(hosts)),
        Some(Err(failures)) => return Err(failures),
        None => {
            held.let_go(&mut stop, events).await;
            return Ok(Carried::Out(stopped_before_the_first_change(plan, events)));
        }
    }
    let reached = Arc::new(OverSsh {
        links: means.links.clone(),
        secrets: means.secrets,
        bundle: means.bundle,
        events: events.clone(),
        writer: Writer { run: means.taking.run, line: held.line.clone() },
        boots: held.boots.clone(),
        writers: writers(means.cluster),
    });
    let dispatcher = Dispatcher::over(plan, means.cluster, reached, events.clone(), means.pools, stop.clone());
    let dispatcher = dispatcher.most_failed(means.most_failed).without(means.left_out);
    let outcome = dispatcher.run().await;
    if !outcome.in_doubt.is_empty() {
        held.leave_in_doubt();
    }
    Ok(Carried::Out(outcome))
}

/// The hosts of a whole plan, or those that a part of one changes.
fn taken_by(plan: &Plan, whole: bool) -> Vec<String> {
    let (mut hosts, mut known) = (Vec::new(), BTreeSet::new());
    for step in plan.steps().filter(|step| whole || plan.change(&step.id).is_some()) {
        if known.insert(step.host.as_str()) {
            hosts.push(step.host.clone());
        }
    }
    hosts
}

fn stopped_before_the_first_change(plan: &Plan, events: &Events) -> Outcome {
    let because = Stop::BECAUSE.to_owned();
    let blocked = plan.changes().count();
    events.send(EventKind::RunStopping { because: because.clone(), awaited: Vec::new() });
    let mut not_begun = BTreeMap::new();
    plan.changes().for_each(|(step, _)| *not_begun.entry(step.host.clone()).or_default() += 1);
    let outcome = Outcome { blocked, stopped: Some(because), not_begun, ..Outcome::default() };
    events.send(outcome.to_event(events.milliseconds()));
    outcome
}
