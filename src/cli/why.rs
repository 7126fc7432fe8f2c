//! What a plan says of one step, for people.

use kok_crds::count;
use kok_tasks::list::TASKS;
use kok_tasks::plan::{Plan, Reason, Step, Why};

pub(super) fn why_text(plan: &Plan, why: &Why<'_>) -> String {
    let mut lines = head(plan, why.step);
    lines.extend(list(plan, &format!("needs {}", counted(why.needs.len(), why.all_needs)), "because", &why.needs));
    lines.extend(list(
        plan,
        &format!("is needed by {}", counted(why.needed_by.len(), why.all_needed_by)),
        "because for it",
        &why.needed_by,
    ));
    if why.chain.len() > 2 {
        lines.push("the longest way to it:".to_owned());
        for (step, reason) in &why.chain {
            let reason = reason.map(|reason| format!(", because {reason}")).unwrap_or_default();
            lines.push(format!("  {} {}{reason}", mark(plan, step), step.id));
        }
    }
    lines.join("\n")
}

fn head(plan: &Plan, step: &Step) -> Vec<String> {
    let about = TASKS.iter().find(|task| task.name == step.task).map_or("", |task| task.about);
    let mut lines = vec![format!("{}: {}", step.id, step.title()), format!("  host {}, task {}: {about}", step.host, step.task)];
    match plan.change(&step.id) {
        Some(change) => {
            lines.push(format!("  to do: {}, because {}", change.kind, change.because));
            lines.extend(change.diff.iter().flat_map(|diff| diff.lines()).map(|line| format!("    {line}")));
        }
        None if plan.left_out().contains(&step.id) => lines.push("  not chosen, though there is something to do".to_owned()),
        None => lines.push("  nothing to do".to_owned()),
    }
    let writes = step.writes();
    if !writes.is_empty() {
        lines.push(format!("  writes {}", writes.join(", ")));
    }
    lines.push(format!("  has to be done within {} s", step.deadline.as_secs()));
    lines
}

fn counted(direct: usize, all: usize) -> String {
    match (direct, all) {
        (0, _) => "nothing".to_owned(),
        (direct, all) if direct == all => count(direct, "step"),
        (direct, all) => format!("{}, and {all} with what lies behind", count(direct, "step")),
    }
}

fn list(plan: &Plan, title: &str, because: &str, steps: &[(&Step, &Reason)]) -> Vec<String> {
    let lines = steps.iter().map(|(step, reason)| format!("  {} {}, {because} {reason}", mark(plan, step), step.id));
    let colon = if steps.is_empty() { "" } else { ":" };
    std::iter::once(format!("{title}{colon}")).chain(lines).collect()
}

/// `+` stands before what is to be done, as in the list of all steps.
pub(super) fn mark(plan: &Plan, step: &Step) -> char {
    match plan.change(&step.id) {
        Some(_) => '+',
        None if plan.left_out().contains(&step.id) => '-',
        None => ' ',
    }
}
