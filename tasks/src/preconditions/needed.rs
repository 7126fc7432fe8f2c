//! What an edited file would need, and `apply` does not do: operations of their own, by name, with their parts in short.

/// An operation that this version does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Needed {
    name: &'static str,
    parts: &'static str,
}

const fn needed(name: &'static str, parts: &'static str) -> Needed {
    Needed { name, parts }
}

impl Needed {
    /// Why something is refused that needs it.
    pub(crate) fn because(self) -> String {
        format!("{} is an operation of its own, which this version does not have yet: {}", self.name, self.parts)
    }
}

/// Why another version of Kubernetes is refused.
pub(super) const UPGRADE: &str = "an upgrade of Kubernetes is an operation of its own, `kokctl upgrade`: one minor version after the other; each control plane in \
                                  turn, then the workers, each of them drained";
/// Why another minor version of etcd is refused.
pub(crate) const UPGRADE_ETCD: &str = "an upgrade of etcd by a minor version is a part of `kokctl upgrade`: a snapshot; one minor version after the other, from a \
                                       patch that may; each member in turn while all others are healthy";
pub(super) const MOVE_ETCD: Needed =
    needed("moving etcd", "new members of the other kind join one by one, every API server learns their addresses, and the old ones leave");
pub(super) const RANGE_OF_PODS: Needed =
    needed("a new range of pods", "every node gets another share of it, is drained, and gets its pods and their network anew");
pub(super) const RANGE_OF_SERVICES: Needed =
    needed("a new range of services", "API servers and their certificates, the cluster's DNS, and every Service with its address");
pub(super) const SHARE_OF_NODES: Needed =
    needed("another share of the range of pods for each node", "every node is drained and registered anew, one after the other");
pub(super) const SECOND_FAMILY: Needed =
    needed("a change to or from dual stack", "addresses of all nodes, ranges, the network, and every pod and Service");
pub(super) const DOMAIN: Needed =
    needed("a new domain of the cluster", "certificates of API servers, every kubelet, the cluster's DNS, and every pod");
pub(super) const ENDPOINT: Needed =
    needed("a new endpoint of the API", "certificates of API servers, and every kubeconfig of hosts and administrators");
