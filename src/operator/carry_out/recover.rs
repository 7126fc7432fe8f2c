//! Making etcd anew, and restoring a backup. What is lost by it is somebody's to decide: that one reads the plan, and approves it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use kok_crds::operation::{Placed, Verb};
use kok_crds::{Asked, AskedRestore};
use kok_tasks::artifact::Artifact;
use kok_tasks::plan::{Plan, Selection, begins_recovery};
use kok_tasks::recovery::{Origin, Recovery};

use super::super::approval::Mode;
use super::super::inputs::OperationTask;
use super::back_up::{bucket, folder};
use super::{Means, of_whole};
use crate::backup::{Bucket, Identities};
use crate::engine::{
    self, Error, LocalBackup, Options, RecoverRequest, RecoverWish, RecoveryChoice, RecoveryStanding, Store as _, Survey, Unpacked,
    Verdict, found_from_backup, snapshot_artifact, survey,
};
use crate::event::EventKind;
use crate::failure::{Cause, Failure, Kind};
use crate::run::{Outcome, Stop, unless_wished};

/// By which a task knows its recovery on hosts.
#[derive(Debug, Default)]
pub(in super::super) struct RecoveryNames {
    /// That of one that it begins: the same each time it is tried, by whichever process.
    pub(in super::super) own: String,
    /// That of the one that it has begun, or gone on with.
    pub(in super::super) begun: Option<String>,
    /// What is to be known as that from the moment on at which something is done.
    pub(in super::super) next: Mutex<Option<String>>,
}

/// Why the operator does not do this in an operation of that mode, if so.
pub(in super::super) fn refused(verb: Verb, mode: Mode) -> Option<Failure> {
    let what = match verb {
        Verb::Recover => "etcd is not recovered before somebody has approved it",
        Verb::Restore => "a backup is not restored before somebody has approved it",
        _ => return None,
    };
    (mode == Mode::Auto).then(|| {
        let failure = Failure::new(Kind::Input, what);
        let failure = failure.because("data are lost by it, and whether that may be is a person's to decide");
        failure.hint("make an operation with `operator: {approval: Manual}` in its spec: it says what is lost, shows its plan, and waits for your approval")
    })
}

pub(super) async fn recover(task: &OperationTask, asked: &Asked, means: &Means<'_>) -> Result<(), Error> {
    let (name, found) = means.survey(task, asked, false).await?;
    // What is left then is an apply, and needs no snapshot.
    if found.standing == RecoveryStanding::Ended {
        return carry_out(task, (&asked.hosts, None), (RecoverWish::Join, &found.standing), &name, means).await;
    }
    let snapshot = asked.snapshot.as_ref().map(snapshot_of).transpose()?;
    let origin = snapshot.as_ref().map_or(Origin::Member, |snapshot| Origin::Snapshot { sha256: snapshot.sha256.clone() });
    let begun = match found.standing {
        RecoveryStanding::NotBegun if !found.refused.is_empty() => return Err(found.refused.into()),
        RecoveryStanding::NotBegun => {
            let (lost, snapshot) = (asked.hosts.as_slice(), snapshot.as_ref());
            let recovery = found.choose(&RecoveryChoice { id: name.clone(), member: None, lost, origin: origin.clone(), snapshot })?;
            means.tell_loss(found.loss(&recovery));
            Some(recovery)
        }
        _ => None,
    };
    let wish = begun.as_ref().map_or(RecoverWish::GoOnFrom(&origin), RecoverWish::Begin);
    carry_out(task, (&asked.hosts, snapshot.as_ref()), (wish, &found.standing), &name, means).await
}

fn snapshot_of(named: &Placed) -> Result<Artifact, Failure> {
    mounted(named).and_then(snapshot_artifact).map_err(|failure| failure.at("-e etcd_snapshot"))
}

pub(super) async fn restore(task: &OperationTask, asked: &Asked, means: &Means<'_>) -> Result<(), Error> {
    let wanted = asked.restore.as_ref().ok_or_else(|| Failure::new(Kind::Internal, "it is not known which backup is restored"))?;
    let (mut name, mut found) = means.survey(task, asked, true).await?;
    // What is left then is an apply, and needs no backup.
    if found.standing == RecoveryStanding::Ended {
        return carry_out(task, (&asked.hosts, None), (RecoverWish::Join, &found.standing), &name, means).await;
    }
    let unpacked = means.unless_stopped(unpacked(task, wanted, means)).await?;
    if wanted.new_hosts && found.standing == RecoveryStanding::NotBegun {
        let cluster = unpacked.lends_keys_to(&task.cluster, &wanted.backup.text);
        let (bundle, lock) = (means.bundle()?, means.lock(&cluster)?);
        found_from_backup(means.context, (means.store, lock), &cluster, (&bundle, means.given), means.options).await?;
        (name, found) = means.survey(task, asked, true).await?;
    }
    let begun = match found.standing {
        RecoveryStanding::NotBegun => Some(chosen((task, asked), (&found, &unpacked), name.clone(), means).await?),
        _ => None,
    };
    let origin = unpacked.origin();
    let wish = begun.as_ref().map_or(RecoverWish::GoOnFrom(&origin), RecoverWish::Begin);
    carry_out(task, (&asked.hosts, Some(&unpacked.snapshot)), (wish, &found.standing), &name, means).await
}

/// The restore that is begun, of which is told what is lost by it.
async fn chosen(
    (task, asked): (&OperationTask, &Asked),
    (found, unpacked): (&Survey, &Unpacked),
    name: String,
    means: &Means<'_>,
) -> Result<Recovery, Error> {
    if !found.refused.is_empty() {
        return Err(found.refused.clone().into());
    }
    let recovery = unpacked.choose(means.context, (&task.cluster, found), (name, None, &asked.hosts)).await?;
    let lost = unpacked.lost_words(found).map(|words| format!("{words}. ")).unwrap_or_default();
    means.tell_loss(format!("{}; {lost}{}", unpacked.words(), found.loss(&recovery)));
    Ok(recovery)
}

/// Stage by stage. Which recovery is meant is kept before anything is done: whoever goes on with the operation knows it by that.
async fn carry_out(
    task: &OperationTask,
    (lost, snapshot): (&[String], Option<&Artifact>),
    (wish, standing): (RecoverWish<'_>, &RecoveryStanding),
    name: &str,
    means: &Means<'_>,
) -> Result<(), Error> {
    let selection = Selection::whole();
    let apply = of_whole(&task.cluster, &selection, means)?;
    let request = RecoverRequest { apply: &apply, lost, snapshot, wish };
    if let RecoveryStanding::Another(id) = standing {
        means.tell_loss(format!(
            "the recovery {id} is gone on with, which another run has begun: what was written since its backup or snapshot is lost"
        ));
    }
    let approval = Approval::from_standing(standing, means.is_dry);
    let approve = |plan: &Plan| {
        if !approval.is_asked(begins_recovery(plan)) {
            return Verdict::Go;
        }
        let verdict = (means.options.approve)(plan);
        approval.was_given.fetch_or(matches!(verdict, Verdict::Go) && !plan.is_empty(), Ordering::Relaxed);
        verdict
    };
    *means.recovery.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(name.to_owned());
    let options = Options { approve: &approve, ..means.options };
    let lock = means.lock(&task.cluster)?;
    engine::recover(means.context, (means.store, lock), &request, options).await.map(drop)
}

/// Who has approved the first stage has approved the rest: between them nothing of the cluster works. An operation goes on with what another one has begun as
/// with its own, once somebody has approved that.
struct Approval {
    is_dry: bool,
    /// Whether this very recovery was approved before.
    goes_on: bool,
    was_given: AtomicBool,
}

impl Approval {
    fn from_standing(standing: &RecoveryStanding, is_dry: bool) -> Self {
        let goes_on = matches!(standing, RecoveryStanding::UnderWay | RecoveryStanding::Ended);
        Self { is_dry, goes_on, was_given: AtomicBool::new(false) }
    }

    /// Whether a plan has to be approved. One that begins a recovery may be made anew because the hosts have changed, and is another one then.
    fn is_asked(&self, begins: bool) -> bool {
        self.is_dry || (!self.goes_on && (begins || !self.was_given.load(Ordering::Relaxed)))
    }
}

/// Reads all of the backup, which is opened by what the operation names.
async fn unpacked(task: &OperationTask, wanted: &AskedRestore, means: &Means<'_>) -> Result<Unpacked, Error> {
    let cluster = &task.cluster;
    let folder = means.store.snapshots_of(&cluster.name);
    let local = local(task, &wanted.backup, &folder, means).await?;
    let identities = task.identity.as_ref().map(|bytes| Identities::parse(bytes, "-e identity")).transpose()?;
    let unpacked = Unpacked::unpack(local.path(), identities.as_ref(), (cluster, wanted.new_hosts), &folder);
    let at = |failure: Failure| failure.at(wanted.backup.text.escape_debug().to_string());
    unpacked.map_err(|failures| Error::from(failures.into_iter().map(at).collect::<Vec<_>>()))
}

/// Where it can be read: in a bucket, at a path that is mounted, or by its name where the cluster's backups lie.
async fn local(task: &OperationTask, named: &Placed, spools: &Path, means: &Means<'_>) -> Result<LocalBackup, Error> {
    let cluster = &task.cluster;
    let (is_name, is_address) = (!named.text.contains('/'), named.text.starts_with("s3://"));
    if is_name && let Some(folder) = folder(cluster)? {
        return Ok(LocalBackup::at(folder.join(&named.text)));
    }
    let bucket = if is_name || is_address { bucket(cluster)? } else { None };
    let address = |bucket: &Bucket| if is_name { format!("{}/{}", bucket.address(), named.text) } else { named.text.clone() };
    match bucket {
        Some(bucket) => {
            let fetched = LocalBackup::fetched(&bucket, &address(&bucket), spools).await;
            // It may be a moment without the server or the network.
            fetched.map_err(|failure| Error::from(if failure.kind == Kind::Host { failure.due(Cause::Unreachable) } else { failure }))
        }
        None if is_address => {
            let failure = Failure::new(Kind::Input, "the backup can't be fetched").because("the Cluster names no bucket");
            Err(failure.hint("add `backup: {to: {s3: …}}` to the spec of the Cluster").into())
        }
        None if is_name => Ok(LocalBackup::at(means.store.backups_of(&cluster.name).join(&named.text))),
        None => Ok(LocalBackup::at(mounted(named)?.to_owned())),
    }
}

/// A path that leads somewhere without a folder in which the Cluster lies.
fn mounted(named: &Placed) -> Result<&Path, Failure> {
    let path = Path::new(&named.text);
    if path.is_absolute() {
        return Ok(path);
    }
    let failure = Failure::new(Kind::Input, format!("`{}` is no file of the operator's", named.text.escape_debug()));
    let failure = failure.because("the operator has no folder in which the Cluster lies, from which a path could lead");
    Err(failure.hint("name a file that is mounted into it, such as `/backups/NAME`"))
}

impl Means<'_> {
    fn tell_loss(&self, what: String) {
        self.context.events.send(EventKind::LossTold { what });
    }

    /// What there is of etcd, and the name of the recovery that is meant: of one that is under way, or of one that begins now.
    async fn survey(&self, task: &OperationTask, asked: &Asked, replaces: bool) -> Result<(String, Survey), Error> {
        let RecoveryNames { own, begun, .. } = self.recovery;
        let known = begun.as_ref().unwrap_or(own);
        let look = async { survey(self.context, &task.cluster, &asked.hosts, (known, replaces)).await.map_err(Error::from) };
        let found = self.unless_stopped(look).await?;
        let name = match &found.standing {
            RecoveryStanding::NotBegun => next_name(own, begun.as_deref()),
            RecoveryStanding::Another(id) => id.clone(),
            RecoveryStanding::UnderWay | RecoveryStanding::Ended => known.clone(),
        };
        Ok((name, found))
    }

    /// Waits for work that changes nothing, unless the end is wished meanwhile.
    async fn unless_stopped<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let stopped = || Error::from(Outcome { stopped: Some(Stop::BECAUSE.to_owned()), ..Outcome::default() });
        unless_wished(&mut self.context.stop.clone(), Stop::Finish, work).await.unwrap_or_else(|| Err(stopped()))
    }
}

/// Where hosts know nothing of the one that was begun, somebody has taken it back: the next one is another one, which somebody has to approve again.
fn next_name(own: &str, begun: Option<&str>) -> String {
    let Some(rest) = begun.and_then(|begun| begun.strip_prefix(own)) else { return own.to_owned() };
    let number = rest.strip_prefix('.').and_then(|number| number.parse::<u32>().ok()).unwrap_or(1);
    format!("{own}.{}", number + 1)
}

#[cfg(test)]
mod tests {
    use kok_crds::operation::{ACTIONS, Effect};

    use super::*;

    #[test]
    fn the_first_stage_is_approved_and_the_rest_with_it() {
        let approval = |standing| Approval::from_standing(&standing, false);
        let begins = approval(RecoveryStanding::NotBegun);
        assert!(begins.is_asked(true) && begins.is_asked(false));
        begins.was_given.store(true, Ordering::Relaxed);
        assert!(begins.is_asked(true), "it was made anew before anything was done");
        assert!(!begins.is_asked(false), "nothing works between two stages");
        assert!([RecoveryStanding::UnderWay, RecoveryStanding::Ended].into_iter().all(|standing| !approval(standing).is_asked(true)));
        let another = approval(RecoveryStanding::Another("r".to_owned()));
        assert!(another.is_asked(false), "that of somebody else");
        another.was_given.store(true, Ordering::Relaxed);
        assert!(!another.is_asked(false));
        assert!(Approval::from_standing(&RecoveryStanding::UnderWay, true).is_asked(false), "it is only shown");
    }

    #[test]
    fn one_that_was_taken_back_is_another_one_when_it_begins_again() {
        let names = [None, Some("a-0-u"), Some("a-0-u.2"), Some("b-0-v")].map(|begun| next_name("a-0-u", begun));
        assert_eq!(names, ["a-0-u", "a-0-u.2", "a-0-u.3", "a-0-u"]);
    }

    #[test]
    fn what_loses_data_is_somebodys_to_approve() {
        let runs =
            ACTIONS.iter().filter_map(|action| if let Effect::Runs(verb) = action.effect { Some((action.name, verb)) } else { None });
        let verbs: Vec<(&str, Verb)> = runs.collect();
        let names = |mode| verbs.iter().filter(|(_, verb)| refused(*verb, mode).is_some()).map(|(name, _)| *name).collect::<Vec<_>>();
        assert_eq!(names(Mode::Auto), ["recover", "recover-control-plane", "restore"]);
        assert_eq!([names(Mode::Manual), names(Mode::DryRun)], [Vec::<&str>::new(), Vec::new()]);
        assert!(
            refused(Verb::Restore, Mode::Auto).is_some_and(|failure| failure.hint.is_some_and(|hint| hint.contains("approval: Manual")))
        );
    }
}
