//! Rules that tie several values together.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::Ipv4Net;

use crate::decode::{Decoder, Field, quote, with_nearest};
use crate::model::Network;
use crate::read::ReadHost;
use crate::syntax::address::overlap;
use crate::{Position, Problem};

/// The controller manager keeps one bit per subnet, and no more than 2^16 of them (kubeadm: `PodSubnetNodeMaskMaxDiff`).
const MAX_SUBNET_BITS: u8 = 16;
/// A node with fewer addresses than a /28 has cannot run the pods that every node runs (kubeadm: `MinimumAddressesInPodSubnet`).
const MAX_NODE_PREFIX: u8 = 28;
/// The DNS service has the tenth address (kubeadm: `MinimumAddressesInServiceSubnet`), which a /28 still has.
const MAX_SERVICE_PREFIX: u8 = 28;
/// The API server keeps one bit per service address, and no more than 2^20 of them (kubeadm: `MaximumBitsForServiceSubnet`).
const MIN_SERVICE_PREFIX: u8 = 12;

/// Names, addresses and roles of all hosts together.
pub(crate) fn hosts(decoder: &mut Decoder, hosts: &[ReadHost], field: Option<&Field<'_>>) {
    unique(
        decoder,
        hosts.iter().filter_map(|host| host.name.as_ref()),
        "name",
    );
    unique(
        decoder,
        hosts.iter().filter_map(|host| host.address.as_ref()),
        "address",
    );
    for (name, position) in hosts.iter().filter_map(|host| host.name.as_ref()) {
        if name == "localhost" {
            let problem = Problem::new("no host can have the name `localhost`").at(position);
            decoder.report(problem.because("every host has that name for itself"));
        }
    }
    let all_known = hosts.iter().all(|host| host.roles.is_some());
    let control_planes: Vec<_> = hosts
        .iter()
        .filter(|host| host.roles.is_some_and(|roles| roles.control_plane))
        .collect();
    match control_planes.as_slice() {
        [] if all_known => {
            let problem = Problem::new("no host has the role `control-plane`");
            let problem = field.map_or(problem.clone(), |field| problem.at(field.position()));
            decoder
                .report(problem.because("a cluster needs a host for its API server and its etcd"));
        }
        [_, second, ..] => decoder.report(
            Problem::new(format!(
                "{} hosts have the role `control-plane`",
                control_planes.len()
            ))
            .at(&second.roles_at)
            .because("this version builds clusters with one control plane")
            .hint("give the other hosts the role `worker`"),
        ),
        _ => {}
    }
}

fn unique<'a, T: Ord + ToString + 'a>(
    decoder: &mut Decoder,
    values: impl Iterator<Item = &'a (T, Position)>,
    what: &str,
) {
    let mut seen: BTreeMap<&T, &Position> = BTreeMap::new();
    for (value, position) in values {
        if let Some(first) = seen.get(value) {
            decoder.report(
                Problem::new(format!(
                    "two hosts have the {what} {}",
                    quote(&value.to_string())
                ))
                .at(position)
                .because(format!("the first one stands at {first}")),
            );
        } else {
            seen.insert(value, position);
        }
    }
}

/// Ranges against each other, against the hosts' addresses and against Kubernetes' limits.
pub(crate) fn network(
    decoder: &mut Decoder,
    network: &Network,
    hosts: &[ReadHost],
    spec: &Position,
) {
    let at = |decoder: &Decoder, name: &str| {
        decoder
            .position(&format!("spec.network.{name}"))
            .unwrap_or(spec)
            .clone()
    };
    let (pods, services) = (network.pod_cidr, network.service_cidr);
    let (pods_at, services_at) = (at(decoder, "podCIDR"), at(decoder, "serviceCIDR"));
    let prefix_at = at(decoder, "nodePrefix");
    let mut problems = Vec::new();
    problems.extend(node_prefix_problem(network, hosts.len()).map(|problem| {
        // Blame the value that the user wrote; the other one is a default.
        problem.at(if &prefix_at == spec {
            &pods_at
        } else {
            &prefix_at
        })
    }));
    problems.extend(service_range_problem(services).map(|problem| problem.at(&services_at)));
    if overlap(&pods, &services) {
        problems.push(
            Problem::new(format!(
                "the ranges of pods ({pods}) and services ({services}) overlap"
            ))
            .at(if &services_at == spec {
                &pods_at
            } else {
                &services_at
            })
            .because("an address belongs to a pod or to a service, not to both"),
        );
    }
    for (address, position) in hosts.iter().filter_map(|host| host.address.as_ref()) {
        let IpAddr::V4(v4) = address else { continue };
        for (range, what) in [(pods, "pods"), (services, "services")] {
            if range.contains(v4) {
                problems.push(
                    Problem::new(format!(
                        "the address {address} lies in the range of the {what} ({range})"
                    ))
                    .at(position)
                    .because(format!("packets to that host would go to {what} instead"))
                    .hint(format!(
                        "choose another range under `spec.network.{}`",
                        field_of(what)
                    )),
                );
            }
        }
    }
    for problem in problems {
        decoder.report(problem);
    }
}

fn field_of(what: &str) -> &'static str {
    if what == "pods" {
        "podCIDR"
    } else {
        "serviceCIDR"
    }
}

fn node_prefix_problem(network: &Network, hosts: usize) -> Option<Problem> {
    let (pods, prefix) = (network.pod_cidr, network.node_prefix);
    let problem = Problem::new(format!(
        "the pods' range {pods} cannot be split into subnets of /{prefix}"
    ));
    if prefix < pods.prefix_len() {
        return Some(problem.because("a subnet is not larger than the whole range"));
    }
    if prefix > MAX_NODE_PREFIX {
        return Some(problem.because(format!("a node needs at least a /{MAX_NODE_PREFIX}")));
    }
    if prefix - pods.prefix_len() > MAX_SUBNET_BITS {
        let because = format!(
            "that would be more than 2^{MAX_SUBNET_BITS} subnets, which Kubernetes cannot count"
        );
        return Some(
            problem
                .because(because)
                .hint("make the pods' range smaller, or the subnets larger"),
        );
    }
    let room = network.max_nodes();
    if u64::try_from(hosts).unwrap_or(u64::MAX) > room {
        return Some(
            Problem::new(format!(
                "the pods' range {pods} has {room} subnets of /{prefix} for {hosts} hosts"
            ))
            .because("each node gets a subnet of its own")
            .hint("make `podCIDR` larger, or the subnets smaller by a larger `nodePrefix`"),
        );
    }
    None
}

fn service_range_problem(range: Ipv4Net) -> Option<Problem> {
    let problem = Problem::new(format!("the services cannot have the range {range}"));
    if range.prefix_len() > MAX_SERVICE_PREFIX {
        let because = format!(
            "it is too small: the DNS service has the tenth address; a /{MAX_SERVICE_PREFIX} does"
        );
        return Some(problem.because(because));
    }
    if range.prefix_len() < MIN_SERVICE_PREFIX {
        return Some(problem.because(format!(
            "it is too large: Kubernetes takes at most a /{MIN_SERVICE_PREFIX}"
        )));
    }
    None
}

/// Whether the sources of time are hosts of the cluster.
pub(crate) fn time_sources(decoder: &mut Decoder, time: Option<&Field<'_>>, hosts: &[ReadHost]) {
    let names: Vec<&str> = hosts
        .iter()
        .filter_map(|host| host.name.as_ref())
        .map(|(name, _)| name.as_str())
        .collect();
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
