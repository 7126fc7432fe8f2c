//! What dual stack needs of a host: IPv6 itself, an address that stays, neighbours, and ranges that nothing else uses.

use std::net::{IpAddr, Ipv6Addr};

use ipnet::Ipv6Net;
use kok_crds::model::Ipv6Network;

use super::{Findings, Scope};
use crate::network_plugins::{Neighbours, makes_interface, plugin};
use crate::observe::{Ipv6Route, Ipv6State};
use crate::plan::Refusal;

pub(super) fn check(scope: &Scope<'_>, found: &mut Findings) {
    let (Some(network), true) = (scope.cluster.network.ipv6, scope.host.roles.is_node()) else { return };
    let Some(state) = &scope.seen.ipv6 else { return };
    // Without IPv6 nothing of it is there, and to say that too would hide why.
    if let Some(refusal) = switched_off(state) {
        return found.refuse(refusal);
    }
    match scope.host.address_ipv6 {
        None => found.refuse(no_address(scope)),
        Some(address) => {
            found.0.extend(elsewhere(scope, address).map(super::refused));
            found.0.extend(by_a_router(scope, state).map(super::refused));
        }
    }
    found.0.extend(overlapping(scope, &network, state).into_iter().map(super::refused));
}

fn switched_off(state: &Ipv6State) -> Option<Refusal> {
    if !state.in_kernel {
        return Some(
            Refusal::new("it has no IPv6, and the cluster is to have dual stack")
                .because("its kernel has none: it was built or started without, by `ipv6.disable=1` on its command line")
                .hint("take that out of the boot loader's configuration and restart the host; or ask for no dual stack"),
        );
    }
    state.disabled.then(|| {
        Refusal::new("IPv6 is switched off on it, and the cluster is to have dual stack")
            .because("net.ipv6.conf.all.disable_ipv6 is 1, so that no interface has an address")
            .hint("set it to 0, and take it out of /etc/sysctl.conf, /etc/sysctl.d or the kernel's command line; or ask for no dual stack")
    })
}

fn no_address(scope: &Scope<'_>) -> Refusal {
    let interface = scope.facts.interfaces.iter().find(|(_, interface)| interface.addresses.contains(&scope.host.address));
    let (name, has) = interface.map_or_else(
        || (format!("no interface has {}, and", scope.host.address), String::new()),
        |(name, interface)| {
            let has =
                interface.addresses.iter().filter(|address| address.is_ipv6()).map(ToString::to_string).collect::<Vec<_>>().join(", ");
            (format!("{name}, which has {},", scope.host.address), has)
        },
    );
    let has = if has.is_empty() { "none".to_owned() } else { has };
    Refusal::new("it has no IPv6 address for its node, and the cluster is to have dual stack")
        .because(format!(
            "of IPv6 {name} has {has}; a node needs one that stays and that other hosts reach: global, or of the site (ULA, fd00::/8)"
        ))
        .hint("give that interface one; or write down another one that the host has: addressIPv6 of the host, ip6 in an inventory")
}

/// An address of the file that the host does not have, or has where the network plugin does not look.
fn elsewhere(scope: &Scope<'_>, address: Ipv6Addr) -> Option<Refusal> {
    let Some(interface) = scope.facts.interface_of(IpAddr::V6(address)) else {
        let has = scope.facts.addresses().filter(|address| address.is_ipv6() && !address.is_loopback());
        let has = has.map(|address| address.to_string()).collect::<Vec<_>>().join(", ");
        let has = if has.is_empty() { "none".to_owned() } else { has };
        return Some(
            Refusal::new(format!("no interface has the IPv6 address {address}"))
                .because(format!("of IPv6 its interfaces have {has}"))
                .hint("give the host's own address, or leave it out, and the one beside its IPv4 address is taken"),
        );
    };
    let one_interface = plugin(&scope.cluster.network).one_interface.filter(|_| !interface.addresses.contains(&scope.host.address));
    one_interface.map(|because| {
        Refusal::new(format!("its addresses {} and {address} are on two interfaces", scope.host.address))
            .because(because)
            .hint("give an IPv6 address of the interface that has its IPv4 address; or let the plugin `bridge` carry the pods' traffic")
    })
}

/// As for IPv4: a host is the router to its pods, and the kernel takes only neighbours as such.
fn by_a_router(scope: &Scope<'_>, state: &Ipv6State) -> Option<Refusal> {
    let Neighbours { who, instead } = (plugin(&scope.cluster.network).neighbours)(&scope.cluster.network)?;
    let on_link: Vec<Ipv6Net> = state.routes.iter().filter(|route| route.via.is_none()).map(|route| route.to).collect();
    let is_near = |address: Ipv6Addr| on_link.iter().any(|subnet| subnet.contains(&address));
    let others = scope.cluster.nodes().filter(|other| other.name != scope.host.name);
    let far = others.filter_map(|other| Some((&other.name, other.address_ipv6?))).find(|(_, address)| !is_near(*address));
    let (name, address) = far?;
    Some(
        Refusal::new(format!("it reaches the IPv6 address of another host by a router: {name} ({address})"))
            .because(format!("{who} needs all hosts in one subnet, of IPv6 as of IPv4"))
            .hint(format!("write {instead}, or give the hosts IPv6 addresses of one subnet")),
    )
}

/// Routes into the ranges that kokctl, or the pods' network, has not made.
fn overlapping(scope: &Scope<'_>, network: &Ipv6Network, state: &Ipv6State) -> Vec<Refusal> {
    let overlap = |one: &Ipv6Net, other: &Ipv6Net| one.contains(other) || other.contains(one);
    let ranges = [("pods", "podCIDRIPv6", network.pod_cidr), ("services", "serviceCIDRIPv6", network.service_cidr)];
    let hit = |(what, field, range): (&str, &str, Ipv6Net)| {
        let route = state.routes.iter().filter(|route| !is_ours(scope, network, route)).find(|route| overlap(&route.to, &range))?;
        Some(
            Refusal::new(format!("its route to {} overlaps with the range {range} of the {what}", route.to))
                .because(format!("packets for {what} would leave by {} instead, or the other way round", route.interface))
                .hint(format!("choose another range under spec.network.{field}, or remove that route (`ip -6 route` shows it)")),
        )
    };
    ranges.into_iter().filter_map(hit).collect()
}

fn is_ours(scope: &Scope<'_>, network: &Ipv6Network, route: &Ipv6Route) -> bool {
    let pods = !scope.is_fresh() && network.pod_cidr.contains(&route.to);
    // Nobody knows what the interfaces of the user's own network are called.
    if pods && !scope.cluster.network.plugin.is_ours() {
        return true;
    }
    let marked = scope.seen.pod_network.as_ref().and_then(|network| network.routes.get(&route.to.into()));
    let by_a_host = || route.via.is_some_and(|via| scope.cluster.hosts.iter().any(|host| host.address_ipv6 == Some(via)));
    let interface = route.interface.as_str();
    marked.is_some_and(|(_, ours)| *ours) || makes_interface(interface) || (pods && by_a_host())
}
