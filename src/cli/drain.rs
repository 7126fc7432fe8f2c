//! `kokctl cordon`, `kokctl drain` and `kokctl uncordon`

use clap::Args;
use kok_crds::model::Cluster;
use kok_crds::operation::Verb;
use kok_crds::{Asked, Input, Intent, Position, listed};
use kok_tasks::plan::{Aside, How};

use super::changing::{ChangingArguments, Session, failures};
use super::drain_arguments::{DrainOptions, EmptyDirOption, SerialOption};
use super::files::{ExtraVars, NamedFiles};
use super::limit::LimitArgument;
use super::process;
use super::wanted::{problems, tasks};
use crate::engine::{self, Options, Verdict};
use crate::failure::{Failure, Kind};

/// Which nodes.
#[derive(Debug, Args)]
pub(super) struct Nodes {
    /// Hosts of the cluster: names and groups with `*` and `?`; without any, those of the files' operation
    #[arg(value_name = "HOST")]
    pub(super) hosts: Vec<String>,
    #[command(flatten)]
    pub(super) files: NamedFiles,
    #[command(flatten)]
    pub(super) extra: ExtraVars,
    #[command(flatten)]
    pub(super) changing: ChangingArguments,
}

/// Keep new pods away from nodes; those that are there stay
#[derive(Debug, Args)]
pub(super) struct CordonArguments {
    #[command(flatten)]
    nodes: Nodes,
    #[command(flatten)]
    limit: LimitArgument,
}

/// Have the pods of nodes leave them, as PodDisruptionBudgets allow it: of control planes one after the other, of workers some at a time; the nodes take no
/// new ones afterwards
#[derive(Debug, Args)]
pub(super) struct DrainArguments {
    #[command(flatten)]
    nodes: Nodes,
    #[command(flatten)]
    limit: LimitArgument,
    #[command(flatten)]
    drain: DrainOptions,
    #[command(flatten)]
    empty_dir: EmptyDirOption,
    #[command(flatten)]
    serial: SerialOption,
}

/// Let pods come again to nodes that kokctl has cordoned
#[derive(Debug, Args)]
pub(super) struct UncordonArguments {
    #[command(flatten)]
    nodes: Nodes,
    #[command(flatten)]
    limit: LimitArgument,
}

pub(super) async fn cordon(arguments: &CordonArguments) -> Result<(), Vec<Failure>> {
    set_aside((&arguments.nodes, &arguments.limit), Verb::Cordon, (&SerialOption::default(), |_| How::Cordon)).await
}

pub(super) async fn drain(arguments: &DrainArguments) -> Result<(), Vec<Failure>> {
    let how = |cluster: &Cluster| How::Drain(arguments.drain.settings(cluster, arguments.empty_dir.delete_emptydir));
    set_aside((&arguments.nodes, &arguments.limit), Verb::Drain, (&arguments.serial, how)).await
}

pub(super) async fn uncordon(arguments: &UncordonArguments) -> Result<(), Vec<Failure>> {
    set_aside((&arguments.nodes, &arguments.limit), Verb::Uncordon, (&SerialOption::default(), |_| How::Uncordon)).await
}

impl Nodes {
    /// The cluster without manifests of addons, and the hosts that are meant: those of `--limit`, which says the same as HOST.
    pub(super) fn read(&self, verb: Verb, limit: &LimitArgument) -> Result<(Cluster, Vec<String>), Vec<Failure>> {
        let (input, cluster) = self.files.all().without_manifests(&self.extra)?;
        let asked = input.asked(Intent { verb, dry: false }, &tasks()).map_err(problems)?;
        let hosts = match (limit.is_given(), self.hosts.as_slice()) {
            (false, _) => self.named(verb, &input, &cluster, &asked)?,
            (true, []) => judged(verb, limit.hosts(&input)?, &cluster)?,
            (true, _) => {
                let failure = Failure::new(Kind::Input, "hosts are named twice").at("--limit");
                return Err(vec![failure.because("--limit says the same as HOST").hint("name them in one of the two")]);
            }
        };
        Ok((cluster, hosts))
    }

    /// The hosts that are meant, by the command line or by what the files ask for.
    pub(super) fn named(&self, verb: Verb, input: &Input, cluster: &Cluster, asked: &Asked) -> Result<Vec<String>, Vec<Failure>> {
        let nowhere = Position { file: "HOST".into(), line: 1, column: 1 };
        let hosts = match self.hosts.as_slice() {
            [] => asked.hosts.clone(),
            // The command line is no file with lines.
            given => input
                .hosts(&given.join(","), &nowhere)
                .map_err(|found| problems(found).into_iter().map(|it| it.at("HOST")).collect::<Vec<_>>())?,
        };
        judged(verb, hosts, cluster)
    }
}

/// These hosts, if that can be done to them.
fn judged(verb: Verb, hosts: Vec<String>, cluster: &Cluster) -> Result<Vec<String>, Vec<Failure>> {
    if hosts.is_empty() {
        let failure = Failure::new(Kind::Input, "no host is named").because(format!("{} never means all of them", verb.as_str()));
        return Err(vec![failure.hint(format!("kokctl {} -f FILE HOST…", verb.as_str()))]);
    }
    // Only what is replaced need have no pods.
    let needs_pods = verb != Verb::Replace;
    let no_node = |name: &&String| needs_pods && cluster.host(name).is_some_and(|host| !host.roles.is_node());
    if let Some(name) = hosts.iter().find(no_node) {
        let failure = Failure::new(Kind::Input, format!("{name} is no node")).at(name.clone());
        return Err(vec![failure.because("it has etcd alone, and no pods").hint("name hosts that are control planes or workers")]);
    }
    Ok(hosts)
}

async fn set_aside(
    (nodes, limit): (&Nodes, &LimitArgument),
    verb: Verb,
    (serial, how): (&SerialOption, impl FnOnce(&Cluster) -> How),
) -> Result<(), Vec<Failure>> {
    let (mut cluster, hosts) = nodes.read(verb, limit)?;
    serial.tell(&mut cluster);
    let aside = Aside { hosts: &hosts, how: how(&cluster) };
    let part = hosts.join(",");
    let (session, lock) = Session::open(&cluster, &nodes.changing, process::transport()).map_err(|failure| vec![failure])?;
    let context = &session.context;
    let work = async |options: Options<'_>| engine::aside(context, lock, &cluster, (&aside, &part), options).await;
    let outcome = session.with_options(|_| Verdict::Go, work).await.map_err(|error| failures(error, verb.as_str()))?;
    let names = listed(hosts.iter().map(String::as_str));
    session.say(&match (outcome, &aside.how) {
        (None, _) => "nothing to do".to_owned(),
        (_, How::Cordon) => format!("no new pods come to {names}; `kokctl uncordon` lets them come again"),
        (_, How::Drain(_)) => format!("pods have left {names}, and no new ones come; `kokctl uncordon` lets them come again"),
        (_, How::Uncordon) => format!("pods come to {names} again"),
    });
    Ok(())
}
