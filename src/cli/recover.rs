//! `kokctl recover`

pub(super) mod ask;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use kok_crds::model::{Cluster, Host};
use kok_crds::operation::Verb;
use kok_crds::{Intent, Position};
use kok_tasks::artifact::Artifact;
use kok_tasks::plan::Selection;
use kok_tasks::preconditions::check_best;
use kok_tasks::recovery::{Origin, Recovery, parties, takes_part};

use super::changing::{ChangingArguments, Session, failures};
use super::common::{BundleArgument, MaxFail};
use super::files::{ExtraVars, NamedFiles};
use super::process;
use super::wanted::{problems, tasks};
use crate::engine::{self, ApplyRequest, Error, Given, Options, RecoverRequest, RecoverWish, Recovered, RecoveryChoice, Verdict};
use crate::failure::{Failure, Kind};

/// Make etcd anew that has lost its quorum, from what a member has or from a snapshot, and let the others join it
///
/// Shows what each member has, and asks. Everything that writes to etcd stands still first, and the data of every member are kept as they are, under
/// another name. Nothing is recovered while more than half of the members work. While a recovery is under way, every other verb says so and does nothing.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    files: NamedFiles,
    #[command(flatten)]
    extra: ExtraVars,
    /// The snapshot that etcd is made from: as `reset` and `remove` leave one, or as `etcdctl snapshot save` does
    #[arg(long, value_name = "SNAPSHOT")]
    from: Option<PathBuf>,
    /// The host whose data are taken, or on which the snapshot is restored; by default the one that has most
    #[arg(long, value_name = "HOST")]
    member: Option<String>,
    /// Hosts that are gone for good, with commas between them: what they had and no other one has is lost, and they are kept out. A member of etcd that
    /// the file does not have is given up by its name
    #[arg(long, value_name = "HOST", value_delimiter = ',')]
    lost: Vec<String>,
    /// Go on with the recovery that has begun
    #[arg(long = "continue", conflicts_with = "member")]
    goes_on: bool,
    /// Put everything back as it was before the recovery, as long as the new etcd was not started
    #[arg(long, conflicts_with_all = ["goes_on", "from", "member"])]
    undo: bool,
    /// How many hosts may fail when the cluster is applied in the end, as a number or as a percentage of all. Up to so many workers that can't be reached are
    /// left out then
    #[arg(long, value_name = "N|N%", conflicts_with = "undo")]
    max_fail: Option<MaxFail>,
    /// Don't ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    bundle: BundleArgument,
    #[command(flatten)]
    changing: ChangingArguments,
}

/// What was asked for, by the command line or an operation.
struct Wanted {
    cluster: Cluster,
    lost: Vec<String>,
    from: Option<PathBuf>,
    agreed: Option<Position>,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let Wanted { mut cluster, lost, from, agreed } = wanted(arguments)?;
    arguments.bundle.tell_hosts(&mut cluster);
    let (transport, given) = (process::transport(), Given::new(false)?);
    let snapshot = from.as_deref().map(snapshot).transpose().map_err(|failure| vec![failure])?;
    // What the bundle lacks is said before anything stands still.
    let bundle = Arc::new(arguments.bundle.open_or_fetch(&cluster, &transport).await?);
    let begun = match (arguments.goes_on, arguments.undo) {
        (false, false) => Some(begin(arguments, (&cluster, &lost, agreed.as_ref()), snapshot.as_ref()).await?),
        _ => None,
    };
    let wish = begun.as_ref().map_or(if arguments.undo { RecoverWish::TakeBack } else { RecoverWish::GoOn }, RecoverWish::Begin);
    let (session, lock) = Session::open(&cluster, &arguments.changing, transport).map_err(|failure| vec![failure])?;
    let selection = Selection::whole();
    let most_failed = arguments.max_fail.map(|most| most.count_of(cluster.hosts.len()));
    let apply = ApplyRequest { cluster: &cluster, selection: &selection, part: None, bundle, given: &given, most_failed, noted: None };
    let request = RecoverRequest { apply: &apply, lost: &lost, snapshot: snapshot.as_ref(), wish };
    let (context, store) = (&session.context, &session.store);
    let work = async |options: Options<'_>| engine::recover(context, (store, lock), &request, options).await;
    let recovered = session.with_options(|_| Verdict::Go, work).await;
    let left = |error: &Error| matches!(error, Error::HalfWay(_)).then(half_way);
    let Recovered { recovery, outcome } =
        recovered.map_err(|error| left(&error).into_iter().chain(failures(error, "recover --continue")).collect::<Vec<_>>())?;
    match (arguments.undo, &recovery, outcome) {
        (true, ..) => session.say("the recovery is taken back: the hosts have what they had of etcd before it began"),
        (false, None, None) => session.say("nothing to do"),
        (false, recovery, _) => ask::done(&cluster, recovery.as_ref(), session.seconds()).iter().for_each(|text| session.say(text)),
    }
    Ok(())
}

fn snapshot(path: &Path) -> Result<Artifact, Failure> {
    engine::snapshot_artifact(path).map_err(|failure| failure.at("--from"))
}

fn wanted(arguments: &Arguments) -> Result<Wanted, Vec<Failure>> {
    let (input, cluster) = arguments.files.all().whole(&arguments.extra)?;
    let asked = input.asked(Intent { verb: Verb::Recover, dry: false }, &tasks()).map_err(problems)?;
    let lost = if arguments.lost.is_empty() { asked.hosts.clone() } else { arguments.lost.clone() };
    // A member that the file does not have may be given up; whether there is one the others say.
    let lost_of_file = lost.iter().filter(|name| cluster.host(name).is_some());
    let is_member = |host: &Host| host.roles.etcd;
    if let Some(host) = lost_of_file.into_iter().find(|name| !cluster.host(name).is_some_and(takes_part)) {
        return Err(vec![no_party(host, "--lost", "with a member of etcd or a control plane", parties(&cluster))]);
    }
    if let Some(host) = arguments.member.as_ref().filter(|name| !cluster.host(name).is_some_and(is_member)) {
        return Err(vec![no_party(host, "--member", "with a member of etcd", cluster.etcd_hosts())]);
    }
    if let Some(host) = arguments.member.as_ref().filter(|host| lost.contains(host)) {
        let failure = Failure::new(Kind::Input, format!("{host} is given up, and its data are to be taken")).at("--lost");
        return Err(vec![failure.hint("name it with one of --lost and --member")]);
    }
    let from = arguments.from.clone().or_else(|| asked.snapshot.as_ref().map(|snapshot| PathBuf::from(&snapshot.text)));
    // Whoever wrote the operation has agreed to that, and to nothing else.
    let is_same = arguments.lost.is_empty() && arguments.from.is_none() && arguments.member.is_none();
    Ok(Wanted { cluster, lost, from, agreed: asked.agreed_at.filter(|_| is_same) })
}

/// Why a host that was named is none of those that may be.
pub(super) fn no_party<'a>(host: &str, option: &str, what: &str, known: impl Iterator<Item = &'a Host>) -> Failure {
    let known = known.map(|host| host.name.as_str()).collect::<Vec<_>>().join(", ");
    let failure = Failure::new(Kind::Input, format!("{host} is no host {what}")).at(option);
    failure.because(format!("those of the file are {known}")).hint("name one of these")
}

/// Shows what there is, and asks whether a recovery is to begin with it.
async fn begin(
    arguments: &Arguments,
    (cluster, lost, agreed): (&Cluster, &[String], Option<&Position>),
    snapshot: Option<&Artifact>,
) -> Result<Recovery, Vec<Failure>> {
    let context = process::context(process::controller().map_err(|failure| vec![failure])?);
    let id = engine::recovery_id().map_err(|failure| vec![failure])?;
    let survey = engine::survey(&context, cluster, lost, (&id, false)).await?;
    if !survey.refused.is_empty() {
        return Err(survey.refused);
    }
    let origin = snapshot.map_or(Origin::Member, |snapshot| Origin::Snapshot { sha256: snapshot.sha256.clone() });
    let recovery =
        survey.choose(&RecoveryChoice { id, member: arguments.member.as_deref(), lost, origin, snapshot }).inspect_err(|_| {
            // Whoever is to name one sees them.
            if arguments.member.is_none() && snapshot.is_none() && check_best(&survey.candidates).is_err() {
                ask::show(&survey.candidates, lost, None);
            }
        })?;
    ask::agreed((cluster, &recovery), &survey, arguments.yes, agreed).map_err(|failure| vec![failure])?;
    Ok(recovery)
}

/// What has come about where the rest can't be begun.
fn half_way() -> Failure {
    let failure = Failure::new(Kind::Incomplete, "a part of the recovery is done, and what follows can't be begun");
    failure.hint("mend what is said below, then `kokctl recover --continue`")
}
