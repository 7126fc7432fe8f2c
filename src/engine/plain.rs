//! Orders of one plan that need nothing prepared: no bundle, and no secrets but those of the user's own scripts.

use super::converge::Planned;
use super::driver::{Run, StagedOrder, Work};
use super::error::Error;
use crate::failure::Failure;
use crate::run::Secrets;

/// What makes the plan.
pub(super) struct Plain<F>(pub(super) F);

impl<F: AsyncFnMut(&Run<'_>) -> Result<Planned, Vec<Failure>>> StagedOrder for Plain<F> {
    async fn plan(&mut self, run: &Run<'_>) -> Result<Planned, Vec<Failure>> {
        (self.0)(run).await
    }

    async fn prepare(&mut self, _run: &Run<'_>, planned: &Planned) -> Result<Work, Error> {
        Ok(Work { secrets: Secrets::given(&planned.cluster, &planned.plan), bundle: None, whole: false, most_failed: None })
    }

    fn is_done_by(&self, _run: &Run<'_>, planned: &Planned) -> bool {
        planned.plan.is_empty()
    }
}
