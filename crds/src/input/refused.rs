//! A value with which something is wrong is not taken over, whatever its variable is otherwise.

use std::collections::BTreeMap;

use super::Input;
use crate::tree::{Node, Value};
use crate::variables::Outcome;
use crate::{Position, Problem};

/// Problems by their places.
type Wrong<'a> = BTreeMap<&'a Position, &'a Problem>;

/// Says of each value with which something is wrong that it is refused.
pub(super) fn refuse(input: &mut Input) {
    let mut wrong: Wrong<'_> = input.problems.iter().filter_map(|problem| Some((problem.position.as_ref()?, problem))).collect();
    let mut within = Wrong::new();
    if let Some(tree) = &input.inline {
        find(tree, &wrong, &mut within);
    }
    within.into_iter().for_each(|(start, problem)| _ = wrong.entry(start).or_insert(problem));
    // What is encrypted or stands twice is wrong at its name, and the value may stand on the line after that.
    let named: BTreeMap<(&str, u64, &str), &Problem> = input.problems.iter().filter_map(of_name).collect();
    for given in &mut input.variables {
        let at = &given.position;
        let of_name = || [0, 1].iter().find_map(|before| named.get(&(&*at.file, at.line.saturating_sub(*before), given.name.as_str())));
        if let Some(problem) = wrong.get(at).or_else(of_name) {
            given.outcome = Outcome::Refused;
            given.because = problem.because.clone().unwrap_or_else(|| problem.message.clone());
        }
    }
}

/// The place of a problem that is at the name of a variable, with that name.
fn of_name(problem: &Problem) -> Option<((&str, u64, &str), &Problem)> {
    let position = problem.position.as_ref()?;
    Some(((&*position.file, position.line, problem.variable()?), problem))
}

/// The first thing that is wrong in a value; `within` gets the beginnings of all lists and maps in which something is.
fn find<'a>(node: &'a Node, wrong: &Wrong<'a>, within: &mut Wrong<'a>) -> Option<&'a Problem> {
    let own = wrong.get(&node.position).copied();
    match &node.value {
        Value::List(items) => {
            let found: Vec<&Problem> = items.iter().filter_map(|item| find(item, wrong, within)).collect();
            found.first().into_iter().for_each(|problem| _ = within.insert(&node.position, problem));
            own.or(found.first().copied())
        }
        Value::Map(entries) => {
            let found: Vec<&Problem> = entries.iter().filter_map(|entry| find(&entry.node, wrong, within)).collect();
            found.first().into_iter().for_each(|problem| _ = within.insert(&node.position, problem));
            own.or(found.first().copied())
        }
        _ => own,
    }
}
