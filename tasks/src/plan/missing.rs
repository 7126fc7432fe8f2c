//! Refusing a part of a plan that needs what is not in it: all that is missing is said, and the choice that would be complete.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::graph::{Plan, Step};
use super::id::StepId;
use super::reason::Reason;
use super::refusal::Refusal;
use super::select::Selection;
use crate::change::{Change, Verdict};
use crate::list::TASKS;

/// A need of a step that is to be done, which is not in the part that is asked for, and still to be done.
pub(super) struct Missing<'a> {
    pub(super) step: &'a Step,
    pub(super) need: &'a Step,
    pub(super) reason: &'a Reason,
    pub(super) change: &'a Change,
}

/// One refusal for each task or host that is missing.
pub(super) fn refusals(plan: &Plan, verdicts: &HashMap<StepId, Verdict>, selection: &Selection, missing: &[Missing<'_>]) -> Vec<Refusal> {
    let hint = complete(plan, verdicts, selection, missing);
    let mut by_cause: BTreeMap<String, Vec<&Missing<'_>>> = BTreeMap::new();
    for one in missing {
        let what = if selection.has_host(one.need.id.host()) {
            format!("the task {} is not chosen, and {} needs it", one.need.task, one.step.task)
        } else {
            format!("the host {} is not chosen, and {} needs it", one.need.id.host(), one.step.id.host())
        };
        by_cause.entry(what).or_default().push(one);
    }
    by_cause.into_iter().map(|(what, missing)| refusal(what, &missing, &hint)).collect()
}

fn refusal(what: String, missing: &[&Missing<'_>], hint: &str) -> Refusal {
    let steps: BTreeSet<&str> = missing.iter().map(|one| one.step.id.as_str()).collect();
    let first = steps.first().copied().unwrap_or_default();
    let more = if steps.len() > 1 { format!(" and {} more", steps.len() - 1) } else { String::new() };
    let because = missing.iter().find(|one| one.step.id.as_str() == first).map(|one| {
        format!(
            "it comes after {} ({}), where this is still to do: {}, because {}",
            one.need.id, one.reason, one.change.kind, one.change.because
        )
    });
    Refusal::new(what).at(format!("{first}{more}")).because(because.unwrap_or_default()).hint(hint)
}

/// Goes back from what is missing through everything that is still to be done, and says how to choose all of it.
fn complete(plan: &Plan, verdicts: &HashMap<StepId, Verdict>, selection: &Selection, missing: &[Missing<'_>]) -> String {
    let open = |id: &StepId| !matches!(verdicts.get(id), Some(Verdict::Same));
    let mut found: BTreeSet<StepId> = missing.iter().map(|one| one.need.id.clone()).collect();
    let mut next: Vec<StepId> = found.iter().cloned().collect();
    while let Some(id) = next.pop() {
        let needs = plan.needs(&id).into_iter().map(|(need, _)| need.id.clone()).filter(open);
        next.extend(needs.filter(|id| found.insert(id.clone())).collect::<Vec<_>>());
    }
    let steps: Vec<&Step> = found.iter().filter_map(|id| plan.step(id)).collect();
    let mut options = Vec::new();
    if let Some(chosen) = selection.tasks().filter(|_| steps.iter().any(|step| !selection.has_task(step.task))) {
        let names = TASKS.iter().map(|task| task.name);
        let wanted = |name: &&str| chosen.contains(name) || steps.iter().any(|step| step.task == *name);
        options.push(format!("--only {}", names.filter(wanted).collect::<Vec<_>>().join(",")));
    }
    if let Some(chosen) = selection.hosts().filter(|_| steps.iter().any(|step| !selection.has_host(step.id.host()))) {
        let hosts: BTreeSet<&str> = chosen.iter().map(String::as_str).chain(steps.iter().map(|step| step.id.host())).collect();
        options.push(format!("--limit {}", hosts.into_iter().collect::<Vec<_>>().join(",")));
    }
    let whole = selection
        .tasks()
        .is_none_or(|chosen| TASKS.iter().all(|task| chosen.contains(&task.name) || steps.iter().any(|step| step.task == task.name)));
    if whole && options.iter().all(|option| option.starts_with("--only")) {
        return "all tasks are needed: leave --only and --skip out".to_owned();
    }
    format!("choose what is needed too: {}", options.join(" "))
}
