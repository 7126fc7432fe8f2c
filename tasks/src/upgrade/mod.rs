//! From one version of Kubernetes to another: which way, in which stages, and what is in the way. Pure.
//!
//! An upgrade is a list of ordinary plans. Each stage is a cluster of which hosts, or what the cluster says of itself, have another version than before
//! ([`kok_crds::model::Underway`]); its plan is made and carried out as any. What is left to do is said by what hosts run, so whoever begins anew goes on.

mod check;
mod emulation;
mod kubelet_stages;
mod members_begun;
mod path;
mod room;
mod running;
mod stage;
mod stages;
mod webhooks;
mod wish;

pub use check::{CheckName, Found, check, looks};
pub use emulation::{Turn, hops, leads_to};
pub use members_begun::members_begun;
pub(crate) use path::etcd_gate;
pub use path::{Hop, Refused, path};
pub(crate) use running::{EMULATED_VERSION, has_own_emulation};
pub use running::{Rest, Running};
pub use stage::{Stage, StageName};
pub use stages::{components, left, stages};
pub use wish::{ClusterPart, Pause, Wish};

/// How many minor versions a kubelet may be behind an API server (Kubernetes, "Version Skew Policy").
pub const MOST_BEHIND: u64 = 3;
