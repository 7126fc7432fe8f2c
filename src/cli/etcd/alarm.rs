//! `kokctl etcd alarm`

use clap::Args;
use kok_crds::Intent;
use kok_crds::model::Cluster;
use kok_crds::operation::Verb;
use kok_tasks::plan::EtcdRoom;

use super::status::{alarms, silent};
use crate::cli::changing::{ChangingArguments, Session, failures};
use crate::cli::files::{ClusterFiles, ExtraVars};
use crate::cli::process;
use crate::cli::wanted::{problems, tasks};
use crate::engine::{self, Options, Verdict};
use crate::failure::Failure;
use crate::state::Controller;
use crate::ui::line;

/// Say which members of etcd have an alarm; with --disarm make room in an etcd that ran out of it, and have it take writes again
///
/// With an alarm it ends with exit code 3. With --disarm earlier values of all keys are given up (compaction), the files that are full are defragmented one
/// at a time, the alarm ends, and something is written to see that it can be.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    /// Make room, and end the alarm NOSPACE
    #[arg(long)]
    disarm: bool,
    #[command(flatten)]
    changing: ChangingArguments,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (input, cluster) = arguments.cluster.without_manifests(&arguments.extra)?;
    if !arguments.disarm {
        return show(&cluster).await;
    }
    input.asked(Intent { verb: Verb::Disarm, dry: false }, &tasks()).map_err(problems)?;
    let (session, lock) = Session::open(&cluster, &arguments.changing, process::transport()).map_err(|failure| vec![failure])?;
    let work = async |options: Options<'_>| engine::etcd_room(&session.context, lock, &cluster, (&EtcdRoom::Disarm, None), options).await;
    let outcome = session.with_options(|_| Verdict::Go, work).await.map_err(|error| failures(error, "etcd alarm --disarm"))?;
    session.say(&match outcome {
        None => "nothing to do: no member has the alarm NOSPACE".to_owned(),
        Some(_) => format!("etcd takes writes again, {:.1} s; `kokctl etcd status` shows its files", session.seconds()),
    });
    Ok(())
}

async fn show(cluster: &Cluster) -> Result<(), Vec<Failure>> {
    // Nobody is held back by who asks, and nothing is kept of it.
    let context = process::context(Controller::nobody());
    let (members, mut failures) = engine::etcd_status(&context, cluster).await?;
    for member in &members {
        let state = match (member.answers, member.alarms.is_empty()) {
            (false, true) => "no answer".to_owned(),
            (false, false) => format!("no answer; {}", member.alarms.join(", ")),
            (true, true) => "no alarm".to_owned(),
            (true, false) => member.alarms.join(", "),
        };
        line(&format!("{}: {state}", member.host));
    }
    failures.extend(members.iter().filter_map(silent));
    failures.extend(alarms(&members));
    if failures.is_empty() { Ok(()) } else { Err(failures) }
}
