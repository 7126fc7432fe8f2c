//! Plans and outcomes for people.

use std::collections::{BTreeMap, BTreeSet};

use kok_crds::{count, counted, listed};
use kok_tasks::plan::{Plan, Selection};

use super::why::mark;
use crate::failure::{Failure, Kind};
use crate::run::{Outcome, StepFailure};
use crate::ui::of_any_host;

/// A plan, host by host, with the differences of files.
pub(super) fn plan_text(plan: &Plan) -> String {
    let mut by_host: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (step, change) in plan.changes() {
        let assumed = if change.assumed { " (assumed)" } else { "" };
        let mut text = format!("  {}: {}{assumed}\n    because {}", step.title(), change.kind, change.because);
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

/// What of a plan could not be asked for, if anything: then that part of it is no more than an assumption.
pub(super) fn assumed(plan: &Plan) -> Option<String> {
    let mut hosts: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for (step, change) in plan.changes().filter(|(_, change)| change.assumed) {
        hosts.entry(&step.host).or_insert((0, &change.because)).0 += 1;
    }
    let note = |(host, (number, because)): (&str, (usize, &str))| {
        let changes = counted(number, "change of it is an assumption", "changes of it are assumptions");
        format!("{host} could not be asked for the state of the cluster ({because}): {changes}, marked (assumed)")
    };
    let notes: Vec<String> = hosts.into_iter().map(note).collect();
    (!notes.is_empty()).then(|| format!("note: {}; what of that is done already shows when it answers", notes.join("; ")))
}

/// All steps by name, in an order in which they could run.
pub(super) fn steps_text(plan: &Plan) -> String {
    let width = plan.steps().map(|step| step.id.as_str().len()).max().unwrap_or_default();
    let lines = plan.steps().map(|step| format!("{} {:width$}  {}", mark(plan, step), step.id.as_str(), step.title()));
    let legend = if plan.left_out().is_empty() { "+ changes something" } else { "+ changes something, - would but is not chosen" };
    lines.chain([format!("\n{}; {legend}", count(plan.steps().count(), "step"))]).collect::<Vec<_>>().join("\n")
}

/// The failures of a run, hosts with one cause together.
pub(super) fn failures(outcome: &Outcome, verb: &str) -> Vec<Failure> {
    let command = format!("`kokctl {verb}`");
    if let Some(failure) = stopped(outcome, &command) {
        let (failed, lost) = (outcome.failed.clone(), outcome.lost.clone());
        let others = Outcome { stopped: None, failed, lost, blocked: outcome.blocked, ..Outcome::default() };
        let others = if others.failed.is_empty() { Vec::new() } else { failures(&others, verb) };
        return others.into_iter().chain([failure]).collect();
    }
    if outcome.failed.is_empty() {
        let what = format!("{} not begun, and none of those before failed", counted(outcome.blocked, "step was", "steps were"));
        return vec![Failure::new(Kind::Internal, what).hint("this is a defect of kokctl; please report it")];
    }
    let mut by_cause: BTreeMap<(&str, String), Vec<&StepFailure>> = BTreeMap::new();
    for failure in &outcome.failed {
        by_cause.entry((&failure.title, of_any_host(&failure.error, &failure.host, None))).or_default().push(failure);
    }
    by_cause
        .into_iter()
        .map(|((title, error), failures)| {
            let steps = listed(failures.iter().map(|failure| failure.step.as_str()));
            let error = if let [only] = failures.as_slice() { only.error.clone() } else { error };
            let unknown = failures.iter().any(|failure| failure.unknown);
            let what = if unknown { format!("{title}: it is not known whether it was done") } else { format!("{title} failed") };
            let hint = format!(
                "mend the cause and run {command} again: it goes on where this run stopped; {} not begun{}",
                counted(outcome.blocked, "step was", "steps were"),
                without_the_lost(outcome, &failures, verb)
            );
            Failure::new(Kind::Incomplete, what).at(steps).because(error).hint(hint)
        })
        .collect()
}

/// How it goes on without hosts that were lost on the way, and on which, or for which, steps have failed.
fn without_the_lost(outcome: &Outcome, failures: &[&StepFailure], verb: &str) -> String {
    let is_of = |host: &&String| failures.iter().any(|failure| failure.step.host() == *host || failure.host == **host);
    let lost: Vec<&str> = outcome.lost.iter().filter(is_of).map(String::as_str).collect();
    let (names, is) = (listed(lost.iter().copied()), if lost.len() == 1 { "is" } else { "are" });
    let done = match verb.split(' ').next() {
        _ if lost.is_empty() => return String::new(),
        Some("recover" | "restore") => format!("`kokctl {verb} --lost {}`", lost.join(",")),
        Some("reset" | "converge") => "take the line out of the file".to_owned(),
        _ => format!("`kokctl remove -f FILE {} --dead`, then take the line out of the file", lost.join(" ")),
    };
    format!("; or, if {names} {is} gone for good: {done}")
}

/// What of a run was not begun, and on which hosts.
fn not_begun(outcome: &Outcome) -> String {
    let hosts: Vec<String> = outcome.not_begun.iter().map(|(host, steps)| format!("{steps} on {host}")).collect();
    match (outcome.blocked, hosts.is_empty()) {
        (0, _) => "none was left".to_owned(),
        (blocked, true) => format!("{blocked} not begun"),
        (blocked, false) => format!("{blocked} not begun: {}", listed(hosts.iter().map(String::as_str))),
    }
}

/// Of a run that was ended before its end: why, and what nobody knows.
fn stopped(outcome: &Outcome, command: &str) -> Option<Failure> {
    let because = outcome.stopped.as_ref()?;
    let failure = Failure::new(Kind::Incomplete, "the run was stopped before its end").because(format!(
        "{because}; {} done, {}",
        counted(outcome.done, "step is", "steps are"),
        not_begun(outcome)
    ));
    if outcome.taken_over {
        return Some(failure.hint("the other run has the cluster now; ask who started it before you take over in turn"));
    }
    if outcome.in_doubt.is_empty() {
        return Some(failure.hint(format!("run {command} again: it goes on where this run stopped")));
    }
    let steps: Vec<String> = outcome.in_doubt.iter().map(|one| format!("{} ({})", one.step, one.title)).collect();
    let hint =
        format!("these steps may still be at work: {}; {command} waits for them and finds out what became of each", steps.join(", "));
    Some(failure.hint(hint))
}

/// Of a run or plan that is meant for a part: which one, and what it leaves out as far as that was seen. `None` for a whole one.
pub(super) fn part(selection: &Selection, plan: &Plan) -> Option<String> {
    if selection.is_whole() {
        return None;
    }
    let tasks = selection.tasks().map(|tasks| format!("tasks {}", tasks.join(", ")));
    let hosts = selection.hosts().map(|hosts| format!("hosts {}", hosts.iter().map(String::as_str).collect::<Vec<_>>().join(", ")));
    let chosen: Vec<String> = [tasks, hosts].into_iter().flatten().collect();
    let left = match plan.left_out().len() {
        0 => "nothing else was found to do".to_owned(),
        left => format!("{} left for a whole apply", counted(left, "more change is", "more changes are")),
    };
    Some(format!("chosen: {}; {left}", chosen.join(" on ")))
}

/// What `--prune` does not do, because it is not in the part that was chosen.
pub(super) fn unpruned(prune: bool, selection: &Selection, plan: &Plan) -> Option<String> {
    let steps = if prune { selection.unpruned(plan) } else { Vec::new() };
    let first = steps.first()?;
    let others = if steps.len() == 1 { String::new() } else { format!(" and {} more", steps.len() - 1) };
    Some(format!("note: --prune does nothing here for {first}{others}: not in the part that is chosen"))
}

/// On how many hosts a plan changes something.
pub(super) fn changed_hosts(plan: &Plan) -> usize {
    plan.changes().map(|(step, _)| step.host.as_str()).collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests;
