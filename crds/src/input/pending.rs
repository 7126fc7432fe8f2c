//! Which operation counts, of those that have not ended, and what of it and of the others does nothing.

use crate::operation::{Effect, Invocation, Operation, Verb};
use crate::words::quote;
use crate::{Notice, Problem};

/// What the verb of an operation is here; `None` if its action is no step of its own.
pub(super) fn verb(operation: &Operation) -> Option<Verb> {
    match operation.main.action.effect {
        Effect::Runs(verb) => Some(verb),
        _ => None,
    }
}

/// The operations that have not ended.
pub(super) fn pending(operations: &[Operation]) -> Vec<&Operation> {
    operations.iter().filter(|operation| !operation.ended).collect()
}

/// The one operation whose arguments count: the only one that has not ended, or of those the only one that applies the cluster.
pub(super) fn counting(operations: &[Operation]) -> Option<&Operation> {
    let pending = pending(operations);
    let applying: Vec<&Operation> = pending.iter().copied().filter(|operation| verb(operation) == Some(Verb::Apply)).collect();
    match (pending.as_slice(), applying.as_slice()) {
        ([only], _) | (_, [only]) => Some(only),
        _ => None,
    }
}

/// An operation in words.
pub(super) fn named(operation: &Operation) -> String {
    match &operation.name {
        Some(name) => format!("the operation {}", quote(name)),
        None => "the operation without a name".to_owned(),
    }
}

/// What a user should know of the operations that have not ended.
pub(super) fn notices(operations: &[Operation]) -> Vec<Notice> {
    let pending = pending(operations);
    let Some(counting) = counting(operations) else {
        let Some(second) = pending.get(1) else { return Vec::new() };
        let notice = Notice::new(format!("the variables of {} operations are not taken account of", pending.len())).at(&second.position);
        return vec![notice.because("each has its own, and which one is to run is not said").hint("give the file of one operation only")];
    };
    let mut notices = others(operations, counting);
    let hooks = [(&counting.pre_hooks, "before"), (&counting.post_hooks, "afterwards")];
    for (hooks, when) in hooks {
        notices.extend(hooks.iter().filter_map(|hook| own_command(counting, hook, when)));
    }
    notices.extend(without_part(counting));
    notices
}

/// Of the operations that have not ended, and don't count beside this one.
pub(super) fn others(operations: &[Operation], counting: &Operation) -> Vec<Notice> {
    let others = pending(operations).into_iter().filter(|other| !std::ptr::eq(*other, counting));
    let notices = others.map(|other| {
        let notice = Notice::new(format!("{} does not count", named(other))).at(&other.position);
        let because = format!("{} does: of those that have not ended, it is the only one for `kokctl apply`", named(counting));
        let notice = notice.because(because);
        match verb(other) {
            Some(verb) => notice.hint(format!("for this one, give its file without the other, and type `kokctl {} -f …`", verb.as_str())),
            None => notice.hint("nothing has to be run for it"),
        }
    });
    notices.collect()
}

/// Of a hook that is a command for the user to type.
fn own_command(operation: &Operation, hook: &Invocation, when: &str) -> Option<Notice> {
    let Effect::Runs(of_hook) = hook.action.effect else { return None };
    // Every run looks at its hosts first; and what takes the cluster down is more than a notice where it is wanted up.
    let is_told = of_hook != Verb::Check && Some(of_hook) != verb(operation) && of_hook != Verb::Reset;
    let notice = || Notice::new(format!("the hook {} is a command of its own here", quote(hook.action.name))).at(&hook.position);
    is_told.then(|| {
        notice()
            .because("kokctl does one thing at a time, and that is what the operation itself is about")
            .hint(format!("type `kokctl {} -f …` {when}", of_hook.as_str()))
    })
}

/// Of an operation that only looks, and names hosts or tags.
fn without_part(operation: &Operation) -> Option<Notice> {
    let looks = verb(operation).filter(|verb| verb.only_looks())?;
    let arguments = &operation.main.arguments;
    let part = arguments.limit.as_ref().or(arguments.tags.first()).or(arguments.skip_tags.first())?;
    let notice = Notice::new("`extraArgs` choose no part here").at(&part.position);
    Some(notice.because(format!("`kokctl {}` looks at all hosts, and changes none", looks.as_str())))
}

/// Why an operation can't be done by that verb.
pub(super) fn wrong_verb(operation: &Operation, wanted: Verb) -> Problem {
    let action = operation.main.action;
    let problem = Problem::new(format!("{} is not for `kokctl {}`", named(operation), wanted.as_str())).at(&operation.main.position);
    match action.effect {
        Effect::Runs(verb) => problem
            .because(format!("its action {} is `kokctl {}` here", quote(action.name), verb.as_str()))
            .hint(format!("type `kokctl {} -f …`; or leave the operation out of the files", verb.as_str())),
        Effect::Covered { by, .. } => problem
            .because(format!("its action {} is no step of its own: {by}", quote(action.name)))
            .hint("nothing has to be run for it: leave it out of the files"),
        Effect::Planned { instead } | Effect::Refused { instead } => problem.hint(instead),
    }
}
