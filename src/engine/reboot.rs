//! Starting hosts anew, with their pods elsewhere meanwhile.

use kok_crds::model::Cluster;
use kok_tasks::plan::Reboots;

use super::context::{Context, Options};
use super::converge::{Tolerance, start_anew};
use super::driver::Run;
use super::error::Error;
use super::plain::Plain;
use super::store::Lock;
use crate::run::Outcome;

/// Starts hosts anew, one after the other. Whoever calls has the cluster's lock, which ends with the run. Nothing, if there was nothing to do.
///
/// # Errors
/// [`Error`] if not all of it is done.
pub async fn reboot(
    context: &Context,
    lock: Lock,
    cluster: &Cluster,
    (wanted, part): (&Reboots<'_>, &str),
    options: Options<'_>,
) -> Result<Option<Outcome>, Error> {
    let run = Run::begin("reboot", cluster, Some(part.to_owned()), (context, lock), options);
    let plan = async |run: &Run<'_>| {
        let tolerance = Tolerance { holder: run.options.take_over, ..Tolerance::default() };
        start_anew(cluster, wanted, tolerance, run.context).await
    };
    Ok(run.drive(&mut Plain(plan)).await?.outcome)
}
