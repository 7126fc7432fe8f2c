//! Facts, resources, operations, tasks and the plan: everything that decides, without I/O.
//!
//! ```text
//! cluster + bundle ─► list (tasks) ─► steps ─┐
//!                                            ├─► compare ─► plan ─► lint
//! answers of probes ─► facts, observations ──┘
//! ```

#[macro_use]
pub mod shell;

pub mod addons;
mod api_files;
pub mod artifact;
pub mod attended;
pub mod backup;
pub mod bundle;
pub mod catalog;
pub mod change;
pub mod completed;
mod components;
pub mod debian;
pub mod digest;
pub mod distribution;
pub mod documents;
pub mod drain;
mod dual_stack;
pub mod encryption;
mod etcd_options;
pub mod facts;
pub mod firewall;
pub mod gate;
pub mod given;
pub mod holder;
pub mod identity;
pub mod in_use;
pub mod issued;
pub mod list;
pub mod membership;
pub mod mirrors;
pub mod network_plugins;
pub mod observe;
pub mod operations;
mod patches;
pub mod pem_set;
pub mod plan;
pub mod ports;
pub mod preconditions;
pub mod present;
pub mod pushed;
pub mod recovery;
pub mod renewal;
pub mod resources;
pub mod sbom;
pub mod script;
pub mod secret_name;
pub mod snapshot;
pub mod speaker;
pub mod support;
pub mod templates;
pub mod token_keys;
pub mod upgrade;
pub mod uploaded;
pub mod user_certificate;
pub mod validity;
pub mod versions;

pub use kok_crds::model::API_SERVER_PORT;

/// Port at which etcd's clients reach a member.
pub const ETCD_CLIENT_PORT: u16 = 2379;

/// Port at which etcd's members talk to each other.
pub const ETCD_PEER_PORT: u16 = 2380;

/// Port at which the API server asks a kubelet.
pub const KUBELET_PORT: u16 = 10250;

/// Port at which a host's load balancer says whether it is well (Kubespray's default for `loadbalancer_apiserver_healthcheck_port`).
pub const LOAD_BALANCER_HEALTH_PORT: u16 = 8081;
