//! Addresses and ranges that hosts, pods and services can have.

use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

/// Ranges that never belong to a host, a pod or a service, with their reason.
const RESERVED: [(Ipv4Net, &str); 5] = [
    (range(0, 0, 8), "0.0.0.0/8 means \"this network\""),
    (range(127, 0, 8), "127.0.0.0/8 is every machine's own loopback"),
    (range(169, 254, 16), "169.254.0.0/16 is valid on one link only"),
    (range(224, 0, 4), "224.0.0.0/4 is for multicast"),
    (range(240, 0, 4), "240.0.0.0/4 is reserved"),
];

const fn range(first: u8, second: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(first, second, 0, 0), prefix)
}

/// The same of IPv6.
const RESERVED_IPV6: [(Ipv6Net, &str); 3] = [
    (range_ipv6(0, 8), "::/8 is reserved, for the loopback among others"),
    (range_ipv6(0xfe80, 10), "fe80::/10 is valid on one link only"),
    (range_ipv6(0xff00, 8), "ff00::/8 is for multicast"),
];

const fn range_ipv6(first: u16, prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(first, 0, 0, 0, 0, 0, 0, 0), prefix)
}

/// Why a range cannot be used, if it touches a reserved one.
pub(crate) fn reserved(net: &Ipv4Net) -> Option<&'static str> {
    RESERVED.iter().find(|(reserved, _)| overlap(reserved, net)).map(|(_, reason)| *reason)
}

/// The same of IPv6.
pub(crate) fn reserved_ipv6(net: &Ipv6Net) -> Option<&'static str> {
    RESERVED_IPV6.iter().find(|(reserved, _)| reserved.contains(net) || net.contains(reserved)).map(|(_, reason)| *reason)
}

/// Whether two ranges have an address in common.
fn overlap(a: &Ipv4Net, b: &Ipv4Net) -> bool {
    a.contains(b) || b.contains(a)
}
