//! `kokctl reset`

use std::io::{self, BufRead as _, IsTerminal as _};

use clap::Args;
use kok_crds::counted;
use kok_crds::model::Cluster;

use super::changing::{ChangingArguments, MOST_PLANS, Run, Work};
use super::converge::{Tolerance, take_down};
use super::files::{ClusterFiles, ExtraVars};
use super::wanted::may_reset;
use crate::run::Secrets;
use crate::state::Keeping;
use crate::ui::{Failure, Kind, status_line};

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
    #[command(flatten)]
    changing: ChangingArguments,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (input, cluster) = arguments.cluster.without_manifests(&arguments.extra)?;
    may_reset(&input)?;
    if !arguments.yes {
        ask(&cluster).map_err(|failure| vec![failure])?;
    }
    let run = Run::begin("reset", &cluster, None, &arguments.changing)?;
    let tolerance = Tolerance { holder: arguments.changing.take_over, ..Tolerance::default() };
    for _ in 0..MOST_PLANS {
        let planned = run.plan(take_down(&cluster, tolerance, &run.events)).await?;
        if planned.plan.is_empty() {
            run.nothing_to_do(&planned).await;
            say_kept(&cluster);
            return Ok(());
        }
        let work = Work { secrets: Secrets::none(), bundle: None, whole: true, most_failed: None };
        if run.carry_out(&planned, work).await?.is_some() {
            let hosts = counted(planned.plan.changes().count(), "host is", "hosts are");
            run.say(&format!("{hosts} no longer part of the cluster {}", cluster.name));
            say_kept(&cluster);
            return Ok(());
        }
    }
    Err(run.never_held())
}

/// What is kept on this machine is the user's to remove: with it, the next cluster of that name has the authorities of this one.
fn say_kept(cluster: &Cluster) {
    let Some(file) = &cluster.settings.certificates.escrow else { return };
    let keeping = Keeping::new(&cluster.name, file);
    if keeping.path().exists() {
        let path = keeping.path().display();
        status_line(&format!("note: {path} stays; the next apply takes the keys that it keeps. Remove it if there are to be new ones"));
    }
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
