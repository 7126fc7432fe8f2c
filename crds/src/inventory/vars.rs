//! Variables that were written in one place for one host or group.

use std::collections::BTreeMap;

use super::check::check;
use crate::tree::{Dialect, Entry, Node, Value};
use crate::vault::{NoVault, Vault, mark_leaves, unseal_values};
use crate::words::quote;
use crate::{Position, Problem, Source};

/// Variables by name.
#[derive(Debug, Clone, Default)]
pub struct Vars(BTreeMap<String, WrittenVariable>);

/// What was written for a variable.
#[derive(Debug, Clone)]
pub struct WrittenVariable {
    /// Where its name stands.
    pub key_position: Position,
    /// Its value, not rendered.
    pub node: Node,
}

/// Opens every encrypted value. One that stays closed is reported at its name, and counts as having no value from here on.
pub(crate) fn unseal<'v>(all: impl Iterator<Item = &'v mut Vars>, vault: &dyn Vault, problems: &mut Vec<Problem>) {
    let values = all.flat_map(Vars::iter_mut).map(|(name, WrittenVariable { key_position, node })| (name, &*key_position, node));
    unseal_values(values.collect(), vault, problems);
}

impl Vars {
    /// Reads a file of variables: a YAML map, or nothing.
    ///
    /// # Errors
    /// Everything that is wrong with the file.
    pub fn read(source: &Source) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut vars = read_into(source, &mut problems);
        unseal([&mut vars].into_iter(), &NoVault, &mut problems);
        if problems.is_empty() { Ok(vars) } else { Err(problems) }
    }

    /// As [`Self::read`], with what could be read; nothing, if that is none of it. What is encrypted is not opened yet.
    pub(crate) fn read_partly(source: &Source) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let vars = read_into(source, &mut problems);
        (vars, problems)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a variable; a later one of the same name counts.
    pub fn insert(&mut self, name: impl Into<String>, variable: WrittenVariable) -> Option<WrittenVariable> {
        self.0.insert(name.into(), variable)
    }

    /// A variable by its name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&WrittenVariable> {
        self.0.get(name)
    }

    /// All variables with their names, sorted.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &WrittenVariable)> {
        self.0.iter().map(|(name, variable)| (name.as_str(), variable))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut WrittenVariable)> {
        self.0.iter_mut().map(|(name, variable)| (name.as_str(), variable))
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

/// Reads a file of variables as far as it can be read.
pub(super) fn read_into(source: &Source, problems: &mut Vec<Problem>) -> Vars {
    let Some(node) = only_document(source, problems) else { return Vars::default() };
    if let Value::Map(entries) = node.value {
        return from_entries(entries);
    }
    let problem = Problem::new(format!("{} is {}", quote(&source.name), node.value.kind())).at(&node.position);
    problems.push(problem.because("a file of variables is a map of names to values").hint("write each variable as `name: value`"));
    Vars::default()
}

/// The only document of a text, checked; none if the text is empty.
pub(super) fn only_document(source: &Source, problems: &mut Vec<Problem>) -> Option<Node> {
    if let Some(problem) = source.closed() {
        problems.push(problem);
        return None;
    }
    let mut nodes = match source.parse(Dialect::Ansible) {
        Ok(nodes) => nodes.into_iter(),
        Err(problem) => {
            problems.push(problem);
            return None;
        }
    };
    let mut first = nodes.next()?;
    if let Some(second) = nodes.next() {
        let problem = Problem::new(format!("{} holds several documents", quote(&source.name))).at(&second.position);
        problems.push(problem.because("an inventory or a file of variables is one document").hint("remove the line `---` before this one"));
    }
    check(&mut first, problems);
    if source.is_sealed() {
        mark_leaves(&mut first);
    }
    Some(first)
}

/// Variables out of a map; of several of one name, which are reported elsewhere, the last counts.
pub(super) fn from_entries(entries: Vec<Entry>) -> Vars {
    let variable = |entry: Entry| (entry.key, WrittenVariable { key_position: entry.key_position, node: entry.node });
    Vars(entries.into_iter().map(variable).collect())
}

impl IntoIterator for Vars {
    type Item = (String, WrittenVariable);
    type IntoIter = std::collections::btree_map::IntoIter<String, WrittenVariable>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
