//! The words of the file that a user wrote, for what a tree calls otherwise.

use super::Decoder;

/// Whose words a user knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Wording {
    /// Those of a Cluster in the inline form.
    #[default]
    Cluster,
    /// Those of an inventory: variables and groups.
    Inventory,
}

/// The variable that is written for the field at a path, for example `spec.network.podCIDR`, if it is one.
pub(crate) type VariableOf = fn(&str) -> Option<&'static str>;

impl Decoder {
    /// For a tree that was an inventory, whose words are to be said.
    pub(crate) fn of_inventory(variable_of: VariableOf) -> Self {
        Self { wording: Wording::Inventory, variable_of: Some(variable_of), ..Self::default() }
    }

    /// The words of the user's file.
    pub(crate) fn wording(&self) -> Wording {
        self.wording
    }

    /// The variable that is written for the field at a path, if it is one.
    pub(super) fn variable_of(&self, path: &str) -> Option<&'static str> {
        self.variable_of.and_then(|variable_of| variable_of(path))
    }

    /// A field that nobody wrote.
    pub(super) fn missing(&self, path: &str) -> String {
        let field = || format!("the field `{}`", path.rsplit('.').next().unwrap_or_default());
        self.variable_of(path).map_or_else(field, |name| format!("the variable `{name}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::Decoder;

    #[test]
    fn a_field_is_called_as_its_file_calls_it() {
        let inventory = Decoder::of_inventory(|path| (path == "spec.kubernetesVersion").then_some("kube_version"));
        let cluster = Decoder::default();
        assert_eq!(inventory.missing("spec.kubernetesVersion"), "the variable `kube_version`");
        assert_eq!(cluster.missing("spec.kubernetesVersion"), "the field `kubernetesVersion`");
    }
}
