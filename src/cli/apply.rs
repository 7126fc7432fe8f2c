//! `kokctl apply`

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use kok_crds::count;
use kok_crds::model::Cluster;
use kok_tasks::artifact::Artifact;
use kok_tasks::network_plugins::carries_pods;
use kok_tasks::plan::{Plan, Selection};
use kok_tasks::resources::Act;

use super::changing::{ChangingArguments, MOST_PLANS, Run, Work};
use super::common::{BundleArgument, MaxFail, PruneArgument};
use super::files::{ClusterFiles, ExtraVars, Noted};
use super::report;
use super::saved_plan::{SavedPlan, document, part_words};
use super::wanted::{PartArguments, Wanted};
use crate::artifacts::BundleFolder;
use crate::engine::{Given, Planned, Tolerance, converge};
use crate::event::EventKind;
use crate::failure::Failure;
use crate::run::{Keepers, Outcome, Secrets, Token};
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
    let Wanted { cluster, selection, part, noted } = wanted;
    let bundle = Arc::new(arguments.bundle.open()?);
    let run = Run::begin("apply", &cluster, part, &arguments.changing)?;
    if noted != Noted::default() {
        run.context.events.send(EventKind::FilesNoted { idle: noted.without_effect(), notices: noted.notices });
    }
    let most_failed = arguments.max_fail.map(|most| most.of(cluster.hosts.len()));
    let tolerance =
        Tolerance { holder: arguments.changing.take_over, unreachable: most_failed.unwrap_or_default(), ..Tolerance::default() };
    for _ in 0..MOST_PLANS {
        let planned = run.plan(converge(&cluster, bundle.bundle(), &selection, &given, tolerance, &run.context)).await?;
        report::unpruned(given.prune, &selection, &planned.plan).iter().for_each(|text| status_line(text));
        if planned.plan.is_empty() && !(selection.is_whole() && run.takes_over(&planned)) {
            make_secrets(&run, &planned, &given.token).await?;
            run.nothing_to_do(&planned).await;
            report::part(&selection, &planned.plan).iter().for_each(|text| status_line(text));
            return Ok(());
        }
        if let Some(saved) = saved.as_ref().filter(|_| !planned.plan.is_empty()) {
            run.recorded(saved.is_still(&document(&given, &planned.plan, &cluster, &selection)))?;
        }
        // Both before the first host is changed: a corrupted file, or an authority that can't be read, must not leave a half-made cluster.
        verify(&run, &bundle, &planned.plan)?;
        let secrets = make_secrets(&run, &planned, &given.token).await?;
        let work = Work { secrets, bundle: Some(Arc::clone(&bundle)), whole: selection.is_whole(), most_failed };
        if let Some(outcome) = run.carry_out(&planned, work).await? {
            say_done(&run, arguments, &cluster, &selection, &planned.plan, &outcome);
            return Ok(());
        }
    }
    Err(run.never_held())
}

/// What a saved plan is for: its own part of the cluster.
fn of_saved(saved: &SavedPlan, wanted: Wanted, prune: bool) -> Result<Wanted, Vec<Failure>> {
    let selection = saved.selection(&wanted.cluster, wanted.selection, prune)?;
    let part = part_words(&selection);
    Ok(Wanted { selection, part, ..wanted })
}

fn artifacts(plan: &Plan) -> Vec<Artifact> {
    let acts = plan.changes().map(|(step, change)| step.act(change));
    acts.filter_map(|act| if let Act::Stream { artifact, .. } = act { Some(artifact) } else { None }).collect()
}

fn verify(run: &Run<'_>, bundle: &BundleFolder, plan: &Plan) -> Result<(), Vec<Failure>> {
    let needed = artifacts(plan);
    let bytes = run.recorded(tokio::task::block_in_place(|| bundle.verify(needed.iter())))?;
    if bytes > 0 {
        run.context.events.send(EventKind::BundleVerified { bytes });
    }
    Ok(())
}

async fn make_secrets(run: &Run<'_>, planned: &Planned, token: &Token) -> Result<Secrets, Vec<Failure>> {
    let (control_plane, etcd, encryption) = (&planned.keeper, &planned.etcd_keeper, &planned.encryption_keeper);
    let keepers = Keepers { control_plane: control_plane.as_deref(), etcd: etcd.as_deref(), encryption: encryption.as_deref() };
    let secrets = Secrets::prepare(&planned.cluster, &planned.plan, keepers, token, &planned.links, planned.now_seconds, run.home()).await;
    let secrets = run.recorded(secrets.map_err(|failure| vec![failure]))?;
    if secrets.made() > 0 {
        run.context.events.send(EventKind::SecretsReady { made: secrets.made() });
    }
    if let Some(path) = secrets.kept_in() {
        status_line(&format!("note: {} keeps the keys of {} now; whoever reads it owns the cluster", path.display(), planned.cluster.name));
    }
    Ok(secrets)
}

fn say_done(run: &Run<'_>, arguments: &Arguments, cluster: &Cluster, selection: &Selection, plan: &Plan, outcome: &Outcome) {
    let (name, done, seconds) = (&cluster.name, count(outcome.done, "change"), run.seconds());
    if let Some(part) = report::part(selection, plan) {
        let hosts = count(report::changed_hosts(plan), "host");
        run.say(&format!("{done} on {hosts} of {name}, {seconds:.1} s; this is not a whole cluster"));
        return run.say(&part);
    }
    let hosts = count(cluster.hosts.len(), "host");
    if !carries_pods(&cluster.network) {
        run.say(&format!("cluster {name} runs without a network: {hosts}, {done}, {seconds:.1} s"));
        run.say("its nodes are not Ready, CoreDNS waits, and no pods have tried the network: install a network plugin that you choose");
    } else {
        run.say(&format!("cluster {name} is ready: {hosts}, {done}, {seconds:.1} s"));
    }
    let file = arguments.cluster.path().display();
    run.say(&format!("next: kokctl kubeconfig -f {file} --merge && kubectl get nodes"));
}
