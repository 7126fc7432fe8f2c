//! Rules that tie several values together.

mod components;
mod endpoint;
mod etcd;
mod implied;
mod known;
mod network;
mod node_dns;
mod virtual_address;

use std::collections::BTreeMap;

use semver::Version;

use crate::decode::{Decoder, Field, Wording};
use crate::message::Kind;
use crate::model::{Host, Network, Settings};
use crate::read::ReadHost;
use crate::words::{quote, with_nearest};
use crate::{Position, Problem};

pub(crate) use components::components;
pub(crate) use endpoint::endpoint;
pub(crate) use etcd::etcd_deployment;
pub(crate) use implied::{OF_ADDRESS, dns_server, implied, max_pods, max_pods_ipv6, other_address};
pub(crate) use network::{blocks, network, sysctls};
pub(crate) use node_dns::node_dns;
pub(crate) use virtual_address::virtual_address;

/// Where it may be written how etcd runs.
const DEPLOYMENT: [&str; 2] = ["spec.vars.etcd_deployment_type", "spec.etcd.deployment"];
/// Where it may be written of which kind keys are.
const KEY_ALGORITHM: [&str; 2] = ["spec.vars.kube_asymmetric_encryption_algorithm", "spec.certificates.keyAlgorithm"];
const REMOVED: &str = "spec.vars.kube_proxy_remove";
const PREFIX: &str = "spec.network.nodePrefix";
const PREFIX_IPV6: &str = "spec.network.nodePrefixIPv6";

/// Names, addresses and roles of all hosts together.
pub(crate) fn hosts(decoder: &mut Decoder, hosts: &[ReadHost<'_>], field: Option<&Field<'_>>) {
    names_and_addresses(decoder, &hosts.iter().collect::<Vec<_>>());
    control_planes(decoder, hosts, field);
    members(decoder, hosts);
    // An inventory says it of all its hosts at once, and means the nodes.
    if matches!(decoder.wording(), Wording::Cluster) {
        hosts.iter().filter_map(|host| host.host.as_ref()).for_each(|host| marks_of_no_node(decoder, host));
    }
}

/// Names and addresses of all hosts together.
pub(crate) fn names_and_addresses(decoder: &mut Decoder, hosts: &[&ReadHost<'_>]) {
    unique(decoder, hosts.iter().filter_map(|host| host.name.as_ref()), "name");
    unique(decoder, hosts.iter().filter_map(|host| host.address.as_ref()), "address");
    reached(decoder, hosts);
    for (name, position) in hosts.iter().filter_map(|host| host.name.as_ref()) {
        if name == "localhost" {
            let problem = Problem::new("no host can have the name `localhost`").at(position);
            decoder
                .report(problem.because("every host has that name for itself").hint("give the host a name of its own, for example `cp1`"));
        }
    }
}

/// Labels, annotations and taints are a node's.
fn marks_of_no_node(decoder: &mut Decoder, host: &Host) {
    let given = [("labels", host.labels.is_empty()), ("annotations", host.annotations.is_empty()), ("taints", host.taints.is_empty())];
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
        let problem = problem.hint("give one, three or five of the hosts `roles: [control-plane]`");
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
            .hint(
                "give an odd number of hosts that role: one, three or five; where one takes the place of another: `kokctl replace` the old one `--with` the new \
                 one, or write the old one under `removed`",
            )
            .of_kind(Kind::Uneven),
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
                    .hint(format!("give each host {} {what} of its own", if what == "name" { "a" } else { "an" })),
            );
        } else {
            seen.insert(value, position);
        }
    }
}

/// Where SSH leads is one host: what is done for one would be done to the other.
fn reached(decoder: &mut Decoder, hosts: &[&ReadHost<'_>]) {
    let mut seen: BTreeMap<String, Vec<&Host>> = BTreeMap::new();
    for (index, host) in hosts.iter().enumerate().filter_map(|(index, host)| Some((index, host.host.as_ref()?))) {
        let place = host.ssh.address.clone().unwrap_or_else(|| host.address.to_string()).to_ascii_lowercase();
        let before = seen.entry(place.clone()).or_default();
        // Another port, or another bastion, leads elsewhere. Of two that have one address of their own that is told.
        let is_there = |other: &&&Host| (other.ssh.port, &other.ssh.via) == (host.ssh.port, &host.ssh.via);
        if let Some(first) = before.iter().find(is_there).filter(|first| first.address != host.address) {
            let position = decoder.position(&format!("spec.hosts[{index}].ssh.address")).unwrap_or(&host.origin).clone();
            let problem = Problem::new(format!("two hosts are reached by SSH at {}", quote(&place))).at(&position);
            let problem = problem.because(format!("{} and {} would be one host", quote(&first.name), quote(&host.name)));
            decoder.report(problem.hint("write where SSH reaches each of them; hosts behind one address differ by their `port`"));
        }
        before.push(host);
    }
}

/// Networks that kokctl brings go by the nodes' shares of the pods' range.
pub(crate) fn node_shares(decoder: &mut Decoder, network: &Network, settings: &Settings, spec: &Position) {
    if settings.node_shares || !network.plugin.goes_by_shares() {
        return;
    }
    let written = decoder.position("spec.vars.kube_controller_manager_allocate_node_cidrs").unwrap_or(spec).clone();
    let plugin = network.plugin.as_str();
    decoder.report(
        Problem::new(format!("nodes cannot be without shares of the pods' range with the network plugin `{plugin}`"))
            .at(&written)
            .because(format!("{plugin} sends packets by them"))
            .hint("leave it out; a network of your own, by `network: {plugin: manifest, …}`, may do without"),
    );
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

/// Whether the sources of time are hosts of the cluster.
pub(crate) fn time_sources(decoder: &mut Decoder, time: Option<&Field<'_>>, hosts: &[ReadHost<'_>]) {
    let names: Vec<&str> = hosts.iter().filter_map(|host| host.name.as_ref()).map(|(name, _)| name.as_str()).collect();
    for (text, position) in time.map(source_names).unwrap_or_default() {
        if !names.contains(&text) {
            let problem = Problem::new(format!("{} is no host of the cluster", quote(text)))
                .at(position)
                .because("a source of time is one of the hosts; others stand under `servers`");
            decoder.report(with_nearest(problem, text, &names, "name a host of the cluster"));
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
