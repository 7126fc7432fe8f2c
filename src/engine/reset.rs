//! Taking a cluster down, or hosts out of it.

use std::collections::BTreeSet;
use std::path::Path;

use kok_crds::model::Cluster;
use kok_tasks::drain::DrainSettings;
use kok_tasks::plan::{Plan, Refusal};
use kok_tasks::snapshot::Snapshot;

use super::context::{Context, Options};
use super::converge::{Planned, Tolerance, take_down, take_out};
use super::driver::{Run, StagedOrder, Work};
use super::error::Error;
use super::keep::keep;
use super::store::{Lock, Store};
use crate::event::EventKind;
use crate::failure::Failure;
use crate::run::{Outcome, Secrets};
use crate::state::KeptSnapshot;

/// What is to be taken down.
#[derive(Debug, Clone, Copy)]
pub enum ResetRequest<'a> {
    /// The whole cluster.
    Whole {
        /// What is kept of etcd.
        snapshot: SnapshotWish<'a>,
    },
    /// Some hosts; the cluster goes on.
    Hosts {
        /// Which, and how.
        removal: &'a Removal<'a>,
        /// The part in the caller's words.
        part: &'a str,
    },
}

/// Hosts that leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal<'a> {
    /// Their names; of those that don't answer any more they need not be in the file.
    pub hosts: &'a [String],
    /// How their pods leave them.
    pub drain: DrainSettings,
    /// What becomes of hosts that don't answer.
    pub silent: Silent,
    /// What comes after it in the same run.
    pub follows: Follows,
    /// How many members etcd has at the end of the run, if others join in it.
    pub members: Option<usize>,
    /// Whether etcd may be left with an even number of members.
    pub even: bool,
}

/// What comes after hosts have left, in the same run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follows {
    /// Nothing that needs all hosts.
    Nothing,
    /// The cluster becomes what its file says, by which they may join anew: all others have to answer, and nothing may keep it from that.
    Apply,
    /// The same, if none of them is dead.
    ApplyIfAlive,
}

impl Follows {
    /// Whether the whole file is applied after these hosts of them were found dead.
    #[must_use]
    pub fn is_followed(self, dead: &BTreeSet<String>) -> bool {
        match self {
            Self::Nothing => false,
            Self::Apply => true,
            Self::ApplyIfAlive => dead.is_empty(),
        }
    }
}

/// What becomes of hosts that are to leave and don't answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silent {
    /// Nothing is begun.
    Refused,
    /// They are taken for dead, if their nodes are silent, too; the others leave as they should.
    Dead,
    /// The same, and none of them may answer; where the file is applied afterwards, one that is bare may.
    AllDead,
}

/// What is kept of etcd before a cluster goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotWish<'a> {
    /// A snapshot, where the store keeps it.
    InStore,
    /// A snapshot in this file.
    In(&'a Path),
    /// None, because of this, in the caller's words.
    None(&'a str),
}

/// What was taken down.
pub struct ResetDone {
    /// The plan.
    pub plan: Plan,
    /// How it ended; nothing, if there was nothing to do.
    pub outcome: Option<Outcome>,
    /// The snapshot of etcd that was taken before.
    pub kept: Option<KeptSnapshot>,
    /// Those that were dead, or did not answer when the whole cluster went that was to be without them: nothing was done on them.
    pub dead: BTreeSet<String>,
}

/// Takes the cluster down, or hosts out of it. Whoever calls has the cluster's lock, which ends with the run.
///
/// # Errors
/// [`Error`] if not all of it is done.
pub async fn reset(
    context: &Context,
    (store, lock): (&dyn Store, Lock),
    cluster: &Cluster,
    request: ResetRequest<'_>,
    options: Options<'_>,
) -> Result<ResetDone, Error> {
    let part = if let ResetRequest::Hosts { part, .. } = request { Some(part.to_owned()) } else { None };
    let verb = if matches!(request, ResetRequest::Whole { .. }) { "reset" } else { "remove" };
    let run = Run::begin(verb, cluster, part, (context, lock), options);
    let mut order = TakeDown::new(cluster, store, request);
    let driven = run.drive(&mut order).await?;
    Ok(ResetDone { plan: driven.planned.plan, outcome: driven.outcome, kept: order.kept, dead: order.dead })
}

pub(super) struct TakeDown<'a> {
    cluster: &'a Cluster,
    store: &'a dyn Store,
    request: ResetRequest<'a>,
    /// What the last look says of a snapshot.
    snapshot: Option<Result<Snapshot, Refusal>>,
    kept: Option<KeptSnapshot>,
    dead: BTreeSet<String>,
}

impl<'a> TakeDown<'a> {
    pub(super) fn new(cluster: &'a Cluster, store: &'a dyn Store, request: ResetRequest<'a>) -> Self {
        Self { cluster, store, request, snapshot: None, kept: None, dead: BTreeSet::new() }
    }

    /// The snapshot that was taken before, and those that were dead.
    pub(super) fn ended(self) -> (Option<KeptSnapshot>, BTreeSet<String>) {
        (self.kept, self.dead)
    }

    /// Whether the file was to be applied afterwards, and can't be without hosts that are dead.
    pub(super) fn waits_for_the_dead(&self) -> bool {
        let follows = if let ResetRequest::Hosts { removal, .. } = self.request { removal.follows } else { Follows::Nothing };
        follows == Follows::ApplyIfAlive && !follows.is_followed(&self.dead)
    }

    /// Keeps the snapshot of etcd, if there is one to be taken.
    async fn keep(&mut self, run: &Run<'_>, planned: &Planned) -> Result<(), Error> {
        let place = match self.request {
            ResetRequest::Hosts { .. } | ResetRequest::Whole { snapshot: SnapshotWish::InStore } => None,
            ResetRequest::Whole { snapshot: SnapshotWish::In(path) } => Some(path),
            ResetRequest::Whole { snapshot: SnapshotWish::None(because) } => {
                run.context.events.send(EventKind::SnapshotLeftOut { because: because.to_owned() });
                return Ok(());
            }
        };
        if let Some(snapshot) = self.snapshot.take() {
            run.begins()?;
            let to = (self.store, run.options.run, place);
            self.kept = run.unless_stopped(keep(self.cluster, &planned.links, snapshot, to, &run.context.events)).await?;
        }
        Ok(())
    }
}

impl StagedOrder for TakeDown<'_> {
    async fn plan(&mut self, run: &Run<'_>) -> Result<Planned, Vec<Failure>> {
        let tolerance = Tolerance { holder: run.options.take_over, ..Tolerance::default() };
        match self.request {
            ResetRequest::Hosts { removal, .. } => {
                let (planned, dead, snapshot) = take_out(self.cluster, removal, tolerance, run.context).await?;
                (self.dead, self.snapshot) = (dead, snapshot);
                Ok(planned)
            }
            ResetRequest::Whole { .. } => {
                let (planned, silent, snapshot) = take_down(self.cluster, tolerance, run.context).await?;
                (self.dead, self.snapshot) = (silent, Some(snapshot));
                Ok(planned)
            }
        }
    }

    async fn prepare(&mut self, run: &Run<'_>, planned: &Planned) -> Result<Work, Error> {
        if !self.is_done_by(run, planned) {
            self.keep(run, planned).await?;
        }
        let whole = matches!(self.request, ResetRequest::Whole { .. });
        Ok(Work { secrets: Secrets::given(&planned.cluster, &planned.plan), bundle: None, whole, most_failed: None })
    }

    fn is_done_by(&self, _run: &Run<'_>, planned: &Planned) -> bool {
        planned.plan.is_empty()
    }
}
