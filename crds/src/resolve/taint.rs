//! What was worked out of secrets, so that nothing repeats it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::Position;
use crate::hide::names_a_secret;
use crate::tree::{Node, Value};
use crate::variables::{Variable, plain, variable};

/// An expression that needs a secret.
#[derive(Clone, Default)]
pub(crate) struct Tainted {
    /// The variable that it belongs to.
    pub(crate) name: String,
    /// The expression itself.
    pub(crate) expression: String,
    /// What came out, which nobody may see.
    pub(crate) results: BTreeSet<String>,
    /// Whether it was encrypted itself, and so has no expression that could be shown.
    pub(crate) is_encrypted: bool,
    /// Whether it is a secret only because of the file that it stands in: elsewhere the same text is none.
    pub(crate) is_local: bool,
}

/// Expressions that need secrets, by their places; they are found while values are worked out.
#[derive(Default)]
pub(super) struct Taints(Mutex<BTreeMap<Position, Tainted>>);

impl fmt::Debug for Taints {
    /// Without the secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Taints")
    }
}

impl Taints {
    /// Keeps in mind what an expression of a variable gave; the expression is as it may be shown.
    pub(super) fn note(&self, name: &str, expression: &str, result: &Node) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let tainted = all.entry(result.position.clone()).or_default();
        tainted.name = name.to_owned();
        expression.clone_into(&mut tainted.expression);
        leaves(result, &mut tainted.results);
    }

    pub(super) fn all(&self) -> BTreeMap<Position, Tainted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn leaves(node: &Node, texts: &mut BTreeSet<String>) {
    match &node.value {
        Value::List(items) => items.iter().for_each(|item| leaves(item, texts)),
        Value::Map(entries) => entries.iter().for_each(|entry| leaves(&entry.node, texts)),
        Value::Null | Value::Bool(_) => {}
        _ => _ = texts.insert(plain(node)),
    }
}

/// Whether the value of a variable is a secret.
pub(super) fn is_secret(name: &str) -> bool {
    variable(name).map_or_else(|| names_a_secret(name), |row| Variable::is_secret(row) || row.is_family() && names_a_secret(name))
}

/// Whether an expression takes a part of a value that may be a secret, as in `login.password` and `login['password']`.
pub(super) fn takes_a_secret(expression: &str) -> bool {
    let is_between = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    let mut names_a_part = false;
    for (index, piece) in expression.split(['"', '\'']).enumerate() {
        // Of what stands in quotes only names of parts count.
        let counts = index % 2 == 0 || names_a_part;
        names_a_part = piece.ends_with('[') || piece.ends_with("get(");
        if counts && piece.split(is_between).any(|word| variable(word).is_none() && names_a_secret(word)) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::takes_a_secret;

    #[test]
    fn parts_are_known_by_their_names() {
        for text in ["{{ login.password }}", "{{ login['pass'] }}", "{{ login.get(\"token\") }}"] {
            assert!(takes_a_secret(text), "{text}");
        }
        for text in ["{{ lookup('passwordstore', 'x') }}", "{{ login.user }}", "{{ 'pass' }}"] {
            assert!(!takes_a_secret(text), "{text}");
        }
    }
}
