//! `kokctl status`

mod backups;
mod certificates;
mod rehearsal;
mod text;
mod versions;

use backups::Backups;
use clap::Args;
use kok_crds::Input;
use kok_crds::model::Cluster;
use serde::Serialize;

use super::common::{BundleArgument, print_json};
use super::files::{ClusterFiles, ExtraVars, loaded};
use super::process;
use crate::clock::Clock;
use crate::engine::{self, ClusterStatus, EtcdHealth, HostStatus, StatusRequest};
use crate::failure::{Failure, Kind};
use crate::state::{Controller, LastRehearsal};
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

/// What is printed as JSON.
#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    status: &'a ClusterStatus,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    backups: &'a [Backups],
    #[serde(skip_serializing_if = "Option::is_none")]
    rehearsal: Option<&'a LastRehearsal>,
}

const NO_BUNDLE: &str = "it needs the bundle: give its folder with --bundle";

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    // Pipes and standard input can be read once: whatever else is wanted of the files comes out of this.
    let (input, cluster) = arguments.cluster.without_manifests(&arguments.extra)?;
    let bundle = arguments.bundle.open_if_there(Some(&cluster))?;
    // Who can't write there may look all the same.
    let context = process::context(process::controller().unwrap_or_else(|_| Controller::nobody()));
    let whole = Box::new(|| whole(input));
    let request = StatusRequest { cluster: &cluster, bundle: bundle.as_ref().ok_or(NO_BUNDLE), whole };
    let (status, failures) = engine::status(&context, request).await?;
    let backups = Backups::find_all(&cluster).await;
    let rehearsed = process::state().ok().and_then(|state| LastRehearsal::find(&state, &cluster.name));
    if arguments.json {
        print_json(&Whole { status: &status, backups: &backups, rehearsal: rehearsed.as_ref() })?;
    } else {
        print(&status);
        backups.iter().for_each(|backups| line(&backups.line(Clock::seconds())));
        rehearsed.iter().for_each(|last| line(&rehearsal::line(last, Clock::seconds())));
    }
    rehearsed.iter().filter_map(rehearsal::warning).for_each(|warning| status_line(&warning.as_warning()));
    backups.iter().filter_map(|backups| backups.warning()).for_each(|warning| status_line(&warning.as_warning()));
    certificates::warnings(&status.certificates).iter().for_each(|warning| status_line(&warning.as_warning()));
    if let Some(refusal) = &status.changes_encryption {
        status_line(&Failure::refusal(Kind::Host, refusal.clone()).as_warning());
    }
    if let Some(has) = &status.replacing_token_key {
        let failure = Failure::new(Kind::Host, "the key of service accounts is being replaced").because(has.clone());
        let hint = "`kokctl certs rotate service-account` goes on with it, and with --finish has the one from before refused";
        status_line(&failure.hint(hint).as_warning());
    }
    for name in &status.replacing_authorities {
        let failure = Failure::new(Kind::Host, format!("the certificate authority `{name}` is being replaced"));
        let hint = format!("`kokctl certs rotate ca {name}` goes on with it, and with --finish has nobody trust the one from before");
        status_line(&failure.because("hosts trust two of them").hint(hint).as_warning());
    }
    // What could be seen is shown; that not all could be is still said, and told by the exit code.
    if failures.is_empty() { Ok(()) } else { Err(failures) }
}

/// The cluster with all that its files name, or why that can't be had.
fn whole(input: Input) -> Result<Cluster, String> {
    let input = loaded(input);
    let problem = || input.problems.into_iter().next().map(Failure::problem);
    input.cluster.ok_or_else(|| problem().as_ref().map(Failure::one_line).unwrap_or_default())
}

fn print(status: &ClusterStatus) {
    line(&format!("cluster {}: API server {}", status.cluster, status.api_server));
    line(&text::endpoint(&status.endpoint));
    status.endpoint.virtual_address.iter().for_each(|address| line(&text::virtual_address(address)));
    let serving = status.hosts.iter().filter(|host| host.api_server.is_some() || host.etcd.is_some());
    // Of the only control plane the API server was told already.
    let several = serving.clone().nth(1).is_some();
    let is_ready = |host: &&HostStatus| host.etcd.as_ref().is_some_and(EtcdHealth::is_ready);
    for status_of_host in serving.filter(|host| several || !is_ready(host)) {
        let HostStatus { host, api_server, etcd, .. } = status_of_host;
        let api_server = api_server.as_ref().map(|state| format!("API server {state}"));
        let etcd = etcd.as_ref().map(|state| format!("etcd {state}"));
        let states = api_server.into_iter().chain(etcd).collect::<Vec<_>>().join("; ");
        let end = certificates::first_of(&status.certificates, host).map(|day| format!("; certificates until {day}")).unwrap_or_default();
        line(&format!("  {host}: {states}{end}"));
    }
    certificates::line(&status.certificates).iter().for_each(|text| line(text));
    versions::lines(&status.versions).iter().for_each(|text| line(text));
    for (host, by) in status.hosts.iter().filter_map(|host| Some((host, host.cordoned?))) {
        line(&format!("  {}: {}", host.host, text::cordoned(by)));
    }
    line(&text::drift(&status.drift));
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

#[cfg(test)]
mod tests;
