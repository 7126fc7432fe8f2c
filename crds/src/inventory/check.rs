//! What must not stand anywhere in an inventory or a file of variables.

use std::collections::BTreeMap;

use crate::message::Kind;
use crate::tree::{Entry, Node, Tag, Value};
use crate::vault;
use crate::words::quote;
use crate::{Position, Problem};

/// Beginning of a text that kubean's operator would decrypt.
const KUBEAN_VAULT: &str = "VAULT;";

/// Reports keys that stand twice, and marks values that are encrypted.
pub(super) fn check(node: &mut Node, problems: &mut Vec<Problem>) {
    let start = node.position.clone();
    check_named(node, ("", &start), problems);
}

/// The same for a value that has a name, which is what it is called and where that stands.
pub(crate) fn check_named(node: &mut Node, name: (&str, &Position), problems: &mut Vec<Problem>) {
    problems.extend(encrypted(node, name));
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| check_named(item, name, problems)),
        Value::Map(entries) => {
            let mut seen: BTreeMap<&str, &Position> = BTreeMap::new();
            for entry in entries {
                if let Some(first) = seen.insert(&entry.key, &entry.key_position) {
                    problems.push(twice(&entry.key, first).at(&entry.key_position));
                }
                check_named(&mut entry.node, (&entry.key, &entry.key_position), problems);
            }
        }
        _ => {}
    }
}

/// What is wrong with a name that stands twice in one map.
fn twice(name: &str, first: &Position) -> Problem {
    Problem::new(format!("{} stands twice", quote(name)))
        .of_variable(name)
        .because(format!("the first one stands at {first}; only one of them can count"))
        .hint("keep one of the two")
}

/// Marks a value that ansible-vault encrypted, to be opened together with all others; `name` is its name, and where that stands. What kubean's
/// operator would decrypt is a problem, and is forgotten.
pub(super) fn encrypted(node: &mut Node, (name, at): (&str, &Position)) -> Option<Problem> {
    match &mut node.value {
        Value::Text(text) if text.starts_with(KUBEAN_VAULT) => {
            node.value = Value::Null;
            node.tag = Tag::Secret;
            let problem = Problem::new(format!("the value of {} is encrypted", quote(name)));
            let problem = problem.because("kubean's operator has the key, and kokctl has not").hint(INSTEAD);
            return Some(problem.of_kind(Kind::Encrypted).of_variable(name).at(at));
        }
        Value::Text(text) if text.trim_start().starts_with(vault::BEGINNING) => node.tag = Tag::Vault,
        Value::Map(entries) => {
            // How `ansible-inventory` prints one in JSON.
            if let [Entry { key, node: inner, .. }] = entries.as_mut_slice()
                && key == "__ansible_vault"
                && let Value::Text(text) = &mut inner.value
            {
                node.value = Value::Text(std::mem::take(text));
                node.tag = Tag::Vault;
            }
        }
        Value::Text(_) => {}
        // Nothing that ansible-vault has written is anything else than text.
        _ if node.tag == Tag::Vault => node.value = Value::Text(node.spelling.clone()),
        _ => {}
    }
    None
}

/// What to do about a value that nobody here can decrypt.
const INSTEAD: &str =
    "write it decrypted into a file that only you can read, and give that with `-e @FILE`; or encrypt it by `ansible-vault`";
