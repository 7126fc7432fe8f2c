//! `kokctl reset`

use std::io::{self, BufRead as _, IsTerminal as _};

use clap::Args;
use kok_crds::model::Cluster;

use super::apply::{open_events, recorded};
use super::converge::{Tolerance, take_down};
use super::files::{ClusterFiles, ExtraVars};
use super::report;
use crate::run::{EventKind, Means, Secrets, Taking, carry_out, forget};
use crate::state::ClusterLock;
use crate::ui::{Failure, Kind, line, status_line};

/// Take the cluster down: remove Kubernetes, its data, containerd and kokctl's own files from every host
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    /// Don't ask
    #[arg(long)]
    yes: bool,
    /// End what another run that holds the hosts has at work there, and take its place
    #[arg(long)]
    take_over: bool,
    /// Print every event as a line of JSON on standard output
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let cluster = arguments.cluster.read(&arguments.extra)?;
    if !arguments.yes {
        ask(&cluster).map_err(|failure| vec![failure])?;
    }
    let _lock = ClusterLock::take(&cluster.name).map_err(|failure| vec![failure])?;
    let (events, run) = open_events("reset", &cluster, None, arguments.json)?;
    let planned = recorded(&events, take_down(&cluster, Tolerance { holder: arguments.take_over, ..Tolerance::default() }, &events).await)?;
    let count = planned.plan.changes().count();
    if planned.plan.is_empty() {
        forget(&planned.links, &planned.standing).await;
        events.send(EventKind::RunFinished { done: 0, failed: 0, blocked: 0, took_milliseconds: events.milliseconds() });
        return say(arguments, "nothing to do");
    }
    let taking = Taking { run, take_over: arguments.take_over };
    let (links, standing, secrets) = (&planned.links, &planned.standing, Secrets::none());
    let means = Means { links, standing, taking, secrets, bundle: None, whole: true, left_out: &planned.left_out, most_failed: None };
    let outcome = recorded(&events, carry_out(&planned.plan, means, &events).await)?;
    if !outcome.is_complete() {
        return Err(report::failures(&outcome, "`kokctl reset`"));
    }
    say(arguments, &format!("{count} hosts are no longer part of the cluster {}", cluster.name))
}

fn say(arguments: &Arguments, text: &str) -> Result<(), Vec<Failure>> {
    if arguments.json {
        status_line(text)
    } else {
        line(text)
    }
    Ok(())
}

/// The name of the cluster is asked for, because a `y` is typed too easily.
fn ask(cluster: &Cluster) -> Result<(), Failure> {
    let hosts = cluster.hosts.iter().map(|host| format!("{} ({})", host.name, host.address)).collect::<Vec<_>>().join(", ");
    if !io::stdin().is_terminal() {
        return Err(Failure::new(Kind::Declined, "nobody confirmed the reset")
            .because("standard input is no terminal")
            .hint("add --yes if everything of Kubernetes on these hosts may go"));
    }
    status_line(&format!("This removes Kubernetes and ALL ITS DATA, etcd and volumes on the hosts included, from {hosts}."));
    status_line(&format!("Type the name of the cluster ({}) to go on:", cluster.name));
    let mut answer = String::new();
    let _ = io::stdin().lock().read_line(&mut answer);
    if answer.trim() == cluster.name {
        Ok(())
    } else {
        Err(Failure::new(Kind::Declined, "the reset was not confirmed").hint("nothing was changed"))
    }
}
