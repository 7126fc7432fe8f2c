//! Plans that are only shown, or wait for somebody who approves exactly them.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use kok_crds::model::Cluster;
use kok_tasks::plan::{DocumentInputs, Plan, PlanDocument, boots};
use serde_json::Value;

use super::object;
use crate::engine::{Given, Verdict};

/// What is done with plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Mode {
    /// They are carried out.
    #[default]
    Auto,
    /// They wait for an approval.
    Manual,
    /// They are shown.
    DryRun,
}

impl Mode {
    /// What an operation says.
    pub(super) fn from_operation(operation: &Value) -> Self {
        if object::flag(operation, "/spec/operator/dryRun") {
            Self::DryRun
        } else if object::text(operation, "/spec/operator/approval") == Some("Manual") {
            Self::Manual
        } else {
            Self::Auto
        }
    }

    /// Whether anything is done about an invocation: of one that is only shown its action is, and what its hooks would do is another matter.
    pub(super) fn concerns(self, is_main: bool) -> bool {
        self != Self::DryRun || is_main
    }
}

/// What is asked of each plan of a run.
#[derive(Debug, Default)]
pub(super) struct ApprovalGate {
    mode: Mode,
    /// The digest of the plan that was approved.
    approved: Option<String>,
    /// The last plan that was not carried out.
    held: Mutex<Option<PlanDocument>>,
    /// The boot ids of the hosts that the last plan starts anew.
    boots: Mutex<BTreeMap<String, String>>,
}

impl ApprovalGate {
    /// One that lets the approved plan pass, if there is one.
    pub(super) fn new(mode: Mode, approved: Option<String>) -> Self {
        Self { mode, approved, held: Mutex::default(), boots: Mutex::default() }
    }

    /// What becomes of a plan. An empty one changes nothing, and is nobody's to approve.
    pub(super) fn judge(&self, plan: &Plan, cluster: &Cluster, given: &Given) -> Verdict {
        *self.boots.lock().unwrap_or_else(PoisonError::into_inner) = boots(plan);
        if self.mode == Mode::Auto || plan.is_empty() {
            return Verdict::Go;
        }
        let document = document(plan, cluster, given);
        if self.mode == Mode::Manual && self.approved.as_deref() == Some(document.digest()) {
            return Verdict::Go;
        }
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(document);
        Verdict::Wait
    }

    /// The boot ids of the hosts that the plan starts anew.
    pub(super) fn boots(&self) -> BTreeMap<String, String> {
        self.boots.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The plan that was not carried out.
    pub(super) fn take(&self) -> Option<PlanDocument> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

fn document(plan: &Plan, cluster: &Cluster, given: &Given) -> PlanDocument {
    let inputs = DocumentInputs {
        cluster: cluster.name.clone(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        token_id: given.token.id.clone(),
        new_cluster_id: given.new_cluster_id.clone(),
        tasks: None,
        hosts: None,
        prune: given.prune,
    };
    // What it was made from may stand in Secrets, and who may read it is not who may read those.
    PlanDocument::new(plan, inputs, &cluster.concealed).redacted()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_what_is_only_shown_no_hook_is_carried_out() {
        let concerns = |mode: Mode| [true, false].map(|is_main| mode.concerns(is_main));
        assert_eq!([Mode::Auto, Mode::Manual, Mode::DryRun].map(concerns), [[true, true], [true, true], [true, false]]);
    }

    #[test]
    fn an_operation_says_what_is_done_with_its_plans() {
        let of = |operator: Value| Mode::from_operation(&json!({"spec": {"operator": operator}}));
        assert_eq!(Mode::from_operation(&json!({"spec": {}})), Mode::Auto);
        assert_eq!(of(json!({"approval": "Auto", "dryRun": false})), Mode::Auto);
        assert_eq!(of(json!({"approval": "Manual"})), Mode::Manual);
        assert_eq!(of(json!({"approval": "Manual", "dryRun": true})), Mode::DryRun, "what is only shown needs nobody");
    }
}
