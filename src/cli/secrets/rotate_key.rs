//! `kokctl secrets rotate-key`

use clap::Args;
use kok_crds::Intent;
use kok_crds::count;
use kok_crds::operation::Verb;

use crate::cli::changing::{ChangingArguments, Session, failures};
use crate::cli::files::{ClusterFiles, ExtraVars};
use crate::cli::process;
use crate::cli::wanted::{problems, tasks};
use crate::engine::{self, Given, Options, Verdict};
use crate::failure::Failure;

/// Replace the key with which API servers encrypt what etcd holds, with nothing down: a new one is made, read everywhere, written with everywhere, all that is
/// encrypted is written anew, and the old one goes
///
/// All control planes have to answer. Nothing is started anew: API servers read their keys within a minute, and it is gone on when they say so. The same
/// command goes on with what was begun.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    changing: ChangingArguments,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (input, cluster) = arguments.cluster.without_manifests(&arguments.extra)?;
    input.asked(Intent { verb: Verb::RotateKey, dry: false }, &tasks()).map_err(problems)?;
    let given = Given::new(false)?;
    let (session, lock) = Session::open(&cluster, &arguments.changing, process::transport()).map_err(|failure| vec![failure])?;
    let work = async |options: Options<'_>| engine::rotate_key(&session.context, lock, &cluster, &given, options).await;
    let rotated = session.with_options(|_| Verdict::Go, work).await.map_err(|error| failures(error, "secrets rotate-key"))?;
    let done = count(rotated.outcome.map(|outcome| outcome.done).unwrap_or_default(), "change");
    let (key, seconds) = (&rotated.key, session.seconds());
    session.say(&format!("all that is encrypted in etcd is encrypted with {key}, and no other key is left: {done}, {seconds:.1} s"));
    session.say("backups and snapshots from before need the old key, which they have with them");
    Ok(())
}
