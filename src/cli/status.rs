//! `kokctl status`

mod certificates;
mod drift;
mod endpoint;
mod versions;

use std::collections::BTreeMap;

use clap::Args;
use kok_crds::count;
use kok_crds::model::{Cluster, Host, Roles};
use kok_tasks::observe::{EtcdState, KubernetesState, Look, Looks};
use kok_tasks::operations::{API_SERVER_MANIFEST, said_briefly, without_means};
use kok_tasks::plan::Seen;
use kok_tasks::preconditions;
use kok_tasks::speaker::speaker;
use kok_tasks::validity;
use kok_tasks::versions::Versions;
use serde::Serialize;

use self::certificates::Certificate;
pub(super) use self::certificates::{SOON, day};
use self::drift::Drift;
use self::endpoint::Endpoint;
use super::common::{BundleArgument, print_json};
use super::files::{ClusterFiles, ExtraVars};
use super::process;
use crate::clock::Clock;
use crate::failure::{Failure, Kind};
use crate::run::{LookAt, connect_each, probe_all};
use crate::state::Controller;
use crate::ui::{line, status_line};

/// Show the hosts and their nodes as they are, the API's endpoint, when certificates end, and in how much the hosts differ from the files
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    bundle: BundleArgument,
    /// Print the state as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    cluster: String,
    api_server: String,
    endpoint: Endpoint,
    drift: Drift,
    /// What is said of several versions of Kubernetes at once, for people; as JSON each host has its versions.
    #[serde(skip)]
    versions: Vec<String>,
    hosts: Vec<HostStatus>,
    certificates: Vec<Certificate>,
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
    /// Of a control plane.
    api_server: Option<String>,
    /// Of a host that etcd runs on.
    etcd: Option<String>,
    node: String,
    kubelet_version: Option<String>,
    versions: BTreeMap<String, versions::Document>,
}

const UNITS: [&str; 2] = ["containerd.service", "kubelet.service"];
const ETCD_UNIT: &str = "etcd.service";

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    // Pipes and standard input can be read once: whatever else is wanted of the files comes out of this.
    let (input, cluster) = arguments.cluster.without_manifests(&arguments.extra)?;
    let bundle = arguments.bundle.open_if_named()?;
    // Who can't write there may look all the same.
    let context = process::context(process::controller().unwrap_or_else(|_| Controller::nobody()));
    let (links, unreachable) = connect_each(&cluster, |_| true, &context.transport, &context.events).await?;
    let mut failures: Vec<Failure> = unreachable.into_values().collect();
    let asked = cluster.hosts.iter().map(|host| (host.name.clone(), LookAt { looks: looks(&cluster, host), facts: true })).collect();
    let mut seen = Seen::default();
    if let Err(unanswered) = probe_all(&links, asked, &context.controller, &mut seen, &context.events).await {
        failures.extend(unanswered);
    }
    let strangers = preconditions::strangers(&cluster, &seen);
    failures.extend(strangers.into_iter().map(|refusal| Failure::refusal(Kind::Host, refusal)));
    // Where a host does not answer, a plan would say no more than that.
    let drift = if preconditions::has_mixed_versions(&cluster, &seen) {
        Drift::Upgrading
    } else if failures.is_empty() {
        Drift::find(input, bundle.as_ref(), &context).await
    } else {
        Drift::Unknown { because: "not all hosts answer".to_owned() }
    };
    let status = status(&cluster, &seen, drift);
    if arguments.json {
        print_json(&status)?;
    } else {
        print(&status);
    }
    certificates::warnings(&status.certificates).iter().for_each(|warning| status_line(&warning.as_warning()));
    // What could be seen is shown; that not all could be is still said, and told by the exit code.
    if failures.is_empty() { Ok(()) } else { Err(failures) }
}

/// What to look at on a host.
fn looks(cluster: &Cluster, host: &Host) -> Looks {
    let mut looks: Looks = UNITS.iter().map(|unit| Look::Unit((*unit).to_owned())).chain([Look::Versions]).collect();
    if host.roles.control_plane {
        looks.extend([Look::ApiServer, Look::Kubernetes, Look::Path(API_SERVER_MANIFEST.to_owned())]);
        looks.extend(endpoint::looks(cluster));
    }
    if host.roles.control_plane || host.roles.etcd {
        looks.extend(validity::looks());
    }
    if host.roles.etcd {
        looks.extend([Look::Etcd, Look::Unit(ETCD_UNIT.to_owned())]);
    }
    looks
}

fn status(cluster: &Cluster, seen: &Seen, drift: Drift) -> Status {
    let speaker = speaker(cluster, seen).map(|host| host.name.as_str()).unwrap_or_default();
    // What another cluster's API server says of nodes of the same names would be taken for this one's.
    let told = Some(seen.observations(speaker)).filter(|_| is_ours(cluster, seen, speaker));
    let kubernetes = told.and_then(|told| told.kubernetes.as_ref());
    let asked = cluster.control_planes().any(|host| seen.facts(&host.name).is_some());
    let without_node = if kubernetes.is_some() || asked { "none" } else { "unknown" };
    let versions = Versions::of(cluster, seen);
    let hosts = cluster.hosts.iter().map(|host| host_status(cluster, seen, host, (kubernetes, without_node), &versions));
    let certificates = certificates::certificates(cluster, seen, Clock::seconds());
    let endpoint = Endpoint::new(cluster, told);
    Status {
        cluster: cluster.name.clone(),
        api_server: api_server(cluster, seen, speaker),
        endpoint,
        drift,
        versions: versions::lines(&versions),
        hosts: hosts.collect(),
        certificates,
    }
}

/// What was seen of a host, and what the cluster says of its node; `without_node` is said where it has none.
fn host_status(
    cluster: &Cluster,
    seen: &Seen,
    host: &Host,
    (kubernetes, without_node): (Option<&KubernetesState>, &str),
    versions: &Versions,
) -> HostStatus {
    let observations = seen.observations(&host.name);
    let unit = |name: &str| {
        // What runs etcd alone has neither.
        if !host.roles.is_node() {
            return "-".to_owned();
        }
        observations
            .units
            .get(name)
            .map_or_else(|| "unknown".to_owned(), |unit| if unit.load == "loaded" { unit.active.clone() } else { unit.load.clone() })
    };
    let node = kubernetes.and_then(|state| state.node(&host.name));
    let roles = host.roles;
    HostStatus {
        host: host.name.clone(),
        address: host.address.to_string(),
        role: role(roles, cluster.has_etcd_units()),
        reached: seen.facts(&host.name).is_some(),
        os: seen.facts(&host.name).map(|facts| format!("{} {}", facts.os_id, facts.os_version)).unwrap_or_default(),
        containerd: unit(UNITS[0]),
        kubelet: unit(UNITS[1]),
        api_server: roles.control_plane.then(|| api_server(cluster, seen, &host.name)),
        etcd: roles.etcd.then(|| etcd(cluster, seen, &host.name)),
        node: node
            .map_or(if roles.is_node() { without_node } else { "-" }, |node| if node.ready { "Ready" } else { "NotReady" })
            .to_owned(),
        kubelet_version: node.map(|node| node.kubelet_version.clone()),
        versions: versions::of_host(versions, &host.name),
    }
}

/// etcd is told where it is more than a part of a control plane.
fn role(roles: Roles, etcd_units: bool) -> &'static str {
    match (roles.control_plane, roles.worker, roles.etcd && etcd_units) {
        (true, true, true) => "control-plane+worker+etcd",
        (true, true, false) => "control-plane+worker",
        (true, false, true) => "control-plane+etcd",
        (true, false, false) => "control-plane",
        (false, true, true) => "worker+etcd",
        (false, true, false) => "worker",
        (false, false, _) => "etcd",
    }
}

fn is_ours(cluster: &Cluster, seen: &Seen, host: &str) -> bool {
    seen.facts(host).is_some_and(|facts| facts.cluster.as_ref() == Some(&cluster.name))
}

fn first_line(said: &str) -> &str {
    said.lines().next().unwrap_or_default()
}

fn api_server(cluster: &Cluster, seen: &Seen, host: &str) -> String {
    match seen.facts(host).map(|facts| facts.cluster.as_ref()) {
        None => return "unknown: the control plane could not be asked".to_owned(),
        Some(Some(owner)) if *owner != cluster.name => return "none of this cluster".to_owned(),
        Some(_) => {}
    }
    match seen.observations(host).kubernetes.as_ref().filter(|_| is_ours(cluster, seen, host)) {
        None | Some(KubernetesState::Absent) => without_means(seen.observations(host)).unwrap_or("not installed").to_owned(),
        Some(KubernetesState::NotReady(said)) => said_briefly(said).trim_start_matches("the API server ").to_owned(),
        Some(KubernetesState::Unanswered(said)) => format!("ready, but it does not answer questions: {}", first_line(said)),
        Some(KubernetesState::Ready { .. }) => "ready".to_owned(),
    }
}

fn etcd(cluster: &Cluster, seen: &Seen, host: &str) -> String {
    match seen.observations(host).etcd.as_ref().filter(|_| is_ours(cluster, seen, host)) {
        None if seen.facts(host).is_none() => "unknown".to_owned(),
        None | Some(EtcdState::Absent) => "not installed".to_owned(),
        Some(EtcdState::NotReady(said)) => format!("not ready: {}", said.lines().next_back().unwrap_or_default()),
        Some(EtcdState::Ready(member)) if !member.has_leader => "not ready: the members have no leader".to_owned(),
        Some(EtcdState::Ready(member)) if !member.errors.is_empty() => format!("complains: {}", member.errors.join(", ")),
        Some(EtcdState::Ready(member)) => format!("ready, {}, {}", count(member.members.len(), "member"), member.version),
    }
}

fn print(status: &Status) {
    line(&format!("cluster {}: API server {}", status.cluster, status.api_server));
    line(&status.endpoint.line());
    let serving = status.hosts.iter().filter(|host| host.api_server.is_some() || host.etcd.is_some());
    // Of the only control plane the API server was told already.
    let several = serving.clone().nth(1).is_some();
    let is_ready = |host: &&HostStatus| host.etcd.as_ref().is_some_and(|etcd| etcd.starts_with("ready"));
    for status_of_host in serving.filter(|host| several || !is_ready(host)) {
        let HostStatus { host, api_server, etcd, .. } = status_of_host;
        let api_server = api_server.as_ref().map(|said| format!("API server {said}"));
        let etcd = etcd.as_ref().map(|said| format!("etcd {said}"));
        let said = api_server.into_iter().chain(etcd).collect::<Vec<_>>().join("; ");
        let end = certificates::first_of(&status.certificates, host).map(|day| format!("; certificates until {day}")).unwrap_or_default();
        line(&format!("  {host}: {said}{end}"));
    }
    certificates::line(&status.certificates).iter().for_each(|text| line(text));
    status.versions.iter().for_each(|text| line(text));
    line(&status.drift.line());
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
