//! Keeping pods away from nodes, taking them off, and letting them come again.

use kok_crds::model::Cluster;
use kok_tasks::plan::{Aside, How, Plan};

use super::context::{Context, Options};
use super::converge::{Planned, Tolerance, set_aside};
use super::driver::{Order, Run, Work};
use super::error::Error;
use super::store::Lock;
use crate::failure::Failure;
use crate::run::{Outcome, Secrets};

/// What was done with nodes.
pub struct AsideDone {
    /// The plan.
    pub plan: Plan,
    /// How it ended; nothing, if there was nothing to do.
    pub outcome: Option<Outcome>,
}

/// Cordons, drains or uncordons nodes. Whoever calls has the cluster's lock, which ends with the run.
///
/// # Errors
/// [`Error`] if not all of it is done.
pub async fn aside(
    context: &Context,
    lock: Lock,
    cluster: &Cluster,
    (wanted, part): (&Aside<'_>, &str),
    options: Options<'_>,
) -> Result<AsideDone, Error> {
    let run = Run::begin(verb(&wanted.how), cluster, Some(part.to_owned()), (context, lock), options);
    let driven = run.drive(&mut SetAside { cluster, wanted }).await?;
    Ok(AsideDone { plan: driven.planned.plan, outcome: driven.outcome })
}

/// The word for it.
#[must_use]
pub const fn verb(how: &How) -> &'static str {
    match how {
        How::Cordon => "cordon",
        How::Drain(_) => "drain",
        How::Uncordon => "uncordon",
    }
}

struct SetAside<'a> {
    cluster: &'a Cluster,
    wanted: &'a Aside<'a>,
}

impl Order for SetAside<'_> {
    async fn plan(&mut self, run: &Run<'_>) -> Result<Planned, Vec<Failure>> {
        let tolerance = Tolerance { holder: run.options.take_over, ..Tolerance::default() };
        set_aside(self.cluster, self.wanted, tolerance, run.context).await
    }

    async fn prepare(&mut self, _run: &Run<'_>, _planned: &Planned) -> Result<Work, Error> {
        Ok(Work { secrets: Secrets::none(), bundle: None, whole: false, most_failed: None })
    }

    fn is_done_by(&self, _run: &Run<'_>, planned: &Planned) -> bool {
        planned.plan.is_empty()
    }
}
