//! `kokctl exec`

mod text;

use std::time::Duration;

use clap::Args;
use kok_crds::model::Cluster;
use serde::Serialize;
use tokio::sync::watch;

use super::common::print_json;
use super::files::{ExtraVars, NamedFiles};
use super::limit::LimitArgument;
use super::process;
use super::signals::listen;
use crate::engine::{self, Context, Ended, ExecFailure, ExecRequest, ExecResults, Executed};
use crate::event::FailureRecord;
use crate::failure::{Failure, Kind};
use crate::remote::RunAs;
use crate::run::Stop;
use crate::state::Controller;
use crate::ui::{line, status_line};

/// As many hosts as Ansible's users raise `forks` to: what the command fetches comes over one link for all of them.
const AT_ONCE: u16 = 50;

const EXIT_CODES: &str = "Exit codes:
  0  the command ended with 0 on all hosts
  2  the file or the options are wrong; the command was begun nowhere
  3  no host could be reached; the command was begun nowhere
  4  on some host it ended otherwise, was ended, was not begun, or nobody knows";

/// Run a command on all hosts, or on some, and show what it says: once for all hosts that say the same
///
/// No shell reads the command: each argument arrives as it is; `-- sh -c 'df -h | tail -n 1'` is one that a shell reads. It runs in the folder /, with
/// nothing to read, and ends with kokctl: at Ctrl-C, and where the connection breaks. It is written down nowhere, but everybody on the host sees its
/// arguments while it runs: none of them should be a secret.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Arguments {
    #[command(flatten)]
    files: NamedFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    limit: LimitArgument,
    /// Run it as root, by sudo where the login is another one; without this it runs as the login
    #[arg(long)]
    sudo: bool,
    /// End it on a host after so many seconds; by default it may take its time
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    timeout: Option<u32>,
    /// On how many hosts it runs at the same time
    #[arg(long, value_name = "N", default_value_t = AT_ONCE, value_parser = clap::value_parser!(u16).range(1..))]
    at_once: u16,
    /// Print what each host has said as JSON, when all are done
    #[arg(long)]
    json: bool,
    /// The program and its arguments, behind `--`
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (input, cluster) = arguments.files.all().without_manifests(&arguments.extra)?;
    let hosts = arguments.limit.hosts_or_all(&input, &cluster)?;
    let left = carried_out(arguments, &cluster, &hosts).await?;
    // As the file has them.
    let ordered: Vec<(&str, &Result<Executed, ExecFailure>)> =
        cluster.hosts.iter().filter_map(|host| Some((host.name.as_str(), left.get(&host.name)?))).collect();
    if arguments.json {
        print_json(&document(&ordered))?;
    } else {
        let executed: Vec<(&str, &Executed)> = ordered.iter().filter_map(|(host, left)| Some((*host, left.as_ref().ok()?))).collect();
        text::outputs(&executed).iter().for_each(|text| line(text));
        text::errors(&executed).iter().for_each(|text| status_line(text));
        status_line(&text::summary(&ordered));
    }
    match failures(&ordered) {
        failures if failures.is_empty() => Ok(()),
        failures => Err(failures),
    }
}

async fn carried_out(arguments: &Arguments, cluster: &Cluster, hosts: &[String]) -> Result<ExecResults, Vec<Failure>> {
    let (wish, stop) = watch::channel(Stop::No);
    // Nobody is held back by who asks, and nothing is kept of it.
    let context = Context { stop, ..process::context(Controller::nobody()) };
    let request = ExecRequest {
        cluster,
        hosts,
        command: &arguments.command,
        run_as: if arguments.sudo { RunAs::Root } else { RunAs::Login },
        timeout: arguments.timeout.map(|seconds| Duration::from_secs(seconds.into())),
        at_once: arguments.at_once.into(),
        begins: &|| listen(wish.clone()),
    };
    engine::exec(&context, &request).await
}

/// Why hosts could not be asked, and what all others together failed to do.
fn failures(left: &[(&str, &Result<Executed, ExecFailure>)]) -> Vec<Failure> {
    let mut failures: Vec<Failure> = left.iter().filter_map(|(_, left)| Some(left.as_ref().err()?.failure.clone())).collect();
    let is_well = |left: &Result<Executed, ExecFailure>| left.as_ref().is_ok_and(|left| left.ended == Ended::Exited(0));
    let well = left.iter().filter(|(_, left)| is_well(left)).count();
    // Where nothing was begun, nothing was changed.
    if well < left.len() && left.iter().any(|(_, left)| may_have_begun(left)) {
        let others: Vec<&str> = left.iter().filter(|(_, left)| !is_well(left)).map(|(host, _)| *host).collect();
        let failure = Failure::new(Kind::Incomplete, format!("the command ended with 0 on {well} of {} hosts", left.len()));
        let failure = failure.because(format!("not on {}: {}", text::all_of(&others), text::endings(left)));
        failures.push(failure.hint(format!("`--limit {}` runs it on these alone", others.join(","))));
    }
    failures
}

fn may_have_begun(left: &Result<Executed, ExecFailure>) -> bool {
    match left {
        Ok(left) => left.ended != Ended::NotBegun,
        Err(unknown) => unknown.may_have_begun,
    }
}

/// What a program reads.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    hosts: Vec<OfHost<'a>>,
}

/// Of one host. What it says that is no UTF-8 is replaced.
#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct OfHost<'a> {
    host: &'a str,
    /// `exited`, `timed-out`, `interrupted`, `not-begun`; or `unknown`, with a failure.
    ended: &'static str,
    exit_code: Option<u32>,
    stdout: String,
    stdout_cut: bool,
    stderr: String,
    stderr_cut: bool,
    failure: Option<FailureRecord>,
}

fn document<'a>(left: &[(&'a str, &Result<Executed, ExecFailure>)]) -> Document<'a> {
    Document { hosts: left.iter().map(|(host, left)| of_host(host, left)).collect() }
}

fn of_host<'a>(host: &'a str, left: &Result<Executed, ExecFailure>) -> OfHost<'a> {
    let Executed { ended, stdout, stdout_cut, stderr, stderr_cut } = match left {
        Ok(left) => left,
        Err(unknown) => return OfHost { host, ended: "unknown", failure: Some(unknown.failure.to_record()), ..OfHost::default() },
    };
    let (word, exit_code) = match ended {
        Ended::Exited(code) => ("exited", Some(*code)),
        Ended::TimedOut => ("timed-out", None),
        Ended::Interrupted => ("interrupted", None),
        Ended::NotBegun => ("not-begun", None),
    };
    OfHost {
        host,
        ended: word,
        exit_code,
        stdout: String::from_utf8_lossy(stdout).into_owned(),
        stdout_cut: *stdout_cut,
        stderr: String::from_utf8_lossy(stderr).into_owned(),
        stderr_cut: *stderr_cut,
        failure: None,
    }
}

#[cfg(test)]
mod tests;
