//! A stage, and what it is about.

use std::fmt;

use kok_crds::model::Cluster;

/// What a stage is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StageName {
    /// What goes with no version of Kubernetes.
    Components,
    /// etcd alone.
    Etcd,
    /// The first control plane, where it is waited after it.
    First,
    /// Control planes, with their members of etcd.
    ControlPlanes,
    /// What the cluster says of itself, kube-proxy and CoreDNS.
    Configuration,
    /// Kubelets.
    Kubelets,
    /// What a run that was cut off has left: API servers that are not ready yet, and nodes from which it kept pods.
    Rest,
}

/// A stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// What it is about.
    pub name: StageName,
    /// The cluster that the stage leads to.
    pub cluster: Cluster,
    /// The hosts on which something gets another version.
    pub hosts: Vec<String>,
}

impl StageName {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Components => "components",
            Self::Etcd => "etcd",
            Self::First => "first",
            Self::ControlPlanes => "control-planes",
            Self::Configuration => "configuration",
            Self::Kubelets => "kubelets",
            Self::Rest => "rest",
        }
    }
}

impl fmt::Display for StageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
