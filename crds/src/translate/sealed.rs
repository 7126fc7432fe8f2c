//! Encrypted values that count for nothing: Ansible decrypts what is asked for only, and so need nobody here.

use std::collections::BTreeSet;

use super::definitions::VariableDefinition;
use super::values::HostValues;
use crate::Position;
use crate::tree::{Node, Tag, Value};
use crate::variables::variable;

/// The places of their names.
pub(super) fn without_effect(values: &HostValues<'_>) -> BTreeSet<Position> {
    let (mut places, mut counting) = (BTreeSet::new(), BTreeSet::new());
    for (name, definitions) in values.definitions.iter() {
        for definition in definitions {
            let places = if counts(values, name, definition) { &mut counting } else { &mut places };
            names(&definition.variable.node, &definition.variable.key_position, places);
        }
    }
    // Hosts of a range have one place: it counts if it does for any of them.
    places.difference(&counting).cloned().collect()
}

/// Whether what is written in one place counts: for a host of the cluster or for the one that leads there, and for something that is read.
fn counts(values: &HostValues<'_>, name: &str, definition: &VariableDefinition<'_>) -> bool {
    // The bastion is no host of the cluster, so that what its groups say of a login has no hosts.
    let may_be_of_bastion = definition.owner == values.bastion || (definition.owner.is_none() && name.starts_with("ansible_"));
    let is_of_somebody = !definition.hosts.is_empty() || (values.bastion.is_some() && may_be_of_bastion);
    let is_read = variable(name).is_some_and(|row| !row.is_moot()) || values.definitions.is_used(name);
    is_of_somebody && is_read
}

/// The names of encrypted values in a value, whose own name stands at `at`.
fn names(node: &Node, at: &Position, places: &mut BTreeSet<Position>) {
    match &node.value {
        Value::Null if node.tag == Tag::Secret => _ = places.insert(at.clone()),
        Value::List(items) => items.iter().for_each(|item| names(item, at, places)),
        Value::Map(entries) => entries.iter().for_each(|entry| names(&entry.node, &entry.key_position, places)),
        _ => {}
    }
}
