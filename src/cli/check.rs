//! `kokctl check`

mod text;

use std::collections::BTreeMap;

use clap::Args;
use kok_crds::count;
use kok_crds::model::{Cluster, Host};
use kok_tasks::observe::{Look, Looks};
use kok_tasks::plan::{Refusal, Seen};
use kok_tasks::preconditions::{self, Examined, Finding, Weight};
use serde::Serialize;

use super::files::{ClusterFiles, ExtraVars};
use super::limit::LimitArgument;
use super::process;
use super::wanted::hosts_of_apply;
use crate::engine::Context;
use crate::failure::{Failure, Kind};
use crate::run::{LookAt, connect_each, may_write, probe_all};
use crate::ui::line;

/// Check whether the hosts can become the cluster of the file, without changing anything
///
/// Needs no bundle. A host that can't be reached is shown as such, and the others are checked all the same. Ends with exit code 0 if apply
/// would begin, and 3 if it would refuse. Where an operation of the files chooses hosts, as it does for apply, only these are checked.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    limit: LimitArgument,
    /// Print the outcome of every check as JSON
    #[arg(long)]
    json: bool,
}

/// What the checks say together; the form of `--json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    cluster: String,
    ok: bool,
    checks: Vec<CheckReport>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckReport {
    /// None for a check of all hosts together.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    check: &'static str,
    status: Status,
    about: &'static str,
    /// Hosts that took no part in a check of all together, because they could not be looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    away: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingReport>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Status {
    Ok,
    /// Nobody could look.
    NotChecked,
    Warning,
    Failed,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FindingReport {
    status: Status,
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (cluster, chosen) = hosts_of_apply(&arguments.cluster, &arguments.extra, &arguments.limit)?;
    let Context { controller, events, transport, .. } = process::context(process::controller().map_err(|failure| vec![failure])?);
    let (links, unreachable) = connect_each(&chosen, |_| true, &transport, &events).await?;
    let mut unreachable: Vec<Failure> = unreachable.into_values().collect();
    let mut seen = Seen::default();
    let asked = chosen.hosts.iter().map(|host| (host.name.clone(), LookAt { looks: looks(&cluster, host), facts: true })).collect();
    if let Err(failures) = probe_all(&links, asked, &controller, &mut seen, &events).await {
        unreachable.extend(failures);
    }
    let held = may_write(seen.standing(), &controller, false).err().unwrap_or_default();
    let report = report((&cluster, &chosen), &seen, &unreachable, held);
    if arguments.json {
        let text = serde_json::to_string_pretty(&report).map_err(|error| vec![Failure::new(Kind::Internal, error.to_string())])?;
        line(&text);
    } else {
        text::lines(&report).iter().for_each(|text| line(text));
    }
    if report.ok {
        return Ok(());
    }
    let failed = report.checks.iter().filter(|check| check.status == Status::Failed).count();
    let failure = Failure::new(Kind::Host, format!("{} failed: apply would refuse these hosts", count(failed, "check")));
    Err(vec![failure.hint("mend what is shown above, and check again")])
}

fn looks(cluster: &Cluster, host: &Host) -> Looks {
    let mut looks: Looks = preconditions::looks(cluster, host).into_iter().collect();
    if host.roles.control_plane {
        looks.extend([Look::ApiServer, Look::Kubernetes]);
        // Where no API server answers, these say what runs there.
        looks.extend(preconditions::CONFIGURATIONS.map(|path| Look::Content(path.to_owned())));
    }
    if host.roles.etcd && cluster.has_etcd_units() {
        looks.add(Look::Content(preconditions::ETCD_CONFIGURATION.to_owned()));
    }
    looks
}

fn report((cluster, chosen): (&Cluster, &Cluster), seen: &Seen, unreachable: &[Failure], held: Vec<Failure>) -> Report {
    let examined = preconditions::examine(cluster, seen);
    let mut by_host: BTreeMap<Option<String>, Vec<CheckReport>> = BTreeMap::new();
    let away: Vec<&str> = chosen.hosts.iter().map(|host| host.name.as_str()).filter(|name| seen.facts(name).is_none()).collect();
    for check in examined {
        by_host.entry(check.host.clone()).or_default().push(CheckReport::from(check));
    }
    let mut checks = Vec::new();
    for host in &chosen.hosts {
        let own: Vec<Failure> = unreachable.iter().filter(|failure| failure.host() == Some(&host.name)).cloned().collect();
        checks.push(CheckReport { host: Some(host.name.clone()), ..login(&own) });
        checks.extend(by_host.remove(&Some(host.name.clone())).unwrap_or_default());
    }
    // What failed in kokctl itself belongs to no host.
    let others = unreachable.iter().filter(|failure| !cluster.hosts.iter().any(|host| failure.host() == Some(&host.name)));
    checks.extend(others.map(|failure| CheckReport { host: None, ..login(std::slice::from_ref(failure)) }));
    checks.push(CheckReport::new("holder", "no other run is at work on them", held));
    checks.extend(by_host.remove(&None).unwrap_or_default());
    checks.iter_mut().filter(|check| check.host.is_none()).for_each(|check| check.without(&away, away.len() < chosen.hosts.len()));
    let ok = checks.iter().all(|check| check.status != Status::Failed);
    Report { cluster: cluster.name.clone(), ok, checks }
}

fn login(failures: &[Failure]) -> CheckReport {
    CheckReport::new("login", "it can be reached, is the one that it should be, and answers", failures.to_vec())
}

impl CheckReport {
    /// A check that is no precondition of the planner.
    fn new(check: &'static str, about: &'static str, failures: Vec<Failure>) -> Self {
        let status = if failures.is_empty() { Status::Ok } else { Status::Failed };
        Self { host: None, check, status, about, away: Vec::new(), findings: failures.into_iter().map(FindingReport::from).collect() }
    }

    /// Hosts that could not be looked at took no part: what holds for the others may not hold for them.
    fn without(&mut self, away: &[&str], are_others: bool) {
        self.away = away.iter().map(|host| (*host).to_owned()).collect();
        if self.status == Status::Ok && !are_others {
            self.status = Status::NotChecked;
        }
    }
}

impl From<Examined> for CheckReport {
    fn from(examined: Examined) -> Self {
        let findings: Vec<FindingReport> = examined.findings.into_iter().map(FindingReport::from).collect();
        let status = findings.iter().map(|finding| finding.status).max().unwrap_or(Status::Ok);
        Self { host: examined.host, check: examined.name, status, about: examined.about, away: Vec::new(), findings }
    }
}

impl From<Finding> for FindingReport {
    fn from(Finding { weight, refusal }: Finding) -> Self {
        let status = if weight == Weight::Refusal { Status::Failed } else { Status::Warning };
        let Refusal { what, at, because, hint } = refusal;
        Self { status, what, at, because, hint }
    }
}

impl From<Failure> for FindingReport {
    fn from(failure: Failure) -> Self {
        let because = failure.cause();
        Self { status: Status::Failed, what: failure.what, at: failure.at, because, hint: failure.hint }
    }
}

#[cfg(test)]
mod tests;
