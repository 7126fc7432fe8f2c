//! What counts where neither an inventory nor its variables say otherwise.

use super::extra;
use crate::inventory::{Inventory, Vars};
use crate::objects::SshKey;
use crate::operation::Operation;
use crate::resolve::Resolved;
use crate::translate::defaults;
use crate::variables::Given;

/// What counts where nobody says otherwise.
#[derive(Default, Clone, Copy)]
pub(super) struct Defaults<'a> {
    pub(super) key: Option<&'a SshKey>,
    pub(super) operation: Option<&'a Operation>,
}

impl Defaults<'_> {
    /// Adds what the operation says to the variables of an inventory.
    pub(super) fn resolve(self, inventory: Inventory, mut extra: Vec<Vars>) -> (Resolved, Vec<Given>) {
        let mut least = defaults();
        let given = self.operation.map(|operation| extra::login(operation, self.key.is_some(), &mut least)).unwrap_or_default();
        let resolved = Resolved::new(inventory, extra.clone());
        let is_set = |name: &str| resolved.inventory().hosts().iter().any(|host| resolved.origin(host, name).is_some());
        let implied = self.operation.into_iter().flat_map(extra::implied).filter(|(name, _)| !is_set(name));
        let mut vars = Vars::default();
        implied.for_each(|(name, variable)| _ = vars.insert(name, variable));
        if vars.names().next().is_none() {
            return (resolved.with_defaults(least), given);
        }
        extra.insert(0, vars);
        (Resolved::new(resolved.inventory().clone(), extra).with_defaults(least), given)
    }
}
