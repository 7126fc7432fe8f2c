//! Variables with expressions in them: what they become, and what users see if they become nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod bad;
mod connections;
mod expressions;
mod hostile;
mod sharing;
#[path = "../inventory/support/mod.rs"]
#[allow(dead_code, reason = "the other tests of inventories use the rest")]
mod support;

use kok_crds::resolve::Resolved;

const INVENTORY: &str = "
all:
  hosts:
    cp1: {ansible_host: 192.0.2.1, ip: 10.0.0.1, ip6: 'fd00::1'}
    node1: {ansible_host: 192.0.2.2, ip: 10.0.0.2}
    node2.lan: {ansible_host: 192.0.2.3, ip: 10.0.0.3}
  children:
    kube-master: {hosts: {cp1: }}
    kube_node: {hosts: {node1: , node2.lan: }}
    etcd: {hosts: {cp1: }}
";

/// An inventory of three hosts with these extra variables.
fn resolved(vars: &str) -> Resolved {
    Resolved::new(support::read(INVENTORY), vec![support::vars("group_vars.yml", vars)])
}
