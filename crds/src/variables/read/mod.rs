//! The readers of variables that are settings, by subject.

pub(crate) mod authorities;
pub(crate) mod backup;
pub(crate) mod calico;
pub(crate) mod certificates;
pub(crate) mod component;
pub(crate) mod containerd;
pub(crate) mod control_plane;
pub(crate) mod disruption;
pub(crate) mod downloads;
pub(crate) mod etcd;
pub(crate) mod fixed;
pub(crate) mod host;
pub(crate) mod kms;
pub(crate) mod kube_proxy;
pub(crate) mod kubeadm;
pub(crate) mod kubelet;
pub(crate) mod load_balancing;
pub(crate) mod node_dns;
pub(crate) mod pods;
pub(crate) mod policies;
pub(crate) mod security;
mod structure;
pub(crate) mod together;
pub(crate) mod values;
pub(crate) mod virtual_address;
