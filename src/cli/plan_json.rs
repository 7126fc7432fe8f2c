//! What a plan says of one step, as JSON.

use kok_crds::model::Concealed;
use kok_tasks::plan::{NeedDocument, Plan, StepDocument, Why};
use serde::Serialize;

/// A step with everything that the plan says of it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WhyDocument<'a> {
    #[serde(flatten)]
    step: StepDocument,
    needed_by: Vec<NeedDocument>,
    all_needs: usize,
    all_needed_by: usize,
    chain: Vec<&'a str>,
}

impl<'a> WhyDocument<'a> {
    pub(super) fn new(plan: &Plan, why: &Why<'a>, concealed: &Concealed) -> Self {
        Self {
            step: StepDocument::new(plan, why.step, concealed),
            needed_by: why.needed_by.iter().map(|(need, reason)| NeedDocument::new(need, reason)).collect(),
            all_needs: why.all_needs,
            all_needed_by: why.all_needed_by,
            chain: why.chain.iter().map(|(step, _)| step.id.as_str()).collect(),
        }
    }
}
