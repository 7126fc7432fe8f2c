//! `kokctl apply`

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use kok_crds::count;
use kok_crds::model::Cluster;
use kok_tasks::network_plugins::carries_pods;
use kok_tasks::plan::{Plan, Selection};

use super::changing::{ChangingArguments, Session, failures};
use super::common::{BundleArgument, MaxFail, PruneArgument};
use super::drain_arguments::SerialOption;
use super::files::{ClusterFiles, ExtraVars, Noted};
use super::process;
use super::report;
use super::reset::snapshot_words;
use super::saved_plan::{SavedPlan, document, part_words};
use super::wanted::{PartArguments, Wanted};
use crate::engine::{self, Applied, ApplyRequest, Given, Verdict};
use crate::failure::Failure;
use crate::run::Outcome;
use crate::ui::status_line;

/// Bring the hosts to what the cluster's file says
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    bundle: BundleArgument,
    #[command(flatten)]
    part: PartArguments,
    #[command(flatten)]
    prune: PruneArgument,
    #[command(flatten)]
    serial: SerialOption,
    /// How many hosts may fail, as a number or as a percentage of all; above that nothing new is begun. Up to so many hosts that can't
    /// be reached and are no control plane are left out
    #[arg(long, value_name = "N|N%")]
    max_fail: Option<MaxFail>,
    /// Carry out the plan that `plan --save FILE` has written, and nothing else: it is made anew, and where it is another one by now nothing is
    /// changed
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    #[command(flatten)]
    changing: ChangingArguments,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let saved = arguments.plan.as_deref().map(SavedPlan::read).transpose()?;
    let wanted = arguments.part.read(&arguments.cluster, &arguments.extra, false)?;
    let (wanted, given) = match &saved {
        Some(saved) => (of_saved(saved, wanted, arguments.prune.prune)?, saved.given()?),
        None => (wanted, Given::new(arguments.prune.prune)?),
    };
    let Wanted { mut cluster, selection, part, noted } = wanted;
    arguments.serial.tell(&mut cluster);
    arguments.bundle.tell_hosts(&mut cluster);
    let transport = process::transport();
    let bundle = Arc::new(arguments.bundle.open_or_fetch(&cluster, &transport).await?);
    let (session, lock) = Session::open(&cluster, &arguments.changing, transport).map_err(|failure| vec![failure])?;
    let noted = (noted != Noted::default()).then(|| (noted.without_effect(), noted.notices));
    let most_failed = arguments.max_fail.map(|most| most.count_of(cluster.hosts.len()));
    let request = ApplyRequest { cluster: &cluster, selection: &selection, part, bundle, given: &given, most_failed, noted };
    let approve = |plan: &Plan| {
        report::unpruned(given.prune, &selection, plan).iter().for_each(|text| status_line(text));
        // What is done already is done, whatever was planned before.
        let saved = saved.as_ref().filter(|_| !plan.is_empty());
        match saved.map(|saved| saved.is_still(&document(&given, plan, &cluster, &selection))) {
            Some(Err(changed)) => Verdict::Changed(changed),
            Some(Ok(())) | None => Verdict::Go,
        }
    };
    let applied = session
        .with_options(approve, async |options| engine::apply(&session.context, (&session.store, lock), &request, options).await)
        .await;
    let Applied { plan, outcome, kept } = applied.map_err(|error| failures(error, "apply"))?;
    removed_words(&cluster, &selection).iter().for_each(|text| status_line(text));
    kept.iter().flat_map(snapshot_words).for_each(|text| status_line(&text));
    match outcome {
        Some(outcome) => say_done(&session, arguments, &cluster, &selection, &plan, &outcome),
        None => {
            session.say("nothing to do");
            report::part(&selection, &plan).iter().for_each(|text| status_line(text));
        }
    }
    Ok(())
}

/// Of hosts that the file wants gone, and that are.
fn removed_words(cluster: &Cluster, selection: &Selection) -> Option<String> {
    let names = cluster.removed.join(", ");
    match (cluster.removed.is_empty(), selection.is_whole()) {
        (true, _) => None,
        (false, true) => {
            Some(format!("{names}: no part of the cluster {}; the names may go from `removed`, and their lines from `hosts`", cluster.name))
        }
        (false, false) => Some(format!("note: {names} stay, for only a part is meant; `apply` of the whole takes them out")),
    }
}

/// What a saved plan is for: its own part of the cluster.
fn of_saved(saved: &SavedPlan, wanted: Wanted, prune: bool) -> Result<Wanted, Vec<Failure>> {
    let selection = saved.selection(&wanted.cluster, wanted.selection, prune)?;
    let part = part_words(&selection);
    Ok(Wanted { selection, part, ..wanted })
}

fn say_done(session: &Session<'_>, arguments: &Arguments, cluster: &Cluster, selection: &Selection, plan: &Plan, outcome: &Outcome) {
    let (name, done, seconds) = (&cluster.name, count(outcome.done, "change"), session.seconds());
    if let Some(part) = report::part(selection, plan) {
        let hosts = count(report::changed_hosts(plan), "host");
        session.say(&format!("{done} on {hosts} of {name}, {seconds:.1} s; this is not a whole cluster"));
        return session.say(&part);
    }
    let hosts = count(cluster.hosts.len(), "host");
    if !carries_pods(&cluster.network) {
        session.say(&format!("cluster {name} runs without a network: {hosts}, {done}, {seconds:.1} s"));
        session.say("its nodes are not Ready, CoreDNS waits, and no pods have tried the network: install a network plugin that you choose");
    } else {
        session.say(&format!("cluster {name} is ready: {hosts}, {done}, {seconds:.1} s"));
    }
    let file = arguments.cluster.path().display();
    session.say(&format!("next: kokctl kubeconfig -f {file} --merge && kubectl get nodes"));
}
