//! Inventories in YAML.

use std::sync::Arc;

use super::Unread;
use super::build::Builder;
use super::vars::{from_entries, only_document};
use crate::decode::is_for_anchors;
use crate::tree::{Entry, Node, Tag, Value};
use crate::words::{quote, with_nearest};
use crate::{Notice, Position, Problem, Source};

const FIELDS: [&str; 3] = ["hosts", "children", "vars"];

/// Reads a YAML inventory into the builder.
pub(super) fn read(builder: &mut Builder, source: &Source) {
    let Some(root) = only_document(source, &mut builder.problems) else { return };
    // What stands twice or is encrypted hides nothing else.
    let harmless = builder.problems.len();
    let Value::Map(groups) = root.value else {
        let problem = Problem::new(format!("the inventory is {}", root.value.kind())).at(&root.position);
        let problem = problem.because("an inventory in YAML is a map of groups");
        builder.problems.push(problem.hint("write the hosts as a map under `all:` and `hosts:`"));
        return;
    };
    for entry in groups {
        if FIELDS.contains(&entry.key.as_str()) {
            let problem = Problem::new(format!("{} stands outside of a group", quote(&entry.key))).at(&entry.key_position);
            let problem = problem.because("the first level of an inventory are groups");
            builder.problems.push(problem.hint("write it under `all:`, and move what it holds to the right"));
        } else if holds_anchors(&entry) {
            builder.notices.push(no_group(&entry));
        } else {
            read_group(builder, entry);
        }
    }
    let is_wrong = builder.problems.len() > harmless;
    builder.unread = Unread { hosts: is_wrong, vars: is_wrong };
}

/// Whether what stands beside the groups is only there for the anchors in it, by its name and by having nothing of a group.
fn holds_anchors(entry: &Entry) -> bool {
    let is_field = |entry: &Entry| FIELDS.contains(&entry.key.as_str());
    let has_fields = matches!(&entry.node.value, Value::Map(fields) if fields.iter().any(is_field));
    is_for_anchors(&entry.key) && !has_fields
}

fn no_group(entry: &Entry) -> Notice {
    let notice = Notice::new(format!("{} is no group", quote(&entry.key))).at(&entry.key_position);
    notice.because("it has neither hosts nor children nor vars, so that only what names its anchors takes something of it")
}

fn read_group(builder: &mut Builder, entry: Entry) -> Arc<str> {
    let group = builder.group(&entry.key, &entry.key_position);
    let fields = match entry.node.value {
        Value::Map(fields) => fields,
        Value::Null => return group,
        other => {
            let problem = Problem::new(format!("the group {} cannot be {}", quote(&entry.key), other.kind())).at(&entry.node.position);
            builder.problems.push(
                problem
                    .because("a group is a map with the fields hosts, children and vars, or empty")
                    .hint("write `hosts:` below the group, and the names of its hosts below that"),
            );
            return group;
        }
    };
    for field in fields {
        match field.key.as_str() {
            "hosts" => read_hosts(builder, &group, field.node),
            "children" => read_children(builder, &group, field.node),
            "vars" => read_vars(builder, &group, field.node),
            _ => builder.problems.push(unknown(&field, &group)),
        }
    }
    group
}

fn unknown(field: &Entry, group: &str) -> Problem {
    let problem = Problem::new(format!("unknown field {} in the group {}", quote(&field.key), quote(group)))
        .at(&field.key_position)
        .because("a group has the fields hosts, children and vars");
    let problem = with_nearest(problem, &field.key, &FIELDS, "move it below one of these");
    match (&problem.hint, &field.node.value) {
        (Some(_), _) => problem,
        (None, Value::Map(_) | Value::Null) => problem.hint("write a host under `hosts:` and a group under `children:`"),
        (None, _) => {
            problem.hint("write a variable under `vars:`; what is there only for its anchor, in a key whose name begins with `x-`")
        }
    }
}

/// The entries of `hosts` or `children`; a single name may stand there as text.
fn entries(builder: &mut Builder, node: Node, what: &str) -> Vec<Entry> {
    match node.value {
        Value::Map(entries) => entries,
        Value::Null => Vec::new(),
        Value::Text(_) if node.tag == Tag::Vault => {
            let problem = Problem::new(format!("`{what}` cannot be encrypted by itself")).at(&node.position);
            let problem = problem.because("ansible-vault encrypts values of variables, and files as a whole");
            builder.problems.push(problem.hint("encrypt the file: `ansible-vault encrypt FILE`"));
            Vec::new()
        }
        Value::Text(name) => {
            let nothing = Node::new(Value::Null, node.position.clone());
            vec![Entry { key: name, key_position: node.position, node: nothing }]
        }
        other => {
            let problem = Problem::new(format!("`{what}` cannot be {}", other.kind())).at(&node.position);
            let problem = problem.because("it is a map of names, each with what belongs to it or with nothing behind the colon");
            builder.problems.push(match other {
                Value::List(_) => problem.hint("write `name:` instead of `- name`"),
                _ => problem.hint("write each name as `name:` in a line of its own, further to the right"),
            });
            Vec::new()
        }
    }
}

fn read_hosts(builder: &mut Builder, group: &Arc<str>, node: Node) {
    for entry in entries(builder, node, "hosts") {
        if FIELDS.contains(&entry.key.as_str()) {
            builder.problems.push(misplaced(&entry.key, &entry.key_position));
            continue;
        }
        let vars = match entry.node.value {
            Value::Map(vars) => vars,
            Value::Null => Vec::new(),
            other => {
                let problem = Problem::new(format!("the host {} cannot be {}", quote(&entry.key), other.kind())).at(&entry.node.position);
                builder.problems.push(
                    problem
                        .because("a host is a map of its variables, or empty")
                        .hint("write `NAME:` with nothing behind it, or its variables below it"),
                );
                Vec::new()
            }
        };
        let hosts = builder.add_hosts(group, &entry.key, &entry.key_position);
        for (name, variable) in from_entries(vars) {
            for host in &hosts {
                builder.host_var(host, &name, variable.clone());
            }
        }
    }
}

fn misplaced(name: &str, position: &Position) -> Problem {
    Problem::new(format!("{} stands where a host is expected", quote(name)))
        .at(position)
        .because("what stands under `hosts` are names of hosts")
        .hint("it belongs to the group: indent it as much as `hosts`")
}

fn read_children(builder: &mut Builder, group: &Arc<str>, node: Node) {
    for entry in entries(builder, node, "children") {
        if FIELDS.contains(&entry.key.as_str()) {
            let problem = misplaced(&entry.key, &entry.key_position);
            builder.problems.push(
                Problem { message: format!("{} stands where a group is expected", quote(&entry.key)), ..problem }
                    .because("what stands under `children` are names of groups")
                    .hint("it belongs to the group: indent it as much as `children`"),
            );
            continue;
        }
        let child = read_group(builder, entry);
        builder.add_child(group, &child);
    }
}

fn read_vars(builder: &mut Builder, group: &str, node: Node) {
    match node.value {
        Value::Map(vars) => {
            for (name, variable) in from_entries(vars) {
                builder.group_var(group, &name, variable);
            }
        }
        Value::Null => {}
        other => {
            let problem = Problem::new(format!("`vars` cannot be {}", other.kind())).at(&node.position);
            builder.problems.push(
                problem
                    .because("it is a map of names of variables to values")
                    .hint("write each variable as `name: value` in a line of its own, without `- `"),
            );
        }
    }
}
