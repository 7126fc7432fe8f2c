//! A plan as JSON.

use kok_tasks::plan::{Plan, Reason, Step, Why};
use serde::Serialize;

/// A step.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document<'a> {
    step: &'a str,
    host: &'a str,
    task: &'a str,
    title: String,
    change: Option<ChangeDocument<'a>>,
    needs: Vec<NeedDocument<'a>>,
}

#[derive(Serialize)]
struct ChangeDocument<'a> {
    summary: String,
    because: &'a str,
    /// Whether it is only assumed, because the cluster could not be asked.
    assumed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<&'a str>,
}

#[derive(Serialize)]
struct NeedDocument<'a> {
    step: &'a str,
    because: String,
}

impl<'a> Document<'a> {
    pub(super) fn new(plan: &'a Plan, step: &'a Step) -> Self {
        Self {
            step: step.id.as_str(),
            host: &step.host,
            task: step.task,
            title: step.title(),
            change: plan.change(&step.id).map(|change| ChangeDocument {
                summary: change.summary(),
                because: &change.because,
                assumed: change.assumed,
                diff: change.diff.as_deref(),
            }),
            needs: needs(&plan.needs(&step.id)),
        }
    }
}

/// A step with everything that the plan says of it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WhyDocument<'a> {
    #[serde(flatten)]
    step: Document<'a>,
    needed_by: Vec<NeedDocument<'a>>,
    all_needs: usize,
    all_needed_by: usize,
    chain: Vec<&'a str>,
}

impl<'a> WhyDocument<'a> {
    pub(super) fn new(plan: &'a Plan, why: &Why<'a>) -> Self {
        Self {
            step: Document::new(plan, why.step),
            needed_by: needs(&why.needed_by),
            all_needs: why.all_needs,
            all_needed_by: why.all_needed_by,
            chain: why.chain.iter().map(|(step, _)| step.id.as_str()).collect(),
        }
    }
}

fn needs<'a>(needs: &[(&'a Step, &'a Reason)]) -> Vec<NeedDocument<'a>> {
    needs.iter().map(|(need, reason)| NeedDocument { step: need.id.as_str(), because: reason.to_string() }).collect()
}
