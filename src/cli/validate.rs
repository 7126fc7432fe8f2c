//! `kokctl validate`

mod document;
mod text;

use std::collections::BTreeSet;

use clap::Args;
use kok_crds::operation::{Effect, Invocation, Operation, Verb};
use kok_crds::{Input, Outcome, Position, Problem};

use super::common::{BundleArgument, print_json};
use super::exposed;
use super::files::{ClusterFiles, ExtraVars};
use super::process;
use super::wanted::tasks;
use crate::artifacts::BundleFolder;
use crate::failure::Failure;
use crate::run::{judged_keys, judged_ways};
use document::Document;

/// Check the cluster's files without touching a host, and say what becomes of every line
///
/// Shows the cluster that comes out, the variables that are not honoured or that nobody knows, what you should know, and all that is wrong;
/// with --all every variable with its place and what becomes of it. Keys to log in with and your ssh_config are looked at too, and nobody is asked
/// for a passphrase. Ends with exit code 2 if something is wrong. With a bundle, it is looked at whether that has the versions that are asked for.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    bundle: BundleArgument,
    /// List every variable, also those of which nothing needs your attention
    #[arg(long)]
    all: bool,
    /// Print all of it as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let mut input = arguments.cluster.input(&arguments.extra)?;
    input.check_operations(&tasks());
    input.problems.extend(input.cluster.iter().flat_map(exposed::private_keys));
    judge_keys(&mut input);
    let bundle = arguments.bundle.open_if_there(input.cluster.as_ref())?;
    bundle.iter().for_each(|bundle| compare(&mut input, bundle));
    if arguments.json {
        print_json(&Document::new(&input, bundle.as_ref()))?;
    } else {
        text::show(&input, bundle.as_ref(), (arguments.all, &arguments.cluster.options(&arguments.extra)));
    }
    if is_valid(&input) { Ok(()) } else { Err(input.problems.into_iter().map(Failure::problem).collect()) }
}

/// Adds what is wrong with the keys to log in with and with the ways to hosts, and which keys are encrypted.
fn judge_keys(input: &mut Input) {
    let Some(cluster) = &input.cluster else { return };
    let (problems, notices) = judged_keys(cluster, &process::surroundings());
    // A key in a file that others may read has been told of.
    let ways = judged_ways(cluster, &process::surroundings());
    input.problems.extend(problems.into_iter().chain(ways));
    input.notices.extend(notices);
}

fn is_valid(input: &Input) -> bool {
    input.cluster.is_some() && input.problems.is_empty()
}

/// Adds what the cluster asks for by its version, and the bundle does not have.
fn compare(input: &mut Input, bundle: &BundleFolder) {
    let Some(cluster) = input.cluster.as_ref().filter(|cluster| cluster.fleet.is_none()) else { return };
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

fn releases(bundle: &BundleFolder) -> Vec<&str> {
    bundle.bundle().kubernetes.iter().map(|release| release.version.as_str()).collect()
}

/// etcd is told where it is more than a part of a control plane.
fn roles(roles: kok_crds::model::Roles, etcd_units: bool) -> &'static str {
    match (roles.control_plane, roles.worker, roles.etcd && etcd_units) {
        (true, true, true) => "control-plane, worker, etcd",
        (true, true, false) => "control-plane, worker",
        (true, false, true) => "control-plane, etcd",
        (true, false, false) => "control-plane",
        (false, true, true) => "worker, etcd",
        (false, true, false) => "worker",
        (false, false, true) => "etcd",
        (false, false, false) if roles.etcd => "etcd",
        (false, false, false) => "",
    }
}

fn operation_line(operation: &Operation) -> String {
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

#[cfg(test)]
mod tests;
