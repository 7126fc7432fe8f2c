//! Rules that tie several values together.

mod endpoint;
mod etcd;
mod implied;
mod node_dns;

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};
use semver::Version;

use crate::decode::{Decoder, Field, Wording};
use crate::model::{Host, Network, Settings};
use crate::read::ReadHost;
use crate::syntax::address::overlap;
use crate::words::{quote, with_nearest};
use crate::{Position, Problem};

pub(crate) use endpoint::endpoint;
pub(crate) use etcd::etcd_deployment;
pub(crate) use implied::{OF_ADDRESS, dns_server, implied, max_pods, other_address};
pub(crate) use node_dns::node_dns;

/// The controller manager keeps one bit per subnet, and no more than 2^16 of them (kubeadm: `PodSubnetNodeMaskMaxDiff`).
const MAX_SUBNET_BITS: u8 = 16;
/// A node with fewer addresses than a /28 has cannot run the pods that every node runs (kubeadm: `MinimumAddressesInPodSubnet`).
const MAX_NODE_PREFIX: u8 = 28;
/// The DNS service has the tenth address (kubeadm: `MinimumAddressesInServiceSubnet`), which a /28 still has.
const MAX_SERVICE_PREFIX: u8 = 28;
/// The API server keeps one bit per service address, and no more than 2^20 of them (kubeadm: `MaximumBitsForServiceSubnet`).
const MIN_SERVICE_PREFIX: u8 = 12;

/// Where it may be written how etcd runs.
const DEPLOYMENT: [&str; 2] = ["spec.vars.etcd_deployment_type", "spec.etcd.deployment"];
/// Where it may be written of which kind keys are.
const KEY_ALGORITHM: [&str; 2] = ["spec.vars.kube_asymmetric_encryption_algorithm", "spec.certificates.keyAlgorithm"];
const REMOVED: &str = "spec.vars.kube_proxy_remove";
const PODS: &str = "spec.network.podCIDR";
const SERVICES: &str = "spec.network.serviceCIDR";
const PREFIX: &str = "spec.network.nodePrefix";

/// Names, addresses and roles of all hosts together.
pub(crate) fn hosts(decoder: &mut Decoder, hosts: &[ReadHost<'_>], field: Option<&Field<'_>>) {
    unique(decoder, hosts.iter().filter_map(|host| host.name.as_ref()), "name");
    unique(decoder, hosts.iter().filter_map(|host| host.address.as_ref()), "address");
    for (name, position) in hosts.iter().filter_map(|host| host.name.as_ref()) {
        if name == "localhost" {
            let problem = Problem::new("no host can have the name `localhost`").at(position);
            decoder.report(problem.because("every host has that name for itself"));
        }
    }
    control_planes(decoder, hosts, field);
    members(decoder, hosts);
    // An inventory says it of all its hosts at once, and means the nodes.
    if matches!(decoder.wording(), Wording::Cluster) {
        hosts.iter().filter_map(|host| host.host.as_ref()).for_each(|host| marks_of_no_node(decoder, host));
    }
}

/// Labels and taints are a node's.
fn marks_of_no_node(decoder: &mut Decoder, host: &Host) {
    let given = [("labels", host.labels.is_empty()), ("taints", host.taints.is_empty())];
    for (field, _) in given.into_iter().filter(|(_, is_empty)| !host.roles.is_node() && !is_empty) {
        decoder.report(
            Problem::new(format!("the host {} cannot have {field}", quote(&host.name)))
                .at(&host.origin)
                .because("it has the role etcd alone, and is no node of the cluster")
                .hint("leave them out; or give it another role too"),
        );
    }
}

fn control_planes(decoder: &mut Decoder, hosts: &[ReadHost<'_>], field: Option<&Field<'_>>) {
    let all_known = hosts.iter().all(|host| host.roles.is_some());
    let roles = hosts.iter().filter_map(|host| host.roles.as_ref());
    if all_known && !roles.clone().any(|(roles, _)| roles.control_plane) {
        let problem =
            Problem::new("no host has the role `control-plane`").because("a cluster needs a host for its API server and its etcd");
        decoder.report(match field {
            Some(field) => problem.at(field.position()),
            None => problem,
        });
    }
}

/// An odd number: etcd works as long as more than half of its members do.
fn members(decoder: &mut Decoder, hosts: &[ReadHost<'_>]) {
    let all_known = hosts.iter().all(|host| host.roles.is_some());
    let roles = hosts.iter().filter_map(|host| host.roles.as_ref());
    let beside = roles.clone().all(|(roles, _)| roles.etcd == roles.control_plane);
    let places: Vec<_> = roles.filter(|(roles, _)| roles.etcd).map(|(_, position)| position).collect();
    // Of the groups of an inventory it is told where they are read.
    let is_told_here = all_known && matches!(decoder.wording(), Wording::Cluster);
    let Some(last) = places.last().filter(|_| is_told_here && places.len().is_multiple_of(2)) else { return };
    let role = if beside { "control-plane" } else { "etcd" };
    decoder.report(
        Problem::new(format!("{} hosts have the role `{role}`", places.len()))
            .at(last)
            .because("each has an etcd member, and etcd works as long as more than half of them do: one more makes it no safer")
            .hint("give an odd number of hosts that role: one, three or five"),
    );
}

/// kubeadm reads the kind of keys out of its configuration, and renews by it.
pub(crate) fn key_algorithm(decoder: &mut Decoder, settings: &Settings, version: &Version, spec: &Position) {
    let algorithm = settings.certificates.key_algorithm;
    if version.minor >= algorithm.first_minor() {
        return;
    }
    let written = KEY_ALGORITHM.iter().find_map(|path| decoder.position(path)).unwrap_or(spec).clone();
    decoder.report(
        Problem::new(format!("the keys of Kubernetes {version} cannot be {}", algorithm.as_str()))
            .at(&written)
            .because(format!("kubeadm knows that kind from 1.{} on", algorithm.first_minor()))
            .hint("write another kind, or a later version"),
    );
}

fn unique<'a, T: Ord + ToString + 'a>(decoder: &mut Decoder, values: impl Iterator<Item = &'a (T, Position)>, what: &str) {
    let mut seen: BTreeMap<&T, &Position> = BTreeMap::new();
    for (value, position) in values {
        if let Some(first) = seen.get(value) {
            decoder.report(
                Problem::new(format!("two hosts have the {what} {}", quote(&value.to_string())))
                    .at(position)
                    .because(format!("the first one stands at {first}"))
                    .hint(format!("give each host {} {what} of its own", if what == "address" { "an" } else { "a" })),
            );
        } else {
            seen.insert(value, position);
        }
    }
}

/// Ranges against each other, against the hosts' addresses and against Kubernetes' limits.
pub(crate) fn network(decoder: &mut Decoder, network: &Network, hosts: &[ReadHost<'_>], spec: &Position) {
    let written = |path: &str| decoder.position(path).cloned();
    let (pods_at, services_at) = (written(PODS), written(SERVICES));
    // Blame a value that the user wrote; the other one may be a default.
    let blame = |first: Option<Position>, second: Option<&Position>| first.as_ref().or(second).unwrap_or(spec).clone();
    let (pods, services) = (network.pod_cidr, network.service_cidr);
    let words = decoder.wording();
    let mut problems = Vec::new();
    let prefix_at = blame(written(PREFIX), pods_at.as_ref());
    problems.extend(node_prefix_problem(network, hosts.len(), words).map(|problem| problem.at(&prefix_at)));
    let services_at = blame(services_at, pods_at.as_ref());
    problems.extend(service_range_problem(services).map(|problem| problem.at(&services_at)));
    if overlap(&pods, &services) {
        problems.push(
            Problem::new(format!("the ranges of pods ({pods}) and services ({services}) overlap"))
                .at(&services_at)
                .because("an address belongs to a pod or to a service, not to both"),
        );
    }
    let addresses = hosts.iter().filter_map(|host| host.address.as_ref());
    problems.extend(addresses.flat_map(|(address, position)| swallowed(*address, network, position, words)));
    for problem in problems {
        decoder.report(problem);
    }
}

/// Without kube-proxy it is the network plugin that carries packets for Services.
pub(crate) fn services(decoder: &mut Decoder, network: &Network, settings: &Settings, spec: &Position) {
    if !settings.kube_proxy_remove || !network.plugin.is_ours() {
        return;
    }
    let plugin = network.plugin.as_str();
    let hint = match decoder.wording() {
        Wording::Cluster => {
            "leave it out; or let a network do it that can, as Cilium: `network: {plugin: manifest, manifest: cilium.yaml}`"
        }
        Wording::Inventory => {
            "leave it out; or write `kube_network_plugin: none`, and install a network that can, as Cilium; `kokctl convert` makes a Cluster \
             of this that can name its manifest"
        }
    };
    let written = decoder.position(REMOVED).unwrap_or(spec).clone();
    decoder.report(
        Problem::new(format!("kube-proxy cannot be left out with the network plugin `{plugin}`"))
            .at(&written)
            .because(format!(
                "{plugin} carries packets of pods, and nothing would carry those for Services: not even CoreDNS would be reached"
            ))
            .hint(hint),
    );
}

/// Ranges of pods or services that a host's address lies in.
fn swallowed(address: IpAddr, network: &Network, position: &Position, words: Wording) -> Vec<Problem> {
    let ranges = [("pods", PODS, network.pod_cidr), ("services", SERVICES, network.service_cidr)];
    let hit = ranges.into_iter().filter(|(_, _, range)| IpNet::from(*range).contains(&address));
    let problem = |(what, field, range): (&str, &str, Ipv4Net)| {
        Problem::new(format!("the address {address} lies in the range of the {what} ({range})"))
            .at(position)
            .because(format!("packets to that host would go to {what} instead"))
            .hint(format!("write another range as `{}`", words.of(field)))
    };
    hit.map(problem).collect()
}

fn node_prefix_problem(network: &Network, hosts: usize, words: Wording) -> Option<Problem> {
    let (pods, prefix) = (network.pod_cidr, network.node_prefix);
    let problem = Problem::new(format!("the pods' range {pods} cannot be split into subnets of /{prefix}"));
    if prefix < pods.prefix_len() {
        return Some(problem.because("a subnet is not larger than the whole range"));
    }
    if prefix > MAX_NODE_PREFIX {
        return Some(problem.because(format!("a node needs at least a /{MAX_NODE_PREFIX}")));
    }
    if prefix - pods.prefix_len() > MAX_SUBNET_BITS {
        let because = format!("that would be more than 2^{MAX_SUBNET_BITS} subnets, which Kubernetes cannot count");
        return Some(problem.because(because).hint("make the pods' range smaller, or the subnets larger"));
    }
    let room = network.max_nodes();
    if u64::try_from(hosts).unwrap_or(u64::MAX) > room {
        return Some(
            Problem::new(format!("the pods' range {pods} has {room} subnets of /{prefix} for {hosts} hosts"))
                .because("each node gets a subnet of its own")
                .hint(format!("make `{}` larger, or the subnets smaller by a larger `{}`", words.of(PODS), words.of(PREFIX))),
        );
    }
    None
}

fn service_range_problem(range: Ipv4Net) -> Option<Problem> {
    let problem = Problem::new(format!("the services cannot have the range {range}"));
    if range.prefix_len() > MAX_SERVICE_PREFIX {
        let because = format!("it is too small: the DNS service has the tenth address; a /{MAX_SERVICE_PREFIX} does");
        return Some(problem.because(because));
    }
    if range.prefix_len() < MIN_SERVICE_PREFIX {
        return Some(problem.because(format!("it is too large: Kubernetes takes at most a /{MIN_SERVICE_PREFIX}")));
    }
    None
}

/// Whether the sources of time are hosts of the cluster.
pub(crate) fn time_sources(decoder: &mut Decoder, time: Option<&Field<'_>>, hosts: &[ReadHost<'_>]) {
    let names: Vec<&str> = hosts.iter().filter_map(|host| host.name.as_ref()).map(|(name, _)| name.as_str()).collect();
    for (text, position) in time.map(source_names).unwrap_or_default() {
        if !names.contains(&text) {
            let problem = Problem::new(format!("{} is no host of the cluster", quote(text)))
                .at(position)
                .because("a source of time is one of the hosts; others stand under `servers`");
            decoder.report(with_nearest(problem, text, &names));
        }
    }
}

fn source_names<'a>(time: &Field<'a>) -> Vec<(&'a str, &'a Position)> {
    use crate::tree::Value;
    let Value::Map(entries) = &time.node.value else {
        return Vec::new();
    };
    let sources = entries.iter().filter(|entry| entry.key == "sources");
    let items = sources.filter_map(|entry| match &entry.node.value {
        Value::List(items) => Some(items),
        _ => None,
    });
    let texts = items.flatten().filter_map(|item| match &item.value {
        Value::Text(text) => Some((text.as_str(), &item.position)),
        _ => None,
    });
    texts.collect()
}
