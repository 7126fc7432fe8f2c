//! The verbs of the engine, as an operation asks for them.

mod back_up;
mod recover;
mod reset;

use std::collections::BTreeMap;
use std::sync::Arc;

use kok_crds::model::{AuthorityName, Cluster};
use kok_crds::operation::Verb;
use kok_crds::{Asked, Intent, Problem, listed};
use kok_tasks::drain::DrainSettings;
use kok_tasks::list::TASKS;
use kok_tasks::plan::{Aside, Choice, EtcdRoom, How, Reboots, Refusal, Selection};
use kok_tasks::renewal::Renewal;
use kok_tasks::upgrade::{Turn, Wish};
use std::collections::BTreeSet;
use std::time::Duration;

use super::inputs::OperationTask;
use crate::artifacts::BundleFolder;
use crate::engine::{
    self, ApplyRequest, AuthorityWish, CheckStatus, Context, Error, FolderStore, Follows, Given, Lock, Options, Removal, RenewRequest,
    Replacement, ResetRequest, Silent, StatusRequest, Store as _, TokenKeyWish, UpgradeRequest,
};
use crate::failure::{Failure, Kind};
pub(super) use recover::{RecoveryNames, refused};

/// What a host that is started anew may take until it is back, as on the command line.
const BACK_WITHIN: Duration = Duration::from_secs(900);

/// By what a task is carried out.
pub(super) struct Means<'a> {
    pub(super) context: &'a Context,
    pub(super) store: &'a FolderStore,
    pub(super) bundle: Option<Arc<BundleFolder>>,
    pub(super) given: &'a Given,
    pub(super) options: Options<'a>,
    /// The boot ids of hosts that the same task was to start anew, if it was begun before.
    pub(super) boots: &'a BTreeMap<String, String>,
    /// Whether a whole cluster is taken down without hosts that don't answer.
    pub(super) gives_up: bool,
    /// By which the task knows its recovery, if it is one.
    pub(super) recovery: &'a RecoveryNames,
    /// Whether nothing is carried out.
    pub(super) is_dry: bool,
}

/// Carries out a task.
///
/// # Errors
/// [`Error`] if not all of it is done.
pub(super) async fn carry_out(task: &OperationTask, means: &Means<'_>) -> Result<(), Error> {
    let asked = asked(task).map_err(|problems| problems.into_iter().map(Failure::problem).collect::<Vec<_>>())?;
    match task.verb {
        Verb::Apply => apply(task, &asked, means).await,
        Verb::Backup => back_up::back_up(task, means).await,
        Verb::Check => check(&task.cluster, means).await,
        Verb::Status => status(&task.cluster, means).await,
        // Whatever an operation does, the kubeconfig is renewed after it.
        Verb::Kubeconfig => Ok(()),
        Verb::Cordon => aside(task, &asked, How::Cordon, means).await,
        Verb::Drain => aside(task, &asked, How::Drain(drains(&task.cluster, false)), means).await,
        Verb::Uncordon => aside(task, &asked, How::Uncordon, means).await,
        Verb::Defragment => etcd_room(task, &EtcdRoom::Defragment(&asked.hosts), means).await,
        Verb::Disarm => etcd_room(task, &EtcdRoom::Disarm, means).await,
        Verb::Reboot => reboot(task, &asked, means).await,
        Verb::Remove => remove(task, &asked, means).await,
        Verb::Renew => renew(task, &asked, means).await,
        Verb::Replace => replace(task, &asked, means).await,
        Verb::Reset => reset::reset(task, &asked, means).await,
        Verb::Restore => recover::restore(task, &asked, means).await,
        Verb::RotateKey => rotate_key(task, means).await,
        Verb::ChangeEncryption => change_encryption(task, means).await,
        Verb::RotateTokenKey => rotate_token_key(task, TokenKeyWish::Replace, means).await,
        Verb::EndTokenKey => rotate_token_key(task, TokenKeyWish::End { anyway: false }, means).await,
        Verb::RotateAuthority(name) => rotate_authority(task, (name, AuthorityWish::Replace), means).await,
        Verb::EndAuthority(name) => rotate_authority(task, (name, AuthorityWish::End { anyway: false }), means).await,
        Verb::Recover => recover::recover(task, &asked, means).await,
        Verb::Upgrade => upgrade(task, &asked, Turn::Whole, means).await,
        Verb::EmulateUpgrade => upgrade(task, &asked, Turn::Emulate, means).await,
        Verb::FinishUpgrade => upgrade(task, &asked, Turn::Finish, means).await,
        Verb::TakeBackUpgrade => upgrade(task, &asked, Turn::TakeBack, means).await,
        Verb::UpgradeComponents => upgrade(task, &asked, Turn::Components, means).await,
    }
}

impl Means<'_> {
    fn lock(&self, cluster: &Cluster) -> Result<Lock, Error> {
        self.store.lock(&cluster.name).map_err(Error::from)
    }

    fn bundle(&self) -> Result<Arc<BundleFolder>, Error> {
        let missing = || {
            let failure =
                Failure::new(Kind::Input, "the operator has no bundle").because("this installs something, and it is made from a bundle");
            Error::from(failure.hint("start `kokctl operator` with --bundle FOLDER"))
        };
        self.bundle.clone().ok_or_else(missing)
    }
}

/// How pods leave; what is lost with them only where their host goes.
fn drains(cluster: &Cluster, all: bool) -> DrainSettings {
    DrainSettings { delete_empty_dir: all, delete_unmanaged: all, ..DrainSettings::from_drains(&cluster.settings.drains) }
}

/// What an operation asks of a task by its arguments.
fn asked(task: &OperationTask) -> Result<Asked, Vec<Problem>> {
    let names: Vec<&str> = TASKS.iter().map(|task| task.name).collect();
    task.input.asked(Intent { verb: task.verb, dry: false }, &names)
}

fn selection(task: &OperationTask, asked: &Asked) -> Result<Selection, Vec<Refusal>> {
    let Asked { tasks, hosts, .. } = asked;
    Selection::new(Choice { only: &tasks.only, skip: &tasks.skip, limit: hosts }, &task.cluster)
}

/// Whether a cluster is made as it is described in a part alone: some hosts, or some tasks.
pub(super) fn is_part(task: &OperationTask) -> bool {
    let is_whole = |asked: Asked| selection(task, &asked).is_ok_and(|selection| selection.is_whole());
    task.verb == Verb::Apply && !asked(task).is_ok_and(is_whole)
}

async fn apply(task: &OperationTask, asked: &Asked, means: &Means<'_>) -> Result<(), Error> {
    let Asked { tasks, hosts, .. } = asked;
    let refused = |refusals: Vec<_>| refusals.into_iter().map(|it| Failure::refusal(Kind::Input, it)).collect::<Vec<_>>();
    let selection = selection(task, asked).map_err(refused)?;
    let part = (!selection.is_whole()).then(|| [tasks.only.as_slice(), hosts.as_slice()].concat().join(","));
    let request = ApplyRequest { part, ..of_whole(&task.cluster, &selection, means)? };
    let lock = means.lock(&task.cluster)?;
    engine::apply(means.context, (means.store, lock), &request, means.options).await.map(drop)
}

fn of_whole<'a>(cluster: &'a Cluster, selection: &'a Selection, means: &'a Means<'_>) -> Result<ApplyRequest<'a>, Error> {
    let (bundle, given) = (means.bundle()?, means.given);
    Ok(ApplyRequest { cluster, selection, part: None, bundle, given, most_failed: None, noted: None })
}

async fn check(cluster: &Cluster, means: &Means<'_>) -> Result<(), Error> {
    let report = engine::check(means.context, cluster, cluster).await?;
    let failed = report.checks.iter().flat_map(|check| &check.findings).filter(|finding| finding.status == CheckStatus::Failed);
    let failures: Vec<Failure> = failed.map(|finding| Failure::from_record(Kind::Host, &finding.record)).collect();
    if failures.is_empty() { Ok(()) } else { Err(Error::Refused(failures)) }
}

async fn status(cluster: &Cluster, means: &Means<'_>) -> Result<(), Error> {
    let bundle = means.bundle.as_deref().ok_or("the operator has no bundle");
    let request = StatusRequest { cluster, bundle, whole: Box::new(|| Ok(cluster.clone())) };
    let (_, failures) = engine::status(means.context, request).await?;
    if failures.is_empty() { Ok(()) } else { Err(Error::from(failures)) }
}

/// The hosts that are named, all of which have pods.
fn nodes<'a>(task: &OperationTask, asked: &'a Asked) -> Result<&'a [String], Error> {
    let no_node = |name: &&String| task.cluster.host(name).is_some_and(|host| !host.roles.is_node());
    match asked.hosts.iter().find(no_node) {
        Some(name) => {
            let failure = Failure::new(Kind::Input, format!("{name} is no node")).because("it has etcd alone, and no pods");
            Err(Error::from(failure.hint("name hosts that are control planes or workers")))
        }
        None => Ok(&asked.hosts),
    }
}

async fn aside(task: &OperationTask, asked: &Asked, how: How, means: &Means<'_>) -> Result<(), Error> {
    let hosts = nodes(task, asked)?;
    let (aside, part) = (Aside { hosts, how }, hosts.join(","));
    let lock = means.lock(&task.cluster)?;
    engine::aside(means.context, lock, &task.cluster, (&aside, &part), means.options).await.map(drop)
}

async fn reboot(task: &OperationTask, asked: &Asked, means: &Means<'_>) -> Result<(), Error> {
    let hosts = nodes(task, asked)?;
    let reboots = Reboots { hosts, if_needed: false, drain: drains(&task.cluster, false), back_within: BACK_WITHIN, boots: means.boots };
    let (part, lock) = (hosts.join(","), means.lock(&task.cluster)?);
    engine::reboot(means.context, lock, &task.cluster, (&reboots, &part), means.options).await.map(drop)
}

async fn etcd_room(task: &OperationTask, wanted: &EtcdRoom<'_>, means: &Means<'_>) -> Result<(), Error> {
    let part = match wanted {
        EtcdRoom::Defragment(hosts) if !hosts.is_empty() => Some(format!("--limit {}", hosts.join(","))),
        _ => None,
    };
    let lock = means.lock(&task.cluster)?;
    engine::etcd_room(means.context, lock, &task.cluster, (wanted, part), means.options).await.map(drop)
}

async fn rotate_key(task: &OperationTask, means: &Means<'_>) -> Result<(), Error> {
    let lock = means.lock(&task.cluster)?;
    engine::rotate_key(means.context, lock, &task.cluster, means.given, means.options).await.map(drop)
}

async fn change_encryption(task: &OperationTask, means: &Means<'_>) -> Result<(), Error> {
    let (bundle, lock) = (means.bundle()?, means.lock(&task.cluster)?);
    engine::change_encryption(means.context, lock, &task.cluster, (&bundle, means.given), means.options).await.map(drop)
}

async fn rotate_token_key(task: &OperationTask, wish: TokenKeyWish, means: &Means<'_>) -> Result<(), Error> {
    let lock = means.lock(&task.cluster)?;
    engine::rotate_token_key(means.context, lock, (&task.cluster, wish), means.given, means.options).await.map(drop)
}

async fn rotate_authority(task: &OperationTask, (name, wish): (AuthorityName, AuthorityWish), means: &Means<'_>) -> Result<(), Error> {
    let lock = means.lock(&task.cluster)?;
    engine::rotate_authority(means.context, lock, (&task.cluster, name, wish), means.given, means.options).await.map(drop)
}

async fn renew(task: &OperationTask, asked: &Asked, means: &Means<'_>) -> Result<(), Error> {
    let (hosts, parts) = (asked.hosts.as_slice(), BTreeSet::new());
    let renewal = Renewal { hosts, parts: &parts, all: false, successor: None };
    let part = (!hosts.is_empty()).then(|| format!("--limit {}", hosts.join(",")));
    let request = RenewRequest { cluster: &task.cluster, renewal: &renewal, part, given: means.given };
    let lock = means.lock(&task.cluster)?;
    let renewed = engine::renew(means.context, lock, &request, means.options).await?;
    engine::to_be_issued_by_others(&renewed.due).map_or(Ok(()), |failure| Err(Error::Refused(vec![failure])))
}

fn silent(asked: &Asked) -> Silent {
    if asked.may_be_dead { Silent::Dead } else { Silent::Refused }
}

async fn remove(task: &OperationTask, asked: &Asked, means: &Means<'_>) -> Result<(), Error> {
    let (cluster, hosts) = (&task.cluster.before_removal(), asked.hosts.as_slice());
    let all_leave = |mut named: Box<dyn Iterator<Item = &kok_crds::model::Host> + '_>| named.all(|host| hosts.contains(&host.name));
    if all_leave(Box::new(cluster.control_planes())) || all_leave(Box::new(cluster.etcd_hosts())) {
        let failure = Failure::new(Kind::Input, "no control plane, or no member of etcd, would be left");
        return Err(Error::from(failure.hint("for the whole cluster: the action `reset.yml`")));
    }
    let drain = drains(cluster, true);
    let removal = Removal { hosts, drain, silent: silent(asked), follows: Follows::Nothing, members: None, even: false };
    let (part, lock) = (hosts.join(","), means.lock(cluster)?);
    let request = ResetRequest::Hosts { removal: &removal, part: &part };
    engine::reset(means.context, (means.store, lock), cluster, request, means.options).await.map(drop)
}

async fn replace(task: &OperationTask, asked: &Asked, means: &Means<'_>) -> Result<(), Error> {
    let (cluster, hosts) = (&task.cluster, asked.hosts.as_slice());
    let both = asked.with.as_ref().map(|new| with_both(cluster, hosts, new)).transpose()?;
    let silent = silent(asked);
    let follows = if silent == Silent::Refused || both.is_some() { Follows::Apply } else { Follows::ApplyIfAlive };
    let members = Some(cluster.etcd_hosts().count());
    let removal = Removal { hosts, drain: drains(cluster, true), silent, follows, members, even: false };
    let with = asked.with.as_ref().map(|new| format!(" --with {new}")).unwrap_or_default();
    let part = format!("{}{with}", hosts.join(","));
    let replacement = Replacement { removal: &removal, part: &part, with_both: both.as_ref() };
    let selection = Selection::whole();
    let request = of_whole(cluster, &selection, means)?;
    let lock = means.lock(cluster)?;
    engine::replace(means.context, (means.store, lock), replacement, &request, means.options).await.map(drop)
}

/// The cluster with a host and with the one that takes its place.
fn with_both(cluster: &Cluster, hosts: &[String], new: &str) -> Result<Cluster, Error> {
    let wrong = |because: &str| {
        let what = format!("{new} can't take the place of {}", listed(hosts.iter().map(String::as_str)));
        Error::from(Failure::new(Kind::Input, what).because(because).hint("name one host by `node`, and one of the file by `with`"))
    };
    let [old] = hosts else { return Err(wrong("it takes the place of one host")) };
    let Some(host) = cluster.host(new).filter(|_| new != old) else { return Err(wrong("it is no other host of the file")) };
    let Some(leaving) = cluster.leaving.iter().find(|host| host.name == *old) else {
        return Err(wrong("the one that goes is not in the file, by which it is reached, drained and cleaned"));
    };
    if (host.roles.control_plane, host.roles.etcd) != (leaving.roles.control_plane, leaving.roles.etcd) {
        return Err(wrong("in the place of a host comes one with the same roles"));
    }
    let (old, leaving): (Vec<_>, Vec<_>) = cluster.leaving.iter().cloned().partition(|host| host.name == *old);
    let removed = cluster.removed.iter().filter(|name| !hosts.contains(name)).cloned().collect();
    Ok(Cluster { hosts: cluster.hosts.iter().cloned().chain(old).collect(), leaving, removed, ..cluster.clone() })
}

async fn upgrade(task: &OperationTask, asked: &Asked, turn: Turn, means: &Means<'_>) -> Result<(), Error> {
    let cluster = &task.cluster;
    let wish = Wish { limit: asked.hosts.clone(), undrained: cluster.settings.drains.off, ..Wish::default() };
    let (bundle, to, given) = (means.bundle()?, &cluster.kubernetes_version, means.given);
    let request = UpgradeRequest { cluster, to, turn, wish: &wish, most_failed: None, ignored: &[], bundle, given };
    let lock = means.lock(cluster)?;
    engine::upgrade(means.context, (means.store, lock), &request, means.options).await.map(drop)
}
