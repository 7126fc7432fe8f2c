//! The plain bridge: on each host a bridge for its own pods, and a route to each other host for the pods there.
//!
//! Which share of the pods' range a host has is decided here, for only then everything is known before the first node registers. A host keeps
//! its share: what its own file says counts, then what its node says; a new host gets the first that is free.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::IpAddr;

use ipnet::IpNet;
use kok_crds::model::{Cluster, Network, NetworkPlugin};
use serde::Serialize;
use serde_json::Value;

use super::{Leftovers, Neighbours, Plugin, STARTING};
use crate::list::network::{self, CONFIGURATION};
use crate::list::{container_runtime, control_plane, kubelet_join};
use crate::observe::pod_network::PROTOCOL;
use crate::observe::{Family, KubernetesState, Look, Observations, STATE_DIRECTORY};
use crate::operations::{NodeShares, Operation, PodRoutes};
use crate::plan::{Draft, HostView, Reason, Refusal, Seen, StepId};
use crate::resources::{File, Resource, Unit, UnitGoal};
use crate::speaker::speaker;
use crate::templates::render;

/// What containerd reads; it also says which share is the host's.
const CONFLIST: &str = "/etc/cni/net.d/10-kokctl-bridge.conflist";

/// What makes the routes after a start of the host.
const UNIT: &str = "kokctl-pod-network.service";

pub(super) static PLUGIN: Plugin = Plugin {
    kind: NetworkPlugin::Bridge,
    called: "bridge",
    host_steps,
    cluster_steps,
    node_needs: CONFIGURATION,
    nodes_ready_within: STARTING,
    sum: |view| Ok(format!("bridge {}", view.cluster().network.mtu.unwrap_or_default())),
    neighbours: |_| Some(NEIGHBOURS),
    gives_shares: true,
    looks: || vec![Look::Content(CONFLIST.to_owned())],
    leftovers: LEFTOVERS,
    ..Plugin::USERS_OWN
};

const NEIGHBOURS: Neighbours = Neighbours { who: "the network plugin bridge", instead: "`flannel` at spec.network.plugin" };

/// Its routes have a number by which they are known ([`PROTOCOL`]).
const LEFTOVERS: Leftovers = Leftovers {
    script: "systemctl disable --now kokctl-pod-network.service 2>/dev/null
for family in -4 -6; do ip $family route flush proto 75 2>/dev/null; done
",
    links: &[],
    tables: &["ip kokctl-pods", "ip6 kokctl-pods"],
    rules: &[],
    paths: &[CONFLIST, "/etc/systemd/system/kokctl-pod-network.service"],
};

#[derive(Serialize)]
struct Bridge {
    shares: Vec<String>,
    mtu: Option<u16>,
}

#[derive(Serialize)]
struct Rules {
    tables: Vec<Table>,
}

/// A table of nftables; with one that masquerades no packet of pods leaves with their addresses.
#[derive(Serialize)]
struct Table {
    name: &'static str,
    family: &'static str,
    range: String,
    multicast: &'static str,
    masquerades: bool,
}

#[derive(Serialize)]
struct Service<'a> {
    commands: &'a str,
    rules: &'a str,
}

/// The shares that a host's own file gives to its pods.
fn own(seen: &Observations) -> Option<Vec<IpNet>> {
    let file: Value = serde_json::from_slice(seen.contents.get(CONFLIST)?).ok()?;
    let ranges = file.pointer("/plugins/0/ipam/ranges")?.as_array()?;
    Some(ranges.iter().filter_map(|range| range.pointer("/0/subnet")?.as_str()?.parse().ok()).collect())
}

/// Each node's shares of the pods' ranges, one of each family that the cluster has, that of IPv4 first.
fn shares(cluster: &Cluster, seen: &Seen) -> Result<BTreeMap<String, Vec<IpNet>>, Refusal> {
    let ipv6 = cluster.network.ipv6.map(|ipv6| (IpNet::V6(ipv6.pod_cidr), ipv6.node_prefix));
    let ranges = [(IpNet::V4(cluster.network.pod_cidr), cluster.network.node_prefix)].into_iter().chain(ipv6);
    let mut shares: BTreeMap<String, Vec<IpNet>> = BTreeMap::new();
    for (range, prefix) in ranges {
        for (name, share) in of_range(cluster, seen, range, prefix)? {
            shares.entry(name).or_default().push(share);
        }
    }
    Ok(shares)
}

fn of_range(cluster: &Cluster, seen: &Seen, range: IpNet, prefix: u8) -> Result<BTreeMap<String, IpNet>, Refusal> {
    let state = speaker(cluster, seen).and_then(|speaker| seen.observations(&speaker.name).kubernetes.as_ref());
    let (mut shares, mut used) = (BTreeMap::new(), BTreeSet::new());
    for host in cluster.nodes() {
        let recorded = || state.and_then(|state| state.node(&host.name)).map(|node| node.pod_cidrs.clone());
        let fits = |share: &IpNet| range.contains(share) && share.prefix_len() == prefix;
        let known = own(seen.observations(&host.name)).filter(|shares| shares.iter().any(fits)).or_else(recorded);
        if let Some(share) = known.into_iter().flatten().find(fits).filter(|share| used.insert(*share)) {
            shares.insert(host.name.clone(), share);
        }
    }
    if let Some(KubernetesState::Ready { nodes, .. }) = state {
        used.extend(nodes.values().flat_map(|node| node.pod_cidrs.iter().copied()));
    }
    let is_begun = cluster.hosts.iter().any(|host| seen.facts(&host.name).is_some());
    let mut free = range.subnets(prefix).into_iter().flatten().filter(|share| !used.contains(share));
    for host in cluster.nodes().filter(|host| !shares.contains_key(&host.name)).collect::<Vec<_>>() {
        if is_begun && seen.facts(&host.name).is_none() && !matches!(state, Some(KubernetesState::Ready { .. })) {
            return Err(Refusal::new(format!("nobody says which share of the pods' range {} has", host.name))
                .because("neither that host nor the cluster was asked, and the routes of the others need it")
                .hint("let the run have all hosts"));
        }
        let Some(share) = free.next() else {
            return Err(Refusal::new(format!("no share of the pods' range {range} is free for {}", host.name))
                .because(format!("nodes of the cluster have all shares of /{prefix}, those of nodes that are no more among them"))
                .hint("remove nodes that are no more with `kubectl delete node`"));
        };
        shares.insert(host.name.clone(), share);
    }
    Ok(shares)
}

/// Everything of it on a node.
fn host_steps(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let folder = network::configuration_folder(draft);
    let shares = shares(view.cluster(), view.seen)?;
    let routes = routes(view, draft, &shares)?;
    let own = shares.get(&view.host.name).into_iter().flatten().map(ToString::to_string).collect();
    let text = render("bridge/10-kokctl-bridge.conflist.j2", &Bridge { shares: own, mtu: view.cluster().network.mtu })?;
    let file = draft.add(CONFIGURATION, Resource::File(File::text(CONFLIST, text)));
    draft.needs(&file, &folder, Reason::Inside);
    let ready = || Reason::Because("the runtime takes the network as ready once the file is there");
    draft.needs(&file, &routes, ready());
    draft.needs(&file, &view.id(container_runtime::CNI_PLUGINS), ready());
    Ok(())
}

/// Where the pods of other hosts are: the share of each with the host's address of the same family.
fn to_others(view: &HostView<'_>, shares: &BTreeMap<String, Vec<IpNet>>) -> Result<BTreeMap<IpNet, IpAddr>, Refusal> {
    let mut routes = BTreeMap::new();
    let is_begun = view.cluster().hosts.iter().any(|host| view.seen.facts(&host.name).is_some());
    for host in view.cluster().nodes().filter(|host| host.name != view.host.name) {
        for share in shares.get(&host.name).into_iter().flatten() {
            let via = match share {
                IpNet::V4(_) => Some(host.address),
                IpNet::V6(_) => host.address_ipv6.map(IpAddr::V6),
            };
            match via {
                Some(via) => drop(routes.insert(*share, via)),
                // Before anybody was asked nobody knows it.
                None if is_begun => {
                    return Err(Refusal::new(format!("nobody says which IPv6 address {} has", host.name))
                        .because(
                            "neither the file nor the cluster names one, that host was not asked, and the routes of the others need it",
                        )
                        .hint("let the run have all hosts, or write it down: addressIPv6 of the host, ip6 in an inventory"));
                }
                None => {}
            }
        }
    }
    Ok(routes)
}

fn tables(network: &Network) -> Vec<Table> {
    let table = |range: IpNet, masquerades| {
        let family = Family::from_range(&range);
        let (word, multicast) = if family == Family::V4 { ("ip", "224.0.0.0/4") } else { ("ip6", "ff00::/8") };
        Table { name: family.table(), family: word, range: range.to_string(), multicast, masquerades }
    };
    let ipv6 = network.ipv6.map(|ipv6| table(ipv6.pod_cidr.into(), ipv6.masquerade));
    [table(network.pod_cidr.into(), true)].into_iter().chain(ipv6).collect()
}

fn routes(view: &HostView<'_>, draft: &mut Draft<'_>, shares: &BTreeMap<String, Vec<IpNet>>) -> Result<StepId, Refusal> {
    let network = &view.cluster().network;
    let wanted = to_others(view, shares)?;
    let mut text = String::new();
    for (to, via) in &wanted {
        // Writing to a String can't fail.
        let _ = writeln!(text, "route replace {to} via {via} proto {PROTOCOL}");
    }
    let (commands, rules) = (format!("{STATE_DIRECTORY}/pod-routes"), format!("{STATE_DIRECTORY}/pod-rules.nft"));
    let unit = format!("/etc/systemd/system/{UNIT}");
    let commands_file = draft.add("routes-file", Resource::File(File::text(&commands, text)));
    let text = render("bridge/rules.nft.j2", &Rules { tables: tables(network) })?;
    let rules_file = draft.add("rules-file", Resource::File(File::text(&rules, text)));
    let text = render("bridge/kokctl-pod-network.service.j2", &Service { commands: &commands, rules: &rules })?;
    let unit_file = draft.add("unit", Resource::File(File::text(&unit, text)));
    let reads = vec![unit, commands.clone(), rules.clone()];
    let service = draft.add("service", Resource::Unit(Unit { name: UNIT.to_owned(), goal: UnitGoal::Running, reads }));
    for file in [&commands_file, &rules_file, &unit_file] {
        draft.follows(&service, file, Reason::Reads);
    }
    let masquerades = [Family::V4].into_iter().chain(network.ipv6.filter(|ipv6| ipv6.masquerade).map(|_| Family::V6)).collect();
    let routes =
        draft.add("routes", Operation::PodRoutes(PodRoutes { ranges: network.pod_cidrs(), routes: wanted, masquerades, commands, rules }));
    draft.needs(&routes, &service, Reason::Because("routes of former hosts are left when the unit has made the present ones"));
    Ok(routes)
}

/// The step of the speaker after which nodes say which share is theirs.
fn cluster_steps(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<Option<StepId>, Refusal> {
    let shares = shares(view.cluster(), view.seen)?;
    let step = draft.add("shares", Operation::NodeShares(NodeShares { shares }));
    draft.needs(&step, &view.id(control_plane::ADMINISTRATORS), Reason::Because("only administrators may"));
    for host in view.cluster().nodes() {
        draft.needs(&step, &kubelet_join::node_step(view.cluster(), host), Reason::Because("that host has to join first"));
        draft.needs(&step, &CONFIGURATION.on(&host.name), Reason::Because("the host's own file counts first"));
    }
    Ok(Some(step))
}
