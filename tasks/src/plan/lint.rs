//! Rules that every plan must obey, checked before anything is run.

use std::collections::HashMap;
use std::fmt;

use super::graph::{Action, Plan, Step};
use super::id::StepId;
use super::make::Seen;
use super::reason::Reason;
use crate::observe::{ApiServerState, EtcdState, Observations};
use crate::operations::{Component, Operation, StaticPods};
use crate::resources::{Resource, Unit, UnitGoal};

/// A broken rule. Always a defect of kokctl: no input of a user may lead to one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LintFinding {
    /// The step.
    pub step: String,
    /// What is wrong with it.
    pub rule: String,
}

impl fmt::Display for LintFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.rule)
    }
}

/// Checks a plan. Cycles, needs that are no steps and names used twice can't occur in one: [`Plan`] refuses them when they are added.
#[must_use]
pub fn lint(plan: &Plan) -> Vec<LintFinding> {
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
        findings.extend(rules.into_iter().map(|rule| LintFinding { step: step.id.to_string(), rule }));
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

/// Finds steps that restart what worked when it was looked at, and that nobody asks the gate about.
#[must_use]
pub fn ungated(plan: &Plan, seen: &Seen) -> Vec<LintFinding> {
    let bare = plan.steps().filter(|step| step.gate.is_none());
    let found = bare.filter_map(|step| Some((step, restarts(step, seen)?)));
    let rule = |what: &str| format!("restarts {what} that works, and does not ask the gate");
    found.map(|(step, what)| LintFinding { step: step.id.to_string(), rule: rule(what) }).collect()
}

/// What a step restarts that works.
fn restarts(step: &Step, seen: &Seen) -> Option<&'static str> {
    let on_host = seen.observations(&step.host);
    let has_member = matches!(&on_host.etcd, Some(EtcdState::Ready(member)) if !member.is_learner);
    let has_api_server = on_host.api_server == Some(ApiServerState::Ready);
    let is_active = |unit: &str| on_host.units.get(unit).is_some_and(|unit| unit.active == "active");
    let runs_unit = |unit: &Unit, name: &str| unit.name == name && unit.goal == UnitGoal::Running;
    let (what, is_at_work) = match &step.action {
        Action::Operation(Operation::StaticPods(StaticPods { component: Component::Etcd, .. })) => ("a member of etcd", has_member),
        Action::Operation(Operation::StaticPods(_) | Operation::EndApiServer(_) | Operation::PlaneRests(_)) => {
            ("an API server", has_api_server)
        }
        Action::Operation(
            Operation::KubeletStart(_) | Operation::KubeletFinalize(_) | Operation::KubeletEndpoint(_) | Operation::Join(_),
        ) => ("a kubelet", is_active("kubelet.service") && is_ready_node(&step.host, seen)),
        Action::Operation(Operation::Reboot(_)) => ("a control plane or a member of etcd", has_member || has_api_server),
        Action::Resource(Resource::Unit(unit)) if runs_unit(unit, "etcd.service") => ("a member of etcd", has_member),
        Action::Resource(Resource::Unit(unit)) if runs_unit(unit, "containerd.service") => {
            ("containerd below an API server", is_active("containerd.service") && has_api_server)
        }
        _ => return None,
    };
    is_at_work.then_some(what)
}

fn is_ready_node(host: &str, seen: &Seen) -> bool {
    let node = |on: &Observations| on.kubernetes.as_ref().and_then(|state| state.node(host)).map(|node| node.ready);
    seen.all_observations().find_map(node) == Some(true)
}

#[cfg(test)]
mod tests;
