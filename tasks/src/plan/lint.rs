//! Rules that every plan must obey, checked before anything is run.

use std::collections::HashMap;
use std::fmt;

use super::graph::{Plan, Step};
use super::id::StepId;
use super::reason::Reason;

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

/// Checks a plan. Cycles, needs that are no steps and names used twice can't occur in one: [`Plan`] refuses them when they are added.
#[must_use]
pub fn lint(plan: &Plan) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut writers: HashMap<(&str, String), &StepId> = HashMap::new();
    for step in plan.steps() {
        let mut rules = of_step(step);
        rules.extend(of_order(plan, step));
        for path in step.writes() {
            if let Some(other) = writers.insert((&step.host, path.clone()), &step.id) {
                rules.push(format!("writes {path}, which {other} writes too"));
            }
        }
        findings.extend(rules.into_iter().map(|rule| Finding { step: step.id.to_string(), rule }));
    }
    findings
}

fn of_step(step: &Step) -> Vec<String> {
    let mut rules = Vec::new();
    if step.looks().is_empty() {
        rules.push("has no probe, so nobody could tell whether it is done".to_owned());
    }
    if step.deadline.is_zero() {
        rules.push("has no deadline".to_owned());
    }
    if step.title().trim().is_empty() {
        rules.push("has no title".to_owned());
    }
    if step.id.task() != step.task {
        rules.push(format!("does not have its task {} in its name", step.task));
    }
    rules
}

fn of_order(plan: &Plan, step: &Step) -> Vec<String> {
    let mut rules = Vec::new();
    let needs = plan.needs(&step.id);
    for (need, reason) in &needs {
        if matches!(reason, Reason::Because(words) | Reason::InTurn(words) | Reason::While(words) if words.trim().is_empty()) {
            rules.push(format!("comes after {} without a reason", need.id));
        }
    }
    for trigger in &step.triggers {
        if plan.step(trigger).is_none() {
            rules.push(format!("is triggered by {trigger}, which is no step of the plan"));
        } else if !needs.iter().any(|(need, _)| need.id == *trigger) {
            rules.push(format!("is triggered by {trigger}, and could be done before it"));
        }
    }
    rules
}

#[cfg(test)]
mod tests;
