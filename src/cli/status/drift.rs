//! In what the hosts differ from their files: as many changes as `apply` would make, besides looking again at what holds.

use std::collections::BTreeMap;

use kok_crds::model::Cluster;
use kok_crds::{Input, count, counted};
use kok_tasks::change::ChangeKind;
use kok_tasks::plan::{Plan, Selection};
use serde::Serialize;

use crate::artifacts::BundleFolder;
use crate::cli::files::loaded;
use crate::engine::{self, Context, Given, PlanRequest};
use crate::failure::Failure;

/// How far the cluster is from its files.
#[derive(Serialize)]
#[serde(tag = "state", rename_all = "camelCase")]
pub(super) enum Drift {
    /// Nothing differs.
    None,
    /// What `apply` would change, by host.
    Found { changes: BTreeMap<String, usize> },
    /// It is not judged: somebody is upgrading the cluster by other means, and what differs is no drift.
    Upgrading,
    /// It could not be found out.
    Unknown { because: String },
}

impl Drift {
    /// Makes the plan of the whole cluster, which needs the bundle that it is installed from, and all that its files name: the objects of addons,
    /// and certificates that were issued. `input` is what was read of the files themselves. Nothing is changed.
    pub(super) async fn find(input: Input, bundle: Option<&BundleFolder>, context: &Context) -> Self {
        let Some(bundle) = bundle else {
            return Self::Unknown { because: "it needs the bundle: give its folder with --bundle".to_owned() };
        };
        let cluster = match whole(input) {
            Ok(cluster) => cluster,
            Err(because) => return Self::Unknown { because },
        };
        match plan(&cluster, bundle, context).await {
            Ok(plan) => Self::of(&plan),
            Err(failures) => Self::Unknown { because: failures.first().map(Failure::one_line).unwrap_or_default() },
        }
    }

    fn of(plan: &Plan) -> Self {
        let mut changes = BTreeMap::new();
        for (step, _) in plan.changes().filter(|(_, change)| change.kind != ChangeKind::LookAgain) {
            *changes.entry(step.host.clone()).or_default() += 1;
        }
        if changes.is_empty() { Self::None } else { Self::Found { changes } }
    }

    /// For people.
    pub(super) fn line(&self) -> String {
        match self {
            Self::None => "drift: none; apply would have nothing to do".to_owned(),
            Self::Upgrading => {
                "drift: not judged, for what differs belongs to the upgrade; apply is refused until one version runs".to_owned()
            }
            Self::Unknown { because } => format!("drift: unknown; {because}"),
            Self::Found { changes } => {
                let number = counted(changes.values().sum(), "change", "changes");
                let hosts: Vec<String> = changes.iter().map(|(host, number)| format!("{host}: {number}")).collect();
                format!(
                    "drift: apply would make {number} on {} ({}); kokctl plan says which",
                    count(changes.len(), "host"),
                    hosts.join(", ")
                )
            }
        }
    }
}

/// The cluster with all that its files name, or why that can't be had.
fn whole(input: Input) -> Result<Cluster, String> {
    let input = loaded(input);
    let problem = || input.problems.into_iter().next().map(Failure::problem);
    input.cluster.ok_or_else(|| problem().as_ref().map(Failure::one_line).unwrap_or_default())
}

async fn plan(cluster: &Cluster, bundle: &BundleFolder, context: &Context) -> Result<Plan, Vec<Failure>> {
    let given = Given::new(false)?;
    let request = PlanRequest { cluster, selection: &Selection::default(), bundle, given: &given };
    let planned = engine::plan(context, request).await?;
    Ok(planned.plan)
}

#[cfg(test)]
mod tests;
