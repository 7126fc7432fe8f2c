//! IPv6 on a host: whether it is there, and where packets go.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use ipnet::Ipv6Net;

/// What a host says of IPv6.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ipv6State {
    /// Whether the kernel has it.
    pub in_kernel: bool,
    /// Whether `net.ipv6.conf.all.disable_ipv6` takes it away from all interfaces.
    pub disabled: bool,
    /// Routes of the main table, but for the default route and those that are valid on one link only.
    pub routes: Vec<Ipv6Route>,
    /// What interfaces make of a router's advertisements, by their sysctls.
    pub accept_ra: BTreeMap<String, String>,
}

/// A route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ipv6Route {
    /// Where it leads.
    pub to: Ipv6Net,
    /// The interface that it uses.
    pub interface: String,
    /// The router that it leads by; `None` where whoever is meant is reached directly.
    pub via: Option<Ipv6Addr>,
}

/// Of the interfaces of pods nobody asks; there are many.
pub(super) const SCRIPT: &str = "mark ipv6
grep -Hs '' /proc/sys/net/ipv6/conf/all/disable_ipv6 /proc/sys/net/ipv6/conf/*/accept_ra | grep -v /veth
ip -6 route show 2>/dev/null | grep -v '^fe80:'
";

const CONF: &str = "/proc/sys/net/ipv6/conf/";

/// The sysctl of an interface, as sysctl(8) spells it: dots of its name stand as slashes.
#[must_use]
pub(crate) fn accept_ra(interface: &str) -> String {
    format!("net.ipv6.conf.{}.accept_ra", interface.replace('.', "/"))
}

pub(super) fn read(text: &str) -> Ipv6State {
    let mut state = Ipv6State::default();
    for line in text.lines() {
        if let Some((place, value)) = line.strip_prefix(CONF).and_then(|rest| rest.split_once(':')) {
            match place.rsplit_once('/') {
                Some(("all", "disable_ipv6")) => (state.in_kernel, state.disabled) = (true, value.trim() == "1"),
                Some((interface, "accept_ra")) => drop(state.accept_ra.insert(accept_ra(interface), value.trim().to_owned())),
                _ => {}
            }
        } else {
            state.routes.extend(route(line));
        }
    }
    state
}

/// `fd00:20::/64 dev eth0 proto kernel …`, `fd00:30::/64 via fd00:20::1 dev eth0 …`; a single address has no prefix length.
fn route(line: &str) -> Option<Ipv6Route> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let behind = |word: &str| words.iter().skip_while(|other| **other != word).nth(1).copied();
    let to = words.first()?;
    let to = to.parse::<Ipv6Net>().ok().or_else(|| to.parse::<Ipv6Addr>().ok().map(Ipv6Net::from))?;
    Some(Ipv6Route { to, interface: behind("dev")?.to_owned(), via: behind("via").and_then(|via| via.parse().ok()) })
}
