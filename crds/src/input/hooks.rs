//! What hooks say that are no steps of their own: their variables and options.

use super::extra::{TO_CONFIG_MAP, no_file};
use crate::operation::{ExtraVar, ExtraVars, Invocation, Operation};
use crate::variables::{Given, Outcome, VariableEffect, plain, variable};
use crate::words::quote;
use crate::{Notice, Problem};

/// What becomes of it. Variables count for a whole cluster, so that one for a hook alone can't be honoured.
#[derive(Default)]
pub(super) struct Hooks {
    pub(super) given: Vec<Given>,
    pub(super) notices: Vec<Notice>,
    pub(super) problems: Vec<Problem>,
}

impl Hooks {
    /// Looks at all hooks of an operation.
    pub(super) fn from_operation(operation: &Operation) -> Self {
        let mut hooks = Self::default();
        for hook in operation.pre_hooks.iter().chain(&operation.post_hooks) {
            hooks.options(hook);
            for extra in &hook.arguments.extra_vars {
                match extra {
                    ExtraVars::Named(variable) => hooks.variable(hook, variable, operation.main.arguments.variable(&variable.name)),
                    ExtraVars::File(path) => hooks.problems.push(no_file(path, TO_CONFIG_MAP)),
                }
            }
        }
        hooks
    }

    fn variable(&mut self, hook: &Invocation, written: &ExtraVar, of_main: Option<&ExtraVar>) {
        let row = variable(&written.name);
        let is_same = of_main.is_some_and(|main| plain(&main.node) == plain(&written.node));
        let counts = row.is_some_and(|row| row.effect() == VariableEffect::Honoured);
        let (outcome, because) = if is_same {
            (Outcome::Anyway, "the operation itself sets it too".to_owned())
        } else if counts {
            self.problems.push(for_hook_only(hook, written));
            (Outcome::Refused, format!("it is set for the hook {} only", quote(hook.action.name)))
        } else {
            (Outcome::NoMeaning, format!("the hook {} is no step of its own here", quote(hook.action.name)))
        };
        let mut given = Given::new(&written.name, row, &written.node, outcome, because);
        given.position = written.position.clone();
        self.given.push(given);
    }

    fn options(&mut self, hook: &Invocation) {
        let arguments = &hook.arguments;
        let placed = [
            ("--limit", arguments.limit.as_ref()),
            ("--tags", arguments.tags.first()),
            ("--skip-tags", arguments.skip_tags.first()),
            ("--user", arguments.user.as_ref()),
            ("--private-key", arguments.private_key_file.as_ref()),
        ];
        let given = placed.into_iter().filter_map(|(option, value)| Some((option, &value?.position)));
        for (option, position) in given.chain(arguments.check.then_some(("--check", &hook.position))) {
            let notice = Notice::new(format!("`{option}` of the hook {} is not used", quote(hook.action.name))).at(position);
            self.notices.push(notice.because("the hook is no step of its own here"));
        }
    }
}

fn for_hook_only(hook: &Invocation, written: &ExtraVar) -> Problem {
    Problem::new(format!("{} is set for the hook {} only", quote(&written.name), quote(hook.action.name)))
        .at(&written.position)
        .because("a variable counts for the whole cluster here, and a hook is no step of its own")
        .hint("set it in `extraArgs` of the operation itself, or in the ConfigMap of `varsConfRef`; or leave it out")
}
