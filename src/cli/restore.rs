//! `kokctl restore`

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use kok_crds::model::Cluster;
use kok_tasks::artifact::{Artifact, Supply};
use kok_tasks::backup::fits_file;
use kok_tasks::plan::Selection;
use kok_tasks::preconditions::check_chosen;
use kok_tasks::recovery::{Origin, Recovery};

use super::backup::{IdentityArgument, told};
use super::changing::{ChangingArguments, Session, failures};
use super::common::BundleArgument;
use super::files::{ExtraVars, NamedFiles};
use super::process;
use super::recover::{ask, of_units, snapshot};
use crate::backup::{Contents, Spool, read};
use crate::clock::Clock;
use crate::engine::{
    self, ApplyRequest, Error, Given, Options, RecoverRequest, RecoverWish, Recovered, Store as _, Survey, Verdict, check_hosts,
};
use crate::failure::{Failure, Kind};
use crate::randomness::random_bytes;
use crate::ui::status_line;

/// Bring a cluster back to what a backup has of it: on the same hosts, in the place of what they have of etcd, whether that works or not
///
/// All of the file is checked before anything stands still, and the hosts have to have the keys that are in it. What each member has of etcd is kept on its
/// host under another name. What was written since the backup was made is lost.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The backup
    #[arg(value_name = "BACKUP")]
    backup: PathBuf,
    #[command(flatten)]
    files: NamedFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    identity: IdentityArgument,
    /// The host on which the new etcd is made, and which the others join; by default the one with most room
    #[arg(long, value_name = "HOST")]
    member: Option<String>,
    /// Control planes that are gone for good, with commas between them: they are kept out
    #[arg(long, value_name = "HOST", value_delimiter = ',')]
    lost: Vec<String>,
    /// Go on with the restore of this very backup that has begun
    #[arg(long = "continue", conflicts_with = "member")]
    goes_on: bool,
    /// Don't ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    bundle: BundleArgument,
    #[command(flatten)]
    changing: ChangingArguments,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let one = |failure: Failure| vec![failure];
    let (_, mut cluster) = arguments.files.all().whole(&arguments.extra)?;
    arguments.right(&cluster).map_err(one)?;
    arguments.bundle.tell_hosts(&mut cluster);
    let (contents, spool) = arguments.unpacked(&cluster)?;
    let snapshot = artifact(&contents, &spool);
    let (transport, given) = (process::transport(), Given::new(false)?);
    // What the bundle lacks is said before anything stands still.
    let bundle = Arc::new(arguments.bundle.open_or_fetch(&cluster, &transport).await?);
    let begun = if arguments.goes_on { None } else { Some(begin(arguments, &cluster, (&contents, &snapshot)).await?) };
    let origin = Origin::Backup { sha256: snapshot.sha256.clone() };
    let wish = begun.as_ref().map_or(RecoverWish::GoOnFrom(&origin), RecoverWish::Begin);
    let (session, lock) = Session::open(&cluster, &arguments.changing, transport).map_err(one)?;
    let selection = Selection::whole();
    let apply =
        ApplyRequest { cluster: &cluster, selection: &selection, part: None, bundle, given: &given, most_failed: None, noted: None };
    let request = RecoverRequest { apply: &apply, lost: &arguments.lost, snapshot: Some(&snapshot), wish };
    let context = &session.context;
    let work = async |options: Options<'_>| engine::recover(context, lock, &request, options).await;
    let recovered = session.with_options(|_| Verdict::Go, work).await.map_err(half_way)?;
    match &recovered {
        Recovered { recovery: None, outcome: None } => session.say("nothing to do"),
        Recovered { recovery, .. } => {
            ask::done(&cluster, recovery.as_ref(), session.seconds()).iter().for_each(|text| session.say(text));
        }
    }
    Ok(())
}

/// What has come about where the rest can't be begun, or was cut off.
fn half_way(error: Error) -> Vec<Failure> {
    let is_half_way = matches!(error, Error::HalfWay(_));
    let half = || {
        let failure = Failure::new(Kind::Incomplete, "a part of the restore is done, and what follows can't be begun");
        failure.hint("mend what is said below, then go on: the same command with --continue")
    };
    is_half_way.then(half).into_iter().chain(failures(error, "restore --continue")).collect()
}

impl Arguments {
    /// Whether the command line can be meant.
    fn right(&self, cluster: &Cluster) -> Result<(), Failure> {
        if let Some(failure) = of_units(cluster) {
            return Err(failure);
        }
        let is_member = |name: &str| cluster.host(name).is_some_and(|host| host.roles.etcd);
        let member = self.member.iter().find(|host| !is_member(host) || self.lost.contains(host));
        member.map_or(Ok(()), |host| {
            let failure = Failure::new(Kind::Input, format!("the new etcd can't be made on {host}")).at("--member");
            Err(failure.because("it is no host with a member of etcd, or is given up").hint("name a control plane, or leave it out"))
        })
    }

    /// Reads all of the backup, and has its snapshot where it can be sent from.
    fn unpacked(&self, cluster: &Cluster) -> Result<(Contents, Spool), Vec<Failure>> {
        let one = |failure: Failure| vec![failure];
        let identities = self.identity.read().map_err(one)?;
        let folder = engine::FolderStore::new(process::state().map_err(one)?).snapshots_of(&cluster.name);
        let mut spool = Spool::create(&folder).map_err(one)?;
        let contents = tokio::task::block_in_place(|| read(&self.backup, identities.as_ref(), Some(&mut spool))).map_err(one)?;
        let refusals = fits_file(&contents.manifest, cluster);
        if refusals.is_empty() {
            return Ok((contents, spool));
        }
        Err(refusals.into_iter().map(|refusal| Failure::refusal(Kind::Input, refusal).at(self.backup.display().to_string())).collect())
    }
}

fn artifact(contents: &Contents, spool: &Spool) -> Artifact {
    let (path, sha256) = (spool.path().display().to_string(), contents.snapshot_sha256.clone());
    Artifact {
        title: "the snapshot of the backup".to_owned(),
        path,
        size: contents.manifest.snapshot_bytes(),
        sha256,
        supply: Supply::Sent,
    }
}

/// How much is lost. A restore moves revisions on by a billion, so that after one they tell nothing of how many changes there were.
fn lost_words(newest: u64, of_backup: u64) -> String {
    match newest.saturating_sub(of_backup) {
        lost if lost < 1_000_000_000 => format!("the cluster is at revision {newest} by now: up to {lost} of its changes are lost"),
        _ => format!("the cluster is at revision {newest} by now, after an earlier restore: all that was written since the backup is lost"),
    }
}

/// Compares the hosts with the backup, shows what there is and what is lost, and asks whether it is to be begun.
async fn begin(arguments: &Arguments, cluster: &Cluster, (contents, snapshot): (&Contents, &Artifact)) -> Result<Recovery, Vec<Failure>> {
    let context = process::context(process::controller().map_err(|failure| vec![failure])?);
    let lost = &arguments.lost;
    let Survey { candidates, refused } = engine::survey(&context, cluster, lost, true).await?;
    if !refused.is_empty() {
        return Err(refused);
    }
    let own: Vec<&str> = candidates.iter().map(|candidate| candidate.host.as_str()).collect();
    check_hosts(&context, cluster, &own, (&contents.manifest, &contents.keys)).await?;
    let roomiest = || candidates.iter().max_by_key(|candidate| candidate.free).map(|candidate| candidate.host.clone());
    let host = arguments.member.clone().or_else(roomiest).unwrap_or_default();
    let id = format!("{}-{}", Clock::compact(), hex::encode(random_bytes::<2>().map_err(|failure| vec![failure])?));
    let origin = Origin::Backup { sha256: snapshot.sha256.clone() };
    let newest = candidates.iter().filter_map(|candidate| candidate.revision).max();
    let recovery = Recovery { id, host, origin, least: 0, newest: newest.unwrap_or_default(), lost: lost.iter().cloned().collect() };
    let mut refusals = check_chosen(&recovery, &candidates);
    refusals.extend(snapshot::room(snapshot, &recovery.host, &candidates));
    if !refusals.is_empty() {
        return Err(refusals.into_iter().map(|refusal| Failure::refusal(Kind::Host, refusal)).collect());
    }
    told(&contents.manifest, Clock::seconds()).iter().for_each(|text| status_line(text));
    if let (Some(newest), Some(of_backup)) = (newest, contents.manifest.revision) {
        status_line(&lost_words(newest, of_backup));
    }
    ask::agreed((cluster, &recovery), &candidates, arguments.yes, None).map_err(|failure| vec![failure])?;
    Ok(recovery)
}
