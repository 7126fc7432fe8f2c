//! The variables of each host: what counts of all that was written.

mod address;
pub(crate) mod aliases;
mod chain;
mod classes;
mod connection;
mod context;
mod convert;
mod feeding;
mod filters;
mod known;
mod maps;
mod names;
mod output;
mod render;
mod ssh_meaning;
mod ssh_options;
mod taint;
mod template;
mod version;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use crate::inventory::{Inventory, InventoryGroup, Vars, WrittenVariable};
use crate::tree::Node;
use crate::{Position, Problem};
use classes::Classes;
pub use connection::{Connection, Jump};
use feeding::Feeding;
use known::TemplateAnswers;
use render::Session;
pub(crate) use ssh_options::field as field_of_ssh_options;
pub(crate) use taint::Tainted;
use taint::Taints;

/// The variables of all hosts of an inventory.
#[derive(Debug, Clone)]
pub struct Resolved(Arc<Data>);

#[derive(Debug, Clone)]
struct Data {
    inventory: Inventory,
    defaults: Vars,
    extra: Vec<Vars>,
    /// Shared by all who ask: what is known to be secret stays so.
    taints: Arc<Taints>,
    /// Found when it is asked for the first time.
    feeding: OnceLock<Feeding>,
    /// Shared by all who ask: what holds for many hosts is worked out once.
    known: TemplateAnswers,
    /// Found when it is asked for the first time.
    classes: OnceLock<Classes>,
}

impl Resolved {
    /// The variables of an inventory together with extra variables, of which later ones count.
    #[must_use]
    pub fn new(inventory: Inventory, extra: Vec<Vars>) -> Self {
        let (defaults, taints) = (Vars::default(), Arc::default());
        let (feeding, known, classes) = (OnceLock::new(), TemplateAnswers::default(), OnceLock::new());
        Self(Arc::new(Data { inventory, defaults, extra, taints, feeding, known, classes }))
    }

    /// The same with values for variables that nobody has set.
    #[must_use]
    pub fn with_defaults(self, defaults: Vars) -> Self {
        Self(Arc::new(Data { defaults, known: TemplateAnswers::default(), ..Arc::unwrap_or_clone(self.0) }))
    }

    /// How often a template asked for a variable so far: what the questions cost, whatever the machine.
    #[must_use]
    pub fn lookups(&self) -> usize {
        self.0.known.lookups()
    }

    /// Expressions that need secrets, of those that were worked out so far, by their places.
    pub(crate) fn tainted(&self) -> BTreeMap<Position, Tainted> {
        self.0.taints.all()
    }

    /// Whether a secret is made of the variable, whatever its own name says.
    pub(crate) fn feeds_a_secret(&self, name: &str) -> bool {
        self.0.feeding().hides(name)
    }

    /// Everything that is written, with the host that it is for.
    pub(crate) fn written(&self) -> impl Iterator<Item = (&Vars, Option<&str>)> {
        self.0.written()
    }

    /// The hosts and groups.
    #[must_use]
    pub fn inventory(&self) -> &Inventory {
        &self.0.inventory
    }

    /// What was written for a variable of a host, of all that was written for it the one that counts.
    #[must_use]
    pub fn origin(&self, host: &str, name: &str) -> Option<&WrittenVariable> {
        self.0.find(host, name)
    }

    /// The value of a variable of a host, with all that is to be worked out in it; its place is that of what was written.
    ///
    /// # Errors
    /// The expression that cannot be worked out, and why.
    pub fn get(&self, host: &str, name: &str) -> Result<Option<Node>, Problem> {
        match self.0.inventory.host(host) {
            Some((host, _)) => Session::new(&self.0).node(host, name),
            None => Ok(None),
        }
    }

    /// Of some hosts, in their order, those for which a variable of another host is known to have the same value, as it is made of the
    /// same; and the rest. `None` if that is known of no other host.
    pub(crate) fn alike<'h>(&self, host: &str, variable: &WrittenVariable, others: &[&'h str]) -> Option<(Vec<&'h str>, Vec<&'h str>)> {
        self.0.known.alike(&self.0, host, variable, others)
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
        let in_files = groups().map(|(_, group): (_, &InventoryGroup)| &group.file_vars);
        let in_inventory = groups().map(|(_, group)| &group.vars);
        self.extra.iter().rev().chain(own).chain(in_files).chain(in_inventory).chain([&self.defaults])
    }

    fn written(&self) -> impl Iterator<Item = (&Vars, Option<&str>)> {
        let groups = self.inventory.all_groups().flat_map(|group| [(&group.vars, None), (&group.file_vars, None)]);
        let hosts = self.inventory.all_hosts().flat_map(|(name, host)| [(&host.vars, Some(name)), (&host.file_vars, Some(name))]);
        self.extra.iter().map(|vars| (vars, None)).chain(groups).chain(hosts)
    }

    /// What secrets are made of.
    fn feeding(&self) -> &Feeding {
        self.feeding.get_or_init(|| Feeding::from_variables(self.written().map(|(vars, _)| vars)))
    }

    fn classes(&self) -> &Classes {
        self.classes.get_or_init(|| Classes::from_inventory(&self.inventory))
    }

    fn find(&self, host: &str, name: &str) -> Option<&WrittenVariable> {
        self.layers(host).find_map(|vars| vars.get(name))
    }
}
