//! Tests of everything that decides: facts, observations, resources, operations, preconditions, templates and the plan.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "these are tests")]

mod addons;
mod bootstrap;
mod bootstrap_mixes;
mod bridge;
mod components;
mod convergence;
mod dual_stack;
mod endpoint;
mod fields;
mod issued;
mod job;
mod marked;
mod node_dns;
mod observe;
mod operations;
mod own_authorities;
mod own_etcd;
mod ownership;
mod plan;
mod preconditions;
mod probe;
mod reset;
mod reset_part;
mod resources;
mod script;
mod select;
mod settings;
mod snapshot;
mod strangers;
mod super_admin;
mod support;
mod targets;
mod templates;
mod validity;
mod why;
