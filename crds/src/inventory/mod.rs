//! Inventories as Ansible has them: hosts, groups, and the variables of both.
//!
//! The text is YAML or INI, whatever its name says. Folders `group_vars/` and `host_vars/` beside it come in as texts too: nothing here
//! reads files.

mod beside;
mod build;
mod check;
mod dynamic;
mod graph;
mod ini;
mod legacy;
mod literal;
mod names;
mod range;
mod select;
mod split;
mod vars;
mod yaml;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::tree::Node;
use crate::vault::NoVault;
use crate::{Notice, Position, Problem, Source};
use build::Builder;
use names::Names;

pub(crate) use check::check_named;
pub(crate) use select::{is_glob, matches};
pub(crate) use split::{Comments, split};
pub(crate) use vars::unseal;
pub use vars::{Vars, WrittenVariable};

/// The group that every host is in.
pub(crate) const ALL: &str = "all";
/// The group of the hosts that are in no other.
pub(crate) const UNGROUPED: &str = "ungrouped";

/// Who is in which group, and what was written for whom.
#[derive(Debug, Clone)]
pub struct Inventory {
    hosts: BTreeMap<Arc<str>, InventoryHost>,
    groups: BTreeMap<Arc<str>, InventoryGroup>,
    notices: Vec<Notice>,
    /// What could not be read of it, so that what is missing may stand there.
    pub(crate) unread: Unread,
}

/// What was lost because it could not be read; there are problems about it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Unread {
    /// Hosts or groups, perhaps.
    pub(crate) hosts: bool,
    /// Variables, perhaps.
    pub(crate) vars: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct InventoryHost {
    pub(crate) position: Position,
    /// What the inventory says of it.
    pub(crate) vars: Vars,
    /// What `host_vars/` says of it.
    pub(crate) file_vars: Vars,
    /// All groups that it is in, also by other groups, from the one that counts least to the one that counts most; `all` is the first.
    pub(crate) groups: Vec<Arc<str>>,
}

#[derive(Debug, Clone)]
pub(crate) struct InventoryGroup {
    pub(crate) position: Position,
    /// Old names under which the user may know it.
    pub(crate) aliases: Names,
    pub(crate) hosts: Names,
    pub(crate) children: Names,
    /// What the inventory says of its hosts.
    pub(crate) vars: Vars,
    /// What `group_vars/` says of its hosts.
    pub(crate) file_vars: Vars,
    /// Most steps from `all`.
    pub(crate) depth: usize,
    pub(crate) priority: i64,
}

/// A host that somebody lists who has no file of it.
pub(crate) struct ListedHost<'a> {
    pub(crate) name: &'a str,
    pub(crate) position: &'a Position,
    pub(crate) groups: Vec<&'static str>,
    pub(crate) vars: Vec<(&'static str, Node)>,
}

impl Inventory {
    /// Reads an inventory and the files of the folders `group_vars/` and `host_vars/` beside it, which are known by their names.
    ///
    /// # Errors
    /// Everything that is wrong with them, in the order of the files.
    pub fn read(inventory: &Source, beside: &[Source]) -> Result<Self, Vec<Problem>> {
        let (mut inventory, mut problems) = Self::read_partly(inventory, beside);
        unseal(inventory.iter_mut().flat_map(Self::vars_mut), &NoVault, &mut problems);
        match inventory {
            Some(inventory) if problems.is_empty() => Ok(inventory),
            _ => Err(problems),
        }
    }

    /// As [`Self::read`], with what could be read of an inventory in which something is wrong; `None` if that is no use. What is encrypted is not
    /// opened yet.
    pub(crate) fn read_partly(inventory: &Source, beside: &[Source]) -> (Option<Self>, Vec<Problem>) {
        if let Some(problem) = inventory.closed().or_else(|| dynamic::dynamic(inventory)) {
            return (None, vec![problem]);
        }
        let mut builder = Builder::new(inventory.position(1, 1));
        if is_yaml(&inventory.text) {
            yaml::read(&mut builder, inventory);
        } else {
            ini::read(&mut builder, inventory);
        }
        legacy::derive(&mut builder);
        beside::read(&mut builder, beside);
        builder.check_names();
        builder.finish()
    }

    /// An inventory of groups with their hosts, whose names may be those of groups: what is written as a Cluster has no groups to confuse
    /// them with.
    pub(crate) fn of_groups(start: &Position, groups: &[(&str, Vec<&str>)]) -> Result<Self, Vec<Problem>> {
        let mut builder = Builder::new(start.clone());
        for (group, hosts) in groups {
            let group = builder.group(group, start);
            for host in hosts {
                let host = builder.host(host, start);
                builder.join(&group, &host);
            }
        }
        legacy::derive(&mut builder);
        match builder.finish() {
            (Some(inventory), problems) if problems.is_empty() => Ok(inventory),
            (_, problems) => Err(problems),
        }
    }

    /// An inventory of hosts that are listed elsewhere, with the files of variables beside it, as of [`Self::read_partly`].
    pub(crate) fn of_list<'a>(
        start: &Position,
        hosts: impl Iterator<Item = ListedHost<'a>>,
        beside: &[Source],
    ) -> (Option<Self>, Vec<Problem>) {
        let mut builder = Builder::new(start.clone());
        for listed in hosts {
            let host = builder.host(listed.name, listed.position);
            for name in listed.groups {
                let group = builder.group(name, listed.position);
                builder.join(&group, &host);
            }
            for (name, node) in listed.vars {
                builder.host_var(&host, name, WrittenVariable { key_position: node.position.clone(), node });
            }
        }
        legacy::derive(&mut builder);
        beside::read(&mut builder, beside);
        builder.check_names();
        builder.finish()
    }

    /// What the user should know of the inventory, besides what is wrong.
    #[must_use]
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// All hosts, in the order of Ansible.
    #[must_use]
    pub fn hosts(&self) -> Vec<&str> {
        self.members(ALL).unwrap_or_default()
    }

    /// All groups by name, with `all` and `ungrouped`.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        self.groups.keys().map(AsRef::as_ref)
    }

    /// The hosts of a group: its own first, then those of its children, each once. `None` if there is no such group.
    #[must_use]
    pub fn members(&self, group: &str) -> Option<Vec<&str>> {
        let (name, _) = self.group(group)?;
        Some(graph::members(&self.groups, name).into_iter().map(AsRef::as_ref).collect())
    }

    /// The groups that a host is in, also by other groups, without `all`, sorted by name. Empty if there is no such host.
    #[must_use]
    pub fn groups_of(&self, host: &str) -> Vec<&str> {
        let groups = self.hosts.get(host).map(|host| host.groups.as_slice()).unwrap_or_default();
        let mut names: Vec<&str> = groups.iter().map(AsRef::as_ref).filter(|name| *name != ALL).collect();
        names.sort_unstable();
        names
    }

    /// Where a host is named first.
    #[must_use]
    pub fn position_of(&self, host: &str) -> Option<&Position> {
        self.hosts.get(host).map(|host| &host.position)
    }

    /// The hosts that a pattern names, as `--limit` takes it; `at` is where the pattern stands.
    ///
    /// # Errors
    /// Everything that is wrong with the pattern. A pattern that matches no host is wrong, unlike in Ansible: an operation on no host would
    /// count as a success.
    pub fn select(&self, pattern: &str, at: &Position) -> Result<Vec<&str>, Vec<Problem>> {
        select::select(self, pattern, at)
    }

    pub(crate) fn all_groups(&self) -> impl Iterator<Item = &InventoryGroup> {
        self.groups.values()
    }

    pub(crate) fn all_hosts(&self) -> impl Iterator<Item = (&str, &InventoryHost)> {
        self.hosts.iter().map(|(name, host)| (name.as_ref(), host))
    }

    /// Everything that is written for somebody.
    pub(crate) fn vars_mut(&mut self) -> impl Iterator<Item = &mut Vars> {
        let groups = self.groups.values_mut().flat_map(|group| [&mut group.vars, &mut group.file_vars]);
        groups.chain(self.hosts.values_mut().flat_map(|host| [&mut host.vars, &mut host.file_vars]))
    }

    /// A group by its name or an old name of it, with its own name.
    pub(crate) fn group(&self, name: &str) -> Option<(&Arc<str>, &InventoryGroup)> {
        self.groups.get_key_value(legacy::current(name))
    }

    pub(crate) fn host(&self, name: &str) -> Option<(&Arc<str>, &InventoryHost)> {
        self.hosts.get_key_value(name)
    }
}

/// Whether a text is YAML, by its first line that says something: a key with a colon, the begin of a document or of a map.
///
/// Ansible tries one after the other. Then a slip in YAML shows as a dozen errors of INI, so the text is asked first what it wants to be.
fn is_yaml(text: &str) -> bool {
    let lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines().map(str::trim);
    let Some(line) = lines.into_iter().find(|line| !line.is_empty() && !line.starts_with(['#', ';'])) else {
        return true;
    };
    if line.starts_with(['{', '%', '"', '\'', '?', '&', '!']) || line == "---" || line.starts_with("--- ") || line.starts_with("- ") {
        return true;
    }
    let (key, rest) = line.split_once(": ").or_else(|| line.strip_suffix(':').map(|key| (key, ""))).unwrap_or_default();
    let is_section = line.starts_with('[');
    !key.is_empty() && !is_section && !key.contains(['=', ' ', '\t', '#']) && !rest.starts_with('=')
}

#[cfg(test)]
mod tests {
    use super::is_yaml;

    #[test]
    fn the_text_says_what_it_is() {
        for yaml in [
            "all:\n",
            "# c\n\nall: {hosts: {a: }}",
            "---\nall:",
            "{\"all\": {}}",
            "\u{feff}all:\r\n",
            "",
            "\"all\":",
            "all: # c",
            "--- # c",
            "- hosts: all",
        ] {
            assert!(is_yaml(yaml), "{yaml}");
        }
        for ini in
            ["[all]\na", "node1 x=1", "node1", "; c\n[all]", "node1:22 x=\"a: b\"", "node1 x='a:'", "[all:vars]", "node[1:3]", "a=b: c"]
        {
            assert!(!is_yaml(ini), "{ini}");
        }
    }
}
