//! Variables that win over those of an inventory.

use super::{File, Role, file_name};
use crate::decode::Decoder;
use crate::inventory::{Variable, Vars};
use crate::operation::{Arguments, ExtraVars, Operation, read_arguments};
use crate::words::quote;
use crate::{Problem, Source};

/// What `-e` and `-e @FILE` of the command line say, in their order.
pub(super) fn of_command_line(files: &[File], problems: &mut Vec<Problem>) -> Vec<Vars> {
    let mut all = Vec::new();
    for file in files {
        match file.role {
            Role::ExtraFile => {
                let (vars, found) = Vars::read_partly(&Source::file(file.name.as_str(), file.text.as_str()));
                all.push(vars);
                problems.extend(found);
            }
            Role::Extra => all.push(of_text(file, problems)),
            Role::Main { .. } | Role::Beside => {}
        }
    }
    all
}

/// The shell of the user has taken the quotes away; the one reader of `-e` wants them.
fn of_text(file: &File, problems: &mut Vec<Problem>) -> Vars {
    let line = format!("-e '{}'", file.text.replace('\'', "'\\''"));
    let mut decoder = Decoder::default();
    let arguments = read_arguments(&Source::file(file_name(&file.name), line), &mut decoder);
    problems.extend(decoder.finish().0);
    named(&arguments, problems)
}

/// What the arguments of an operation's action say.
pub(super) fn of_operation(operation: &Operation, problems: &mut Vec<Problem>) -> Vec<Vars> {
    vec![named(&operation.main.arguments, problems)]
}

fn named(arguments: &Arguments, problems: &mut Vec<Problem>) -> Vars {
    let mut vars = Vars::default();
    for extra in &arguments.extra_vars {
        match extra {
            ExtraVars::Named(variable) => {
                let found = Variable { key_position: variable.position.clone(), node: variable.node.clone() };
                vars.insert(variable.name.as_str(), found);
            }
            ExtraVars::File(path) => problems.push(
                Problem::new(format!("the file {} of `-e` is not there", quote(&path.text)))
                    .at(&path.position)
                    .because("its path is one of the job's image, and no such job runs here")
                    .hint("put its variables into the ConfigMap of `varsConfRef`, or give the file to kokctl with -e"),
            ),
        }
    }
    vars
}

/// A Cluster in the inline form says everything itself.
pub(super) fn inline_has_none(vars: &Vars) -> Problem {
    let problem = Problem::new("`-e` has nothing to win over");
    let position = vars.iter().next().map(|(_, variable)| variable.key_position.clone());
    Problem { position, ..problem }
        .because("a Cluster in the inline form has no inventory, and says everything itself")
        .hint("write it in the file, under `spec.vars`")
}
