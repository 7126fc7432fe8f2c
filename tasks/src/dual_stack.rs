//! The second addresses of hosts, where a cluster has IPv6 beside IPv4.
//!
//! Who writes none down has the one that a node says, as long as its host still has it: so that a host with several keeps what it was
//! registered with. Before there is a node, it is the one that the host has beside its IPv4 address.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr};

use kok_crds::model::{Cluster, Host};

use crate::facts::{HostFacts, Interface};
use crate::plan::Seen;
use crate::speaker::speaker;

/// The cluster with the IPv6 address of each host, as far as it is known. Nothing changes without dual stack.
pub(crate) fn with_addresses<'a>(cluster: &'a Cluster, seen: &Seen) -> Cow<'a, Cluster> {
    if !cluster.network.is_dual_stack() || cluster.hosts.iter().all(|host| host.address_ipv6.is_some()) {
        return Cow::Borrowed(cluster);
    }
    let state = speaker(cluster, seen).and_then(|speaker| seen.observations(&speaker.name).kubernetes.as_ref());
    let found = |host: &Host| {
        let facts = seen.facts(&host.name);
        let of_node = state.and_then(|state| state.node(&host.name)).and_then(|node| node.address_ipv6());
        let is_there = |address: &Ipv6Addr| facts.is_none_or(|facts| facts.interface_of(IpAddr::V6(*address)).is_some());
        of_node.filter(is_there).or_else(|| beside_ipv4(cluster, host, facts?))
    };
    let hosts = cluster.hosts.iter().map(|host| Host { address_ipv6: host.address_ipv6.or_else(|| found(host)), ..host.clone() });
    Cow::Owned(Cluster { hosts: hosts.collect(), ..cluster.clone() })
}

/// An address of the interface that has the host's IPv4 address: of those that stay and that other hosts reach, one of the site's own (ULA,
/// RFC 4193) first, which outlives a change of provider.
fn beside_ipv4(cluster: &Cluster, host: &Host, facts: &HostFacts) -> Option<Ipv6Addr> {
    let ipv6 = cluster.network.ipv6?;
    let fits = |address: &Ipv6Addr| !ipv6.pod_cidr.contains(address) && !ipv6.service_cidr.contains(address);
    let addresses = lasting(facts.interface_of(host.address)?).filter(fits);
    addresses.min_by_key(|address| (!address.is_unique_local(), *address))
}

/// Addresses that reach beyond the link (global unicast, RFC 4291, and ULA), but for those that are changed again and again or were given up.
fn lasting(interface: &Interface) -> impl Iterator<Item = Ipv6Addr> {
    let of_ipv6 = interface.addresses.iter().filter(|address| !interface.passing.contains(address)).filter_map(|address| match address {
        IpAddr::V6(address) => Some(*address),
        IpAddr::V4(_) => None,
    });
    of_ipv6.filter(|address| address.is_unique_local() || (address.segments()[0] & 0xe000) == 0x2000)
}
