//! What a cluster needs a host's firewall to let in.

use std::collections::BTreeSet;
use std::net::IpAddr;

use kok_crds::model::{Cluster, Host};

use crate::facts::HostFacts;
use crate::observe::{Firewall, Firewalld};
use crate::ports::{self, Port};

/// What has to reach a host, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// Ports, for everybody.
    pub ports: Vec<Port>,
    /// The ranges of the pods, whose packets come to a node and go through it.
    pub pods: Vec<String>,
    /// The interfaces that have the host's address.
    pub interfaces: BTreeSet<String>,
    /// The addresses of the cluster's other hosts.
    pub peers: Vec<IpAddr>,
}

impl Opening {
    /// What has to reach this host.
    #[must_use]
    pub fn for_host(cluster: &Cluster, host: &Host, facts: &HostFacts) -> Self {
        let ports = ports::of_host(cluster, host).collect();
        let with_address = facts.interfaces.iter().filter(|(_, interface)| interface.addresses.contains(&host.address));
        let interfaces = with_address.map(|(name, _)| name.clone()).collect();
        let others = cluster.hosts.iter().filter(|other| other.address != host.address);
        let peers = others.flat_map(|other| [other.address].into_iter().chain(other.address_ipv6.map(IpAddr::V6))).collect();
        let pods = cluster.network.pod_cidrs().iter().filter(|_| host.roles.is_node()).map(ToString::to_string).collect();
        Self { ports, pods, interfaces, peers }
    }
}

/// What a firewall is called.
#[must_use]
pub fn name(firewall: &Firewall) -> &'static str {
    match firewall {
        Firewall::None => "no firewall",
        Firewall::Firewalld(_) => "firewalld",
        Firewall::Ufw { .. } => "ufw",
    }
}

/// What a firewall does not let in of what it should, in words. With `only_needed` what the cluster can do without is left out.
#[must_use]
pub fn closed(firewall: &Firewall, opening: &Opening, only_needed: bool) -> Vec<String> {
    let wanted = || opening.ports.iter().filter(|port| port.needed || !only_needed);
    let described = |port: &Port| format!("{} ({})", port.dashed(), port.what);
    let of_pods = |is_open: &dyn Fn(&str) -> bool| opening.pods.iter().filter(|pods| !is_open(pods)).cloned().collect();
    let (mut closed, pods): (Vec<String>, Vec<String>) = match firewall {
        Firewall::None => return Vec::new(),
        Firewall::Firewalld(firewalld) => {
            let zones = if only_needed { zones_of_peers(firewalld, opening) } else { zones(firewalld, opening) };
            let in_zone = |zone: &String| {
                let place = if *zone == firewalld.default { String::new() } else { format!(" in the zone {zone}") };
                let closed = wanted().filter(|port| !is_open(firewalld, zone, port));
                closed.map(|port| format!("{}{place}", described(port))).collect::<Vec<_>>()
            };
            (zones.iter().flat_map(in_zone).collect(), of_pods(&|pods| firewalld.trusts(pods)))
        }
        Firewall::Ufw { rules } => {
            let closed = wanted().filter(|port| !ufw_rules(port).iter().any(|rule| has_rule(rules, rule)));
            (closed.map(described).collect(), of_pods(&|pods| ufw_pods(pods).iter().all(|rule| has_rule(rules, rule))))
        }
    };
    closed.extend(pods.iter().map(|range| format!("pods ({range})")));
    closed
}

fn is_open(firewalld: &Firewalld, zone: &str, port: &Port) -> bool {
    firewalld.zones.get(zone).is_some_and(|zone| zone.accepts || zone.ports.iter().any(|open| port.is_within(open)))
}

/// The zones that let in what comes to a host: those of its interfaces, and those that some of its peers are in by their address.
#[must_use]
pub fn zones(firewalld: &Firewalld, opening: &Opening) -> BTreeSet<String> {
    zones_of_interfaces(firewalld, opening).into_iter().chain(zones_of_peers(firewalld, opening)).collect()
}

/// A zone that has a packet's source goes before that of the interface. An interface of no zone is in the default one.
fn zones_of_peers(firewalld: &Firewalld, opening: &Opening) -> BTreeSet<String> {
    let by_source = |peer: &IpAddr| firewalld.zones.iter().find(|(_, zone)| zone.has_source(*peer)).map(|(name, _)| name.clone());
    let sources: Vec<Option<String>> = opening.peers.iter().map(by_source).collect();
    let others = if sources.is_empty() || sources.contains(&None) { zones_of_interfaces(firewalld, opening) } else { BTreeSet::new() };
    sources.into_iter().flatten().chain(others).collect()
}

fn zones_of_interfaces(firewalld: &Firewalld, opening: &Opening) -> BTreeSet<String> {
    let zone_of = |interface: &String| firewalld.zones.iter().find(|(_, zone)| zone.interfaces.contains(interface));
    let named = |interface| zone_of(interface).map_or_else(|| firewalld.default.clone(), |(name, _)| name.clone());
    if opening.interfaces.is_empty() { [firewalld.default.clone()].into() } else { opening.interfaces.iter().map(named).collect() }
}

/// A rule may have a comment behind it.
fn has_rule(rules: &BTreeSet<String>, wanted: &str) -> bool {
    rules.iter().any(|rule| rule.split(" comment=").next() == Some(wanted))
}

/// The rules of ufw's file that let a port in: for its protocol, or for any.
fn ufw_rules(port: &Port) -> [String; 2] {
    [port.protocol, "any"].map(|protocol| format!("allow {protocol} {} 0.0.0.0/0 any 0.0.0.0/0 in", port.colon()))
}

/// The rules of ufw's file that let pods in and through.
fn ufw_pods(pods: &str) -> [String; 3] {
    let all = if pods.contains(':') { "::/0" } else { "0.0.0.0/0" };
    [
        format!("allow any any {all} any {pods} in"),
        format!("route:allow any any {all} any {pods} in"),
        format!("route:allow any any {pods} any {all} in"),
    ]
}
