//! Another key to encrypt with, on a cluster that runs.

use kok_crds::model::Cluster;
use kok_tasks::encryption::LayoutTarget;
use kok_tasks::plan::KeyStage;

use super::apply::make_secrets;
use super::context::{Context, Options};
use super::converge::{Planned, Tolerance, replace_key};
use super::driver::{Run, StagedOrder, Work};
use super::error::Error;
use super::given::Given;
use super::store::Lock;
use crate::failure::Failure;
use crate::run::Outcome;

/// A key that was replaced.
pub struct KeyRotated {
    /// The name of the key that everything is encrypted with by now.
    pub key: String,
    /// How it ended, with what all stages have done; nothing, if the key was new already.
    pub outcome: Option<Outcome>,
}

/// Replaces the key with which API servers encrypt, or goes on with that, stage by stage; what is left of one is seen on the hosts. Whoever calls has the
/// cluster's lock, which ends with the run.
///
/// # Errors
/// [`Error`] if not all of it is done; the same call goes on with it.
pub async fn rotate_key(
    context: &Context,
    lock: Lock,
    cluster: &Cluster,
    given: &Given,
    options: Options<'_>,
) -> Result<KeyRotated, Error> {
    let run = Run::begin("secrets rotate-key", cluster, None, (context, lock), options);
    let mut order = Rotation { cluster, given, target: None, stage: KeyStage::Read };
    let driven = run.drive(&mut order).await?;
    let key = order.target.as_ref().and_then(LayoutTarget::key).map(str::to_owned);
    Ok(KeyRotated { key: key.unwrap_or_default(), outcome: driven.outcome })
}

struct Rotation<'a> {
    cluster: &'a Cluster,
    given: &'a Given,
    /// The new key, from the first look on: what a stage leaves looks like the end of another rotation.
    target: Option<LayoutTarget>,
    stage: KeyStage,
}

impl StagedOrder for Rotation<'_> {
    async fn plan(&mut self, run: &Run<'_>) -> Result<Planned, Vec<Failure>> {
        let tolerance = Tolerance { holder: run.options.take_over, ..Tolerance::default() };
        let (planned, target) = replace_key(self.cluster, (self.target.as_ref(), self.stage), tolerance, run.context).await?;
        self.target = Some(target);
        Ok(planned)
    }

    async fn prepare(&mut self, run: &Run<'_>, planned: &Planned) -> Result<Work, Error> {
        let secrets = make_secrets(run, planned, &self.given.token).await?;
        Ok(Work { secrets, bundle: None, whole: false, most_failed: None })
    }

    fn is_done_by(&self, _: &Run<'_>, planned: &Planned) -> bool {
        planned.plan.is_empty()
    }

    fn goes_on(&mut self) -> bool {
        let next = self.stage.next();
        self.stage = next.unwrap_or(self.stage);
        next.is_some()
    }
}
