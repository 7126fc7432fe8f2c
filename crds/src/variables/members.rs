//! Variables that can only say which hosts are control planes, and where etcd and the API server are reached there.

use std::collections::BTreeSet;

use super::plain::{shown, spelled};
use crate::Problem;
use crate::model::API_SERVER_PORT;
use crate::tree::{Node, Value};
use crate::words::quote;

/// Variables that say it of the whole cluster.
pub(crate) const OF_MEMBERS: [&str; 5] =
    ["etcd_access_addresses", "etcd_hosts", "etcd_peer_addresses", "kube_apiserver_endpoint", "kube_apiserver_global_endpoint"];

/// Where a host reaches an API server or a load balancer of its own.
const ITSELF: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// A host that etcd runs on: its name and its address.
pub(crate) type EtcdHost = (String, String);

/// Other hosts, or other places, than those where etcd is, or the API servers with their port.
pub(crate) fn other_members(name: &str, node: &Node, members: &[EtcdHost], port: &str) -> Option<Problem> {
    let own: BTreeSet<String> = members.iter().map(|member| part(name, member, port)).collect();
    let is_of_server = is_of_server(name);
    let pieces = parts(node);
    let is_itself = |place: &String| ITSELF.iter().any(|host| *place == server(host, port));
    let is_right = if is_of_server { pieces.iter().all(|place| own.contains(place) || is_itself(place)) } else { pieces == own };
    if pieces.is_empty() || is_right {
        return None;
    }
    let own: Vec<String> = own.iter().map(|part| quote(part)).collect();
    let what = if is_of_server { "the API server runs on the control planes" } else { "etcd runs on the hosts of its role" };
    let problem = Problem::new(format!("`{name}` cannot be {}", quote(&shown(node)))).at(&node.position);
    Some(problem.because(format!("{what} here, which makes it {}", own.join(", "))).hint("leave it out"))
}

/// Whether a variable speaks of the API servers; of etcd otherwise.
pub(crate) fn is_of_server(name: &str) -> bool {
    name.starts_with("kube_apiserver")
}

/// Where the API server of a host is reached.
fn server(host: &str, port: &str) -> String {
    format!("https://{host}:{port}")
}

/// The port of the API servers, as the variables say it that may.
pub(crate) fn server_port<'a>(mut nodes: impl Iterator<Item = &'a Node>) -> String {
    nodes.next().map_or_else(|| API_SERVER_PORT.to_string(), spelled)
}

/// Those variables.
pub(crate) const SERVER_PORTS: [&str; 2] = ["kube_apiserver_port", "loadbalancer_apiserver_port"];

/// What a variable says of one member.
fn part(name: &str, (host, address): &EtcdHost, port: &str) -> String {
    match name {
        "etcd_hosts" => host.clone(),
        "etcd_access_addresses" => format!("https://{address}:2379"),
        "kube_apiserver_endpoint" | "kube_apiserver_global_endpoint" => server(address, port),
        _ => format!("https://{address}:2380"),
    }
}

/// Kubespray puts the name of a member before its address, which here is the host's, whatever they call it.
fn parts(node: &Node) -> BTreeSet<String> {
    let texts: Vec<String> = match &node.value {
        Value::List(items) => items.iter().map(spelled).collect(),
        _ => spelled(node).split(',').map(str::to_owned).collect(),
    };
    let place = |text: &String| text.rsplit_once('=').map_or(text.as_str(), |(_, place)| place).trim().to_owned();
    texts.iter().map(place).filter(|text| !text.is_empty()).collect()
}
