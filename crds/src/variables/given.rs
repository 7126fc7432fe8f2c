//! What is said of a variable that somebody set.

use super::lookup::is_near_secret;
use super::plain::shown;
use super::row::Variable;
use crate::given::{Given, Outcome};
use crate::hide::{HIDDEN, names_a_secret};
use crate::tree::{Node, Value};

impl Given {
    /// A value, with the row of its variable if it has one.
    pub(crate) fn new(name: &str, row: Option<&Variable>, node: &Node, outcome: Outcome, because: impl Into<String>) -> Self {
        let value = if is_hidden(name, row, node) { HIDDEN.to_owned() } else { shown(node) };
        Self { name: in_one_line(name), value, position: node.position.clone(), outcome, because: because.into(), hosts: None }
    }
}

/// A name as tables show it: YAML lets a key hold anything, also ends of lines and what a terminal obeys.
pub(crate) fn in_one_line(name: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().collect() } else { String::from(c) };
    name.chars().map(shown).collect()
}

/// Whether a value may be a secret: by its row, by its name, or by the name that was meant.
fn is_hidden(name: &str, row: Option<&Variable>, node: &Node) -> bool {
    let is_word = !matches!(node.value, Value::Bool(_) | Value::Integer(_) | Value::Null);
    let is_guessed = row.is_none_or(Variable::is_family);
    let is_misspelled = || row.is_none() && is_near_secret(name);
    node.tag.is_secret() || row.is_some_and(Variable::is_secret) || is_misspelled() || (is_word && is_guessed && names_a_secret(name))
}
