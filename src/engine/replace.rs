//! Taking hosts out of the cluster and letting them, or others in their place, join: machines that lost their disk, that moved, that get other roles.

use std::collections::{BTreeSet, VecDeque};

use kok_crds::model::Cluster;

use super::apply::{Apply, ApplyRequest, all_there};
use super::context::{Context, Options};
use super::converge::{Planned, Tolerance, all_take_part, swap};
use super::driver::{Run, StagedOrder, Work};
use super::error::Error;
use super::reset::{Follows, Removal, ResetRequest, Silent, TakeDown};
use super::store::{Lock, Store};
use crate::failure::Failure;
use crate::run::Outcome;
use crate::state::KeptSnapshot;

/// The most members of etcd of which one more may be added (the gate's `MOST_VOTERS`).
pub(super) const MOST_MEMBERS: usize = 7;

/// What was replaced.
pub struct Replaced {
    /// How it ended, with what all stages have done; nothing, if there was nothing to do.
    pub outcome: Option<Outcome>,
    /// The snapshot of etcd that was taken before.
    pub kept: Option<KeptSnapshot>,
    /// Those that were dead: nothing was done on them.
    pub dead: BTreeSet<String>,
}

/// Who is replaced.
#[derive(Clone, Copy)]
pub struct Replacement<'a> {
    /// Who leaves, and how.
    pub removal: &'a Removal<'a>,
    /// The same in the caller's words.
    pub part: &'a str,
    /// Where another host takes the place of one that leaves for good: the cluster with both.
    pub with_both: Option<&'a Cluster>,
}

/// Who goes first where one host takes the place of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// The new one joins, so that there are never fewer members of etcd, and pods have room; if the old one has left already, there is nothing to wait for.
    New,
    /// The old one leaves, for it is dead: its member counts against the majority until then.
    OldForItIsDead,
    /// The old one leaves, for etcd has as many members as it may.
    OldForRoom,
    /// The new one, if the old one answers and is part of the cluster.
    AsItAnswers,
}

impl Replacement<'_> {
    /// Who goes first, if another host takes the place of one.
    #[must_use]
    pub fn first(&self) -> Option<First> {
        let both = self.with_both?;
        Some(match self.removal.silent {
            Silent::AllDead => First::OldForItIsDead,
            _ if both.etcd_hosts().count() > MOST_MEMBERS => First::OldForRoom,
            Silent::Dead => First::AsItAnswers,
            Silent::Refused => First::New,
        })
    }
}

/// Takes hosts out of the cluster, as [`super::reset()`] does, and brings the cluster to what its file says, as [`super::apply()`] does, in one run. Whoever
/// calls has the cluster's lock, which ends with the run.
///
/// # Errors
/// [`Error`] if not all of it is done.
pub async fn replace(
    context: &Context,
    (store, lock): (&dyn Store, Lock),
    replacement: Replacement<'_>,
    request: &ApplyRequest<'_>,
    options: Options<'_>,
) -> Result<Replaced, Error> {
    let (cluster, Replacement { removal, part, with_both }) = (request.cluster, replacement);
    let run = Run::begin("replace", cluster, Some(part.to_owned()), (context, lock), options);
    run.recorded(all_there(&request.bundle, cluster))?;
    let leaves = |cluster, removal| Stage::Leave(Box::new(TakeDown::new(cluster, store, ResetRequest::Hosts { removal, part })));
    let tolerance = Tolerance { holder: run.options.take_over, ..Tolerance::default() };
    if let Some(both) = with_both {
        let between = ApplyRequest { cluster: both, ..request.clone() };
        let (leave, then) = (leaves(both, removal), Stage::Become(Apply { request }));
        let joins_first = match replacement.first() {
            Some(First::New | First::AsItAnswers) => run.unless_stopped(all_take_part(both, removal.hosts, tolerance, context)).await?,
            Some(First::OldForItIsDead | First::OldForRoom) | None => false,
        };
        return match joins_first {
            true => drive(&run, Stages::new(Stage::Become(Apply { request: &between }), [leave, then]).for_good()).await,
            false => drive(&run, Stages::new(leave, [then]).for_good()).await,
        };
    }
    let Some(swap) = run.unless_stopped(swap(cluster, removal, tolerance, context)).await? else {
        return drive(&run, Stages::new(leaves(cluster, removal), [Stage::Become(Apply { request })])).await;
    };
    let removal_of = |hosts| Removal { hosts, follows: Follows::Apply, ..removal.clone() };
    let (first, then) = (removal_of(&swap.first), removal_of(&swap.then));
    let between = ApplyRequest { cluster: &swap.between, ..request.clone() };
    let rest = [Stage::Become(Apply { request: &between }), leaves(cluster, &then), Stage::Become(Apply { request })];
    drive(&run, Stages::new(leaves(&swap.between, &first), rest)).await
}

async fn drive(run: &Run<'_>, mut order: Stages<'_>) -> Result<Replaced, Error> {
    let driven = run.drive(&mut order).await;
    // Whoever has joined anew would leave once more by the same word.
    let driven = driven.map_err(|error| if order.is_left_to_apply() { error.left_to_apply() } else { error })?;
    let (kept, dead) = order.ended();
    Ok(Replaced { outcome: driven.outcome, kept, dead })
}

/// A part of the way.
pub(super) enum Stage<'a> {
    /// Hosts leave.
    Leave(Box<TakeDown<'a>>),
    /// The cluster becomes what its file, or one on the way to it, says.
    Become(Apply<'a>),
}

/// One stage after the other.
pub(super) struct Stages<'a> {
    done: Vec<Stage<'a>>,
    now: Stage<'a>,
    left: VecDeque<Stage<'a>>,
    /// The hosts that were left out of each stage so far, as they could not be reached.
    left_out: Vec<BTreeSet<String>>,
    /// Whether those that leave have a line in the file, and don't join again.
    is_for_good: bool,
}

impl<'a> Stages<'a> {
    pub(super) fn new(first: Stage<'a>, rest: impl IntoIterator<Item = Stage<'a>>) -> Self {
        Self { done: Vec::new(), now: first, left: rest.into_iter().collect(), left_out: Vec::new(), is_for_good: false }
    }

    /// The hosts that were left out of each stage so far, in their order.
    pub(super) fn left_out(&self) -> &[BTreeSet<String>] {
        &self.left_out
    }

    /// The same of hosts that leave for good.
    fn for_good(self) -> Self {
        Self { is_for_good: true, ..self }
    }

    /// Whether what is left is what `apply` does with the file as it is.
    fn is_left_to_apply(&self) -> bool {
        !self.is_for_good && self.left.is_empty() && matches!(self.now, Stage::Become(_))
    }

    /// The first snapshot that was taken, and those that were dead.
    pub(super) fn ended(self) -> (Option<KeptSnapshot>, BTreeSet<String>) {
        let all = self.done.into_iter().chain([self.now]).chain(self.left);
        let taken = all.filter_map(|stage| if let Stage::Leave(taken) = stage { Some(taken.ended()) } else { None });
        taken.fold((None, BTreeSet::new()), |(kept, dead), (more, others)| (kept.or(more), dead.into_iter().chain(others).collect()))
    }
}

impl StagedOrder for Stages<'_> {
    async fn plan(&mut self, run: &Run<'_>) -> Result<Planned, Vec<Failure>> {
        let planned = match &mut self.now {
            Stage::Leave(taken) => taken.plan(run).await,
            Stage::Become(apply) => apply.plan(run).await,
        }?;
        // A stage is planned again where it is looked at again.
        self.left_out.truncate(self.done.len());
        self.left_out.push(planned.left_out.keys().cloned().collect());
        Ok(planned)
    }

    async fn prepare(&mut self, run: &Run<'_>, planned: &Planned) -> Result<Work, Error> {
        match &mut self.now {
            Stage::Leave(taken) => taken.prepare(run, planned).await,
            Stage::Become(apply) => apply.prepare(run, planned).await,
        }
    }

    fn is_done_by(&self, run: &Run<'_>, planned: &Planned) -> bool {
        match &self.now {
            Stage::Leave(taken) => taken.is_done_by(run, planned),
            Stage::Become(apply) => apply.is_done_by(run, planned),
        }
    }

    /// Without hosts that are dead, and that the file still has, it can't be applied.
    fn goes_on(&mut self) -> bool {
        let waits = matches!(&self.now, Stage::Leave(taken) if taken.waits_for_the_dead());
        let Some(next) = self.left.pop_front().filter(|_| !waits) else { return false };
        self.done.push(std::mem::replace(&mut self.now, next));
        true
    }
}
