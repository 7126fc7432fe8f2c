//! `kokctl status`

use std::collections::BTreeMap;

use clap::Args;
use kok_crds::model::Cluster;
use kok_tasks::observe::{KubernetesState, Look, Looks};
use kok_tasks::plan::Seen;
use kok_tasks::preconditions;
use serde::Serialize;

use super::files::{ClusterFiles, ExtraVars};
use crate::run::{Events, LookAt, connect_each, probe_all};
use crate::ui::{Failure, Kind, Notes, line};

/// Show the hosts and their nodes as they are
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    /// Print the state as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    cluster: String,
    api_server: String,
    hosts: Vec<HostStatus>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HostStatus {
    host: String,
    address: String,
    role: &'static str,
    /// Whether the host could be asked; otherwise nothing but its node is known of it.
    reached: bool,
    os: String,
    containerd: String,
    kubelet: String,
    node: String,
    kubelet_version: Option<String>,
}

const UNITS: [&str; 2] = ["containerd.service", "kubelet.service"];

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let cluster = arguments.cluster.read(&arguments.extra)?;
    let (links, unreachable) = connect_each(&cluster, |_| true).await?;
    let mut failures: Vec<Failure> = unreachable.into_values().collect();
    let mut asked = BTreeMap::new();
    for host in &cluster.hosts {
        let mut looks: Looks = UNITS.iter().map(|unit| Look::Unit((*unit).to_owned())).collect();
        if host.roles.control_plane {
            looks.add(Look::Kubernetes);
        }
        asked.insert(host.name.clone(), LookAt { looks, facts: true });
    }
    let mut seen = Seen::default();
    if let Err(unanswered) = probe_all(&links, asked, &mut seen, &Events::new(vec![Box::new(Notes)])).await {
        failures.extend(unanswered);
    }
    let strangers = preconditions::strangers(&cluster, &seen);
    failures.extend(strangers.into_iter().map(|refusal| Failure::refusal(Kind::Host, refusal)));
    let status = status(&cluster, &seen);
    if arguments.json {
        let text = serde_json::to_string_pretty(&status).map_err(|error| vec![Failure::new(Kind::Internal, error.to_string())])?;
        line(&text);
    } else {
        print(&status);
    }
    // What could be seen is shown; that not all could be is still said, and told by the exit code.
    if failures.is_empty() { Ok(()) } else { Err(failures) }
}

fn status(cluster: &Cluster, seen: &Seen) -> Status {
    let first = cluster.control_planes().next().map(|host| host.name.as_str()).unwrap_or_default();
    let owner = seen.facts(first).map(|facts| facts.cluster.as_deref());
    // What another cluster's API server says of nodes of the same names would be taken for this one's.
    let kubernetes = seen.observations(first).kubernetes.as_ref().filter(|_| owner == Some(Some(&cluster.name)));
    let api_server = match kubernetes {
        None if owner.is_none() => "unknown: the control plane could not be asked".to_owned(),
        None if owner.flatten().is_some_and(|owner| owner != cluster.name) => "none of this cluster".to_owned(),
        None | Some(KubernetesState::Absent) => "not installed".to_owned(),
        Some(KubernetesState::NotReady(said)) => format!("not ready: {}", said.lines().next().unwrap_or_default()),
        Some(KubernetesState::Unanswered(said)) => {
            format!("ready, but it does not answer questions: {}", said.lines().next().unwrap_or_default())
        }
        Some(KubernetesState::Ready { .. }) => "ready".to_owned(),
    };
    let hosts = cluster.hosts.iter().map(|host| {
        let observations = seen.observations(&host.name);
        let unit = |name: &str| {
            observations
                .units
                .get(name)
                .map_or_else(|| "unknown".to_owned(), |unit| if unit.load == "loaded" { unit.active.clone() } else { unit.load.clone() })
        };
        let node = kubernetes.and_then(|state| state.node(&host.name));
        HostStatus {
            host: host.name.clone(),
            address: host.address.to_string(),
            role: match (host.roles.control_plane, host.roles.worker) {
                (true, true) => "control-plane+worker",
                (true, false) => "control-plane",
                (false, _) => "worker",
            },
            reached: seen.facts(&host.name).is_some(),
            os: seen.facts(&host.name).map(|facts| format!("{} {}", facts.os_id, facts.os_version)).unwrap_or_default(),
            containerd: unit(UNITS[0]),
            kubelet: unit(UNITS[1]),
            node: node
                .map_or(if kubernetes.is_some() || owner.is_some() { "none" } else { "unknown" }, |node| {
                    if node.ready { "Ready" } else { "NotReady" }
                })
                .to_owned(),
            kubelet_version: node.map(|node| node.kubelet_version.clone()),
        }
    });
    Status { cluster: cluster.name.clone(), api_server, hosts: hosts.collect() }
}

fn print(status: &Status) {
    line(&format!("cluster {}: API server {}", status.cluster, status.api_server));
    line(&format!(
        "{:<16} {:<16} {:<20} {:<12} {:<11} {:<11} {:<9} {}",
        "HOST", "ADDRESS", "ROLE", "OS", "CONTAINERD", "KUBELET", "NODE", "VERSION"
    ));
    for host in &status.hosts {
        let version = host.kubelet_version.as_deref().unwrap_or("-");
        let os = if host.reached { &host.os } else { "unreachable" };
        line(&format!(
            "{:<16} {:<16} {:<20} {:<12} {:<11} {:<11} {:<9} {version}",
            host.host, host.address, host.role, os, host.containerd, host.kubelet, host.node
        ));
    }
}
