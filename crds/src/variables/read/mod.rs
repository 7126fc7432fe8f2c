//! The readers of variables that are settings, by subject.

pub(crate) mod containerd;
pub(crate) mod etcd;
pub(crate) mod host;
pub(crate) mod kube_proxy;
pub(crate) mod kubeadm;
pub(crate) mod kubelet;
pub(crate) mod load_balancing;
