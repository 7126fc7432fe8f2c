//! Keeping pods away from nodes, taking them off, and letting them come again.

use kok_crds::model::Cluster;
use kok_tasks::plan::{Aside, How};

use super::context::{Context, Options};
use super::converge::{Tolerance, set_aside};
use super::driver::Run;
use super::error::Error;
use super::plain::Plain;
use super::store::Lock;
use crate::run::Outcome;

/// Cordons, drains or uncordons nodes. Whoever calls has the cluster's lock, which ends with the run. Nothing, if there was nothing to do.
///
/// # Errors
/// [`Error`] if not all of it is done.
pub async fn aside(
    context: &Context,
    lock: Lock,
    cluster: &Cluster,
    (wanted, part): (&Aside<'_>, &str),
    options: Options<'_>,
) -> Result<Option<Outcome>, Error> {
    let run = Run::begin(verb(&wanted.how), cluster, Some(part.to_owned()), (context, lock), options);
    let plan = async |run: &Run<'_>| {
        let tolerance = Tolerance { holder: run.options.take_over, ..Tolerance::default() };
        set_aside(cluster, wanted, tolerance, run.context).await
    };
    Ok(run.drive(&mut Plain(plan)).await?.outcome)
}

/// The word for it, as the journal has it.
const fn verb(how: &How) -> &'static str {
    match how {
        How::Cordon => "cordon",
        How::Drain(_) => "drain",
        How::Uncordon => "uncordon",
    }
}
