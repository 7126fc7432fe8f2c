//! What an inventory says of the cluster as a whole.

use super::build::{Map, implied, list, text};
use super::values::{HostValues, Shared};
use crate::check;
use crate::decode::Wording;
use crate::tree::{Node, Value};
use crate::variables::{flag, spelled};
use crate::words::quote;
use crate::{Notice, Position, Problem};

/// The version of Kubernetes for inventories that name none: the newest that bundles of this kokctl have.
pub const DEFAULT_VERSION: &str = "1.37.1";

/// Kubespray's plugin where nobody names one.
const CALICO: &str = "calico";

/// Kubespray's word for a network that manifests of the user's bring.
const CUSTOM: &str = "custom_cni";

/// Kubespray's range of services where nobody names one, which is kokctl's too.
pub(super) const SERVICES: &str = "10.233.0.0/18";

/// Kubespray's servers where `ntp_manage_config` is on and nobody names others.
const POOL: [&str; 4] = ["0.pool.ntp.org", "1.pool.ntp.org", "2.pool.ntp.org", "3.pool.ntp.org"];

/// The version of Kubernetes.
pub(super) fn version(values: &mut HostValues<'_>, start: &Position, notices: &mut Vec<Notice>) -> Node {
    let problems = values.problems.len();
    if let Some(shared) = values.shared("kube_version") {
        return shared.node;
    }
    let is_closed = values.definitions.get("kube_version").iter().any(|place| place.variable.node.tag.is_secret());
    if values.problems.len() == problems && !values.is_incomplete() && !is_closed {
        let notice = Notice::new(format!("Kubernetes {DEFAULT_VERSION} is installed, for no `kube_version` says otherwise")).at(start);
        notices
            .push(notice.because("that is the version of this kokctl").hint("write `kube_version`, so that another kokctl takes the same"));
    }
    implied(DEFAULT_VERSION, start)
}

/// The network, as far as the inventory says something of it.
pub(super) fn network(values: &mut HostValues<'_>, start: &Position) -> Option<Node> {
    let mut map = Map::at(start);
    let plugin = plugin(values, start);
    for (field, name) in [
        ("backend", "flannel_backend_type"),
        ("mtu", "flannel_mtu"),
        ("podCIDR", "kube_pods_subnet"),
        ("serviceCIDR", "kube_service_addresses"),
        ("nodePrefix", "kube_network_node_prefix"),
    ] {
        add(&mut map, field, values.shared(name));
    }
    if has_own_manifests(values) {
        let (before, manifests) = (values.problems.len(), values.shared("custom_cni_manifests"));
        if manifests.is_none() && values.problems.len() == before && !values.is_incomplete() {
            values.problems.push(without_manifests().at(start));
        }
        add(&mut map, "plugin", plugin.filter(|_| manifests.is_some()));
        add(&mut map, "manifests", manifests);
    } else {
        add(&mut map, "plugin", plugin);
    }
    let dual_stack = dual_stack(values);
    let is_on = is_on(dual_stack.as_ref());
    add(&mut map, "dualStack", dual_stack);
    for (field, name) in OF_IPV6.into_iter().filter(|_| is_on) {
        add(&mut map, field, values.shared(name));
    }
    let domain = values.shared("dns_domain").or_else(|| values.shared("cluster_name"));
    add(&mut map, "clusterDomain", domain);
    map.some()
}

fn without_manifests() -> Problem {
    Problem::new("nothing says which manifests install the network plugin `custom_cni`")
        .because("`custom_cni_manifests` names no file")
        .hint("write `custom_cni_manifests: [my-network.yaml]`; of a chart, what `helm template` prints")
}

/// Fields of IPv6, and the variables that say them where there is dual stack.
const OF_IPV6: [(&str, &str); 4] = [
    ("podCIDRIPv6", "kube_pods_subnet_ipv6"),
    ("serviceCIDRIPv6", "kube_service_addresses_ipv6"),
    ("nodePrefixIPv6", "kube_network_node_prefix_ipv6"),
    ("masqueradeIPv6", "nat_outgoing_ipv6"),
];

/// `ipv6_stack`, for which Kubespray takes the variable's former name where nobody sets it.
fn dual_stack(values: &mut HostValues<'_>) -> Option<Shared> {
    values.shared("ipv6_stack").or_else(|| values.shared("enable_dual_stack_networks"))
}

fn is_on(shared: Option<&Shared>) -> bool {
    shared.is_some_and(|shared| flag(&shared.node) == Some(true))
}

/// Whether the cluster has IPv6 beside IPv4. What is wrong with that is told where the network is read.
pub(super) fn has_ipv6(values: &mut HostValues<'_>) -> bool {
    let before = values.problems.len();
    let is_on = is_on(dual_stack(values).as_ref());
    values.problems.truncate(before);
    is_on
}

/// Whether a variable says something of IPv6 beside those that ask for it.
pub(super) fn is_of_ipv6(name: &str) -> bool {
    ["ip6", "access_ip6"].contains(&name) || OF_IPV6.iter().any(|(_, other)| *other == name)
}

fn add(map: &mut Map, field: &str, shared: Option<Shared>) {
    if let Some(shared) = shared {
        map.add_at(field, &shared.key_position, shared.node);
    }
}

/// Whether the cluster has Calico, for those whose variables count with it alone. What is wrong with it is told where the network is read.
pub(super) fn has_calico(values: &mut HostValues<'_>) -> bool {
    names_plugin(values, |word| word.is_none_or(|word| word == CALICO))
}

/// Kubespray takes Calico where nobody says otherwise. `cni` is its word for the plugins alone, and a network of the user's own.
fn plugin(values: &mut HostValues<'_>, start: &Position) -> Option<Shared> {
    let problems = values.problems.len();
    let shared = values.shared("kube_network_plugin");
    match shared {
        None if values.problems.len() > problems || values.is_incomplete() => None,
        None => Some(Shared { key_position: start.clone(), node: implied(CALICO, start) }),
        Some(shared) => {
            let word = [("cni", "none"), (CUSTOM, "manifest")].into_iter().find(|(theirs, _)| spelled(&shared.node) == *theirs);
            let node = word.map(|(_, ours)| text(ours, &shared.node.position));
            Some(Shared { node: node.unwrap_or(shared.node), ..shared })
        }
    }
}

/// Whether the network is in manifests of the user's own, as Kubespray has it.
pub(super) fn has_own_manifests(values: &mut HostValues<'_>) -> bool {
    names_plugin(values, |word| word == Some(CUSTOM))
}

fn names_plugin(values: &mut HostValues<'_>, is_it: fn(Option<&str>) -> bool) -> bool {
    let before = values.problems.len();
    let shared = values.shared("kube_network_plugin");
    values.problems.truncate(before);
    is_it(shared.map(|shared| spelled(&shared.node)).as_deref())
}

/// Where the hosts take their time from.
pub(super) fn time(values: &mut HostValues<'_>) -> Option<Node> {
    let enabled = values.shared("ntp_enabled")?;
    let managed = values.shared("ntp_manage_config");
    let on = |shared: &Shared| flag(&shared.node) == Some(true);
    if !on(&enabled) || !managed.as_ref().is_some_and(on) {
        return None;
    }
    let mut map = Map::at(&enabled.key_position);
    match values.shared("ntp_servers") {
        Some(servers) => map.add_at("servers", &servers.key_position, server_list(values, servers.node)),
        None => {
            let position = managed.map_or(enabled.node.position, |shared| shared.node.position);
            map.add("servers", list(POOL.iter().map(|server| text(*server, &position)).collect(), &position));
        }
    }
    Some(map.node())
}

/// Kubespray's entries are lines for the daemon's configuration: a name and options, of which chrony gets its own.
fn server_list(values: &mut HostValues<'_>, node: Node) -> Node {
    let Value::List(items) = node.value else { return node };
    let first_word = |item: Node| match &item.value {
        Value::Text(line) => {
            judge_options(values, line, &item.position);
            text(line.split_whitespace().next().unwrap_or_default(), &item.position).called(node.called)
        }
        _ => item.called(node.called),
    };
    let items = items.into_iter().map(first_word).collect();
    list(items, &node.position).called(node.called)
}

/// Options of a server without which time is kept as well (chrony.conf(5), `server`), each with the number of its values.
const WISHES: [(&str, usize); 5] = [("prefer", 0), ("burst", 0), ("minpoll", 1), ("maxpoll", 1), ("version", 1)];

/// `iburst` is what chrony gets anyway. What is a mere wish is told; a server that wants a key or another port would not answer without it.
fn judge_options(values: &mut HostValues<'_>, line: &str, position: &Position) {
    let mut words = line.split_whitespace().skip(1).filter(|word| *word != "iburst");
    while let Some(option) = words.next() {
        let server = line.split_whitespace().next().unwrap_or_default();
        if let Some((_, count)) = WISHES.iter().find(|(name, _)| *name == option) {
            words.by_ref().take(*count).for_each(drop);
            let notice = Notice::new(format!("`{option}` of the NTP server {} is not honoured", quote(server))).at(position);
            values.notices.push(notice.because("hosts ask all servers in the way that kokctl sets up"));
        } else {
            let problem = Problem::new(format!("the option {} of the NTP server {} is not honoured yet", quote(option), quote(server)));
            let hint = "leave the option out if the server answers without it; or set `ntp_manage_config: false`, and the hosts keep the sources that they have";
            return values
                .problems
                .push(problem.at(position).because("hosts ask a server by its name alone, on port 123 and without a key").hint(hint));
        }
    }
}

/// Prefix lengths of nodes' shares, as the network of the tree says them.
#[derive(Clone, Copy)]
pub(super) struct Prefixes {
    ipv4: u8,
    /// With dual stack.
    ipv6: Option<u8>,
}

/// What it says, and what holds where it says nothing.
pub(super) fn node_prefixes(network: Option<&Node>) -> Prefixes {
    let by_blocks = network.and_then(|network| network.entry("plugin")).is_some_and(|entry| spelled(&entry.node) == CALICO);
    // Calico gives a node as many blocks of the range as its pods need.
    let prefix = |field: &str| if by_blocks { Some(0) } else { network.and_then(|network| node_prefix(network, field)) };
    let ipv6 = network.and_then(|network| network.entry("dualStack")).is_some_and(|entry| flag(&entry.node) == Some(true));
    Prefixes { ipv4: prefix("nodePrefix").unwrap_or(24), ipv6: ipv6.then(|| prefix("nodePrefixIPv6").unwrap_or(120)) }
}

fn node_prefix(network: &Node, field: &str) -> Option<u8> {
    match network.entry(field)?.node.value {
        Value::Integer(prefix) => u8::try_from(prefix).ok(),
        _ => None,
    }
}

/// Whether Kubespray is told to go on where it would stop.
pub(super) fn is_tolerant(values: &mut HostValues<'_>) -> bool {
    values.shared("ignore_assert_errors").is_some_and(|shared| flag(&shared.node) == Some(true))
}

/// Words that a variable may be, for those of which nothing else looks at the value.
const WORDS: [(&str, &[&str]); 1] = [("resolvconf_mode", &["docker_dns", "host_resolvconf", "none"])];

/// Values that are wrong for Kubespray too.
pub(super) fn check(values: &mut HostValues<'_>, prefixes: Prefixes) {
    for (name, words) in WORDS {
        let Some(node) = values.distinct(name).into_iter().next().map(|value| value.node) else { continue };
        let word = spelled(&node);
        if !words.contains(&word.as_str()) {
            let problem = Problem::new(format!("`{name}` cannot be {}", quote(&word))).at(&node.position);
            values.problems.push(crate::words::with_nearest(
                problem.because(format!("it is one of {}", words.join(", "))),
                &word,
                words,
                "write one of these, or leave it out",
            ));
        }
    }
    for value in values.distinct("kubelet_max_pods") {
        values.problems.extend(check::max_pods(&value.node, prefixes.ipv4, Wording::Inventory));
        let of_ipv6 = prefixes.ipv6.and_then(|prefix| check::max_pods_ipv6(&value.node, prefix, Wording::Inventory));
        values.problems.extend(of_ipv6);
    }
    dns_server(values);
}

/// Whoever writes down where the DNS service is counts on it.
fn dns_server(values: &mut HostValues<'_>) {
    let range = values.distinct("kube_service_addresses").into_iter().next().map_or(SERVICES.to_owned(), |value| spelled(&value.node));
    let Ok(range) = range.parse() else { return };
    let problems: Vec<Problem> = values.known("skydns_server").iter().filter_map(|node| check::dns_server(node, range)).collect();
    values.problems.extend(problems);
}
