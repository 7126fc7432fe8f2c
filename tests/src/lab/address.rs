//! The addresses of a lab. Every lab uses the same ones, for each is a network of its own.

/// Name of the bridge in the lab's network namespace.
pub(crate) const BRIDGE: &str = "lab0";
/// The network of every lab.
pub(crate) const SUBNET: &str = "10.20.0.0/24";
/// The controller's address on the bridge: programs in the lab's network namespace have it.
pub(crate) const CONTROLLER: &str = "10.20.0.1";
/// Length of the network's prefix.
pub(crate) const PREFIX: u8 = 24;
/// Last number of the first host's address; below it is room for what a test may want to place in the network.
const FIRST_HOST: usize = 11;
/// The largest number of hosts: .11 to .254 would be more than any machine carries, and .200 and above are left for virtual
/// addresses of tests.
pub(crate) const MOST_HOSTS: usize = 180;

/// The last number of the address of the host at `index`.
pub(crate) fn number(index: usize) -> usize {
    FIRST_HOST + index
}

/// The address with this last number.
pub(crate) fn address(number: usize) -> String {
    format!("10.20.0.{number}")
}

/// The name of the host's port on the bridge: what systemd-nspawn makes of [`machine`].
pub(crate) fn port(number: usize) -> String {
    format!("vb-{}", machine(number))
}

/// A host's name for systemd-nspawn: short, for interface names have 15 characters at most.
pub(crate) fn machine(number: usize) -> String {
    format!("h{number}")
}
