//! What becomes of a value, by the row of its variable.

use super::plain::{flag, plain, shown};
use super::row::{Rule, Shape, Variable};
use crate::tree::{Node, Value};
use crate::words::quote;
use crate::{Position, Problem};

/// What becomes of a value.
pub(crate) enum Verdict {
    /// Whoever reads settings or fields takes it over.
    Read,
    /// It asks for nothing that would not be so anyway.
    Anyway,
    /// It means nothing here, because …
    NoMeaning(&'static str),
    /// What it asks for is not done yet.
    NotYet,
    /// It cannot be.
    Refused(Problem),
}

/// Judges the value of a variable; `at` is where its name stands.
pub(crate) fn judge(variable: &Variable, name: &str, node: &Node, at: &Position) -> Verdict {
    let problem = |message: String| Problem::new(message).of_variable(name).at(at);
    match variable.rule {
        Rule::Setting(_) | Rule::Field(_) => return Verdict::Read,
        Rule::Moot(because) => return Verdict::NoMeaning(because),
        Rule::Follows(_) => return Verdict::Anyway,
        _ => {}
    }
    if let Some(problem) = neither(variable, name, node).or_else(|| no_number(variable, name, node)) {
        return Verdict::Refused(problem);
    }
    match variable.rule {
        Rule::Setting(_) | Rule::Field(_) | Rule::Moot(_) | Rule::Follows(_) => Verdict::Read,
        _ if is_idle(variable, node) => Verdict::Anyway,
        Rule::Reading(_) => Verdict::NoMeaning("it is about inventories only"),
        Rule::Later => Verdict::NotYet,
        _ if variable.usual.iter().any(|usual| same(variable, node, usual)) => Verdict::NotYet,
        Rule::Only { accepted, .. } if accepted.iter().any(|accepted| same(variable, node, accepted)) => Verdict::Anyway,
        Rule::Only { because, hint, .. } => {
            let value = if variable.secret { String::new() } else { format!(" {}", quote(&shown(node))) };
            Verdict::Refused(problem(format!("{} cannot be{value}", quote(name))).because(because).hint(hint))
        }
        Rule::Refused { because, hint } => Verdict::Refused(problem(format!("{} may not be set", quote(name))).because(because).hint(hint)),
        Rule::Needed(because) => Verdict::Refused(
            problem(format!("{} is not honoured yet", quote(name))).because(format!("without it {because}")).hint(variable.way_out),
        ),
    }
}

/// A flag that is neither true nor false.
pub(crate) fn neither(variable: &Variable, name: &str, node: &Node) -> Option<Problem> {
    let is_empty = matches!(&node.value, Value::Null) || matches!(&node.value, Value::Text(text) if text.is_empty());
    let is_wrong = variable.shape == Shape::Flag && flag(node).is_none() && !is_empty;
    let problem = || {
        Problem::new(format!("{} is neither true nor false", quote(name)))
            .at(&node.position)
            .because("it is `true` or `false`")
            .hint("write one of the two")
    };
    is_wrong.then(problem)
}

/// What has to be a number and is none. What may be one value only is compared with that, and says more.
fn no_number(variable: &Variable, name: &str, node: &Node) -> Option<Problem> {
    let is_number = match &node.value {
        Value::Integer(_) => true,
        Value::Text(text) => text.trim().parse::<i64>().is_ok(),
        _ => false,
    };
    let is_wrong = variable.shape == Shape::Number && matches!(variable.rule, Rule::Later | Rule::Needed(_));
    let value = || if variable.secret { String::new() } else { format!(" {}", quote(&shown(node))) };
    let problem = || {
        Problem::new(format!("{} cannot be{}", quote(name), value()))
            .at(&node.position)
            .because("it is a whole number")
            .hint("write one, or leave it out")
    };
    (is_wrong && !is_number && !is_idle(variable, node)).then(problem)
}

/// Whether a value asks for nothing: it is empty, or what holds anyway.
fn is_idle(variable: &Variable, node: &Node) -> bool {
    let is_empty = match &node.value {
        Value::Null => true,
        Value::Text(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(entries) => entries.is_empty(),
        _ => false,
    };
    // A list of its own says what is left out as well; only the default of the row knows.
    is_empty || same(variable, node, variable.default) || variable.idle.iter().any(|idle| same(variable, node, idle))
}

/// Whether a value is the one that is spelled so.
pub(crate) fn same(variable: &Variable, node: &Node, spelled: &str) -> bool {
    match (variable.shape, spelled) {
        (Shape::Flag, "true") => flag(node) == Some(true),
        (Shape::Flag, "false") => flag(node) == Some(false),
        (Shape::Other, "false") if flag(node) == Some(false) => true,
        _ => plain(node) == spelled,
    }
}
