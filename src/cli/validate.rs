//! `kokctl validate`

use std::collections::BTreeSet;

use clap::Args;
use kok_crds::model::Cluster;
use kok_crds::operation::{Effect, Invocation, Operation, Verb};
use kok_crds::{Given, Input, Message, Outcome, Position, Problem, count};
use kok_tasks::documents::joined;
use serde::Serialize;

use super::common::{BundleArgument, print_json};
use super::exposed;
use super::files::{ClusterFiles, ExtraVars};
use super::wanted::tasks;
use crate::artifacts::BundleFolder;
use crate::ui::{Failure, line};

/// Check the cluster's files without touching a host, and say what becomes of every line
///
/// Shows the cluster that comes out, every variable with its place and what becomes of it, what you should know, and all that is wrong.
/// Ends with exit code 2 if something is. With a bundle, it is looked at whether that has the versions that are asked for.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    bundle: BundleArgument,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let mut input = arguments.cluster.input(&arguments.extra)?;
    input.check_operations(&tasks());
    input.problems.extend(input.cluster.iter().flat_map(exposed::private_keys));
    let bundle = arguments.bundle.open_if_named()?;
    bundle.iter().for_each(|bundle| compare(&mut input, bundle));
    if arguments.json {
        print_json(&Document::new(&input, bundle.as_ref()))?;
    } else {
        show(&input, bundle.as_ref());
    }
    if is_valid(&input) { Ok(()) } else { Err(input.problems.into_iter().map(Failure::problem).collect()) }
}

fn is_valid(input: &Input) -> bool {
    input.cluster.is_some() && input.problems.is_empty()
}

/// Adds what the cluster asks for by its version, and the bundle does not have.
fn compare(input: &mut Input, bundle: &BundleFolder) {
    let Some(cluster) = &input.cluster else { return };
    let kubernetes = ("Kubernetes", cluster.kubernetes_version.to_string(), releases(bundle), "spec.kubernetesVersion");
    let own = cluster.settings.containerd_version.as_ref().map(ToString::to_string);
    let held: BTreeSet<&str> = bundle.bundle().versions("containerd").collect();
    let containerd = own.map(|version| ("containerd", version, held.into_iter().collect(), "spec.vars.containerd_version"));
    let asked = [Some(kubernetes), containerd].into_iter().flatten();
    let lacking: Vec<_> = asked.filter(|(_, version, held, _)| !held.contains(&version.as_str())).collect();
    let found: Vec<_> = lacking
        .into_iter()
        .map(|(what, version, held, path)| {
            (format!("the bundle has no {what} {version}"), format!("it has {}", held.join(", ")), cluster.positions.get(path).cloned())
        })
        .collect();
    found.into_iter().for_each(|lack| add(input, lack));
}

fn add(input: &mut Input, (what, because, position): (String, String, Option<Position>)) {
    let rows = input.variables.iter_mut().filter(|given| Some(&given.position) == position.as_ref());
    rows.for_each(|given| (given.outcome, given.because) = (Outcome::Refused, "the bundle does not have it".to_owned()));
    let problem = Problem::new(what).because(because);
    input.problems.push(Problem { position, ..problem }.hint("write a version that the bundle has, or give another bundle"));
}

fn show(input: &Input, bundle: Option<&BundleFolder>) {
    let Input { cluster, operations, variables, notices, .. } = input;
    if let Some(cluster) = cluster {
        summary(cluster);
        match bundle {
            Some(bundle) => line(&format!("the bundle has Kubernetes {}", releases(bundle).join(", "))),
            None => line(&format!("the bundle has to have Kubernetes {}; with --bundle this is looked at too", cluster.kubernetes_version)),
        }
    }
    operations.iter().for_each(|operation| line(&told(operation)));
    if !variables.is_empty() {
        line(&format!("\n{:<40} {:<28} {:<11} {}", "VARIABLE", "VALUE", "EFFECT", "WHERE AND WHY"));
        variables.iter().for_each(row);
    }
    notices.iter().for_each(|notice| line(&format!("\n{notice}")));
    // What is wrong follows, on the other stream.
    line(if is_valid(input) { "\nvalid" } else { "" });
}

fn releases(bundle: &BundleFolder) -> Vec<&str> {
    bundle.bundle().kubernetes.iter().map(|release| release.version.as_str()).collect()
}

fn summary(cluster: &Cluster) {
    let (planes, workers) = (cluster.control_planes().count(), cluster.workers().count());
    let network = &cluster.network;
    line(&format!(
        "cluster {} with Kubernetes {}: {}, {}, {}",
        cluster.name,
        cluster.kubernetes_version,
        count(cluster.hosts.len(), "host"),
        count(planes, "control plane"),
        count(workers, "worker")
    ));
    line(&format!(
        "network {}: pods {}, services {}, domain {}",
        network.plugin.as_str(),
        joined(&network.pod_cidrs()),
        joined(&network.service_cidrs()),
        network.cluster_domain
    ));
    let few = cluster.hosts.iter().take(MOST_HOSTS);
    few.for_each(|host| {
        line(&format!("  {:<20} {:<16} {}", host.name, host.address.to_string(), roles(host.roles, cluster.has_etcd_units())))
    });
    if cluster.hosts.len() > MOST_HOSTS {
        line(&format!("  and {} more", cluster.hosts.len() - MOST_HOSTS));
    }
}

/// More than that say nothing at a glance.
const MOST_HOSTS: usize = 20;

/// etcd is told where it is more than a part of a control plane.
fn roles(roles: kok_crds::model::Roles, etcd_units: bool) -> &'static str {
    match (roles.control_plane, roles.worker, roles.etcd && etcd_units) {
        (true, true, true) => "control-plane, worker, etcd",
        (true, true, false) => "control-plane, worker",
        (true, false, true) => "control-plane, etcd",
        (true, false, false) => "control-plane",
        (false, true, true) => "worker, etcd",
        (false, true, false) => "worker",
        (false, false, _) => "etcd",
    }
}

fn told(operation: &Operation) -> String {
    let name = operation.name.as_deref().unwrap_or("without a name");
    let steps: Vec<String> = operation.invocations().map(|step| format!("{} ({})", step.action.name, here(step))).collect();
    let ended = if operation.ended { ", which has ended" } else { "" };
    format!("operation {name}{ended}: {}", steps.join(", "))
}

/// What an action is here.
fn here(invocation: &Invocation) -> String {
    match invocation.action.effect {
        Effect::Runs(Verb::Apply) if invocation.arguments.check => "`kokctl plan`".to_owned(),
        Effect::Runs(verb) => format!("`kokctl {}`", verb.as_str()),
        Effect::Covered { by, .. } => by.to_owned(),
        Effect::Planned { .. } => "not yet".to_owned(),
        Effect::Refused { .. } => "refused".to_owned(),
    }
}

fn row(given: &Given) {
    let more = given.hosts.filter(|hosts| *hosts > 1).map(|hosts| format!(" for {hosts} hosts")).unwrap_or_default();
    let because = if given.because.is_empty() { String::new() } else { format!(": {}", given.because) };
    let value = if given.value.chars().count() > 28 { given.value.chars().take(27).chain(['…']).collect() } else { given.value.clone() };
    line(&format!("{:<40} {value:<28} {:<11} {}{more}{because}", given.name, given.outcome.as_str(), given.position));
}

/// The form of `--json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    valid: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<ClusterDocument<'a>>,
    /// What the bundle has, if one is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    bundle: Option<BundleDocument<'a>>,
    operations: Vec<OperationDocument<'a>>,
    variables: Vec<VariableDocument<'a>>,
    notices: Vec<MessageDocument<'a>>,
    problems: Vec<MessageDocument<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClusterDocument<'a> {
    name: &'a str,
    kubernetes_version: String,
    hosts: Vec<HostDocument<'a>>,
}

#[derive(Serialize)]
struct BundleDocument<'a> {
    kubernetes: Vec<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OperationDocument<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    at: String,
    ended: bool,
    steps: Vec<StepDocument<'a>>,
}

/// An action in its order.
#[derive(Serialize)]
struct StepDocument<'a> {
    action: &'a str,
    at: String,
    /// What it is here: a command, or who does it.
    here: String,
}

#[derive(Serialize)]
struct HostDocument<'a> {
    name: &'a str,
    address: String,
    roles: &'static str,
}

#[derive(Serialize)]
struct VariableDocument<'a> {
    name: &'a str,
    value: &'a str,
    at: String,
    effect: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    because: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hosts: Option<usize>,
}

#[derive(Serialize)]
struct MessageDocument<'a> {
    what: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

impl<'a> Document<'a> {
    fn new(input: &'a Input, bundle: Option<&'a BundleFolder>) -> Self {
        Self {
            valid: is_valid(input),
            cluster: input.cluster.as_ref().map(ClusterDocument::new),
            bundle: bundle.map(|bundle| BundleDocument { kubernetes: releases(bundle) }),
            operations: input.operations.iter().map(OperationDocument::new).collect(),
            variables: input.variables.iter().map(variable).collect(),
            notices: input.notices.iter().map(message).collect(),
            problems: input.problems.iter().map(message).collect(),
        }
    }
}

impl<'a> OperationDocument<'a> {
    fn new(operation: &'a Operation) -> Self {
        let step = |step: &'a Invocation| StepDocument { action: step.action.name, at: step.position.to_string(), here: here(step) };
        Self {
            name: operation.name.as_deref(),
            at: operation.position.to_string(),
            ended: operation.ended,
            steps: operation.invocations().map(step).collect(),
        }
    }
}

impl<'a> ClusterDocument<'a> {
    fn new(cluster: &'a Cluster) -> Self {
        let host = |host: &'a kok_crds::model::Host| HostDocument {
            name: &host.name,
            address: host.address.to_string(),
            roles: roles(host.roles, cluster.has_etcd_units()),
        };
        Self {
            name: &cluster.name,
            kubernetes_version: cluster.kubernetes_version.to_string(),
            hosts: cluster.hosts.iter().map(host).collect(),
        }
    }
}

fn variable(given: &Given) -> VariableDocument<'_> {
    let Given { name, value, position, outcome, because, hosts } = given;
    VariableDocument { name, value, at: position.to_string(), effect: Outcome::as_str(*outcome), because, hosts: *hosts }
}

fn message<W>(said: &Message<W>) -> MessageDocument<'_> {
    let at = said.position.as_ref().map(ToString::to_string);
    MessageDocument { what: &said.message, at, because: said.because.as_deref(), hint: said.hint.as_deref() }
}

#[cfg(test)]
mod tests;
