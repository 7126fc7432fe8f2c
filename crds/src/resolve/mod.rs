//! The variables of each host: what counts of all that was written.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::inventory::{Group, Inventory, Variable, Vars};

/// The variables of all hosts of an inventory.
#[derive(Debug, Clone)]
pub struct Resolved(Arc<Data>);

#[derive(Debug, Clone)]
struct Data {
    inventory: Inventory,
    defaults: Vars,
    extra: Vec<Vars>,
}

impl Resolved {
    /// The variables of an inventory together with extra variables, of which later ones count.
    #[must_use]
    pub fn of(inventory: Inventory, extra: Vec<Vars>) -> Self {
        Self(Arc::new(Data { inventory, defaults: Vars::default(), extra }))
    }

    /// The same with values for variables that nobody has set.
    #[must_use]
    pub fn with_defaults(self, defaults: Vars) -> Self {
        Self(Arc::new(Data { defaults, ..Arc::unwrap_or_clone(self.0) }))
    }

    /// The hosts and groups.
    #[must_use]
    pub fn inventory(&self) -> &Inventory {
        &self.0.inventory
    }

    /// What was written for a variable of a host, of all that was written for it the one that counts.
    #[must_use]
    pub fn origin(&self, host: &str, name: &str) -> Option<&Variable> {
        self.0.find(host, name)
    }

    /// The names of all variables of a host.
    #[must_use]
    pub fn names(&self, host: &str) -> BTreeSet<&str> {
        self.0.layers(host).flat_map(Vars::names).collect()
    }
}

impl Data {
    /// All that was written for a host, from what counts most to what counts least.
    ///
    /// The order is Ansible's: extra variables, `host_vars/`, the host in the inventory, `group_vars/` of its groups and of `all`, its groups in
    /// the inventory, `all` in the inventory.
    fn layers<'a>(&'a self, host: &str) -> impl Iterator<Item = &'a Vars> {
        let host = self.inventory.host(host).map(|(_, host)| host);
        let own = host.into_iter().flat_map(|host| [&host.file_vars, &host.vars]);
        // `all` has no parent and so stands first; of the same kind, what is written for it counts least.
        let groups = move || host.into_iter().flat_map(|host| host.groups.iter().rev()).filter_map(|name| self.inventory.group(name));
        let in_files = groups().map(|(_, group): (_, &Group)| &group.file_vars);
        let in_inventory = groups().map(|(_, group)| &group.vars);
        self.extra.iter().rev().chain(own).chain(in_files).chain(in_inventory).chain([&self.defaults])
    }

    fn find(&self, host: &str, name: &str) -> Option<&Variable> {
        self.layers(host).find_map(|vars| vars.get(name))
    }
}
