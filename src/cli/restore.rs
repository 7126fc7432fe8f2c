//! `kokctl restore`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use kok_crds::Position;
use kok_crds::model::{Cluster, EscrowFile};
use kok_tasks::artifact::{Artifact, Supply};
use kok_tasks::backup::{fits_file, fits_member, fits_new_hosts};
use kok_tasks::plan::Selection;
use kok_tasks::preconditions::check_chosen;
use kok_tasks::recovery::{Origin, Recovery, parties, takes_part};

use super::backup::{IdentityArgument, Local, told};
use super::changing::{ChangingArguments, Session, failures};
use super::common::BundleArgument;
use super::files::{ExtraVars, NamedFiles};
use super::process;
use super::recover::{ask, no_party, snapshot};
use crate::artifacts::BundleFolder;
use crate::backup::{Contents, Spool, read};
use crate::clock::Clock;
use crate::engine::{
    self, ApplyRequest, Error, Given, Options, RecoverRequest, RecoverWish, Recovered, Store as _, Survey, Verdict, check_hosts,
};
use crate::failure::{Failure, Kind};
use crate::randomness::random_bytes;
use crate::remote::Transport;
use crate::ui::status_line;

/// Bring a cluster back to what a backup has of it: on the same hosts, in the place of what they have of etcd, whether that works or not
///
/// All of the file is checked before anything stands still, and the hosts have to have the keys that are in it. What each member has of etcd is kept on its
/// host under another name. What was written since the backup was made is lost.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The backup: a file, or `s3://BUCKET/PREFIX/NAME` in the bucket of the cluster's file
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
    /// The hosts of the file are new ones: a cluster with the keys of the backup is founded on them first, as by `apply`, and gets what the backup has then.
    /// Where that was cut off, the same command goes on
    #[arg(long, conflicts_with_all = ["goes_on", "lost"])]
    new_hosts: bool,
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
    let local = Local::of(&arguments.backup, Some(&cluster)).await.map_err(one)?;
    let (contents, spool) = arguments.unpacked(&cluster, local.path())?;
    drop(local);
    let snapshot = artifact(&contents, &spool);
    let (transport, given) = (process::transport(), Given::new(false)?);
    // What the bundle lacks is said before anything stands still.
    let bundle = Arc::new(arguments.bundle.open_or_fetch(&cluster, &transport).await?);
    if arguments.new_hosts {
        found(arguments, &cluster, &contents, (&bundle, &given), transport.clone()).await?;
    }
    let begun = if arguments.goes_on { None } else { Some(begin(arguments, &cluster, (&contents, &snapshot)).await?) };
    let origin = arguments.origin(&snapshot);
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

/// Founds a cluster with the keys of the backup on hosts that have none. Where they have these it is an apply like any other, and where they have others
/// it is refused.
async fn found(
    arguments: &Arguments,
    cluster: &Cluster,
    contents: &Contents,
    (bundle, given): (&Arc<BundleFolder>, &Given),
    transport: Transport,
) -> Result<(), Vec<Failure>> {
    let one = |failure: Failure| vec![failure];
    let path = arguments.backup.display().to_string();
    let origin = Position { file: path.clone().into(), line: 1, column: 1 };
    // Nobody is there yet who could be taken out.
    let mut cluster = Cluster { removed: Vec::new(), ..cluster.clone() };
    cluster.settings.certificates.escrow = Some(EscrowFile { path, origin, kept: Some(contents.escrow()), is_lent: true });
    let (session, lock) = Session::open(&cluster, &arguments.changing, transport).map_err(one)?;
    let selection = Selection::whole();
    let (bundle, most_failed) = (Arc::clone(bundle), None);
    let request = ApplyRequest { cluster: &cluster, selection: &selection, part: None, bundle, given, most_failed, noted: None };
    let work = async |options: Options<'_>| engine::apply(&session.context, (&session.store, lock), &request, options).await;
    let founded = session.with_options(|_| Verdict::Go, work).await.map_err(|error| failures(error, "restore --new-hosts"))?;
    if founded.outcome.is_some() {
        session.say(&format!("the cluster {} is founded with the keys of the backup, {:.1} s", cluster.name, session.seconds()));
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
        let in_file = |name: &&String| cluster.host(name).is_some();
        if let Some(host) = self.lost.iter().filter(in_file).find(|name| !cluster.host(name).is_some_and(takes_part)) {
            return Err(no_party(host, "--lost", "with a member of etcd or a control plane", parties(cluster)));
        }
        let is_member = |name: &str| cluster.host(name).is_some_and(|host| host.roles.etcd);
        let member = self.member.iter().find(|host| !is_member(host) || self.lost.contains(host));
        member.map_or(Ok(()), |host| {
            let failure = Failure::new(Kind::Input, format!("the new etcd can't be made on {host}")).at("--member");
            Err(failure.because("it is no host with a member of etcd, or is given up").hint("name a host of etcd, or leave it out"))
        })
    }

    fn origin(&self, snapshot: &Artifact) -> Origin {
        Origin::Backup { sha256: snapshot.sha256.clone(), is_elsewhere: self.new_hosts }
    }

    /// Reads all of the backup, and has its snapshot where it can be sent from.
    fn unpacked(&self, cluster: &Cluster, path: &Path) -> Result<(Contents, Spool), Vec<Failure>> {
        let one = |failure: Failure| vec![failure];
        let identities = self.identity.read().map_err(one)?;
        let folder = engine::FolderStore::new(process::state().map_err(one)?).snapshots_of(&cluster.name);
        let mut spool = Spool::create(&folder).map_err(one)?;
        let named = |failure: Failure| vec![failure.at(self.backup.display().to_string())];
        let contents = tokio::task::block_in_place(|| read(path, identities.as_ref(), Some(&mut spool))).map_err(named)?;
        let mut refusals = fits_file(&contents.manifest, cluster);
        refusals.extend(Some(&contents.manifest).filter(|_| self.new_hosts).and_then(|manifest| fits_new_hosts(manifest, cluster)));
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
    let Survey { candidates, parties, refused } = engine::survey(&context, cluster, lost, true).await?;
    if !refused.is_empty() {
        return Err(refused);
    }
    let own: Vec<&str> = parties.iter().map(String::as_str).collect();
    check_hosts(&context, cluster, &own, (&contents.manifest, &contents.keys)).await?;
    let roomiest = || candidates.iter().max_by_key(|candidate| candidate.free).map(|candidate| candidate.host.clone());
    let host = arguments.member.clone().or_else(roomiest).unwrap_or_default();
    let id = format!("{}-{}", Clock::compact(), hex::encode(random_bytes::<2>().map_err(|failure| vec![failure])?));
    let origin = arguments.origin(snapshot);
    let newest = candidates.iter().filter_map(|candidate| candidate.revision).max();
    let recovery = Recovery { id, host, origin, least: 0, newest: newest.unwrap_or_default(), lost: lost.iter().cloned().collect() };
    let mut refusals = check_chosen(&recovery, &candidates);
    refusals.extend(snapshot::room(snapshot, &recovery.host, &candidates));
    refusals.extend(candidates.iter().filter_map(|member| fits_member(&contents.manifest, &member.host, member.version.as_deref()?)));
    if !refusals.is_empty() {
        return Err(refusals.into_iter().map(|refusal| Failure::refusal(Kind::Host, refusal)).collect());
    }
    told(&contents.manifest, Clock::seconds()).iter().for_each(|text| status_line(text));
    // What has just been founded holds nothing that anybody would miss.
    if let (Some(newest), Some(of_backup), false) = (newest, contents.manifest.revision, arguments.new_hosts) {
        status_line(&lost_words(newest, of_backup));
    }
    ask::agreed((cluster, &recovery), (&candidates, &parties), arguments.yes, None).map_err(|failure| vec![failure])?;
    Ok(recovery)
}
