//! Addresses, ports, firewalls, routes and name servers.

use std::net::IpAddr;

use ipnet::Ipv4Net;
use kok_crds::model::FirewallPolicy;

use super::{Findings, Scope, node_dns};
use crate::facts::Route;
use crate::network_plugins::{Neighbours, makes_interface, mtu_of_hosts, mtu_of_pods, plugin};
use crate::plan::Refusal;
use crate::{ETCD_CLIENT_PORT, ETCD_PEER_PORT, LOAD_BALANCER_HEALTH_PORT, firewall};

/// Ports that a control plane listens on, besides that of the API server (kubeadm, "Ports and Protocols").
const CONTROL_PLANE_PORTS: &[(u16, &str)] = &[(10257, "the controller manager"), (10259, "the scheduler")];

/// Ports of a member of etcd.
const ETCD_PORTS: &[(u16, &str)] = &[(ETCD_CLIENT_PORT, "etcd's clients"), (ETCD_PEER_PORT, "etcd's peers")];

/// Ports of the load balancer of a host without an API server, besides the one that leads to them.
const LOAD_BALANCER_PORTS: &[(u16, &str)] = &[(LOAD_BALANCER_HEALTH_PORT, "the health of the load balancer")];

/// Ports of every node.
const NODE_PORTS: &[(u16, &str)] = &[(10250, "the kubelet")];

/// Where kube-proxy runs, besides.
const PROXY_PORTS: &[(u16, &str)] = &[(10256, "kube-proxy's health")];

pub(super) fn address(scope: &Scope<'_>, found: &mut Findings) {
    let (facts, address) = (scope.facts, scope.host.address);
    if facts.interface_of(address).is_none() {
        let has = facts.addresses().filter(|address| !address.is_loopback()).map(|address| address.to_string()).collect::<Vec<_>>();
        found.refuse(
            Refusal::new(format!("no interface has the address {address}"))
                .because(format!(
                    "its interfaces have {}; nodes talk to each other at the address of the file, so it can't be a translated one",
                    has.join(", ")
                ))
                .hint("give the host's own address"),
        );
    }
}

/// Ports count only where kokctl has not been yet: later our own programs listen there.
pub(super) fn ports(scope: &Scope<'_>, found: &mut Findings) {
    let taken: Vec<String> = taken(scope).into_iter().chain(node_dns::taken(scope)).collect();
    if !taken.is_empty() {
        let ports = if taken.len() == 1 { "port" } else { "ports" };
        found.refuse(
            Refusal::new(format!("TCP {ports} in use: {}", taken.join(", ")))
                .because("something that kokctl has not installed listens there")
                .hint("find it with `ss -ltnp` on the host and move or stop it"),
        );
    }
}

fn taken(scope: &Scope<'_>) -> Vec<String> {
    let facts = scope.facts;
    if !scope.is_fresh() || facts.certificate_authority.is_some() {
        return Vec::new();
    }
    let roles = scope.host.roles;
    let port = scope.cluster.api_server_port();
    let (of_api, of_role) = match roles.control_plane {
        true => (Some((port, "the API server")), CONTROL_PLANE_PORTS),
        false if scope.cluster.has_load_balancers() && roles.is_node() => (Some((port, "the way to the API servers")), LOAD_BALANCER_PORTS),
        false => (None, &[][..]),
    };
    let (of_etcd, of_node) = (if roles.etcd { ETCD_PORTS } else { &[] }, if roles.is_node() { NODE_PORTS } else { &[] });
    let of_proxy = if roles.is_node() && !scope.cluster.settings.kube_proxy_remove { PROXY_PORTS } else { &[] };
    of_api
        .iter()
        .chain(of_role)
        .chain(of_etcd)
        .chain(of_node)
        .chain(of_proxy)
        .filter(|(port, _)| facts.listening_ports.contains(port))
        .map(|(port, what)| format!("{port} (for {what})"))
        .collect()
}

/// With the policy `open` a step opens what is closed; with `ignore` nobody looks.
pub(super) fn firewall(scope: &Scope<'_>, found: &mut Findings) {
    if scope.settings().host.firewall != FirewallPolicy::Refuse {
        return;
    }
    let Some(state) = &scope.seen.firewall else { return };
    let closed = firewall::closed(state, &firewall::Opening::for_host(scope.cluster, scope.host, scope.facts), true);
    if !closed.is_empty() {
        found.refuse(
            Refusal::new(format!("its firewall is active and does not let in {}", closed.join(", ")))
                .because(format!("{} keeps the hosts of the cluster, or its pods, from talking to this one", firewall::name(state)))
                .hint("set vars.firewall: open, and kokctl opens them; `ignore` if other rules let them in; or switch the firewall off"),
        );
    }
}

/// Whether a route leads to pods or services because we made it: by an interface of ours, or to another host that has the pods.
fn is_ours(scope: &Scope<'_>, route: &Route) -> bool {
    let interface = route.interface.as_str();
    let pods = !scope.is_fresh() && scope.cluster.network.pod_cidr.contains(&route.to);
    // Nobody knows what the interfaces of the user's own network are called.
    if pods && !scope.cluster.network.plugin.is_ours() {
        return true;
    }
    // A host that has left the file since: a step takes the route away.
    let marked = scope.seen.pod_network.as_ref().and_then(|network| network.routes.get(&route.to.into()));
    if marked.is_some_and(|(_, ours)| *ours) {
        return true;
    }
    // Packets for the rest of a node's block lead nowhere with Calico, by a route of no interface.
    if pods && interface == "*" {
        return true;
    }
    let by_a_host = || route.via.is_some_and(|via| scope.cluster.hosts.iter().any(|host| host.address == IpAddr::V4(via)));
    makes_interface(interface) || interface == "kube-ipvs0" || (pods && by_a_host())
}

pub(super) fn routes(scope: &Scope<'_>, found: &mut Findings) {
    let network = &scope.cluster.network;
    if !scope.host.roles.is_node() {
        return;
    }
    let overlap = |one: &Ipv4Net, other: &Ipv4Net| one.contains(other) || other.contains(one);
    for (what, field, range) in [("pods", "podCIDR", network.pod_cidr), ("services", "serviceCIDR", network.service_cidr)] {
        let hit = scope.facts.routes.iter().filter(|route| !is_ours(scope, route)).find(|route| overlap(&route.to, &range));
        if let Some(route) = hit {
            found.refuse(
                Refusal::new(format!("its route to {} overlaps with the range {range} of the {what}", route.to))
                    .because(format!("packets for {what} would leave by {} instead, or the other way round", route.interface))
                    .hint(format!("choose another range under spec.network.{field}, or remove that route (`ip route` shows it)")),
            );
        }
    }
}

/// Without links between them a host is the router to its pods, and the kernel takes only neighbours as such.
pub(super) fn subnet(scope: &Scope<'_>, found: &mut Findings) {
    let (facts, address) = (scope.facts, scope.host.address);
    let of_address = facts.interfaces.iter().find(|(_, interface)| interface.addresses.contains(&address));
    let neighbours = (plugin(&scope.cluster.network).neighbours)(&scope.cluster.network).filter(|_| scope.host.roles.is_node());
    // That no interface has the address is told by another check.
    let Some(((interface, _), Neighbours { who, instead })) = of_address.zip(neighbours) else { return };
    let subnets: Vec<Ipv4Net> =
        facts.routes.iter().filter(|route| route.interface == *interface && route.via.is_none()).map(|route| route.to).collect();
    let is_near = |other: IpAddr| matches!(other, IpAddr::V4(other) if subnets.iter().any(|subnet| subnet.contains(&other)));
    let far = scope.cluster.nodes().filter(|other| other.address != address && !is_near(other.address));
    let far: Vec<String> = far.map(|other| format!("{} ({})", other.name, other.address)).collect();
    if far.is_empty() {
        return;
    }
    let more = far.len().saturating_sub(MOST_NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let named = far.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
    let has = subnets.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let has = if has.is_empty() { "no subnet".to_owned() } else { format!("the subnet {has}") };
    found.refuse(
        Refusal::new(format!("it reaches other hosts by a router: {named}{more}"))
            .because(format!("{interface} has {has}, and {who} needs all hosts in one subnet"))
            .hint(format!("write {instead}, or give the hosts addresses of one subnet")),
    );
}

/// So many hosts show what is wrong.
const MOST_NAMED: usize = 3;

/// What is larger than the interface takes would be lost, or sent in pieces at best.
pub(super) fn packets(scope: &Scope<'_>, found: &mut Findings) {
    let cluster = scope.cluster;
    let interface = scope.facts.interfaces.iter().find(|(_, interface)| interface.addresses.contains(&scope.host.address));
    let Some((name, sends)) = interface.and_then(|(name, interface)| Some((name, interface.mtu?))) else { return };
    let Some((mtu, needed)) = mtu_of_pods(cluster).zip(mtu_of_hosts(cluster)).filter(|_| scope.host.roles.is_node()) else { return };
    if sends >= needed {
        return;
    }
    let plugin = plugin(&cluster.network);
    let overhead = (plugin.overhead)(cluster);
    let takes = match overhead {
        0 => String::new(),
        bytes => format!(", for {} takes {bytes} of them", (plugin.taken_by)(cluster)),
    };
    let most = sends.saturating_sub(u32::from(overhead));
    found.refuse(
        Refusal::new(format!("packets of {mtu} bytes, as the pods are to send them, are too large for its interface {name}"))
            .because(format!("that sends {sends} bytes at most, and {needed} are needed{takes}"))
            .hint(format!("write {most} or less at spec.network.mtu, or leave it out; or give {name} a larger MTU")),
    );
}

/// The servers that the kubelet gives to pods, and the file that has them.
fn servers<'a>(scope: &Scope<'a>) -> (&'a [IpAddr], &'static str) {
    let facts = scope.facts;
    if facts.resolved_servers.is_empty() {
        (&facts.name_servers, "/etc/resolv.conf")
    } else {
        (&facts.resolved_servers, "/run/systemd/resolve/resolv.conf")
    }
}

/// What to do about a server that would be the cluster itself.
const OTHER_SERVER: &str = "let the host have a name server that does not depend on the cluster";

/// A server that would have to ask the host that asks it.
fn of_the_cluster(scope: &Scope<'_>, server: IpAddr) -> Option<Refusal> {
    if let Some(services) = scope.cluster.network.service_cidrs().iter().find(|services| services.contains(&server)) {
        let what = format!("its name server {server} lies in the range of the services ({services})");
        return Some(Refusal::new(what).because("CoreDNS would ask itself for ever").hint(OTHER_SERVER));
    }
    let is_cache = scope.cluster.settings.node_dns.answers_at(server);
    let what = || format!("its name server {server} is the address of the node's DNS cache");
    is_cache.then(|| {
        Refusal::new(what())
            .because("the cache asks the host's servers for names outside, and would ask itself for ever")
            .hint(OTHER_SERVER)
    })
}

/// The pods that answer for names ask the servers that the kubelet gives them: those of systemd-resolved where that runs (kubeadm sets it
/// so), else those of /etc/resolv.conf. A server on a loopback address would be the pod itself: CoreDNS finds that loop and gives up.
pub(super) fn name_servers(scope: &Scope<'_>, found: &mut Findings) {
    // The resolver of glibc asks the first three and no more (resolv.conf(5), MAXNS).
    const MOST: usize = 3;
    if !scope.host.roles.is_node() {
        return;
    }
    let (servers, file) = servers(scope);
    if servers.is_empty() {
        found.refuse(
            Refusal::new("it has no name server")
                .because(format!("{file} names none that could be asked, and CoreDNS does not start without one"))
                .hint("name one there; where there is none at all, any address that does not answer will do"),
        );
    } else if let Some(server) = servers.iter().find(|server| server.is_loopback()) {
        found.refuse(
            Refusal::new(format!("its name server is {server}"))
                .because(format!("{file} is given to pods, and there that address is the pod itself: CoreDNS would ask itself for ever"))
                .hint("name a server there that pods can reach; or let systemd-resolved run, whose own servers are then taken"),
        );
    } else if let Some(refusal) = servers.iter().find_map(|server| of_the_cluster(scope, *server)) {
        found.refuse(refusal.hint(format!("name a server in {file} that is none of the cluster")));
    } else if servers.len() > MOST {
        found.warn(
            Refusal::new(format!("it has {} name servers", servers.len()))
                .because(format!("programs ask the first {MOST} of {file} only, and Kubernetes warns of the others at each pod"))
                .hint(format!("keep {MOST}")),
        );
    }
}
