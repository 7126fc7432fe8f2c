//! What `apply` would change.

use kok_crds::model::Cluster;
use kok_tasks::plan::Selection;

use super::apply::removal_of;
use super::context::Context;
use super::converge::{Planned, Tolerance, converge, mute, take_out};
use super::given::Given;
use crate::artifacts::BundleFolder;
use crate::failure::Failure;

/// What is to be planned.
#[derive(Clone, Copy)]
pub struct PlanRequest<'a> {
    /// The cluster as its file says.
    pub cluster: &'a Cluster,
    /// Which part of it.
    pub selection: &'a Selection,
    /// Where artifacts would come from.
    pub bundle: &'a BundleFolder,
    /// What is random, and what the user said.
    pub given: &'a Given,
}

/// Makes the plan that `apply` would carry out, whoever holds the hosts. Nothing is changed.
///
/// # Errors
/// [`Failure`]s if there is none.
pub async fn plan(context: &Context, request: PlanRequest<'_>) -> Result<Planned, Vec<Failure>> {
    let tolerance = Tolerance { holder: true, ..Tolerance::default() };
    let PlanRequest { cluster, selection, bundle, given } = request;
    if selection.is_whole() && !cluster.removed.is_empty() {
        if let Some(cluster) = mute(cluster, tolerance, context).await? {
            let planned = converge(&cluster, bundle.bundle(), selection, given, tolerance, context).await?;
            return Ok(Planned { is_first: true, ..planned });
        }
        let (planned, ..) = take_out(&cluster.before_removal(), &removal_of(cluster), tolerance, context).await?;
        if !planned.plan.is_empty() {
            return Ok(Planned { is_first: true, ..planned });
        }
    }
    converge(cluster, bundle.bundle(), selection, given, tolerance, context).await
}
