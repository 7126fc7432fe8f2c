//! Facts, resources, operations, tasks and the plan: everything that decides, without I/O.
//!
//! ```text
//! cluster + bundle ─► list (tasks) ─► steps ─┐
//!                                            ├─► compare ─► plan ─► lint
//! answers of probes ─► facts, observations ──┘
//! ```

pub mod artifact;
pub mod bundle;
pub mod change;
pub mod digest;
pub mod documents;
pub mod facts;
pub mod firewall;
pub mod holder;
pub mod identity;
pub mod list;
pub mod observe;
pub mod operations;
pub mod plan;
pub mod ports;
pub mod preconditions;
pub mod resources;
pub mod script;
pub mod secret_name;
pub mod shell;
pub mod templates;

/// Port of every API server.
pub const API_SERVER_PORT: u16 = 6443;
