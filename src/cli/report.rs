//! Plans and outcomes for people.

use std::collections::BTreeMap;

use kok_tasks::plan::Plan;

use crate::run::{Outcome, StepFailure};
use crate::ui::{Failure, Kind};

/// A plan, host by host, with the differences of files.
pub(super) fn plan_text(plan: &Plan) -> String {
    let mut by_host: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (step, change) in plan.changes() {
        let mut text = format!("  {}: {}\n    because {}", step.title(), change.summary, change.because);
        if let Some(diff) = &change.diff {
            let diff: Vec<String> = diff.lines().map(|line| format!("      {line}")).collect();
            text.push('\n');
            text.push_str(&diff.join("\n"));
        }
        by_host.entry(&step.host).or_default().push(text);
    }
    let hosts: Vec<String> = by_host.into_iter().map(|(host, changes)| format!("{host}:\n{}", changes.join("\n"))).collect();
    hosts.join("\n\n")
}

/// The failures of a run, hosts with one cause together.
pub(super) fn failures(outcome: &Outcome, again: &str) -> Vec<Failure> {
    if outcome.failed.is_empty() {
        let what = format!("{} steps were not begun, and none of those before them failed", outcome.blocked);
        return vec![Failure::new(Kind::Internal, what).hint("this is a defect of kokctl; please report it")];
    }
    let mut by_cause: BTreeMap<(&str, &str), Vec<&StepFailure>> = BTreeMap::new();
    for failure in &outcome.failed {
        by_cause.entry((&failure.title, &failure.error)).or_default().push(failure);
    }
    by_cause
        .into_iter()
        .map(|((title, error), failures)| {
            let steps: Vec<&str> = failures.iter().map(|failure| failure.step.as_str()).collect();
            let unknown = failures.iter().any(|failure| failure.unknown);
            let what = if unknown { format!("{title}: it is not known whether it was done") } else { format!("{title} failed") };
            let hint = format!(
                "mend the cause and run {again} again: it goes on where this run stopped; {} steps were not begun",
                outcome.blocked
            );
            Failure::new(Kind::Incomplete, what).at(steps.join(", ")).because(error).hint(hint)
        })
        .collect()
}
