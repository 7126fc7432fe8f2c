//! Where each variable is written, and for which hosts each of these places counts.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ptr;

use crate::inventory::{Vars, WrittenVariable};
use crate::resolve::Resolved;
use crate::tree::has_template;
use crate::tree::{Node, Value};
use crate::variables::variable;

/// One place at which a variable is written.
pub(super) struct VariableDefinition<'a> {
    pub(super) variable: &'a WrittenVariable,
    /// Hosts of the cluster for which it counts, in their order; empty if something else counts for all of them.
    pub(super) hosts: Vec<&'a str>,
    /// The host that it was written for, if not for a group or for all.
    pub(super) owner: Option<&'a str>,
}

/// All variables that are written anywhere, by name.
pub(super) struct Definitions<'a> {
    by_name: BTreeMap<&'a str, Vec<VariableDefinition<'a>>>,
    /// Words that occur in templates, by the variable that they stand in.
    words: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// Words of which something is made that counts here.
    counting: BTreeSet<&'a str>,
}

impl<'a> Definitions<'a> {
    /// `hosts` are those of the cluster.
    pub(super) fn from_resolved(resolved: &'a Resolved, hosts: &[&'a str]) -> Self {
        let mut all = Self { by_name: BTreeMap::new(), words: BTreeMap::new(), counting: BTreeSet::new() };
        for (vars, owner) in resolved.written() {
            all.add(vars, owner);
        }
        all.counting = all.counting();
        all.attribute(resolved, hosts);
        all
    }

    /// Names with their places.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'a str, &[VariableDefinition<'a>])> {
        self.by_name.iter().map(|(name, definitions)| (*name, definitions.as_slice()))
    }

    /// The places of one name.
    pub(super) fn get(&self, name: &str) -> &[VariableDefinition<'a>] {
        self.by_name.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether a template uses the name.
    pub(super) fn is_used(&self, name: &str) -> bool {
        self.words.values().any(|words| words.contains(name))
    }

    /// Whether something that counts here is made of the variable, be it through others.
    pub(super) fn counts(&self, name: &str) -> bool {
        self.counting.contains(name)
    }

    fn counting(&self) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        let mut next: Vec<&str> = self.words.keys().copied().filter(|name| variable(name).is_some_and(|row| !row.is_moot())).collect();
        while let Some(name) = next.pop() {
            let words = self.words.get(name).into_iter().flatten().copied();
            next.extend(words.filter(|word| found.insert(*word)));
        }
        found
    }

    fn add(&mut self, vars: &'a Vars, owner: Option<&'a str>) {
        for (name, variable) in vars.iter() {
            if has_template(&variable.node) {
                words(&variable.node, self.words.entry(name).or_default());
            }
            self.by_name.entry(name).or_default().push(VariableDefinition { variable, hosts: Vec::new(), owner });
        }
    }

    /// Hosts of the same groups differ only in what is written for them alone, so that one of them speaks for all.
    fn attribute(&mut self, resolved: &'a Resolved, hosts: &[&'a str]) {
        let mut alike: BTreeMap<Vec<&str>, Vec<&'a str>> = BTreeMap::new();
        for host in hosts {
            alike.entry(resolved.inventory().groups_of(host)).or_default().push(host);
        }
        for (name, definitions) in &mut self.by_name {
            let several = definitions.iter().any(|definition| definition.owner.is_some());
            let places = definitions.iter().enumerate().map(|(index, definition)| (ptr::from_ref(definition.variable), index)).collect();
            let mut credits = Credits { resolved, name, definitions, places };
            for class in alike.values() {
                if several {
                    class.iter().for_each(|host| credits.give(host, &[host]));
                } else if let Some(first) = class.first() {
                    credits.give(first, class);
                }
            }
        }
    }
}

/// The places of one name, found by what stands there: a thousand hosts may each have one.
struct Credits<'a, 'b> {
    resolved: &'a Resolved,
    name: &'b str,
    definitions: &'b mut [VariableDefinition<'a>],
    places: HashMap<*const WrittenVariable, usize>,
}

impl<'a> Credits<'a, '_> {
    /// Adds hosts to the place that counts for one of them.
    fn give(&mut self, host: &str, hosts: &[&'a str]) {
        let origin = self.resolved.origin(host, self.name).map(ptr::from_ref);
        let index = origin.and_then(|origin| self.places.get(&origin));
        if let Some(found) = index.and_then(|index| self.definitions.get_mut(*index)) {
            found.hosts.extend(hosts);
        }
    }
}

/// Collects the words of all templates of a value.
fn words<'a>(node: &'a Node, used: &mut BTreeSet<&'a str>) {
    match &node.value {
        Value::Text(text) if has_template(node) => used.extend(text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')),
        Value::List(items) => items.iter().for_each(|item| words(item, used)),
        Value::Map(entries) => entries.iter().for_each(|entry| words(&entry.node, used)),
        _ => {}
    }
}
