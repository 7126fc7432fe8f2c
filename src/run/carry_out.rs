//! A run's changes, from taking the hosts to letting go of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use kok_tasks::holder::Standing;
use kok_tasks::plan::Plan;

use super::batch::Writer;
use super::dispatch::Dispatcher;
use super::event::Events;
use super::holder::{Taking, release, take};
use super::link::Links;
use super::outcome::Outcome;
use super::over_ssh::OverSsh;
use super::secrets::Secrets;
use super::signals::listen;
use crate::artifacts::BundleFolder;
use crate::pools::Pools;
use crate::ui::Failure;

/// What carrying out a plan needs besides it.
pub struct Means<'a> {
    /// The connections.
    pub links: &'a Links,
    /// What stood in the hosts' holder records when they were probed.
    pub standing: &'a BTreeMap<String, Standing>,
    /// Who wants to write.
    pub taking: Taking,
    /// The secrets that the plan names.
    pub secrets: Secrets,
    /// Where artifacts come from; may be left out where the plan streams none.
    pub bundle: Option<BundleFolder>,
    /// Whether the plan is for a whole cluster, whose hosts are all taken; of a part only those that are changed.
    pub whole: bool,
    /// Hosts that can't be reached, and why.
    pub left_out: &'a BTreeMap<String, String>,
    /// How many hosts may fail before nothing new is begun.
    pub most_failed: Option<usize>,
}

/// Takes the plan's hosts, runs the plan, and lets go of the hosts. From here on a first SIGINT or SIGTERM ends the run in good order.
///
/// # Errors
/// [`Failure`]s if hosts can't be taken; nothing has been changed then.
pub async fn carry_out(plan: &Plan, means: Means<'_>, events: &Events) -> Result<Outcome, Vec<Failure>> {
    let stop = listen().map_err(|failure| vec![failure])?;
    let mut hosts: Vec<String> = Vec::new();
    for step in plan.steps().filter(|step| means.whole || plan.change(&step.id).is_some()) {
        if !hosts.contains(&step.host) {
            hosts.push(step.host.clone());
        }
    }
    let held = take(means.links, &hosts, means.standing, &means.taking).await?;
    let reached = Arc::new(OverSsh {
        links: means.links.clone(),
        secrets: means.secrets,
        bundle: means.bundle,
        events: events.clone(),
        writer: Writer { run: means.taking.run, line: held.line.clone() },
        boots: held.boots.clone(),
    });
    let dispatcher = Dispatcher::over(plan, reached, events.clone(), Pools::default(), stop);
    let dispatcher = dispatcher.most_failed(means.most_failed).without(means.left_out);
    let outcome = dispatcher.run().await;
    // What is in doubt may still be at work, and only the next run of this controller knows that it may take these hosts all the same.
    if outcome.in_doubt.is_empty() {
        release(means.links, &held).await;
    }
    Ok(outcome)
}
