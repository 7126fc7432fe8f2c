//! Putting what was encrypted where it belongs, as secrets.

use std::collections::BTreeSet;

use super::{Vault, open_all};
use crate::tree::{Node, Tag, Value};
use crate::words::quote;
use crate::{Position, Problem};

use super::open::Opened;

/// Opens every encrypted value, each with its name and where that stands. One that stays closed is reported at its name, and counts as having no
/// value from here on.
pub(crate) fn unseal_values(mut values: Vec<(&str, &Position, &mut Node)>, vault: &dyn Vault, problems: &mut Vec<Problem>) {
    let mut texts = BTreeSet::new();
    values.iter().for_each(|(_, _, node)| encrypted(node, &mut texts));
    if texts.is_empty() {
        return;
    }
    let opened = open_all(vault, texts.into_iter());
    for (name, at, node) in &mut values {
        replace(node, (name, at), &opened, problems);
    }
}

fn encrypted<'n>(node: &'n Node, texts: &mut BTreeSet<&'n str>) {
    match &node.value {
        Value::Text(text) if node.tag == Tag::Vault => _ = texts.insert(text),
        Value::List(items) => items.iter().for_each(|item| encrypted(item, texts)),
        Value::Map(entries) => entries.iter().for_each(|entry| encrypted(&entry.node, texts)),
        _ => {}
    }
}

/// `name` is that of the value, and where it stands.
fn replace(node: &mut Node, name: (&str, &Position), opened: &Opened, problems: &mut Vec<Problem>) {
    match &mut node.value {
        Value::Text(text) if node.tag == Tag::Vault => {
            node.value = match opened.get(text.as_str()) {
                Some(Ok(text)) => Value::Text(text.clone()),
                Some(Err(refused)) => {
                    let problem = refused.problem(&format!("the value of {}", quote(name.0)));
                    problems.push(problem.of_variable(name.0).at(name.1));
                    Value::Null
                }
                None => Value::Null,
            };
            node.tag = Tag::Secret;
        }
        Value::List(items) => items.iter_mut().for_each(|item| replace(item, name, opened, problems)),
        Value::Map(entries) => {
            entries.iter_mut().for_each(|entry| replace(&mut entry.node, (&entry.key, &entry.key_position), opened, problems));
        }
        _ => {}
    }
}

/// Makes secrets of all values of a file that was encrypted as a whole.
pub(crate) fn mark_leaves(node: &mut Node) {
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(mark_leaves),
        Value::Map(entries) => entries.iter_mut().for_each(|entry| mark_leaves(&mut entry.node)),
        _ => {
            node.tag = match node.tag {
                Tag::None | Tag::Implied => Tag::Sealed,
                Tag::Unsafe => Tag::Secret,
                other => other,
            }
        }
    }
}
