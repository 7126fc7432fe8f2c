//! Taking hosts out of the cluster and letting them join anew: machines that lost their disk, or others in their places.

use kok_crds::model::Cluster;

use super::apply::{Apply, ApplyRequest};
use super::context::{Context, Options};
use super::converge::Planned;
use super::driver::{Order, Run, Work};
use super::error::Error;
use super::reset::{Removal, ResetRequest, TakeDown};
use super::store::{Lock, Store};
use crate::failure::Failure;
use crate::run::Outcome;
use crate::state::KeptSnapshot;

/// What was replaced.
pub struct Replaced {
    /// How the joining ended; nothing, if there was nothing to do.
    pub outcome: Option<Outcome>,
    /// The snapshot of etcd that was taken before.
    pub kept: Option<KeptSnapshot>,
}

/// Takes hosts out of the cluster, as [`super::reset()`] does, and brings the cluster to what its file says, as [`super::apply()`] does, in one run. Whoever
/// calls has the cluster's lock, which ends with the run.
///
/// # Errors
/// [`Error`] if not all of it is done.
pub async fn replace(
    context: &Context,
    (store, lock): (&dyn Store, Lock),
    (removal, part): (&Removal<'_>, &str),
    request: &ApplyRequest<'_>,
    options: Options<'_>,
) -> Result<Replaced, Error> {
    let cluster: &Cluster = request.cluster;
    let run = Run::begin("replace", cluster, Some(part.to_owned()), (context, lock), options);
    let taken = TakeDown::new(cluster, store, ResetRequest::Hosts { removal, part });
    let mut order = LeaveAndApply::new(taken, Apply { request });
    let driven = run.drive(&mut order).await?;
    Ok(Replaced { outcome: driven.outcome, kept: order.kept() })
}

/// Hosts leave, then the cluster becomes what its file says.
pub(super) struct LeaveAndApply<'a> {
    taken: TakeDown<'a>,
    apply: Apply<'a>,
    /// Whether they have left.
    joins: bool,
}

impl<'a> LeaveAndApply<'a> {
    pub(super) fn new(taken: TakeDown<'a>, apply: Apply<'a>) -> Self {
        Self { taken, apply, joins: false }
    }

    /// The snapshot that was taken before.
    pub(super) fn kept(self) -> Option<KeptSnapshot> {
        self.taken.kept()
    }
}

impl Order for LeaveAndApply<'_> {
    async fn plan(&mut self, run: &Run<'_>) -> Result<Planned, Vec<Failure>> {
        if self.joins { self.apply.plan(run).await } else { self.taken.plan(run).await }
    }

    async fn prepare(&mut self, run: &Run<'_>, planned: &Planned) -> Result<Work, Error> {
        if self.joins { self.apply.prepare(run, planned).await } else { self.taken.prepare(run, planned).await }
    }

    fn is_done_by(&self, run: &Run<'_>, planned: &Planned) -> bool {
        if self.joins { self.apply.is_done_by(run, planned) } else { self.taken.is_done_by(run, planned) }
    }

    fn goes_on(&mut self) -> bool {
        !std::mem::replace(&mut self.joins, true)
    }
}
