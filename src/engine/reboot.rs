//! Starting hosts anew, with their pods elsewhere meanwhile.

use kok_crds::model::Cluster;
use kok_tasks::plan::Reboots;

use super::context::{Context, Options};
use super::converge::{Planned, Tolerance, start_anew};
use super::driver::{Order, Run, Work};
use super::error::Error;
use super::store::Lock;
use crate::failure::Failure;
use crate::run::{Outcome, Secrets};

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
    Ok(run.drive(&mut StartAnew { cluster, wanted }).await?.outcome)
}

struct StartAnew<'a> {
    cluster: &'a Cluster,
    wanted: &'a Reboots<'a>,
}

impl Order for StartAnew<'_> {
    async fn plan(&mut self, run: &Run<'_>) -> Result<Planned, Vec<Failure>> {
        let tolerance = Tolerance { holder: run.options.take_over, ..Tolerance::default() };
        start_anew(self.cluster, self.wanted, tolerance, run.context).await
    }

    async fn prepare(&mut self, _run: &Run<'_>, _planned: &Planned) -> Result<Work, Error> {
        Ok(Work { secrets: Secrets::none(), bundle: None, whole: false, most_failed: None })
    }

    fn is_done_by(&self, _run: &Run<'_>, planned: &Planned) -> bool {
        planned.plan.is_empty()
    }
}
