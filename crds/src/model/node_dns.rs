//! The DNS cache of each node.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// A DNS cache on each node that pods ask instead of CoreDNS; names and defaults are those of Kubespray's `nodelocaldns`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeDns {
    /// Whether there is one.
    pub enabled: bool,
    /// Where it answers, on each node the same: an address that no other machine can have.
    pub address: Ipv4Addr,
    /// TCP port at that address where it says that it works.
    pub health_port: u16,
    /// TCP port of its metrics.
    pub metrics_port: u16,
    /// Whether metrics are served at the node's own address; else at all of them.
    pub metrics_at_host: bool,
    /// What its pod asks for, by resource.
    pub requests: BTreeMap<String, String>,
    /// What its pod may take at most, by resource.
    pub limits: BTreeMap<String, String>,
    /// Zones that others than the cluster's DNS and the hosts' name servers answer for; unique by name.
    pub zones: Vec<DnsZone>,
}

/// Zones with servers of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsZone {
    /// Names of the zones, without a trailing dot; at least one.
    pub names: Vec<String>,
    /// Servers that are asked; at least one.
    pub servers: Vec<SocketAddr>,
    /// Most seconds that an answer is remembered; 0 for none.
    pub cache_seconds: u32,
}

impl NodeDns {
    /// Whether the cache of a node has this address.
    #[must_use]
    pub fn answers_at(&self, address: IpAddr) -> bool {
        self.enabled && address == IpAddr::V4(self.address)
    }
}

impl Default for NodeDns {
    fn default() -> Self {
        let amounts = |amounts: &[(&str, &str)]| amounts.iter().map(|(name, amount)| ((*name).to_owned(), (*amount).to_owned())).collect();
        Self {
            enabled: false,
            address: Ipv4Addr::new(169, 254, 25, 10),
            health_port: 9254,
            metrics_port: 9253,
            metrics_at_host: false,
            requests: amounts(&[("cpu", "100m"), ("memory", "70Mi")]),
            limits: amounts(&[("memory", "200Mi")]),
            zones: Vec::new(),
        }
    }
}
