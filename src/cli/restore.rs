//! `kokctl restore`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use kok_crds::model::Cluster;
use kok_crds::operation::Verb;
use kok_crds::{Intent, Position};
use kok_tasks::plan::Selection;
use kok_tasks::recovery::{Recovery, parties, takes_part};

use super::backup::{IdentityArgument, contents_lines, local};
use super::changing::{ChangingArguments, Session, failures};
use super::common::{BundleArgument, MaxFail};
use super::files::{ExtraVars, NamedFiles};
use super::process;
use super::recover::{ask, no_party};
use super::reset::ask_words;
use super::wanted::{problems, tasks};
use crate::artifacts::BundleFolder;
use crate::backup::Identities;
use crate::clock::Clock;
use crate::engine::{
    self, ApplyRequest, Error, Given, Options, RecoverRequest, RecoverWish, Recovered, Store as _, Unpacked, Verdict, found_from_backup,
};
use crate::failure::{Failure, Kind};
use crate::remote::Transport;
use crate::ui::status_line;

/// More than lost keys take: they come, what was started anew with them is waited for, and nothing is left.
const MOST_ROUNDS: usize = 5;

/// Bring a cluster back to what a backup has of it: on the same hosts, in the place of what they have of etcd, whether that works or not
///
/// All of the file is checked before anything stands still, and the hosts have to have the keys that are in it. What each member has of etcd is kept on its
/// host under another name. What was written since the backup was made is lost.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The backup: a file, or `s3://BUCKET/PREFIX/NAME` in the bucket of the cluster's file; by default what an operation among the files names
    #[arg(value_name = "BACKUP")]
    backup: Option<PathBuf>,
    #[command(flatten)]
    files: NamedFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    identity: IdentityArgument,
    /// The host on which the new etcd is made, and which the others join; by default the first with room for it
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
    /// Bring back nothing but keys and certificates, to control planes that have lost theirs, as after /etc/kubernetes/pki was removed; etcd stays as it is
    #[arg(long, conflicts_with_all = ["goes_on", "lost", "new_hosts", "member"])]
    only_pki: bool,
    /// How many hosts may fail when the cluster is applied in the end, as a number or as a percentage of all. Up to so many workers that can't be reached are
    /// left out then
    #[arg(long, value_name = "N|N%", conflicts_with = "only_pki")]
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
    backup: PathBuf,
    /// The file with the key, where an operation names it.
    identity: Option<PathBuf>,
    lost: Vec<String>,
    new_hosts: bool,
    /// Whoever wrote the operation has agreed to that, and to nothing else.
    agreed: Option<Position>,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let one = |failure: Failure| vec![failure];
    let mut wanted = wanted(arguments)?;
    arguments.bundle.tell_hosts(&mut wanted.cluster);
    let unpacked = wanted.unpacked(&arguments.identity).await?;
    let cluster = &wanted.cluster;
    let (transport, given) = (process::transport(), Given::new(false)?);
    // What the bundle lacks is said before anything stands still.
    let bundle = Arc::new(arguments.bundle.open_or_fetch(cluster, &transport).await?);
    if arguments.only_pki {
        if !arguments.yes {
            let words = format!(
                "{}: control planes that have lost theirs get its keys. What was signed with keys that came since is believed no more.",
                unpacked.words()
            );
            ask_words(cluster, "the return of the keys", &words).map_err(one)?;
        }
        // What was started anew with them is looked at again, until nothing is left to do.
        for round in 0..MOST_ROUNDS {
            if !applied(arguments, (&wanted, &unpacked), round > 0, (&bundle, &given), transport.clone()).await? {
                return Ok(());
            }
        }
        return Err(vec![Failure::new(Kind::Internal, format!("after {MOST_ROUNDS} rounds there was still something to do"))]);
    }
    if wanted.new_hosts {
        applied(arguments, (&wanted, &unpacked), false, (&bundle, &given), transport.clone()).await?;
    }
    let begun = if arguments.goes_on { None } else { Some(begin(arguments, &wanted, &unpacked).await?) };
    let origin = unpacked.origin();
    let wish = begun.as_ref().map_or(RecoverWish::GoOnFrom(&origin), RecoverWish::Begin);
    let (session, lock) = Session::open(cluster, &arguments.changing, transport).map_err(one)?;
    let selection = Selection::whole();
    let most_failed = arguments.max_fail.map(|most| most.count_of(cluster.hosts.len()));
    let apply = ApplyRequest { cluster, selection: &selection, part: None, bundle, given: &given, most_failed, noted: None };
    let request = RecoverRequest { apply: &apply, lost: &wanted.lost, snapshot: Some(&unpacked.snapshot), wish };
    let (context, store) = (&session.context, &session.store);
    let work = async |options: Options<'_>| engine::recover(context, (store, lock), &request, options).await;
    let recovered = session.with_options(|_| Verdict::Go, work).await.map_err(half_way)?;
    match &recovered {
        Recovered { recovery: None, outcome: None } => session.say("nothing to do"),
        Recovered { recovery, .. } => {
            ask::done(cluster, recovery.as_ref(), session.seconds()).iter().for_each(|text| session.say(text));
        }
    }
    Ok(())
}

fn wanted(arguments: &Arguments) -> Result<Wanted, Vec<Failure>> {
    let (input, cluster) = arguments.files.all().whole(&arguments.extra)?;
    let asked = input.asked(Intent { verb: Verb::Restore, dry: false }, &tasks()).map_err(problems)?;
    let of_operation = asked.restore.as_ref();
    let is_same = arguments.backup.is_none() && arguments.lost.is_empty() && arguments.member.is_none() && !arguments.new_hosts;
    let backup = arguments.backup.clone().or_else(|| of_operation.map(|restore| PathBuf::from(&restore.backup.text)));
    let Some(backup) = backup else {
        let failure = Failure::new(Kind::Input, "it is not said which backup is restored");
        return Err(vec![failure.hint("name one: `kokctl restore BACKUP -f …`; `kokctl backup list` shows which there are")]);
    };
    // What an operation says of its own backup is not said of another one.
    let of_operation = of_operation.filter(|_| arguments.backup.is_none());
    let lost = if arguments.lost.is_empty() && of_operation.is_some() { asked.hosts.clone() } else { arguments.lost.clone() };
    let identity = of_operation.and_then(|restore| restore.identity.as_ref()).map(|identity| PathBuf::from(&identity.text));
    let founds = !arguments.goes_on && !arguments.only_pki;
    let new_hosts = arguments.new_hosts || of_operation.is_some_and(|restore| restore.new_hosts && founds);
    let wanted = Wanted { cluster, backup, identity, lost, new_hosts, agreed: asked.agreed_at.filter(|_| is_same) };
    wanted.check(arguments.member.as_ref()).map_err(|failure| vec![failure])?;
    Ok(wanted)
}

impl Wanted {
    /// Whether it can be meant.
    fn check(&self, member: Option<&String>) -> Result<(), Failure> {
        let (cluster, lost) = (&self.cluster, &self.lost);
        let in_file = |name: &&String| cluster.host(name).is_some();
        if let Some(host) = lost.iter().filter(in_file).find(|name| !cluster.host(name).is_some_and(takes_part)) {
            return Err(no_party(host, "--lost", "with a member of etcd or a control plane", parties(cluster)));
        }
        let is_member = |name: &str| cluster.host(name).is_some_and(|host| host.roles.etcd);
        let member = member.filter(|host| !is_member(host) || lost.contains(host));
        member.map_or(Ok(()), |host| {
            let failure = Failure::new(Kind::Input, format!("the new etcd can't be made on {host}")).at("--member");
            Err(failure.because("it is no host with a member of etcd, or is given up").hint("name a host of etcd, or leave it out"))
        })
    }

    /// Reads all of the backup.
    async fn unpacked(&self, key: &IdentityArgument) -> Result<Unpacked, Vec<Failure>> {
        let one = |failure: Failure| vec![failure];
        let identities = match key.read().map_err(one)? {
            None => self.identity.as_deref().map(Identities::read).transpose().map_err(one)?,
            given => given,
        };
        let folder = engine::FolderStore::new(process::state().map_err(one)?).snapshots_of(&self.cluster.name);
        let local = local(&self.backup, Some(&self.cluster)).await.map_err(one)?;
        let unpacked = Unpacked::unpack(local.path(), identities.as_ref(), (&self.cluster, self.new_hosts), &folder);
        unpacked.map_err(|failures| failures.into_iter().map(|failure| failure.at(shown(&self.backup))).collect())
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Applies the file with the keys of the backup: hosts that have none are founded with them. Whether there was anything to do.
async fn applied(
    arguments: &Arguments,
    (wanted, unpacked): (&Wanted, &Unpacked),
    has_done: bool,
    made_by: (&Arc<BundleFolder>, &Given),
    transport: Transport,
) -> Result<bool, Vec<Failure>> {
    let cluster = unpacked.lends_keys_to(&wanted.cluster, &shown(&wanted.backup));
    let option = if arguments.only_pki { "--only-pki" } else { "--new-hosts" };
    let (session, lock) = Session::open(&cluster, &arguments.changing, transport).map_err(|failure| vec![failure])?;
    let work = async |options: Options<'_>| found_from_backup(&session.context, (&session.store, lock), &cluster, made_by, options).await;
    let applied = session.with_options(|_| Verdict::Go, work).await.map_err(|error| failures(error, &format!("restore {option}")))?;
    let name = &cluster.name;
    match (arguments.only_pki, applied.outcome.is_some()) {
        (true, false) if has_done => session.say(&format!("the hosts of {name} have the keys of the backup; etcd stayed as it was")),
        (true, false) => session.say(&format!("nothing to do: the hosts of {name} have the keys of the backup")),
        (false, true) => {
            session.say(&format!("the cluster {name} is founded with the keys of the backup, {:.1} s", session.seconds()));
        }
        (true, true) | (false, false) => {}
    }
    Ok(applied.outcome.is_some())
}

/// What has come about where the rest can't be begun, or was cut off.
fn half_way(error: Error) -> Vec<Failure> {
    let is_half_way = matches!(error, Error::HalfWay(_));
    let half = || {
        let failure = Failure::new(Kind::Incomplete, "a part of the restore is done, and what follows can't be begun");
        failure.hint(
            "mend what is said below, then go on: the same command with --continue; or, where the new etcd works already, `kokctl recover -f FILE --continue` \
             with the same --lost",
        )
    };
    is_half_way.then(half).into_iter().chain(failures(error, "restore --continue")).collect()
}

/// Compares the hosts with the backup, shows what there is and what is lost, and asks whether it is to be begun.
async fn begin(arguments: &Arguments, wanted: &Wanted, unpacked: &Unpacked) -> Result<Recovery, Vec<Failure>> {
    let one = |failure: Failure| vec![failure];
    let context = process::context(process::controller().map_err(one)?);
    let (cluster, lost) = (&wanted.cluster, wanted.lost.as_slice());
    let id = engine::recovery_id().map_err(one)?;
    let survey = engine::survey(&context, cluster, lost, (&id, true)).await?;
    if !survey.refused.is_empty() {
        return Err(survey.refused);
    }
    let recovery = unpacked.choose(&context, (cluster, &survey), (id, arguments.member.as_deref(), lost)).await?;
    contents_lines(&unpacked.contents, Clock::seconds()).iter().for_each(|text| status_line(text));
    unpacked.lost_words(&survey).iter().for_each(|text| status_line(text));
    ask::agreed((cluster, &recovery), &survey, arguments.yes, wanted.agreed.as_ref()).map_err(one)?;
    Ok(recovery)
}
