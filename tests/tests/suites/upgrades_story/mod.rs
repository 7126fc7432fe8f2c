//! What the story of upgrades needs.

pub mod components;
pub mod kubeadm;
pub mod shop;
pub mod skew;
pub mod webhooks;
