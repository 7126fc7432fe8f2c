//! A host, and what it does in the cluster.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use super::Ssh;
use crate::Position;

/// One machine of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Name of the host and of its node, a DNS label (RFC 1123), unique in the cluster.
    pub name: String,
    /// Address at which the host's node talks to the others, unique in the cluster; at which we reach the host, unless `ssh` has another.
    pub address: IpAddr,
    /// The second address of its node with dual stack, unique in the cluster; `None` is the one that the host has beside `address`.
    pub address_ipv6: Option<Ipv6Addr>,
    /// What the host does in the cluster; at least one role.
    pub roles: Roles,
    /// How to log in, with the cluster's defaults already applied.
    pub ssh: Ssh,
    /// Labels that the node gets besides Kubernetes' own.
    pub labels: BTreeMap<String, String>,
    /// Annotations that the node gets besides those of others.
    pub annotations: BTreeMap<String, String>,
    /// Taints that the node is registered with; unique by key and effect.
    pub taints: Vec<Taint>,
    /// Where the host's entry begins in the file.
    pub origin: Position,
}

/// What a host does in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Roles {
    /// Runs the API server, the controller manager and the scheduler.
    pub control_plane: bool,
    /// Runs the workload of users.
    pub worker: bool,
    /// Runs a member of etcd.
    pub etcd: bool,
}

impl Roles {
    /// Whether the host is a node of the cluster: one that runs etcd and nothing else is none.
    #[must_use]
    pub fn is_node(self) -> bool {
        self.control_plane || self.worker
    }
}

/// A taint of a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Taint {
    /// A qualified name, as of a label.
    pub key: String,
    /// May be empty.
    pub value: String,
    /// What happens to pods that don't tolerate the taint.
    pub effect: TaintEffect,
}

/// What a taint does to pods that don't tolerate it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaintEffect {
    /// New pods are not placed on the node.
    NoSchedule,
    /// New pods are placed elsewhere where that is possible.
    PreferNoSchedule,
    /// New pods are not placed on the node, and those that run there are evicted.
    NoExecute,
}

impl TaintEffect {
    /// The word that Kubernetes uses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        }
    }
}
