//! What all hosts have in common of their logins stands once, under `spec.ssh`.

use crate::tree::same;
use crate::tree::{Entry, Node, Value};

/// Fields that `spec.ssh` can have too.
const SHARED: [&str; 5] = ["user", "port", "privateKeyFile", "password", "sudoPassword"];

/// `spec.ssh` and the hosts without what stands there.
pub(super) fn shared_logins(mut hosts: Node) -> (Option<Node>, Node) {
    let position = hosts.position.clone();
    let mut shared = Vec::new();
    if let Value::List(items) = &mut hosts.value
        && items.len() > 1
    {
        for name in SHARED.into_iter().chain(["bastion"]) {
            shared.extend(lift(items, name));
        }
        items.iter_mut().for_each(without_empty_login);
    }
    let ssh = (!shared.is_empty()).then(|| Node::new(Value::Map(shared), position));
    (ssh, hosts)
}

/// A field that all hosts have with the same value, taken from them.
fn lift(items: &mut [Node], name: &str) -> Option<Entry> {
    let first = login(items.first()?)?.iter().find(|entry| entry.key == name)?.clone();
    let has_it = |entry: &Entry| entry.key == name && same(&entry.node, &first.node);
    if !items.iter().all(|item| login(item).is_some_and(|login| login.iter().any(has_it))) {
        return None;
    }
    for entries in items.iter_mut().filter_map(login_mut) {
        entries.retain(|entry| entry.key != name);
    }
    Some(first)
}

fn login(item: &Node) -> Option<&Vec<Entry>> {
    let Value::Map(entries) = &item.value else { return None };
    match &entries.iter().find(|entry| entry.key == "ssh")?.node.value {
        Value::Map(login) => Some(login),
        _ => None,
    }
}

fn login_mut(item: &mut Node) -> Option<&mut Vec<Entry>> {
    let Value::Map(entries) = &mut item.value else { return None };
    match &mut entries.iter_mut().find(|entry| entry.key == "ssh")?.node.value {
        Value::Map(login) => Some(login),
        _ => None,
    }
}

fn without_empty_login(item: &mut Node) {
    if let Value::Map(entries) = &mut item.value {
        entries.retain(|entry| entry.key != "ssh" || !matches!(&entry.node.value, Value::Map(login) if login.is_empty()));
    }
}
