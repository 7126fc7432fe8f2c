//! What the story of upgrades needs.

pub mod kubeadm;
pub mod skew;
