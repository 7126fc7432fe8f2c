//! What somebody set, and what becomes of it.

use super::lookup::is_near_secret;
use super::plain::shown;
use super::row::Variable;
use crate::Position;
use crate::hide::{HIDDEN, names_a_secret};
use crate::tree::{Node, Value};

/// What becomes of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It does what it says.
    Honoured,
    /// It asks for what is so anyway.
    Anyway,
    /// It means nothing here.
    NoMeaning,
    /// What it asks for is not done yet, and is left out.
    NotYet,
    /// Something else that counts more sets the variable for every host.
    Overruled,
    /// It cannot be; there is a problem about it.
    Refused,
    /// It is the user's own: values of other variables use it.
    Own,
    /// Nobody knows it.
    Unknown,
}

impl Outcome {
    /// The word for it in tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Honoured => "honoured",
            Self::Anyway => "anyway",
            Self::NoMeaning => "no-meaning",
            Self::NotYet => "not-yet",
            Self::Overruled => "overruled",
            Self::Refused => "refused",
            Self::Own => "own",
            Self::Unknown => "unknown",
        }
    }
}

/// A variable that somebody set, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// Name of the variable.
    pub name: String,
    /// Its value in one line, shortened; no password.
    pub value: String,
    /// Where it stands.
    pub position: Position,
    /// What becomes of it.
    pub outcome: Outcome,
    /// Where it went, or why it does nothing.
    pub because: String,
    /// For how many hosts it is set one by one, of which the place is the first; or for how many it counts. `None` for what is set for all.
    pub hosts: Option<usize>,
}

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
