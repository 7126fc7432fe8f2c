//! Variables that win over those of an inventory.

use super::{File, Role, Text, file_name};
use crate::decode::Decoder;
use crate::inventory::{Vars, WrittenVariable};
use crate::model::Cluster;
use crate::operation::{self, Arguments, ExtraVars, Operation, Placed, read_extra_vars};
use crate::tree::{Node, Value};
use crate::variables::{Given, Outcome, VariableEffect, plain, variable};
use crate::words::quote;
use crate::{Problem, Source};

/// What `-e` and `-e @FILE` of the command line say, in their order.
pub(super) fn of_command_line(texts: &[Text<'_>], problems: &mut Vec<Problem>) -> Vec<Vars> {
    let mut all = Vec::new();
    for Text { file, source } in texts {
        match file.role {
            Role::ExtraFile => {
                let (vars, found) = Vars::read_partly(source);
                all.push(vars);
                problems.extend(found);
            }
            Role::Extra => all.push(of_text(file, problems)),
            Role::Main { .. } | Role::Beside | Role::Machines { .. } | Role::Machine { .. } => {}
        }
    }
    all
}

fn of_text(file: &File, problems: &mut Vec<Problem>) -> Vars {
    let mut decoder = Decoder::default();
    let given = read_extra_vars(&Source::file(file_name(&file.name), file.text.as_str()), &mut decoder);
    problems.extend(decoder.finish().0);
    named(&given, problems, "write `-e @FILE` with nothing before the `@`")
}

/// What the arguments of an operation's action say.
pub(super) fn of_operation(operation: &Operation, problems: &mut Vec<Problem>) -> Vec<Vars> {
    vec![of_cluster(operation, problems, TO_CONFIG_MAP)]
}

/// What to do about a file of variables where they stand in a ConfigMap, and where the Cluster says them itself.
pub(super) const TO_CONFIG_MAP: &str = "write its variables into the ConfigMap of `varsConfRef`, or into `extraArgs` as `-e NAME=VALUE`; or leave it out there and type `-e @FILE`";
const TO_FIELDS: &str = "leave it out, and write its variables in the Cluster under `spec.vars`";

/// Those that are no arguments of the action.
fn of_cluster(operation: &Operation, problems: &mut Vec<Problem>, hint: &str) -> Vars {
    let is_argument = |extra: &&ExtraVars| match (extra, operation.main.action.effect) {
        (ExtraVars::Named(variable), operation::Effect::Runs(verb)) => verb.takes(&variable.name),
        _ => false,
    };
    let vars: Vec<ExtraVars> = operation.main.arguments.extra_vars.iter().filter(|extra| !is_argument(extra)).cloned().collect();
    named(&vars, problems, hint)
}

fn named(given: &[ExtraVars], problems: &mut Vec<Problem>, hint: &str) -> Vars {
    let mut vars = Vars::default();
    for extra in given {
        match extra {
            ExtraVars::Named(variable) => {
                let found = WrittenVariable { key_position: variable.position.clone(), node: variable.node.clone() };
                vars.insert(variable.name.as_str(), found);
            }
            ExtraVars::File(path) => problems.push(no_file(path, hint)),
        }
    }
    vars
}

/// A file of the image in which the operator runs its jobs.
pub(super) fn no_file(path: &Placed, hint: &str) -> Problem {
    Problem::new(format!("the file {} of `-e` is not read", quote(&path.text)))
        .at(&path.position)
        .because("in an operation its path is one of the image in which a Job would run, and no Job runs here")
        .hint(hint)
}

/// Variables that actions of an operation set, unless somebody sets them otherwise.
pub(super) fn implied(operation: &Operation) -> impl Iterator<Item = (&'static str, WrittenVariable)> {
    operation.invocations().filter_map(|invocation| {
        let (name, value) = invocation.implied_variable()?;
        let position = invocation.position.clone();
        Some((name, WrittenVariable { key_position: position.clone(), node: Node::new(Value::Text(value.to_owned()), position) }))
    })
}

/// The login of hosts that name none themselves, as variables that count less than all others, and what becomes of the options.
pub(super) fn login(operation: &Operation, has_key: bool, defaults: &mut Vars) -> Vec<Given> {
    let Arguments { user, private_key_file, .. } = &operation.main.arguments;
    let mut given = Vec::new();
    // Of several names of one variable these count least.
    let options = [("--user", "ansible_user", user, false), ("--private-key", "ansible_private_key_file", private_key_file, has_key)];
    for (option, name, value, overruled) in options {
        let Some(value) = value else { continue };
        let node = Node::new(Value::Text(value.text.clone()), value.position.clone());
        let (outcome, because) = match overruled {
            true => (Outcome::Overruled, "the key of `sshAuthRef` counts"),
            false => (Outcome::Honoured, "for hosts that name none themselves"),
        };
        given.push(Given::new(option, None, &node, outcome, because));
        if !overruled {
            defaults.insert(name, WrittenVariable { key_position: value.position.clone(), node });
        }
    }
    given
}

/// The same for a Cluster in the inline form.
pub(super) fn inline_login(operation: &Operation, cluster: &mut Cluster) -> Vec<Given> {
    let Arguments { user, private_key_file, .. } = &operation.main.arguments;
    for ssh in cluster.hosts.iter_mut().map(|host| &mut host.ssh) {
        ssh.user = ssh.user.take().or_else(|| user.as_ref().map(|user| user.text.clone()));
        if ssh.private_key.is_none() {
            ssh.private_key_file = ssh.private_key_file.take().or_else(|| private_key_file.as_ref().map(|file| file.text.clone()));
        }
    }
    login(operation, false, &mut Vars::default())
}

/// What an operation sets that a Cluster in the inline form has to say itself; what of it means nothing anyway is returned.
pub(super) fn not_for_inline(operation: &Operation, known: &[Given], problems: &mut Vec<Problem>) -> Vec<Given> {
    let mut given = Vec::new();
    let vars = of_cluster(operation, problems, TO_FIELDS);
    given.extend(vars.iter().filter_map(|(name, written)| {
        let row = variable(name).filter(|row| row.effect() == VariableEffect::NoMeaning)?;
        Some(Given::new(name, Some(row), &written.node, Outcome::NoMeaning, row.details()))
    }));
    if vars.names().count() > given.len() {
        problems.push(inline_has_none(&vars));
    }
    for (name, variable) in implied(operation).filter(|(name, _)| !known.iter().any(|given| given.name == *name)) {
        let text = plain(&variable.node);
        let problem = Problem::new(format!("the action cannot set {} for the cluster", quote(name))).at(&variable.key_position);
        let problem = problem.because("a Cluster in the inline form has no inventory, and says everything itself");
        problems.push(problem.hint(format!("write `{name}: {text}` there, under `spec.vars`")));
    }
    given
}

/// A Cluster in the inline form says everything itself.
pub(super) fn inline_has_none(vars: &Vars) -> Problem {
    let problem = Problem::new("`-e` has nothing to win over");
    let position = vars.iter().next().map(|(_, variable)| variable.key_position.clone());
    Problem { position, ..problem }
        .because("a Cluster in the inline form has no inventory, and says everything itself")
        .hint("write it in the file, under `spec.vars`")
}
