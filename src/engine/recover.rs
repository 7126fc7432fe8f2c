//! Making an etcd anew that has lost its quorum, and a whole cluster of it again.

mod choose;
mod snapshot;

use kok_crds::model::Cluster;
use kok_tasks::artifact::Artifact;
use kok_tasks::drain::DrainSettings;
use kok_tasks::plan::RecoveryStage;
use kok_tasks::recovery::{Origin, Recovery};

use super::apply::{Apply, ApplyRequest, verify};
use super::context::{Context, Options};
use super::converge::{Planned, RecoveryAction, RecoveryMeans, Tolerance, recover as plan_of};
use super::driver::{Run, StagedOrder, Work};
use super::error::Error;
use super::reset::{Follows, Removal, ResetRequest, Silent, TakeDown};
use super::store::{Lock, Store};
use crate::failure::Failure;
use crate::run::{Outcome, Secrets};
pub use choose::{RecoveryChoice, recovery_id};
pub use snapshot::snapshot_artifact;

/// What is to be done about etcd.
pub struct RecoverRequest<'a> {
    /// How the cluster is applied in the end, with all hosts of the file.
    pub apply: &'a ApplyRequest<'a>,
    /// Hosts that are given up.
    pub lost: &'a [String],
    /// The snapshot that etcd is made from, with its place on this machine.
    pub snapshot: Option<&'a Artifact>,
    /// What is wished.
    pub wish: RecoverWish<'a>,
}

/// What is wished of a recovery.
#[derive(Debug, Clone, Copy)]
pub enum RecoverWish<'a> {
    /// It is begun.
    Begin(&'a Recovery),
    /// It goes on, if it has begun; and those that are no members yet join.
    GoOn,
    /// The one goes on that was begun from this.
    GoOnFrom(&'a Origin),
    /// There is a new etcd, and those that are no members yet join it.
    Join,
    /// It is taken back.
    TakeBack,
}

/// What was recovered.
pub struct Recovered {
    /// The recovery; none where nothing of one was left to do.
    pub recovery: Option<Recovery>,
    /// How the last stage ended; nothing, if there was nothing to do.
    pub outcome: Option<Outcome>,
}

/// Makes etcd anew and lets the other members join it, or takes that back. Whoever calls has the cluster's lock, which ends with the run.
///
/// # Errors
/// [`Error`] if not all of it is done; [`Error::HalfWay`] where a stage is and the next one can't be begun.
pub async fn recover(
    context: &Context,
    (store, lock): (&dyn Store, Lock),
    request: &RecoverRequest<'_>,
    options: Options<'_>,
) -> Result<Recovered, Error> {
    let (cluster, names) = (request.apply.cluster, request.lost.join(","));
    let part = (!request.lost.is_empty()).then(|| format!("--lost {names}"));
    let restores = matches!(request.wish, RecoverWish::Begin(recovery) if recovery.origin.replaces());
    let run = Run::begin(if restores { "restore" } else { "recover" }, cluster, part, (context, lock), options);
    let removal = without_lost(request.lost);
    let forgets = TakeDown::new(cluster, store, ResetRequest::Hosts { removal: &removal, part: &names });
    let mut order = Anew { request, stage: Stage::Aside, recovery: None, forgets, without_lost: None };
    if matches!(request.wish, RecoverWish::Join) {
        order.stage = order.of_etcd_that_works();
        order.give_up();
    }
    let driven = run.drive(&mut order).await?;
    Ok(Recovered { recovery: order.recovery, outcome: driven.outcome })
}

/// How hosts leave an etcd that works, and that are gone for good.
fn without_lost(lost: &[String]) -> Removal<'_> {
    let drain = DrainSettings::default();
    Removal { hosts: lost, drain, silent: Silent::AllDead, follows: Follows::Nothing, members: None, even: true }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Everything stands still, and what there is is put aside; or it is taken back.
    Aside,
    /// There is a new etcd.
    Anew,
    /// Hosts that are given up leave an etcd that works: they died after the recovery had come to its end.
    Forgotten,
    /// The whole cluster becomes what its file says.
    Joined,
}

struct Anew<'a> {
    request: &'a RecoverRequest<'a>,
    stage: Stage,
    recovery: Option<Recovery>,
    /// How those that are given up leave.
    forgets: TakeDown<'a>,
    /// The cluster without those that are given up.
    without_lost: Option<Cluster>,
}

impl Anew<'_> {
    fn next(&self) -> RecoveryAction<'_> {
        match (self.stage, self.request.wish) {
            (_, RecoverWish::TakeBack) => RecoveryAction::TakeBack,
            (Stage::Aside, RecoverWish::Begin(recovery)) => RecoveryAction::Begin(recovery),
            (Stage::Aside, RecoverWish::GoOnFrom(origin)) => RecoveryAction::GoOnFrom(origin),
            (Stage::Aside, _) => RecoveryAction::GoOn(RecoveryStage::Aside),
            (Stage::Anew | Stage::Forgotten | Stage::Joined, _) => RecoveryAction::GoOn(RecoveryStage::Anew),
        }
    }

    /// What is next where nothing says that a recovery is under way, and etcd works.
    fn of_etcd_that_works(&self) -> Stage {
        if self.request.lost.is_empty() { Stage::Joined } else { Stage::Forgotten }
    }

    /// How the cluster is applied without those that are given up, who are no part of it any more.
    fn applied(&self) -> ApplyRequest<'_> {
        let ApplyRequest { cluster, selection, bundle, given, most_failed, .. } = self.request.apply;
        let cluster = self.without_lost.as_ref().unwrap_or(cluster);
        ApplyRequest { cluster, selection, part: None, bundle: bundle.clone(), given, most_failed: *most_failed, noted: None }
    }

    fn give_up(&mut self) {
        let cluster = self.request.apply.cluster;
        let of_recovery = self.recovery.iter().flat_map(|recovery| &recovery.lost);
        let lost: Vec<&str> = self.request.lost.iter().chain(of_recovery).map(String::as_str).collect();
        self.without_lost = Some(cluster.without(&lost));
    }

    async fn plan_recovery(&mut self, run: &Run<'_>) -> Result<Planned, Vec<Failure>> {
        let RecoverRequest { apply, lost, snapshot, .. } = *self.request;
        let tolerance = Tolerance { holder: run.options.take_over, ..Tolerance::default() };
        let means = RecoveryMeans { cluster: apply.cluster, bundle: &apply.bundle, given: apply.given, snapshot, lost };
        let (planned, recovery) = plan_of(&means, self.next(), tolerance, run.context).await?;
        self.recovery = recovery.or(self.recovery.take());
        Ok(planned)
    }
}

impl StagedOrder for Anew<'_> {
    async fn plan(&mut self, run: &Run<'_>) -> Result<Planned, Vec<Failure>> {
        match self.stage {
            Stage::Joined => Apply { request: &self.applied() }.plan(run).await,
            Stage::Forgotten => self.forgets.plan(run).await,
            Stage::Aside | Stage::Anew => self.plan_recovery(run).await,
        }
    }

    async fn prepare(&mut self, run: &Run<'_>, planned: &Planned) -> Result<Work, Error> {
        match self.stage {
            Stage::Joined => return Apply { request: &self.applied() }.prepare(run, planned).await,
            Stage::Forgotten => return self.forgets.prepare(run, planned).await,
            Stage::Aside | Stage::Anew => {}
        }
        let bundle = self.request.apply.bundle.clone();
        verify(run, &bundle, &planned.plan)?;
        Ok(Work { secrets: Secrets::none(), bundle: Some(bundle), whole: true, most_failed: None })
    }

    fn is_done_by(&self, run: &Run<'_>, planned: &Planned) -> bool {
        if self.stage == Stage::Joined {
            return Apply { request: &self.applied() }.is_done_by(run, planned);
        }
        planned.plan.is_empty()
    }

    fn goes_on(&mut self) -> bool {
        self.stage = match self.stage {
            _ if matches!(self.request.wish, RecoverWish::TakeBack) => return false,
            Stage::Aside if self.recovery.is_none() => self.of_etcd_that_works(),
            Stage::Aside => Stage::Anew,
            Stage::Anew | Stage::Forgotten => Stage::Joined,
            Stage::Joined => return false,
        };
        if self.stage == Stage::Joined {
            self.give_up();
        }
        true
    }
}
