//! `kokctl reset`

mod keep;

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::PathBuf;

use clap::Args;
use kok_crds::model::Cluster;
use kok_crds::{counted, listed};

use super::changing::{ChangingArguments, MOST_PLANS, Run, Work};
use super::converge::{Tolerance, take_down, take_out};
use super::files::{ClusterFiles, ExtraVars};
use super::limit::LimitArgument;
use super::wanted::WantedReset;
use crate::run::{EventKind, Secrets};
use crate::state::{Keeping, SnapshotFile};
use crate::ui::{Failure, Kind, status_line};
use keep::keep;

/// Take the cluster down, or workers out of it: remove Kubernetes, its data, containerd and kokctl's own files from every host, or from these
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    limit: LimitArgument,
    /// Don't ask
    #[arg(long)]
    yes: bool,
    /// Where the snapshot of etcd is kept that is taken before the whole cluster goes; by default in kokctl's folder of the cluster
    #[arg(long, value_name = "FILE")]
    snapshot: Option<PathBuf>,
    /// Take no snapshot of etcd: all that the cluster has stored may be lost
    #[arg(long, conflicts_with = "snapshot")]
    no_snapshot: bool,
    #[command(flatten)]
    changing: ChangingArguments,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (input, cluster) = arguments.cluster.without_manifests(&arguments.extra)?;
    let WantedReset { part, agreed } = arguments.limit.reset(&input, &cluster)?;
    if let Some(path) = &arguments.snapshot {
        SnapshotFile::check(path).map_err(|failure| vec![failure])?;
    }
    match agreed {
        _ if arguments.yes => {}
        Some(at) => status_line(&format!("note: nobody is asked, for the operation at {at} asks for it")),
        None => ask(&cluster, part.as_ref().map(|(hosts, _)| hosts.as_slice())).map_err(|failure| vec![failure])?,
    }
    match part {
        None => whole(arguments, &cluster).await,
        Some((hosts, written)) => some(arguments, &cluster, &hosts, &written).await,
    }
}

async fn whole(arguments: &Arguments, cluster: &Cluster) -> Result<(), Vec<Failure>> {
    let run = Run::begin("reset", cluster, None, &arguments.changing)?;
    let tolerance = Tolerance { holder: arguments.changing.take_over, ..Tolerance::default() };
    for _ in 0..MOST_PLANS {
        let (planned, snapshot) = run.plan(take_down(cluster, tolerance, &run.events)).await?;
        if planned.plan.is_empty() {
            run.nothing_to_do(&planned).await;
            say_kept(cluster);
            return Ok(());
        }
        let kept = if arguments.no_snapshot {
            run.events.send(EventKind::SnapshotLeftOut { because: "--no-snapshot leaves it out".to_owned() });
            None
        } else {
            let place = arguments.snapshot.as_deref();
            run.unless_stopped(keep(cluster, &planned.links, snapshot, place, run.name(), &run.events)).await?
        };
        if run.carry_out(&planned, work(true)).await?.is_some() {
            let hosts = counted(planned.plan.changes().count(), "host is", "hosts are");
            run.say(&format!("{hosts} no longer part of the cluster {}", cluster.name));
            kept.iter().flat_map(keep::Backup::told).for_each(|text| run.say(&text));
            say_kept(cluster);
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

async fn some(arguments: &Arguments, cluster: &Cluster, hosts: &[String], written: &str) -> Result<(), Vec<Failure>> {
    let run = Run::begin("reset", cluster, Some(format!("--limit {written}")), &arguments.changing)?;
    let tolerance = Tolerance { holder: arguments.changing.take_over, ..Tolerance::default() };
    for _ in 0..MOST_PLANS {
        let planned = run.plan(take_out(cluster, hosts, tolerance, &run.events)).await?;
        if planned.plan.is_empty() {
            run.nothing_to_do(&planned).await;
            return Ok(());
        }
        if run.carry_out(&planned, work(false)).await?.is_some() {
            let (names, is) = (listed(hosts.iter().map(String::as_str)), if hosts.len() == 1 { "is" } else { "are" });
            run.say(&format!("{names} {is} no longer part of the cluster {}", cluster.name));
            run.say("the next `kokctl apply` makes nodes of them again, unless you take them out of the file");
            return Ok(());
        }
    }
    Err(run.never_held())
}

fn work(whole: bool) -> Work {
    Work { secrets: Secrets::none(), bundle: None, whole, most_failed: None }
}

/// The name of the cluster is asked for, because a `y` is typed too easily.
fn ask(cluster: &Cluster, part: Option<&[String]>) -> Result<(), Failure> {
    let meant = cluster.hosts.iter().filter(|host| part.is_none_or(|part| part.contains(&host.name)));
    let hosts = meant.map(|host| format!("{} ({})", host.name, host.address)).collect::<Vec<_>>().join(", ");
    if !io::stdin().is_terminal() {
        return Err(Failure::new(Kind::Declined, "nobody confirmed the reset")
            .because("standard input is no terminal")
            .hint("add --yes if everything of Kubernetes on these hosts may go"));
    }
    let data = if part.is_some() { "volumes on the hosts included" } else { "etcd and volumes on the hosts included" };
    status_line(&format!("This removes Kubernetes and ALL ITS DATA, {data}, from {hosts}."));
    status_line(&format!("Type the name of the cluster ({}) to go on:", cluster.name));
    let mut answer = String::new();
    let _ = io::stdin().lock().read_line(&mut answer);
    if answer.trim() == cluster.name {
        Ok(())
    } else {
        Err(Failure::new(Kind::Declined, "the reset was not confirmed").hint("nothing was changed"))
    }
}
