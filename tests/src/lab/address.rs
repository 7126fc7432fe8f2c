//! The addresses of a lab. Every lab uses the same ones, for each is a network of its own.
//!
//! The subnet of depth 0 is what the controller reaches; hosts behind a bastion are in the one of the next depth, in which the
//! controller has no address.

/// The network of every lab, all depths.
pub(crate) const SUBNET: &str = "10.20.0.0/16";
/// The controller's address on the first bridge: programs in the lab's network namespace have it.
pub(crate) const CONTROLLER: &str = "10.20.0.1";
/// The address on the first bridge from which the proxies of `lag` connect, so that their own connections are told from those
/// that go through them.
pub(crate) const PROXY: &str = "10.20.0.2";
/// Length of the prefix of the network of one depth.
pub(crate) const PREFIX: u8 = 24;
/// The same of IPv6.
pub(crate) const PREFIX_IPV6: u8 = 64;
/// The most bastions that can stand before a host.
pub(crate) const DEEPEST: usize = 3;
/// Last number of the first host's address; below it is room for what a test may want to place in the network.
const FIRST_HOST: usize = 11;
/// The largest number of hosts: .11 to .254 would be more than any machine carries, and .200 and above are left for virtual
/// addresses of tests.
pub(crate) const MOST_HOSTS: usize = 180;
/// Port of the first host's proxy; below it are the ports of services.
const FIRST_PROXY: usize = 20_000;

/// The last number of the address of the host at `index`.
pub(crate) fn number(index: usize) -> usize {
    FIRST_HOST + index
}

/// The address with this last number.
pub(crate) fn address(depth: usize, number: usize) -> String {
    format!("10.20.{depth}.{number}")
}

/// The address of IPv6 with this last number: of the site's own (ULA), and as good as none outside of the lab.
pub(crate) fn address_ipv6(depth: usize, number: usize) -> String {
    // As addresses are spelled (RFC 5952): what is zero is left out.
    if depth == 0 { format!("fd00:10:20::{number}") } else { format!("fd00:10:20:{depth}::{number}") }
}

/// The bridge of this depth in the lab's network namespace.
pub(crate) fn bridge(depth: usize) -> String {
    format!("lab{depth}")
}

/// The name of the host's port on its bridge: what systemd-nspawn makes of [`machine`].
pub(crate) fn port(number: usize) -> String {
    format!("vb-{}", machine(number))
}

/// A host's name for systemd-nspawn: short, for interface names have 15 characters at most.
pub(crate) fn machine(number: usize) -> String {
    format!("h{number}")
}

/// Where the proxy of this host listens, on the loopback of the lab's network namespace.
pub(crate) fn proxy_port(number: usize) -> usize {
    FIRST_PROXY + number
}
