//! Rules that every plan must obey, checked before anything is run.

use std::collections::BTreeMap;
use std::fmt;

use super::graph::{Plan, Reason};

/// A broken rule. Always a defect of kokctl: no input of a user may lead to one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The step.
    pub step: String,
    /// What is wrong with it.
    pub rule: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.rule)
    }
}

/// Checks a plan. Cycles, unknown steps and names used twice can't occur: the graph refuses them when they are added.
#[must_use]
pub fn lint(plan: &Plan) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut writers: BTreeMap<(String, String), String> = BTreeMap::new();
    for step in plan.steps() {
        let mut found = |rule: String| findings.push(Finding { step: step.id.to_string(), rule });
        if step.looks().is_empty() {
            found("has no probe, so nobody could tell whether it is done".to_owned());
        }
        if step.deadline.is_zero() {
            found("has no deadline".to_owned());
        }
        for path in step.writes() {
            let before = writers.insert((step.host.clone(), path.clone()), step.id.to_string());
            if let Some(other) = before {
                found(format!("writes {path}, which {other} writes too"));
            }
        }
        if plan.needs(&step.id).iter().any(|(_, reason)| matches!(reason, Reason::Because(words) if words.trim().is_empty())) {
            found("comes after another step without a reason".to_owned());
        }
        for trigger in &step.triggers {
            if plan.step(trigger).is_none() {
                found(format!("is triggered by {trigger}, which is no step of the plan"));
            }
        }
    }
    findings
}
