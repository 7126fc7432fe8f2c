//! Values of variables, rendered, brought to the type of their row, and compared over the hosts.

use std::collections::{BTreeMap, VecDeque};

use super::definitions::{Definitions, VariableDefinition};
use super::groups::Groups;
use crate::inventory::WrittenVariable as Written;
use crate::model::Roles;
use crate::resolve::Resolved;
use crate::tree::{self, Node, Value, has_template};
use crate::variables::{Readers, Shape, Variable, flag, plain, same, spelled, variable};
use crate::words::quote;
use crate::{Notice, Position, Problem};

/// The values of all variables for the hosts of a cluster.
pub(super) struct HostValues<'a> {
    pub(super) resolved: &'a Resolved,
    pub(super) hosts: &'a [&'a str],
    roles: BTreeMap<&'a str, Roles>,
    /// The host that leads to the others.
    pub(super) bastion: Option<&'a str>,
    /// Where the inventory begins.
    pub(super) start: Position,
    pub(super) definitions: Definitions<'a>,
    pub(super) problems: Vec<Problem>,
    pub(super) notices: Vec<Notice>,
}

/// A value that all hosts share, and where its name stands.
pub(super) struct Shared {
    pub(super) node: Node,
    pub(super) key_position: Position,
}

impl<'a> HostValues<'a> {
    pub(super) fn new(resolved: &'a Resolved, hosts: &'a [&'a str], groups: &Groups<'a>) -> Self {
        let (start, bastion) = (groups.position.clone(), groups.bastion);
        let roles = hosts.iter().map(|host| (*host, groups.roles(host))).collect();
        Self {
            resolved,
            hosts,
            roles,
            bastion,
            start,
            definitions: Definitions::from_resolved(resolved, hosts),
            problems: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// Whether variables may be missing only because they could not be read.
    pub(super) fn is_incomplete(&self) -> bool {
        self.resolved.inventory().unread.vars
    }

    /// The value of one host. A value that can't be rendered is a problem; one without a value counts as absent.
    pub(super) fn of_host(&mut self, host: &str, name: &str) -> Option<Node> {
        // Nothing to render, and most hosts have none of most variables.
        self.resolved.origin(host, name)?;
        match self.resolved.get(host, name) {
            Ok(node) => node.filter(|node| !matches!(node.value, Value::Null)).map(|node| {
                let row = variable(name);
                // A row of many names has none of the user's.
                typed(row, node).called(row.filter(|row| row.name == name).map(|row| row.name))
            }),
            Err(problem) => {
                self.problems.push(problem);
                None
            }
        }
    }

    /// The value of one host, if it can be worked out: of what counts for nothing, it need not be.
    pub(super) fn known_of_host(&self, host: &str, name: &str) -> Option<Node> {
        if self.definitions.get(name).is_empty() {
            return None;
        }
        let node = self.resolved.get(host, name).ok().flatten()?;
        (!matches!(node.value, Value::Null)).then(|| typed(variable(name), node))
    }

    /// The values that can be worked out of what counts for nothing, one for each place at which it is written.
    pub(super) fn known(&self, name: &str) -> Vec<Node> {
        let first = |place: &VariableDefinition<'a>| self.known_of_host(place.hosts.first()?, name);
        self.definitions.get(name).iter().filter_map(first).collect()
    }

    /// The first of several names that a host has a value for.
    pub(super) fn first_of_host(&mut self, host: &str, names: &[&str]) -> Option<Node> {
        names.iter().find_map(|name| self.of_host(host, name))
    }

    /// The value of a variable that has to be the same on all hosts.
    pub(super) fn shared(&mut self, name: &str) -> Option<Shared> {
        let values = self.distinct(name);
        let difference = self.difference(name, &values, self.hosts);
        let is_same = difference.is_none();
        self.problems.extend(difference);
        values.into_iter().next().filter(|_| is_same).map(|only| Shared { node: only.node, key_position: only.key_position })
    }

    /// The hosts that read a setting.
    pub(super) fn that_read(&self, readers: Readers) -> Vec<&'a str> {
        let is_one = |host: &&&str| self.roles.get(*host).is_none_or(|roles| readers.have(*roles));
        self.hosts.iter().filter(is_one).copied().collect()
    }

    /// What is wrong with a variable that has these values, where all of these hosts should have one.
    pub(super) fn difference(&self, name: &str, values: &[Distinct<'_>], hosts: &[&str]) -> Option<Problem> {
        let is_default = |value: &Distinct<'_>| variable(name).is_some_and(|row| same(row, &value.node, row.default));
        match values {
            [] => None,
            [only] if only.hosts.len() == hosts.len() || is_default(only) || self.is_incomplete() => None,
            [only] => {
                let unset = hosts.iter().find(|host| !only.hosts.contains(host)).copied().unwrap_or_default();
                Some(differs(name, only, &format!("{} does not have it", quote(unset))))
            }
            [first, second, ..] => {
                let host = second.hosts.first().copied().unwrap_or_default();
                let other = format!("{} has another at {}", quote(host), second.node.position);
                Some(differs(name, first, &other))
            }
        }
    }

    /// The different values of a variable, each with its hosts.
    pub(super) fn distinct(&mut self, name: &str) -> Vec<Distinct<'a>> {
        let places: Vec<(Vec<&'a str>, &'a Written)> =
            self.definitions.get(name).iter().map(|place| (place.hosts.clone(), place.variable)).collect();
        // Texts find what is alike fast; a list and a text that is written as one have the same.
        let mut found: BTreeMap<String, Vec<Distinct<'a>>> = BTreeMap::new();
        for (hosts, written) in places {
            for (node, group) in self.parts(name, written, hosts) {
                let alike = found.entry(plain(&node)).or_default();
                match alike.iter_mut().find(|distinct| tree::same(&distinct.node, &node)) {
                    Some(distinct) => distinct.hosts.extend(group),
                    None => alike.push(Distinct { node, key_position: written.key_position.clone(), hosts: group }),
                }
            }
        }
        self.problems.dedup();
        let mut values: Vec<_> = found.into_values().flatten().collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.hosts.len()));
        values
    }

    /// The values that one place gives hosts. It is worked out once for all for which it is made of the same.
    fn parts(&mut self, name: &str, written: &'a Written, hosts: Vec<&'a str>) -> Vec<(Node, Vec<&'a str>)> {
        if !has_template(&written.node) {
            let node = hosts.first().and_then(|first| self.of_host(first, name));
            return node.map(|node| (node, hosts)).into_iter().collect();
        }
        let (mut parts, mut left) = (Vec::new(), VecDeque::from(hosts));
        while let Some(first) = left.pop_front() {
            let (node, mut group) = (self.of_host(first, name), vec![first]);
            if let Some((alike, rest)) = self.resolved.alike(first, written, left.make_contiguous()) {
                group.extend(alike);
                left = rest.into();
            }
            parts.extend(node.map(|node| (node, group)));
        }
        parts
    }
}

/// One of the values of a variable.
pub(super) struct Distinct<'a> {
    pub(super) node: Node,
    pub(super) key_position: Position,
    pub(super) hosts: Vec<&'a str>,
}

fn differs(name: &str, first: &Distinct<'_>, other: &str) -> Problem {
    let host = first.hosts.first().copied().unwrap_or_default();
    Problem::new(format!("`{name}` is not the same on all hosts"))
        .at(&first.node.position)
        .because(format!("{} has this value, {other}; this version has one for the whole cluster", quote(host)))
        .hint("write one value for all hosts, for example in group_vars/all.yml")
}

/// The value as the row of its variable wants it. Ansible hands on what YAML and `-e` made of it, and its templates convert as they need.
fn typed(row: Option<&Variable>, node: Node) -> Node {
    let Some(row) = row else { return node };
    let value = match (row.shape, &node.value) {
        (Shape::Flag, _) => flag(&node).map(Value::Bool),
        (Shape::Number, Value::Text(text)) => text.trim().parse().ok().map(Value::Integer),
        (Shape::Text, Value::Integer(_) | Value::Float | Value::Bool(_)) => Some(Value::Text(spelled(&node))),
        _ => None,
    };
    match value {
        Some(value) => Node { spelling: spelled(&node), value, ..node },
        None => node,
    }
}
