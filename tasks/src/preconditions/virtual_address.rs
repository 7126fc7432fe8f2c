//! An address that is to move between the control planes: it has to be of their network, and nobody else's.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use ipnet::Ipv4Net;
use kok_crds::model::{Cluster, FirewallPolicy, Host};

use super::programs::has_virtual_address;
use super::{Findings, Scope};
use crate::firewall;
use crate::observe::{Firewall, Look, Neighbour};
use crate::plan::{Refusal, Seen};

/// What a free address is called in hints.
const FREE: &str = "write an address of that network that nobody has";

pub(super) fn looks(cluster: &Cluster, host: &Host) -> Option<Look> {
    cluster.virtual_address().filter(|_| has_virtual_address(cluster, host)).map(Look::Neighbour)
}

/// Routers send packets for it into one network, whoever has it there.
pub(super) fn network(scope: &Scope<'_>, found: &mut Findings) {
    let (facts, own) = (scope.facts, scope.host.address);
    let Some(address) = scope.cluster.virtual_address().filter(|_| scope.host.roles.control_plane) else { return };
    let with_own = facts.interfaces.iter().find(|(_, interface)| interface.addresses.contains(&own));
    // That no interface has the host's address is told by another check.
    let Some((interface, _)) = with_own else { return };
    let direct = facts.routes.iter().filter(|route| route.interface == *interface && route.via.is_none());
    let networks: Vec<Ipv4Net> = direct.map(|route| route.to).collect();
    if !networks.iter().any(|network| network.contains(&address)) {
        let has = networks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let has = if has.is_empty() { "no network of its own".to_owned() } else { format!("the network {has}") };
        found.refuse(
            Refusal::new(format!("the virtual address {address} is not of its network"))
                .because(format!("{interface}, which has {own}, is in {has}; the address moves between hosts of one network only"))
                .hint(format!("{FREE}; where the control planes are in several, put a load balancer of yours before them (`address`)")),
        );
    }
    if let Some((network, what)) = networks.iter().find_map(|network| Some((network, nobodys(*network, address)?))) {
        found.refuse(
            Refusal::new(format!("the virtual address {address} is {what}"))
                .because(format!("{interface}, which has {own}, is in the network {network}, and no host of that can have this one"))
                .hint(FREE),
        );
    }
    closed(scope, found);
}

/// What an address is that no host of a network has. A network of two or of one has none of these (RFC 3021).
fn nobodys(network: Ipv4Net, address: Ipv4Addr) -> Option<&'static str> {
    let is_small = network.prefix_len() > 30;
    let what =
        [(network.network(), "the one of the network itself"), (network.broadcast(), "the one by which all of its network are spoken to")];
    what.into_iter().find(|(other, _)| !is_small && *other == address).map(|(_, what)| what)
}

/// Whoever hears nothing of the others takes the address for himself, and then two have it. Neither firewall says in what is looked at whether a
/// protocol without ports gets in.
fn closed(scope: &Scope<'_>, found: &mut Findings) {
    let policy = scope.settings().host.firewall;
    let Some(active) = scope.seen.firewall.as_ref().filter(|active| **active != Firewall::None) else { return };
    if policy == FirewallPolicy::Ignore || !scope.cluster.is_highly_available() {
        return;
    }
    let name = firewall::name(active);
    let let_in = match active {
        Firewall::Firewalld(_) => "`firewall-cmd --permanent --add-protocol=vrrp && firewall-cmd --reload`",
        _ => "lines for `-p vrrp -s ADDRESS -j ACCEPT` in /etc/ufw/before.rules",
    };
    found.refuse(
        Refusal::new(format!("{name} is active, and kokctl does not open it for the virtual address"))
            .because("control planes that don't hear each other by VRRP (protocol 112) all take the address at once")
            .hint(format!("let the other control planes in by it ({let_in}) and whatever else is needed, and set vars.firewall: ignore")),
    );
}

/// Nobody has it but by keepalived of ours.
pub(super) fn free(cluster: &Cluster, seen: &Seen, found: &mut Findings) {
    let Some(address) = cluster.virtual_address() else { return };
    let answers = || cluster.control_planes().filter_map(|host| seen.observations(&host.name).neighbours.get(&address).zip(Some(host)));
    // Where one of them gets it already, whoever answers may have it by that.
    if answers().any(|(answer, _)| *answer == Neighbour::Ours) {
        return;
    }
    let has = |host: &&Host| seen.facts(&host.name).is_some_and(|facts| facts.addresses().any(|own| own == IpAddr::V4(address)));
    if let Some(host) = cluster.hosts.iter().find(has) {
        return found.refuse(taken(cluster, address, &format!("an interface of the host {} has it", host.name)));
    }
    // One that was not asked may have it.
    if cluster.control_planes().any(|host| seen.facts(&host.name).is_none()) {
        return;
    }
    let known = cluster.hosts.iter().filter_map(|host| seen.facts(&host.name)).flat_map(|facts| facts.interfaces.values());
    let known: BTreeSet<&str> = known.filter_map(|interface| interface.mac.as_deref()).collect();
    let stranger = answers().find_map(|(answer, host)| match answer {
        Neighbour::Answers(mac) if !known.contains(mac.as_str()) => Some((mac, host)),
        _ => None,
    });
    if let Some((mac, host)) = stranger {
        let because = format!("{} hears that it is at the hardware address {mac}, which is of none of the hosts", host.name);
        found.refuse(taken(cluster, address, &because));
    }
}

fn taken(cluster: &Cluster, address: Ipv4Addr, because: &str) -> Refusal {
    let written = ["spec.apiEndpoint.vip", "spec.vars.api_virtual_address", "spec.vars.kube_vip_address"];
    let place = written.into_iter().find_map(|path| cluster.position_of(path));
    Refusal::new(format!("somebody has the virtual address {address} already"))
        .at(place.map_or_else(|| "spec.apiEndpoint.vip".to_owned(), ToString::to_string))
        .because(because)
        .hint(format!("{FREE}; or take it away from there"))
}
