//! Bringing the hosts to what the cluster's file says.

use std::sync::Arc;

use kok_crds::model::{Cluster, Delivery};
use kok_tasks::artifact::Artifact;
use kok_tasks::drain::DrainSettings;
use kok_tasks::plan::{Plan, Selection};
use kok_tasks::resources::Act;

use super::context::{Context, Options};
use super::converge::{Planned, Tolerance, converge, mute};
use super::driver::{Run, StagedOrder, Work};
use super::error::Error;
use super::given::Given;
use super::replace::{Stage, Stages};
use super::reset::{Follows, Removal, ResetRequest, Silent, TakeDown};
use super::store::{Lock, Store};
use crate::artifacts::BundleFolder;
use crate::event::EventKind;
use crate::failure::Failure;
use crate::run::{Keepers, MadeSigner, Outcome, Secrets, Token};
use crate::state::KeptSnapshot;

/// What is to be applied.
#[derive(Clone)]
pub struct ApplyRequest<'a> {
    /// The cluster as its file says.
    pub cluster: &'a Cluster,
    /// Which part of it.
    pub selection: &'a Selection,
    /// The part in the caller's words; nothing for the whole.
    pub part: Option<String>,
    /// Where artifacts come from.
    pub bundle: Arc<BundleFolder>,
    /// What is random, and what the user said.
    pub given: &'a Given,
    /// How many hosts may fail before nothing new is begun.
    pub most_failed: Option<usize>,
    /// How many variables of the files do nothing, and how much else there is to know of them; nothing if neither.
    pub noted: Option<(usize, usize)>,
}

impl<'a> ApplyRequest<'a> {
    /// The whole of a cluster that is a stage on the way of an order.
    pub(super) fn of_stage(cluster: &'a Cluster, whole: &'a Selection, (bundle, given): (&Arc<BundleFolder>, &'a Given)) -> Self {
        Self { cluster, selection: whole, part: None, bundle: Arc::clone(bundle), given, most_failed: None, noted: None }
    }

    /// The same, in which so many hosts may fail.
    pub(super) fn with_most_failed(self, most_failed: Option<usize>) -> Self {
        Self { most_failed, ..self }
    }
}

/// What was applied.
pub struct Applied {
    /// The plan; of the last stage, where hosts left before.
    pub plan: Plan,
    /// How it ended, with what all stages have done; nothing, if there was nothing to do.
    pub outcome: Option<Outcome>,
    /// The snapshot of etcd that was taken before a member left, because the file says so.
    pub kept: Option<KeptSnapshot>,
}

/// Brings the hosts, or a part of them, to what the cluster's file says. Whoever calls has the cluster's lock, which ends with the run.
///
/// # Errors
/// [`Error`] if not all of it is done.
pub async fn apply(
    context: &Context,
    (store, lock): (&dyn Store, Lock),
    request: &ApplyRequest<'_>,
    options: Options<'_>,
) -> Result<Applied, Error> {
    let run = Run::begin("apply", request.cluster, request.part.clone(), (context, lock), options);
    if let Some((idle, notices)) = request.noted {
        context.events.send(EventKind::FilesNoted { idle, notices });
    }
    let removed = removal(request);
    let Some((before, removal)) = removed.as_ref() else {
        let driven = run.drive(&mut Apply { request }).await?;
        return Ok(Applied { plan: driven.planned.plan, outcome: driven.outcome, kept: None });
    };
    let part = request.cluster.removed.join(",");
    let taken = TakeDown::new(before, store, ResetRequest::Hosts { removal, part: &part });
    let tolerance = Tolerance { holder: run.options.take_over, ..Tolerance::default() };
    let leave = Stage::Leave(Box::new(taken));
    let mended = run.unless_stopped(mute(request.cluster, tolerance, context)).await?;
    let first = mended.as_ref().map(|cluster| ApplyRequest { cluster, ..request.clone() });
    let mut order = match &first {
        Some(first) => Stages::new(Stage::Become(Apply { request: first }), [leave, Stage::Become(Apply { request })]),
        None => Stages::new(leave, [Stage::Become(Apply { request })]),
    };
    let driven = run.drive(&mut order).await?;
    Ok(Applied { plan: driven.planned.plan, outcome: driven.outcome, kept: order.ended().0 })
}

/// Whom the file wants gone, of a whole cluster, and the cluster with them. Whoever has written their names has agreed to what is lost with them.
fn removal<'a>(request: &ApplyRequest<'a>) -> Option<(Cluster, Removal<'a>)> {
    let cluster = request.cluster;
    let is_wanted = request.selection.is_whole() && !cluster.removed.is_empty();
    is_wanted.then(|| (cluster.before_removal(), removal_of(cluster)))
}

/// How these leave: those that don't answer are taken for dead, if the cluster hears nothing of them, too.
pub(super) fn removal_of(cluster: &Cluster) -> Removal<'_> {
    let drain = DrainSettings { delete_unmanaged: true, delete_empty_dir: true, ..DrainSettings::from_drains(&cluster.settings.drains) };
    Removal { hosts: &cluster.removed, drain, silent: Silent::Dead, follows: Follows::Nothing, members: None, even: true }
}

pub(super) struct Apply<'a> {
    pub(super) request: &'a ApplyRequest<'a>,
}

impl StagedOrder for Apply<'_> {
    async fn plan(&mut self, run: &Run<'_>) -> Result<Planned, Vec<Failure>> {
        let ApplyRequest { cluster, selection, bundle, given, most_failed, .. } = self.request;
        let unreachable = most_failed.unwrap_or_default();
        let tolerance = Tolerance { holder: run.options.take_over, unreachable, ..Tolerance::default() };
        converge(cluster, bundle.bundle(), selection, given, tolerance, run.context).await
    }

    async fn prepare(&mut self, run: &Run<'_>, planned: &Planned) -> Result<Work, Error> {
        let ApplyRequest { selection, bundle, given, most_failed, .. } = self.request;
        // Both before the first host is changed: a corrupted file, or an authority that can't be read, must not leave a half-made cluster.
        if !self.is_done_by(run, planned) {
            verify(run, bundle, &planned.plan)?;
        }
        let secrets = make_secrets(run, planned, &given.token).await?;
        Ok(Work { secrets, bundle: Some(Arc::clone(bundle)), whole: selection.is_whole(), most_failed: *most_failed })
    }

    fn is_done_by(&self, run: &Run<'_>, planned: &Planned) -> bool {
        // Another controller may be at work on hosts that are to be taken from it.
        planned.plan.is_empty() && !(self.request.selection.is_whole() && run.takes_over(planned))
    }
}

fn artifacts(plan: &Plan) -> Vec<Artifact> {
    let acts = plan.changes().map(|(step, change)| step.act(change));
    acts.filter_map(|act| if let Act::Stream { artifact, .. } = act { Some(artifact) } else { None }).collect()
}

/// Reads through all that a plan sends. Returns how many bytes these were.
pub(super) fn read_through(run: &Run<'_>, bundle: &BundleFolder, plan: &Plan) -> Result<u64, Error> {
    let needed = artifacts(plan);
    if needed.is_empty() {
        return Ok(0);
    }
    run.recorded(tokio::task::block_in_place(|| bundle.verify(needed.iter())))
}

/// For work of several stages: whether the bundle has what any of them may send, so that none stops in the middle for want of it.
pub(super) fn all_there(bundle: &BundleFolder, cluster: &Cluster) -> Result<(), Vec<Failure>> {
    let lacking = bundle.lacking(cluster.settings.delivery != Delivery::Pull);
    if lacking.is_empty() { Ok(()) } else { Err(lacking) }
}

pub(super) fn verify(run: &Run<'_>, bundle: &BundleFolder, plan: &Plan) -> Result<(), Error> {
    let bytes = read_through(run, bundle, plan)?;
    if bytes > 0 {
        run.context.events.send(EventKind::BundleVerified { bytes });
    }
    Ok(())
}

pub(super) async fn make_secrets(run: &Run<'_>, planned: &Planned, token: &Token) -> Result<Secrets, Error> {
    make_secrets_with(run, planned, (token, None)).await
}

/// The same with what this run has made itself.
pub(super) async fn make_secrets_with(run: &Run<'_>, planned: &Planned, made: (&Token, Option<MadeSigner<'_>>)) -> Result<Secrets, Error> {
    let (control_plane, etcd, encryption) = (&planned.keeper, &planned.etcd_keeper, &planned.encryption_keeper);
    let keepers = Keepers { control_plane: control_plane.as_deref(), etcd: etcd.as_deref(), encryption: encryption.as_deref() };
    let home = run.context.home();
    let secrets = Secrets::prepare(&planned.cluster, &planned.plan, keepers, made, &planned.links, planned.now_seconds, home).await;
    let secrets = run.recorded(secrets.map_err(|failure| vec![failure]))?;
    let events = &run.context.events;
    if secrets.made() > 0 {
        events.send(EventKind::SecretsReady { made: secrets.made() });
    }
    if let Some(path) = secrets.kept_in() {
        events.send(EventKind::KeysKept { path: path.display().to_string(), cluster: planned.cluster.name.clone() });
    }
    Ok(secrets)
}
