//! What must not stand anywhere in an inventory or a file of variables.

use std::collections::BTreeMap;

use crate::message::Kind;
use crate::tree::{Node, Tag, Value};
use crate::words::quote;
use crate::{Position, Problem};

/// Beginning of a text that kubean's operator would decrypt.
const KUBEAN_VAULT: &str = "VAULT;";
/// Beginning of a text that ansible-vault encrypted.
const ANSIBLE_VAULT: &str = "$ANSIBLE_VAULT;";

/// Reports keys that stand twice and values that are encrypted; the latter count as having no value from here on.
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

/// What is wrong with an encrypted value, which is forgotten; `name` is its name, which a document has none of, and where that stands.
pub(super) fn encrypted(node: &mut Node, (name, at): (&str, &Position)) -> Option<Problem> {
    let is_vault = match &node.value {
        Value::Text(text) => text.starts_with(KUBEAN_VAULT) || text.trim_start().starts_with(ANSIBLE_VAULT),
        _ => false,
    };
    if !is_vault && node.tag != Tag::Vault {
        return None;
    }
    node.value = Value::Null;
    node.tag = Tag::Secret;
    let what = if name.is_empty() { "the document".to_owned() } else { quote(name) };
    Some(vaulted(&format!("the value of {what}")).of_kind(Kind::Encrypted).of_variable(name).at(at))
}

/// What is wrong with encrypted text.
pub(super) fn vaulted(what: &str) -> Problem {
    Problem::new(format!("{what} is encrypted"))
        .because("kokctl has no key of a vault")
        .hint("write it decrypted into a file that only you can read, and give that with `-e @FILE` (`ansible-vault decrypt --output` writes one)")
}
