//! What must not stand anywhere in an inventory or a file of variables.

use std::collections::BTreeMap;

use crate::tree::{Node, Tag, Value};
use crate::words::quote;
use crate::{Position, Problem};

/// Beginning of a text that kubean's operator would decrypt.
const KUBEAN_VAULT: &str = "VAULT;";
/// Beginning of a text that ansible-vault encrypted.
const ANSIBLE_VAULT: &str = "$ANSIBLE_VAULT;";

/// Reports keys that stand twice and values that are encrypted.
pub(super) fn check(node: &Node, problems: &mut Vec<Problem>) {
    problems.extend(encrypted(node));
    match &node.value {
        Value::List(items) => items.iter().for_each(|item| check(item, problems)),
        Value::Map(entries) => {
            let mut seen: BTreeMap<&str, &Position> = BTreeMap::new();
            for entry in entries {
                if let Some(first) = seen.insert(&entry.key, &entry.key_position) {
                    problems.push(twice(&entry.key, first).at(&entry.key_position));
                }
                check(&entry.node, problems);
            }
        }
        _ => {}
    }
}

/// What is wrong with a name that stands twice in one map.
fn twice(name: &str, first: &Position) -> Problem {
    Problem::new(format!("{} stands twice", quote(name)))
        .because(format!("the first one stands at {first}; only one of them can count"))
        .hint("keep one of the two")
}

/// What is wrong with an encrypted value.
pub(super) fn encrypted(node: &Node) -> Option<Problem> {
    let is_vault = match &node.value {
        Value::Text(text) => text.starts_with(KUBEAN_VAULT) || text.trim_start().starts_with(ANSIBLE_VAULT),
        _ => false,
    };
    (is_vault || node.tag == Tag::Vault).then(|| vaulted("the value").at(&node.position))
}

/// What is wrong with encrypted text.
pub(super) fn vaulted(what: &str) -> Problem {
    Problem::new(format!("{what} is encrypted"))
        .because("kokctl has no key of a vault")
        .hint("leave it out and give the password when you are asked, or put a decrypted copy where only you can read it (`ansible-vault decrypt --output`)")
}
