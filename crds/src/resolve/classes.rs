//! Hosts for which the same counts, but for what is written for one of them alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::inventory::{Inventory, Vars};

/// Hosts by the groups that they are in.
#[derive(Debug, Clone, Default)]
pub(super) struct Classes {
    of_hosts: HashMap<String, usize>,
    /// Variables that are written for single hosts.
    own: BTreeSet<String>,
}

impl Classes {
    pub(super) fn from_inventory(inventory: &Inventory) -> Self {
        let mut classes = Self::default();
        let mut by_groups = BTreeMap::new();
        for (name, host) in inventory.all_hosts() {
            let next = by_groups.len();
            let class = *by_groups.entry(host.groups.as_slice()).or_insert(next);
            classes.of_hosts.insert(name.to_owned(), class);
            let own = [&host.vars, &host.file_vars].into_iter().flat_map(Vars::names);
            for name in own {
                if !classes.own.contains(name) {
                    classes.own.insert(name.to_owned());
                }
            }
        }
        classes
    }

    /// The class of a host, which says what counts for it of variables that no host has for itself.
    pub(super) fn of_host(&self, host: &str) -> Option<usize> {
        self.of_hosts.get(host).copied()
    }

    /// Whether a host may have the variable for itself.
    pub(super) fn is_own(&self, name: &str) -> bool {
        self.own.contains(name)
    }
}
