//! Variables that can only say what follows from other values: whoever writes them down counts on it.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::Ipv4Net;

use crate::Problem;
use crate::decode::{Decoder, Wording};
use crate::model::{Network, NetworkPlugin, Roles};
use crate::read::ReadHost;
use crate::tree::{Node, Value};
use crate::variables::{EtcdHost, OF_MEMBERS, SERVER_PORTS, Sayings, field_called, is_of_server, other_members, server_port, spelled};
use crate::words::quote;

/// Variables that can only say what the host's address is; of workers too those that begin with `kubelet`.
pub(crate) const OF_ADDRESS: [&str; 8] = [
    "etcd_access_address",
    "etcd_address",
    "etcd_client_url",
    "etcd_peer_url",
    "kube_apiserver_access_address",
    "kube_apiserver_address",
    "kubelet_address",
    "kubelet_bind_address",
];

/// Those that say it in an URL, with the ports of etcd.
const OF_URL: [(&str, u16); 2] = [("etcd_client_url", 2379), ("etcd_peer_url", 2380)];

/// All addresses of a host, where something listens and nobody is told.
const ALL_ADDRESSES: [&str; 2] = ["0.0.0.0", "::"];

/// Kubespray's own place for the DNS service, and kubeadm's.
const DNS_SERVERS: [u32; 2] = [3, 10];

/// A part of the cluster that is to have another address than its host.
pub(crate) fn other_address(name: &str, host: &str, node: &Node, own: &str) -> Option<Problem> {
    let other = spelled(node);
    let url = OF_URL.iter().find(|(of_url, _)| *of_url == name).map(|(_, port)| format!("https://{own}:{port}"));
    let own = url.as_deref().unwrap_or(own);
    let is_all = name == "kubelet_bind_address" && ALL_ADDRESSES.contains(&other.as_str());
    if other.is_empty() || other == own || is_all {
        return None;
    }
    let problem = Problem::new(format!("`{name}` of the host {} cannot be {}", quote(host), quote(&other))).at(&node.position);
    let because = format!("all parts of the cluster have the host's own address here, {}", quote(own));
    Some(problem.of_host(host).because(because).hint("leave it out, or write that address"))
}

/// Another place of the DNS service; but for Kubespray's default, which people copy with the rest of its samples.
pub(crate) fn dns_server(node: &Node, services: Ipv4Net) -> Option<Problem> {
    let first = u32::from(services.network());
    let [third, tenth] = DNS_SERVERS.map(|number| Ipv4Addr::from(first.saturating_add(number)).to_string());
    let text = spelled(node);
    if text.is_empty() || [&third, &tenth].contains(&&text) {
        return None;
    }
    let problem = Problem::new(format!("`skydns_server` cannot be {}", quote(&text))).at(&node.position);
    Some(problem.because(format!("the DNS service has the tenth address of the services' range, {tenth}")).hint("leave it out"))
}

/// More pods than a node has addresses for.
pub(crate) fn max_pods(node: &Node, node_prefix: u8, words: Wording) -> Option<Problem> {
    too_many_pods(node, (node_prefix, 32), field_called(words, super::PREFIX))
}

/// The same for their addresses of IPv6.
pub(crate) fn max_pods_ipv6(node: &Node, node_prefix: u8, words: Wording) -> Option<Problem> {
    too_many_pods(node, (node_prefix, 128), field_called(words, super::PREFIX_IPV6))
}

fn too_many_pods(node: &Node, (node_prefix, bits): (u8, u32), field: &str) -> Option<Problem> {
    let room = bits.saturating_sub(node_prefix.into());
    // More than that no number of pods needs.
    let room = 1_i64.checked_shl(room.min(62)).unwrap_or(i64::MAX).saturating_sub(2);
    let Value::Integer(pods) = node.value else { return None };
    (pods > room).then(|| {
        Problem::new(format!("a node has addresses for {room} pods, and `kubelet_max_pods` is {pods}"))
            .at(&node.position)
            .because(format!("each pod has an address of its node's share of the pods' range, a /{node_prefix}"))
            .hint(format!("make `kubelet_max_pods` smaller, or the shares larger by a smaller `{field}`"))
    })
}

/// The same for a Cluster in the inline form.
pub(crate) fn implied(decoder: &mut Decoder, sayings: &Sayings<'_>, hosts: &[ReadHost<'_>], network: Option<&Network>) {
    let words = decoder.wording();
    let mut problems = Vec::new();
    if let Some(network) = network {
        problems.extend(sayings.values_of("skydns_server").filter_map(|(_, node)| dns_server(node, network.service_cidr)));
    }
    if let Some(network) = network.filter(|network| network.plugin != NetworkPlugin::Calico) {
        problems.extend(sayings.values_of("kubelet_max_pods").filter_map(|(_, node)| max_pods(node, network.node_prefix, words)));
        if let Some(ipv6) = network.ipv6 {
            problems.extend(sayings.values_of("kubelet_max_pods").filter_map(|(_, node)| max_pods_ipv6(node, ipv6.node_prefix, words)));
        }
    }
    for name in OF_ADDRESS {
        for (own, node) in sayings.values_of(name) {
            let meant = hosts.iter().enumerate().filter(|(index, host)| own.map_or_else(|| is_of(name, host), |own| own == *index));
            // One line says it of all hosts, so that the first tells enough.
            let other = |(_, host): (usize, &ReadHost<'_>)| {
                let ((host, _), (address, _)) = host.name.as_ref().zip(host.address.as_ref())?;
                other_address(name, host, node, &IpAddr::to_string(address))
            };
            problems
                .extend(meant.filter_map(other).next().map(|problem| problem.hint("leave it out; the host's own address is `address`")));
        }
    }
    let port = server_port(SERVER_PORTS.into_iter().flat_map(|name| sayings.values_of(name)).map(|(_, node)| node));
    for name in OF_MEMBERS {
        let members = members(name, hosts);
        let nodes = members.iter().flat_map(|members| sayings.values_of(name).map(move |(_, node)| (members, node)));
        problems.extend(nodes.filter_map(|(members, node)| other_members(name, node, members, &port)));
    }
    problems.into_iter().for_each(|problem| decoder.report(problem));
}

/// The hosts of which a variable speaks, if all of them are known.
fn members(name: &str, hosts: &[ReadHost<'_>]) -> Option<Vec<EtcdHost>> {
    let runs = |roles: &Roles| if is_of_server(name) { roles.control_plane } else { roles.etcd };
    let members = hosts.iter().filter(|host| host.roles.as_ref().is_none_or(|(roles, _)| runs(roles)));
    let member = |host: &ReadHost<'_>| {
        let ((host, _), (address, _)) = host.name.as_ref().zip(host.address.as_ref())?;
        Some((host.clone(), address.to_string()))
    };
    members.map(member).collect()
}

/// Whether a host has what a variable of all hosts speaks of.
fn is_of(name: &str, host: &ReadHost<'_>) -> bool {
    let runs = |roles: &Roles| if name.starts_with("etcd") { roles.etcd } else { roles.control_plane };
    name.starts_with("kubelet") || host.roles.as_ref().is_some_and(|(roles, _)| runs(roles))
}
