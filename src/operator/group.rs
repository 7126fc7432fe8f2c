//! The API groups that are served, and how a cluster is named among all of them.

use std::fmt;

use kube::api::ApiResource;

/// An API group with a `Cluster` and a `ClusterOperation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// kube-on-kube's, which is kokctl's own.
    KubeOnKube,
    /// kubean's, whose own operator may run beside this one.
    Kubean,
}

/// Version of both kinds in both groups.
const VERSION: &str = "v1alpha1";

impl Group {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::KubeOnKube, Self::Kubean];

    /// Its name in `apiVersion`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::KubeOnKube => "kubeonkube.clay.io",
            Self::Kubean => "kubean.io",
        }
    }

    /// The first label of its name.
    #[must_use]
    pub fn label(self) -> &'static str {
        self.name().split('.').next().unwrap_or_default()
    }

    /// The annotation that says in which order operations that have ended are forgotten.
    #[must_use]
    pub fn score_annotation(self) -> &'static str {
        match self {
            Self::KubeOnKube => "clay.io/eliminate-score",
            Self::Kubean => "kubean.io/eliminate-score",
        }
    }

    /// The name of an object that goes with a Cluster or an operation of this group: those of the two groups may have one name, and be in one namespace.
    pub(super) fn object_name(self, name: &str, what: &str) -> String {
        match self {
            Self::KubeOnKube => format!("{name}-{what}"),
            Self::Kubean => format!("{name}.{}-{what}", self.label()),
        }
    }

    /// The kind `Cluster`.
    #[must_use]
    pub fn clusters(self) -> ApiResource {
        self.resource("Cluster", "clusters")
    }

    /// The kind `ClusterOperation`.
    #[must_use]
    pub fn operations(self) -> ApiResource {
        self.resource("ClusterOperation", "clusteroperations")
    }

    /// Its `apiVersion`.
    #[must_use]
    pub fn api_version(self) -> String {
        format!("{}/{VERSION}", self.name())
    }

    fn resource(self, kind: &str, plural: &str) -> ApiResource {
        ApiResource {
            group: self.name().to_owned(),
            version: VERSION.to_owned(),
            api_version: self.api_version(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
        }
    }
}

/// A cluster among those of all groups.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClusterKey {
    /// Its group.
    pub(super) group: Group,
    /// Its name.
    pub(super) name: String,
}

impl fmt::Display for ClusterKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.name, self.group.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_one_name_in_two_groups_are_two() {
        let names = Group::ALL.map(|group| group.object_name("berlin", "kubeconfig"));
        assert_eq!(names, ["berlin-kubeconfig", "berlin.kubean-kubeconfig"]);
    }
}
