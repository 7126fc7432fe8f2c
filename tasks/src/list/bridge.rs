//! The plain bridge: on each host a bridge for its own pods, and a route to each other host for the pods there.
//!
//! Which share of the pods' range a host has is decided here, for only then everything is known before the first node registers. A host keeps
//! its share: what its own file says counts, then what its node says; a new host gets the first that is free.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::IpAddr;

use ipnet::Ipv4Net;
use kok_crds::model::Cluster;
use serde::Serialize;
use serde_json::Value;

use super::{container_runtime, control_plane, kubelet_join, network};
use crate::observe::pod_network::{PROTOCOL, TABLE};
use crate::observe::{KubernetesState, Observations, STATE_DIRECTORY};
use crate::operations::{NodeShares, Operation, PodRoutes};
use crate::plan::{Draft, HostView, Reason, Refusal, Seen, StepId};
use crate::resources::{File, Resource, Unit, UnitGoal};
use crate::speaker::speaker;
use crate::templates::render;

/// What containerd reads; it also says which share is the host's.
pub(crate) const CONFIGURATION: &str = "/etc/cni/net.d/10-kokctl-bridge.conflist";

/// What makes the routes after a start of the host.
pub(crate) const UNIT: &str = "kokctl-pod-network.service";

#[derive(Serialize)]
struct Bridge {
    share: String,
    mtu: Option<u16>,
}

#[derive(Serialize)]
struct Rules {
    table: &'static str,
    range: String,
}

#[derive(Serialize)]
struct Service<'a> {
    commands: &'a str,
    rules: &'a str,
}

/// The share that a host's own file gives to its pods.
fn own(seen: &Observations) -> Option<Ipv4Net> {
    let file: Value = serde_json::from_slice(seen.contents.get(CONFIGURATION)?).ok()?;
    file.pointer("/plugins/0/ipam/ranges/0/0/subnet")?.as_str()?.parse().ok()
}

/// Each node's share of the pods' range.
pub(crate) fn shares(cluster: &Cluster, seen: &Seen) -> Result<BTreeMap<String, Ipv4Net>, Refusal> {
    let network = &cluster.network;
    let state = speaker(cluster, seen).and_then(|speaker| seen.observations(&speaker.name).kubernetes.as_ref());
    let (mut shares, mut used) = (BTreeMap::new(), BTreeSet::new());
    for host in cluster.nodes() {
        let recorded = || state.and_then(|state| state.node(&host.name)).and_then(|node| node.pod_cidr);
        let known = own(seen.observations(&host.name)).or_else(recorded);
        let fits = known.filter(|share| network.pod_cidr.contains(share) && share.prefix_len() == network.node_prefix);
        if let Some(share) = fits.filter(|share| used.insert(*share)) {
            shares.insert(host.name.clone(), share);
        }
    }
    if let Some(KubernetesState::Ready { nodes, .. }) = state {
        used.extend(nodes.values().filter_map(|node| node.pod_cidr));
    }
    let is_begun = cluster.hosts.iter().any(|host| seen.facts(&host.name).is_some());
    let mut free = network.pod_cidr.subnets(network.node_prefix).into_iter().flatten().filter(|share| !used.contains(share));
    for host in cluster.nodes().filter(|host| !shares.contains_key(&host.name)).collect::<Vec<_>>() {
        if is_begun && seen.facts(&host.name).is_none() && !matches!(state, Some(KubernetesState::Ready { .. })) {
            return Err(Refusal::new(format!("nobody says which share of the pods' range {} has", host.name))
                .because("neither that host nor the cluster was asked, and the routes of the others need it")
                .hint("let the run have all hosts"));
        }
        let Some(share) = free.next() else {
            return Err(Refusal::new(format!("no share of the pods' range {} is free for {}", network.pod_cidr, host.name))
                .because(format!("it has {} of /{}, and nodes of the cluster have all of them", network.max_nodes(), network.node_prefix))
                .hint("remove nodes that are no more with `kubectl delete node`"));
        };
        shares.insert(host.name.clone(), share);
    }
    Ok(shares)
}

/// Everything of it on a node.
pub(super) fn of_host(view: &HostView<'_>, draft: &mut Draft<'_>, folder: &StepId) -> Result<(), Refusal> {
    let shares = shares(view.cluster(), view.seen)?;
    let routes = routes(view, draft, &shares)?;
    let share = shares.get(&view.host.name).map(ToString::to_string).unwrap_or_default();
    let text = render("bridge/10-kokctl-bridge.conflist.j2", &Bridge { share, mtu: view.cluster().network.mtu })?;
    let file = draft.add("configuration", Resource::File(File::text(CONFIGURATION, text)));
    draft.needs(&file, folder, Reason::Inside);
    let ready = || Reason::Because("the runtime takes the network as ready once the file is there");
    draft.needs(&file, &routes, ready());
    draft.needs(&file, &view.id(container_runtime::NAME, container_runtime::PLUGINS[0]), ready());
    Ok(())
}

fn routes(view: &HostView<'_>, draft: &mut Draft<'_>, shares: &BTreeMap<String, Ipv4Net>) -> Result<StepId, Refusal> {
    let range = view.cluster().network.pod_cidr;
    let others = view.cluster().nodes().filter(|host| host.name != view.host.name);
    let to_others = others.filter_map(|host| match (shares.get(&host.name), host.address) {
        (Some(share), IpAddr::V4(address)) => Some((*share, address)),
        _ => None,
    });
    let wanted: BTreeMap<_, _> = to_others.collect();
    let mut text = String::new();
    for (to, via) in &wanted {
        // Writing to a String can't fail.
        let _ = writeln!(text, "route replace {to} via {via} proto {PROTOCOL}");
    }
    let (commands, rules) = (format!("{STATE_DIRECTORY}/pod-routes"), format!("{STATE_DIRECTORY}/pod-rules.nft"));
    let unit = format!("/etc/systemd/system/{UNIT}");
    let commands_file = draft.add("routes-file", Resource::File(File::text(&commands, text)));
    let text = render("bridge/rules.nft.j2", &Rules { table: TABLE, range: range.to_string() })?;
    let rules_file = draft.add("rules-file", Resource::File(File::text(&rules, text)));
    let text = render("bridge/kokctl-pod-network.service.j2", &Service { commands: &commands, rules: &rules })?;
    let unit_file = draft.add("unit", Resource::File(File::text(&unit, text)));
    let reads = vec![unit, commands.clone(), rules.clone()];
    let service = draft.add("service", Resource::Unit(Unit { name: UNIT.to_owned(), goal: UnitGoal::Running, reads }));
    for file in [&commands_file, &rules_file, &unit_file] {
        draft.follows(&service, file, Reason::Reads);
    }
    let routes = draft.add("routes", Operation::PodRoutes(PodRoutes { range, routes: wanted, commands, rules }));
    draft.needs(&routes, &service, Reason::Because("routes of former hosts are left when the unit has made the present ones"));
    Ok(routes)
}

/// The step of the speaker after which nodes say which share is theirs.
pub(super) fn of_cluster(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<StepId, Refusal> {
    let shares = shares(view.cluster(), view.seen)?;
    let step = draft.add("shares", Operation::NodeShares(NodeShares { shares }));
    draft.needs(&step, &view.id(control_plane::NAME, control_plane::ADMINISTRATORS), Reason::Because("only administrators may"));
    for host in view.cluster().nodes() {
        let (task, node) =
            if host.roles.control_plane { (control_plane::NAME, "kubelet-finalized") } else { (kubelet_join::NAME, kubelet_join::JOINED) };
        draft.needs(&step, &StepId::new(&host.name, task, node), Reason::Because("that host has to join first"));
        draft.needs(&step, &StepId::new(&host.name, network::NAME, "configuration"), Reason::Because("the host's own file counts first"));
    }
    Ok(step)
}
