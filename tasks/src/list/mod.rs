//! The tasks, one file each, in the order in which people think of them. The order in which steps run follows from their needs alone.

pub(crate) mod addons;
pub(crate) mod api_server;
pub(crate) mod authorities;
pub(crate) mod certificates;
mod cluster_wide;
pub(crate) mod container_runtime;
pub(crate) mod control_plane;
pub(crate) mod etcd;
mod etcd_unit;
mod firewall;
pub(crate) mod founding;
pub(crate) mod hooks;
pub(crate) mod host;
pub(crate) mod images;
mod joining_member;
pub(crate) mod kubeadm_configuration;
pub(crate) mod kubelet;
pub(crate) mod kubelet_join;
mod kubelet_of_plane;
pub(crate) mod kubelet_serving;
mod load_balancer;
mod mirrors;
pub(crate) mod names;
pub(crate) mod network;
mod network_check;
pub(crate) mod node_dns;
pub(crate) mod packages;
pub(crate) mod proxy;
pub(crate) mod renew;
pub(crate) mod resources;
mod rolling;
mod selinux;
mod still_ready;
mod swap;
mod time_sync;
pub(crate) mod trust;
mod uncordoned;
mod vacated;
pub(crate) mod virtual_address;

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
    host::TASK,
    packages::TASK,
    names::TASK,
    swap::TASK,
    selinux::TASK,
    firewall::TASK,
    trust::TASK,
    proxy::TASK,
    time_sync::TASK,
    resources::TASK,
    container_runtime::TASK,
    mirrors::TASK,
    images::TASK,
    certificates::TASK,
    api_server::TASK,
    kubeadm_configuration::TASK,
    etcd::TASK,
    kubelet::TASK,
    kubelet_serving::TASK,
    control_plane::TASK,
    load_balancer::TASK,
    virtual_address::TASK,
    kubelet_join::TASK,
    network::TASK,
    node_dns::TASK,
    network_check::TASK,
    addons::TASK,
    hooks::TASK,
];
