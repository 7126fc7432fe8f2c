//! The tasks, one file each, in the order in which people think of them. The order in which steps run follows from their needs alone.

mod addons;
pub(crate) mod api_server;
pub(crate) mod bridge;
pub(crate) mod certificates;
mod container_runtime;
mod control_plane;
pub(crate) mod etcd;
mod etcd_unit;
mod firewall;
pub(crate) mod founding;
pub(crate) mod host;
mod images;
pub(crate) mod kubeadm_configuration;
mod kubelet;
mod kubelet_join;
mod load_balancer;
mod mirrors;
pub(crate) mod names;
pub(crate) mod network;
mod network_check;
pub(crate) mod node_dns;
pub(crate) mod packages;
mod proxy;
mod rolling;
mod selinux;
mod still_ready;
mod swap;
mod time_sync;
mod trust;

use crate::plan::{Draft, HostView, Refusal};

/// A task: what a host needs of one subject.
#[derive(Debug)]
pub struct Task {
    /// Its name, as it stands in the names of its steps.
    pub name: &'static str,
    /// One sentence for people.
    pub about: &'static str,
    /// Emits the steps of one host.
    pub plan: fn(&HostView<'_>, &mut Draft<'_>) -> Result<(), Refusal>,
}

/// Every task. A new one is a file beside this one and a line here.
pub const TASKS: &[Task] = &[
    Task { name: host::NAME, about: "folders, kernel modules and parameters, and the record of whose host it is", plan: host::plan },
    Task { name: packages::NAME, about: "packages of the distribution that a minimal installation lacks", plan: packages::plan },
    Task { name: names::NAME, about: "the host's own name, and the names of all hosts", plan: names::plan },
    Task { name: swap::NAME, about: "no swap, now and after the next start", plan: swap::plan },
    Task { name: selinux::NAME, about: "SELinux, where it is set", plan: selinux::plan },
    Task { name: firewall::NAME, about: "ports in the host's firewall, where kokctl may open them", plan: firewall::plan },
    Task { name: trust::NAME, about: "certificate authorities that programs trust besides", plan: trust::plan },
    Task { name: proxy::NAME, about: "the proxy of containerd and the kubelet", plan: proxy::plan },
    Task { name: time_sync::NAME, about: "the clock follows its source", plan: time_sync::plan },
    Task { name: container_runtime::NAME, about: "containerd with runc and the network plugins", plan: container_runtime::plan },
    Task { name: mirrors::NAME, about: "where images are fetched instead of their own registries", plan: mirrors::plan },
    Task { name: images::NAME, about: "the images that the host's roles need, pinned", plan: images::plan },
    Task { name: certificates::NAME, about: "certificates of control planes and of etcd, and kubeconfigs", plan: certificates::plan },
    Task { name: api_server::NAME, about: "files that API server and scheduler read besides their options", plan: api_server::plan },
    Task { name: kubeadm_configuration::NAME, about: "kubeadm and its configuration", plan: kubeadm_configuration::plan },
    Task { name: etcd::NAME, about: "the etcd member of a host", plan: etcd::plan },
    Task { name: kubelet::NAME, about: "the kubelet's program and unit", plan: kubelet::plan },
    Task {
        name: control_plane::NAME,
        about: "API server, controller manager, scheduler and what the cluster needs first",
        plan: control_plane::plan,
    },
    Task {
        name: load_balancer::NAME,
        about: "a load balancer before the API servers of several control planes, on hosts without one",
        plan: load_balancer::plan,
    },
    Task { name: kubelet_join::NAME, about: "a worker becomes a node", plan: kubelet_join::plan },
    Task { name: network::NAME, about: "the pod network", plan: network::plan },
    Task { name: node_dns::NAME, about: "a DNS cache on each node, where it is wanted", plan: node_dns::plan },
    Task { name: network_check::NAME, about: "pods of all nodes answer each other", plan: network_check::plan },
    Task { name: addons::NAME, about: "the user's own addons, out of manifests", plan: addons::plan },
];
