//! Ranges against each other, against the hosts' addresses and against Kubernetes' limits: for IPv4, and with dual stack for IPv6.

use std::net::IpAddr;

use ipnet::IpNet;

use super::unique;
use crate::decode::{Decoder, Wording};
use crate::model::{Network, NetworkPlugin, Settings};
use crate::read::ReadHost;
use crate::variables::field_called;
use crate::words::quote;
use crate::{Position, Problem};

/// The controller manager keeps one bit per subnet, and no more than 2^16 of them (kubeadm: `PodSubnetNodeMaskMaxDiff`).
const MAX_SUBNET_BITS: u8 = 16;
/// A node with fewer addresses than a /28 of IPv4 has cannot run the pods that every node runs (kubeadm: `MinimumAddressesInPodSubnet`). Of
/// the services' addresses the DNS service has the tenth (kubeadm: `MinimumAddressesInServiceSubnet`).
const LEAST_BITS: u8 = 4;
/// The API server keeps one bit per service address, and no more than 2^20 of them (kubeadm: `MaximumBitsForServiceSubnet`).
const MOST_SERVICE_BITS: u8 = 20;

/// The ranges of one family, and the fields that say them.
struct Family {
    pods: IpNet,
    services: IpNet,
    prefix: u8,
    /// Nodes that can get a share; `None` if the network does without shares.
    room: Option<u64>,
    pods_field: &'static str,
    services_field: &'static str,
    prefix_field: &'static str,
}

impl Family {
    fn of_ipv4(network: &Network) -> Self {
        Self {
            pods: network.pod_cidr.into(),
            services: network.service_cidr.into(),
            prefix: network.node_prefix,
            room: room(network, network.max_nodes()),
            pods_field: "spec.network.podCIDR",
            services_field: "spec.network.serviceCIDR",
            prefix_field: super::PREFIX,
        }
    }

    fn of_ipv6(network: &Network) -> Option<Self> {
        let ipv6 = network.ipv6?;
        Some(Self {
            pods: ipv6.pod_cidr.into(),
            services: ipv6.service_cidr.into(),
            prefix: ipv6.node_prefix,
            room: room(network, ipv6.max_nodes()),
            pods_field: "spec.network.podCIDRIPv6",
            services_field: "spec.network.serviceCIDRIPv6",
            prefix_field: super::PREFIX_IPV6,
        })
    }

    /// Bits of an address.
    fn bits(&self) -> u8 {
        self.pods.max_prefix_len()
    }
}

/// Calico takes blocks of the range, as many as a node needs.
fn room(network: &Network, nodes: u64) -> Option<u64> {
    (network.plugin != NetworkPlugin::Calico).then_some(nodes)
}

/// Checks the network.
pub(crate) fn network(decoder: &mut Decoder, network: &Network, hosts: &[ReadHost<'_>], spec: &Position) {
    let ipv6 = Family::of_ipv6(network);
    let ipv4: Vec<(IpAddr, &Position)> = hosts.iter().filter_map(|host| host.address.as_ref()).map(|(a, at)| (*a, at)).collect();
    let of_ipv6: Vec<(IpAddr, &Position)> =
        hosts.iter().filter_map(|host| host.address_ipv6.as_ref()).map(|(a, at)| ((*a).into(), at)).collect();
    family(decoder, &Family::of_ipv4(network), &ipv4, hosts.len(), spec);
    unique(decoder, hosts.iter().filter_map(|host| host.address_ipv6.as_ref()), "IPv6 address");
    match ipv6 {
        Some(ipv6) => family(decoder, &ipv6, &of_ipv6, hosts.len(), spec),
        None => of_ipv6.iter().for_each(|(address, at)| decoder.report(without_dual_stack(*address, at))),
    }
}

fn without_dual_stack(address: IpAddr, at: &Position) -> Problem {
    Problem::new(format!("a host has the IPv6 address {address}, and the cluster has IPv4 alone"))
        .at(at)
        .because("nothing would use it")
        .hint("write `dualStack: true` under `network`, or leave it out")
}

fn family(decoder: &mut Decoder, family: &Family, addresses: &[(IpAddr, &Position)], hosts: usize, spec: &Position) {
    let written = |path: &str| decoder.position(path).cloned();
    let (pods_at, services_at) = (written(family.pods_field), written(family.services_field));
    // Blame a value that the user wrote; the other one may be a default.
    let blame = |first: Option<Position>, second: Option<&Position>| first.as_ref().or(second).unwrap_or(spec).clone();
    let (pods, services) = (family.pods, family.services);
    let words = decoder.wording();
    let mut problems = Vec::new();
    let prefix_at = blame(written(family.prefix_field), pods_at.as_ref());
    problems.extend(node_prefix_problem(family, hosts, words).map(|problem| problem.at(&prefix_at)));
    let services_at = blame(services_at, pods_at.as_ref());
    problems.extend(service_range_problem(services).map(|problem| problem.at(&services_at)));
    if pods.contains(&services) || services.contains(&pods) {
        problems.push(
            Problem::new(format!("the ranges of pods ({pods}) and services ({services}) overlap"))
                .at(&services_at)
                .because("an address belongs to a pod or to a service, not to both")
                .hint("give one of the two a range that lies elsewhere"),
        );
    }
    problems.extend(addresses.iter().flat_map(|(address, position)| swallowed(*address, family, position, words)));
    for problem in problems {
        decoder.report(problem);
    }
}

/// Ranges of pods or services that a host's address lies in.
fn swallowed(address: IpAddr, family: &Family, position: &Position, words: Wording) -> Vec<Problem> {
    let ranges = [("pods", family.pods_field, family.pods), ("services", family.services_field, family.services)];
    let hit = ranges.into_iter().filter(|(_, _, range)| range.contains(&address));
    let problem = |(what, field, range): (&str, &str, IpNet)| {
        Problem::new(format!("the address {address} lies in the range of the {what} ({range})"))
            .at(position)
            .because(format!("packets to that host would go to {what} instead"))
            .hint(format!("write another range as `{}`", field_called(words, field)))
    };
    hit.map(problem).collect()
}

/// What to do about subnets of nodes that are too large or too small.
const OTHER_PREFIX: &str = "write a prefix between that of the range and that limit, or a larger range; left out, one that fits is taken";

fn node_prefix_problem(family: &Family, hosts: usize, words: Wording) -> Option<Problem> {
    let (pods, prefix, most) = (family.pods, family.prefix, family.bits() - LEAST_BITS);
    let problem = Problem::new(format!("the pods' range {pods} cannot be split into subnets of /{prefix}"));
    if prefix < pods.prefix_len() {
        return Some(problem.because("a subnet is not larger than the whole range").hint(OTHER_PREFIX));
    }
    if prefix > most {
        return Some(problem.because(format!("a node needs at least a /{most}")).hint(OTHER_PREFIX));
    }
    if prefix - pods.prefix_len() > MAX_SUBNET_BITS {
        let because = format!("that would be more than 2^{MAX_SUBNET_BITS} subnets, which Kubernetes cannot count");
        return Some(problem.because(because).hint("make the pods' range smaller, or the subnets larger"));
    }
    if let Some(room) = family.room.filter(|room| u64::try_from(hosts).unwrap_or(u64::MAX) > *room) {
        let (pods_field, prefix_field) = (field_called(words, family.pods_field), field_called(words, family.prefix_field));
        return Some(
            Problem::new(format!("the pods' range {pods} has {room} subnets of /{prefix} for {hosts} hosts"))
                .because("each node gets a subnet of its own")
                .hint(format!("make `{pods_field}` larger, or the subnets smaller by a larger `{prefix_field}`")),
        );
    }
    None
}

fn service_range_problem(range: IpNet) -> Option<Problem> {
    let problem = Problem::new(format!("the services cannot have the range {range}"));
    let (largest, smallest) = (range.max_prefix_len() - MOST_SERVICE_BITS, range.max_prefix_len() - LEAST_BITS);
    if range.prefix_len() > smallest {
        let because = format!("it is too small: the DNS service has the tenth address; a /{smallest} does");
        return Some(problem.because(because).hint(format!("write a range with a prefix from /{largest} to /{smallest}")));
    }
    if range.prefix_len() < largest {
        let because = format!("it is too large: Kubernetes takes at most a /{largest}");
        return Some(problem.because(because).hint(format!("write a range with a prefix from /{largest} to /{smallest}")));
    }
    None
}

/// Calico takes the pods' ranges apart in blocks, and gives no addresses of a range that is smaller than one.
pub(crate) fn blocks(decoder: &mut Decoder, network: &Network, settings: &Settings, spec: &Position) {
    if network.plugin != NetworkPlugin::Calico {
        return;
    }
    let calico = &settings.calico;
    let ipv6 = network
        .ipv6
        .map(|ipv6| (IpNet::V6(ipv6.pod_cidr), calico.block_size_ipv6, "calico_pool_blocksize_ipv6", "spec.network.podCIDRIPv6"));
    let ipv4 = (IpNet::V4(network.pod_cidr), calico.block_size, "calico_pool_blocksize", "spec.network.podCIDR");
    for (range, block, name, field) in [ipv4].into_iter().chain(ipv6).filter(|(range, block, ..)| *block < range.prefix_len()) {
        let written = decoder.position(&format!("spec.vars.{name}")).or_else(|| decoder.position(field)).unwrap_or(spec).clone();
        let problem = Problem::new(format!("the pods' range {range} has no block of a /{block}")).at(&written);
        let hint = format!("make the range larger, or the blocks smaller by a larger `{name}`");
        decoder.report(problem.because("Calico gives each node whole blocks of it").hint(hint));
    }
}

/// Where it may be written which kernel parameters are the user's.
const SYSCTLS: &str = "spec.vars.additional_sysctl";

/// Parameters that dual stack needs, and no user can set otherwise.
pub(crate) fn sysctls(decoder: &mut Decoder, network: &Network, settings: &Settings, spec: &Position) {
    let each = settings.each().flat_map(|settings| &settings.host.additional_sysctl);
    let parameters = each.filter(|_| network.is_dual_stack());
    let written = decoder.position(SYSCTLS).unwrap_or(spec).clone();
    for (name, value) in parameters {
        let wanted = match name.strip_prefix("net.ipv6.conf.") {
            Some("all.forwarding") => "1",
            Some("all.disable_ipv6" | "default.disable_ipv6") => "0",
            _ => continue,
        };
        if value != wanted {
            let problem = Problem::new(format!("{} cannot be {}", quote(name), quote(value))).at(&written);
            decoder.report(problem.because(format!("dual stack needs it to be {wanted}")).hint("leave the entry out"));
        }
    }
}
