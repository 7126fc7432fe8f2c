//! The words of the file that a user wrote, for what a tree calls otherwise.

use crate::variables::variables;

/// Whose words a user knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Wording {
    /// Those of a Cluster in the inline form.
    #[default]
    Cluster,
    /// Those of an inventory: variables and groups.
    Inventory,
}

impl Wording {
    /// What is written for the field at a path, for example `spec.network.podCIDR`.
    pub(crate) fn of(self, path: &str) -> &str {
        match self {
            Self::Cluster => path,
            Self::Inventory => variable_of(path).unwrap_or(path),
        }
    }

    /// The variable that is written for the field at a path, if it is one.
    pub(super) fn variable(self, path: &str) -> Option<&'static str> {
        if self == Self::Inventory { variable_of(path) } else { None }
    }

    /// A field that nobody wrote.
    pub(super) fn missing(self, path: &str) -> String {
        let field = || format!("the field `{}`", path.rsplit('.').next().unwrap_or_default());
        match self {
            Self::Cluster => field(),
            Self::Inventory => variable_of(path).map_or_else(field, |name| format!("the variable `{name}`")),
        }
    }
}

/// The variable that a field is in an inventory: the first of several, which is the one of today.
fn variable_of(path: &str) -> Option<&'static str> {
    variables().find(|row| row.field().is_some_and(|field| is_same(field, path))).map(|row| row.name)
}

/// Whether a path is that of a row, in which lists have no numbers.
fn is_same(field: &str, path: &str) -> bool {
    let mut parts = path.split('.');
    field.split('.').all(|part| {
        parts.next().is_some_and(|own| own == part || own.split_once('[').zip(part.split_once('[')).is_some_and(|(a, b)| a.0 == b.0))
    }) && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::Wording;

    #[test]
    fn a_field_is_called_as_its_file_calls_it() {
        for (path, expected) in [
            ("spec.network.podCIDR", "kube_pods_subnet"),
            ("spec.network.nodePrefix", "kube_network_node_prefix"),
            ("spec.hosts[12].ssh.port", "ansible_port"),
            ("spec.hosts[0].address", "ip"),
            ("spec.hosts[0].roles", "spec.hosts[0].roles"),
        ] {
            assert_eq!(Wording::Inventory.of(path), expected);
            assert_eq!(Wording::Cluster.of(path), path);
        }
        assert_eq!(Wording::Inventory.missing("spec.kubernetesVersion"), "the variable `kube_version`");
        assert_eq!(Wording::Cluster.missing("spec.kubernetesVersion"), "the field `kubernetesVersion`");
    }
}
