//! `kokctl etcd defrag`

use clap::Args;
use kok_crds::operation::Verb;
use kok_crds::{Input, Intent, count};
use kok_tasks::plan::EtcdRoom;

use crate::cli::changing::{ChangingArguments, Session, failures};
use crate::cli::files::{ClusterFiles, ExtraVars};
use crate::cli::limit::LimitArgument;
use crate::cli::process;
use crate::cli::wanted::{problems, tasks};
use crate::engine::{self, Options, Verdict};
use crate::failure::Failure;

/// Free what the files of etcd's members hold for nothing: one member at a time, the leader last, and only while all others are well
///
/// A member does not answer while its file is written anew, some seconds for each GiB. One whose file would hardly become smaller (by less than 4 MiB or a tenth)
/// is left alone.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    limit: LimitArgument,
    #[command(flatten)]
    changing: ChangingArguments,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (input, cluster) = arguments.cluster.without_manifests(&arguments.extra)?;
    let hosts = arguments.hosts(&input)?;
    let (wanted, part) = (EtcdRoom::Defragment(&hosts), (!hosts.is_empty()).then(|| format!("--limit {}", hosts.join(","))));
    let (session, lock) = Session::open(&cluster, &arguments.changing, process::transport()).map_err(|failure| vec![failure])?;
    let work = async |options: Options<'_>| engine::etcd_room(&session.context, lock, &cluster, (&wanted, part), options).await;
    let outcome = session.with_options(|_| Verdict::Go, work).await.map_err(|error| failures(error, "etcd defrag"))?;
    session.say(&match outcome {
        None => "nothing to do: no file would become noticeably smaller".to_owned(),
        Some(outcome) => {
            format!("{} of etcd defragmented, {:.1} s; `kokctl etcd status` shows them", count(outcome.done, "member"), session.seconds())
        }
    });
    Ok(())
}

impl Arguments {
    /// The hosts that are meant, by the command line or by the files' operation.
    fn hosts(&self, input: &Input) -> Result<Vec<String>, Vec<Failure>> {
        let asked = input.asked(Intent { verb: Verb::Defragment, dry: false }, &tasks()).map_err(problems)?;
        if self.limit.is_given() { self.limit.hosts(input) } else { Ok(asked.hosts) }
    }
}
