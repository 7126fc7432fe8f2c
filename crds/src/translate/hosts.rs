//! From the hosts of an inventory to those of a Cluster.

use std::collections::{BTreeMap, BTreeSet};

use super::build::{Map, list, text};
use super::cluster;
use super::groups::Groups;
use super::login;
use super::values::HostValues;
use crate::check;
use crate::message::Kind;
use crate::resolve::aliases;
use crate::tree::{Entry, Node, Value};
use crate::variables::{EtcdHost, OF_MEMBERS, SERVER_PORTS, is_of_server, other_members, server_port, spelled};
use crate::words::quote;
use crate::{Position, Problem};

/// The list of hosts.
pub(super) fn read(values: &mut HostValues<'_>, groups: &Groups<'_>) -> Node {
    let hosts: Vec<&str> = groups.members.clone();
    let ipv6 = cluster::has_ipv6(values);
    let items: Vec<Node> = hosts.iter().map(|host| one(values, groups, host, ipv6)).collect();
    check_members(values, groups, &items);
    list(items, &groups.position)
}

/// The list with what hosts have for themselves.
pub(super) fn with_vars(mut hosts: Node, mut vars: BTreeMap<String, Map>) -> Node {
    let Value::List(items) = &mut hosts.value else { return hosts };
    for item in items {
        let own = item.entry("name").and_then(|entry| vars.remove(&spelled(&entry.node)));
        if let (Value::Map(entries), Some(own)) = (&mut item.value, own) {
            let node = own.node();
            entries.push(Entry { key: "vars".to_owned(), key_position: node.position.clone(), node });
        }
    }
    hosts
}

fn one(values: &mut HostValues<'_>, groups: &Groups<'_>, host: &str, ipv6: bool) -> Node {
    let position = values.resolved.inventory().position_of(host).cloned().unwrap_or_else(|| groups.position.clone());
    check_name(values, host);
    let mut map = Map::at(&position);
    map.add("name", text(host, &position));
    let address = address(values, host, ["ip", "access_ip"]);
    let address = address.or_else(|| reached_at(values, host));
    let address_ipv6 = if ipv6 { self::address(values, host, ["ip6", "access_ip6"]) } else { None };
    if address.is_none() && !values.is_incomplete() {
        values.problems.push(no_address(host).at(&position));
    }
    check_addresses(values, host, address.as_ref());
    let ssh = login::read(values, groups, host, address.as_ref());
    map.add_some("address", address);
    map.add_some("addressIPv6", address_ipv6);
    map.add("roles", roles(groups, host, &position));
    map.add_some("ssh", ssh);
    map.add_some("labels", labels(values, host));
    map.add_some("taints", taints(values, host));
    map.node()
}

fn roles(groups: &Groups<'_>, host: &str, position: &Position) -> Node {
    let roles = [("control-plane", Some(&groups.control_planes)), ("worker", Some(&groups.workers)), ("etcd", groups.etcd_apart())];
    let words = roles
        .into_iter()
        .filter_map(|(word, hosts)| Some((word, hosts?)))
        .filter(|(_, hosts)| hosts.contains(host))
        .map(|(word, _)| text(word, position));
    list(words.collect(), position)
}

fn check_name(values: &mut HostValues<'_>, host: &str) {
    let Some(node) = values.of_host(host, "kube_override_hostname") else { return };
    let name = spelled(&node);
    if name != host && !name.is_empty() {
        let problem = Problem::new(format!("the node of {} cannot have the name {}", quote(host), quote(&name))).at(&node.position);
        values
            .problems
            .push(problem.of_host(host).because("a node has the name of its host here").hint("give the host that name in the inventory"));
    }
}

/// Whoever gives a part of the cluster another address counts on it.
fn check_addresses(values: &mut HostValues<'_>, host: &str, address: Option<&Node>) {
    let Some(address) = address.map(spelled) else { return };
    for name in check::OF_ADDRESS {
        let Some(node) = values.known_of_host(host, name) else { continue };
        let problem = check::other_address(name, host, &node, &address);
        values.problems.extend(problem.map(|problem| problem.hint("leave it out; the host's own address is `ip`")));
    }
}

/// Whoever writes down where etcd and the API server are counts on it.
fn check_members(values: &mut HostValues<'_>, groups: &Groups<'_>, items: &[Node]) {
    let text_field = |item: &Node, name: &str| item.entry(name).map(|entry| spelled(&entry.node));
    let member = |host: &&str| -> Option<EtcdHost> {
        let item = items.iter().find(|item| text_field(item, "name").as_deref() == Some(*host))?;
        Some(((*host).to_owned(), text_field(item, "address")?))
    };
    let ports: Vec<Node> = SERVER_PORTS.into_iter().flat_map(|name| values.known(name)).collect();
    let port = server_port(ports.iter());
    for name in OF_MEMBERS {
        let hosts = if is_of_server(name) { &groups.control_planes } else { &groups.etcd };
        // What is wrong with an address is said already.
        let Some(members) = hosts.iter().map(member).collect::<Option<Vec<EtcdHost>>>() else { continue };
        let problems: Vec<Problem> = values.known(name).iter().filter_map(|node| other_members(name, node, &members, &port)).collect();
        values.problems.extend(problems);
    }
}

/// The address of a host that its own variable says, or the one of how others reach it, which has to be the same.
fn address(values: &mut HostValues<'_>, host: &str, [name, others]: [&str; 2]) -> Option<Node> {
    let own = values.of_host(host, name);
    let access = values.of_host(host, others);
    if let (Some(own), Some(access)) = (&own, &access)
        && spelled(own) != spelled(access)
    {
        values.problems.push(
            Problem::new(format!("{} has two addresses: `{name}` and `{others}` differ", quote(host)))
                .of_host(host)
                .at(&access.position)
                .because(format!("nodes are reached at their own address here, which is {} at {}", quote(&spelled(own)), own.position))
                .hint(format!("leave `{others}` out; where SSH reaches the host, if that is elsewhere, is `ansible_host`")),
        );
    }
    own.or(access)
}

/// What is reached by SSH, if that is an address.
fn reached_at(values: &mut HostValues<'_>, host: &str) -> Option<Node> {
    values.first_of_host(host, &aliases::ADDRESS).filter(is_address).or_else(|| {
        let position = values.resolved.inventory().position_of(host)?;
        Some(text(host, position)).filter(is_address)
    })
}

fn is_address(node: &Node) -> bool {
    matches!(&node.value, Value::Text(text) if text.parse::<std::net::IpAddr>().is_ok())
}

fn no_address(host: &str) -> Problem {
    Problem::new(format!("the address of {} is not known", quote(host)))
        .of_kind(Kind::NoAddress)
        .of_host(host)
        .because("it stands in certificates, so it has to be an address and not a name; Kubespray would ask the host for it")
        .hint("write it as `ip: 10.0.0.11` for the host, or as `ansible_host`")
}

/// Ansible hands numbers and booleans on as their text.
fn labels(values: &mut HostValues<'_>, host: &str) -> Option<Node> {
    let node = values.of_host(host, "node_labels")?;
    let Value::Map(entries) = node.value else {
        let hint = if is_like_a_literal(&node) { PYTHON_MAP } else { "write each label as `key: \"value\"`" };
        values.problems.push(
            Problem::new(format!("`node_labels` cannot be {}", node.value.kind()))
                .at(&node.position)
                .because("it is a map of keys to texts; Kubespray leaves anything else out without a word")
                .hint(hint),
        );
        return None;
    };
    let mut map = Map::at(&node.position);
    for entry in entries {
        let value = match &entry.node.value {
            Value::Bool(_) | Value::Integer(_) | Value::Float => text(spelled(&entry.node), &entry.node.position),
            _ => entry.node,
        };
        map.add_at(&entry.key, &entry.key_position, value);
    }
    map.some()
}

fn taints(values: &mut HostValues<'_>, host: &str) -> Option<Node> {
    let node = values.of_host(host, "node_taints")?;
    let Value::List(items) = &node.value else {
        values.problems.push(taint_problem(&node));
        return None;
    };
    let mut taints = Vec::new();
    for item in items {
        match taint(item) {
            Some(taint) => taints.push(taint),
            None => values.problems.push(taint_problem(item)),
        }
    }
    Some(list(taints, &node.position))
}

/// `key=value:Effect`, of which the value may be missing.
fn taint(item: &Node) -> Option<Node> {
    let Value::Text(written) = &item.value else { return None };
    let (rest, effect) = written.rsplit_once(':')?;
    let (key, value) = rest.split_once('=').map_or((rest, None), |(key, value)| (key, Some(value)));
    let text = |part: &str| text(part, &item.position).called(Some("node_taints"));
    let mut map = Map::at(&item.position);
    map.add("key", text(key));
    map.add_some("value", value.map(text));
    map.add("effect", text(effect));
    Some(map.node())
}

fn taint_problem(node: &Node) -> Problem {
    let problem = match &node.value {
        Value::Text(written) => Problem::new(format!("{} is no taint", quote(written))),
        other => Problem::new(format!("`node_taints` cannot hold {}", other.kind())),
    };
    let hint = if is_like_a_literal(node) { PYTHON_LIST } else { "for example `- dedicated=gpu:NoSchedule`" };
    problem.at(&node.position).because("it is a list of texts `key=value:Effect`").hint(hint)
}

/// How a map, or a list, is written on a line of an INI inventory, where YAML is only text.
const PYTHON_MAP: &str = "on a line of INI write it as Python does, in quotes: `node_labels=\"{'key': 'value'}\"`";
const PYTHON_LIST: &str = "on a line of INI write it as Python does, in quotes: `node_taints=\"['dedicated=gpu:NoSchedule']\"`";

/// Whether it is text that was meant to be a map or a list: in YAML it would have become one.
fn is_like_a_literal(node: &Node) -> bool {
    matches!(&node.value, Value::Text(text) if text.starts_with(['{', '[']))
}

/// Hosts by name, for questions whether one is among them.
pub(super) type Hosts<'a> = BTreeSet<&'a str>;
