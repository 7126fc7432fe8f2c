//! What a cluster says of itself and its file does not: the second addresses of hosts, where it has IPv6 beside IPv4, and whether its API has a name
//! that it got when there were several control planes.
//!
//! Who writes none down has the one that a node says, as long as its host still has it: so that a host with several keeps what it was
//! registered with. Before there is a node, it is the one that the host has beside its IPv4 address.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr};

use kok_crds::model::{API_ENDPOINT_NAME, Cluster, Host};

use crate::facts::{HostFacts, Interface};
use crate::plan::Seen;
use crate::preconditions::uploaded_endpoint;
use crate::speaker::speaker;

/// The cluster with what it says of itself, as far as it is known.
#[must_use]
pub fn completed<'a>(cluster: &'a Cluster, seen: &Seen) -> Cow<'a, Cluster> {
    let mut cluster = with_addresses(cluster, seen);
    if keeps_name(&cluster, seen) {
        cluster.to_mut().settings.api_endpoint.is_named = true;
    }
    cluster
}

/// Whether the only control plane is one that is left of several: what was told the name then asks by it still.
fn keeps_name(cluster: &Cluster, seen: &Seen) -> bool {
    let name = cluster.settings.api_endpoint.name.as_deref().unwrap_or(API_ENDPOINT_NAME);
    let is_alone = !cluster.is_highly_available() && cluster.external_endpoint().is_none();
    let is = if is_alone { uploaded_endpoint(cluster, seen) } else { None };
    // Of workers alone, their own files say so.
    let knows =
        |host: &Host| seen.observations(&host.name).blocks.get("/etc/hosts").is_some_and(|block| block.contains(&format!(" {name}\n")));
    match is {
        Some(is) => is.rsplit_once(':').is_some_and(|(host, _)| host == name),
        None => is_alone && cluster.balanced_hosts().any(knows),
    }
}

/// With the IPv6 address of each host. Nothing changes without dual stack.
fn with_addresses<'a>(cluster: &'a Cluster, seen: &Seen) -> Cow<'a, Cluster> {
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
