//! In what the hosts differ from their files: as many changes as `apply` would make, besides looking again at what holds.

use std::collections::BTreeMap;

use kok_crds::model::Cluster;
use kok_tasks::change::ChangeKind;
use kok_tasks::plan::{Plan, Selection};
use serde::Serialize;

use super::StatusRequest;
use crate::artifacts::BundleFolder;
use crate::engine::{Context, Given, PlanRequest};
use crate::failure::Failure;

/// How far the cluster is from its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "camelCase")]
pub enum Drift {
    /// Nothing differs.
    None,
    /// What `apply` would change.
    Found {
        /// How many changes of each host.
        changes: BTreeMap<String, usize>,
    },
    /// It is not judged: somebody is upgrading the cluster by other means, and what differs is no drift.
    Upgrading,
    /// It could not be found out.
    Unknown {
        /// Why.
        because: String,
    },
}

impl Drift {
    /// Makes the plan of the whole cluster, which needs the bundle and all that its files name. Nothing is changed.
    pub(super) async fn find(request: StatusRequest<'_>, context: &Context) -> Self {
        let bundle = match request.bundle {
            Ok(bundle) => bundle,
            Err(because) => return Self::Unknown { because: because.to_owned() },
        };
        let cluster = match (request.whole)() {
            Ok(cluster) => cluster,
            Err(because) => return Self::Unknown { because },
        };
        match plan(&cluster, bundle, context).await {
            Ok(plan) => Self::from_plan(&plan),
            Err(failures) => Self::Unknown { because: failures.first().map(Failure::one_line).unwrap_or_default() },
        }
    }

    fn from_plan(plan: &Plan) -> Self {
        let mut changes = BTreeMap::new();
        for (step, _) in plan.changes().filter(|(_, change)| change.kind != ChangeKind::LookAgain) {
            *changes.entry(step.host.clone()).or_default() += 1;
        }
        if changes.is_empty() { Self::None } else { Self::Found { changes } }
    }
}

async fn plan(cluster: &Cluster, bundle: &BundleFolder, context: &Context) -> Result<Plan, Vec<Failure>> {
    let given = Given::new(false)?;
    let request = PlanRequest { cluster, selection: &Selection::default(), bundle, given: &given };
    let planned = crate::engine::plan(context, request).await?;
    Ok(planned.plan)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

    use std::sync::Arc;

    use super::*;
    use crate::engine::tests::cluster;
    use crate::event::Events;
    use crate::remote::{Surroundings, Transport};
    use crate::state::Controller;

    #[tokio::test]
    async fn the_bundle_is_asked_for_before_anything_is_loaded() {
        let context = Context::new(Controller::nobody(), Events::new(Vec::new()), Transport::new(Surroundings::default(), Arc::default()));
        let whole = Box::new(|| panic!("it is not needed"));
        let request = StatusRequest { cluster: &cluster(22), bundle: Err("there is none"), whole };
        assert_eq!(Drift::find(request, &context).await, Drift::Unknown { because: "there is none".to_owned() });
    }
}
