//! What the checks say together.

use std::collections::BTreeMap;

use kok_crds::model::Cluster;
use kok_tasks::plan::Seen;
use kok_tasks::preconditions::{self, Examined, Finding, Weight};
use serde::Serialize;

use crate::event::FailureRecord;
use crate::failure::{Failure, Kind};

/// What the checks say together.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    /// The cluster's name.
    pub cluster: String,
    /// Whether `apply` would begin.
    pub ok: bool,
    /// Those of one host stand together, and those of all hosts together come last.
    pub checks: Vec<CheckResult>,
}

impl CheckReport {
    /// How many checks failed.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.checks.iter().filter(|check| check.status == CheckStatus::Failed).count()
    }
}

/// What came out of one check.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckResult {
    /// None for a check of all hosts together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The check's name.
    pub check: &'static str,
    /// The worst of its findings.
    pub status: CheckStatus,
    /// What holds where it has found nothing, for people.
    pub about: &'static str,
    /// Hosts that took no part in a check of all together, because they could not be looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub away: Vec<String>,
    /// What was found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<CheckFinding>,
}

/// How a check ended, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckStatus {
    /// Nothing was found.
    Ok,
    /// Nobody could look.
    NotChecked,
    /// `apply` would begin, and may meet a problem.
    Warning,
    /// `apply` would refuse.
    Failed,
}

/// Something that was found.
#[derive(Debug, Serialize)]
pub struct CheckFinding {
    /// How bad it is.
    pub status: CheckStatus,
    /// What, for people.
    #[serde(flatten)]
    pub record: FailureRecord,
}

pub(super) fn report((cluster, chosen): (&Cluster, &Cluster), seen: &Seen, unreachable: &[Failure], held: Vec<Failure>) -> CheckReport {
    let examined = preconditions::examine(cluster, seen);
    let mut by_host: BTreeMap<Option<String>, Vec<CheckResult>> = BTreeMap::new();
    let away: Vec<&str> = chosen.hosts.iter().map(|host| host.name.as_str()).filter(|name| seen.facts(name).is_none()).collect();
    for check in examined {
        by_host.entry(check.host.clone()).or_default().push(CheckResult::from(check));
    }
    let mut checks = Vec::new();
    for host in &chosen.hosts {
        let own: Vec<Failure> = unreachable.iter().filter(|failure| failure.host() == Some(&host.name)).cloned().collect();
        checks.push(CheckResult { host: Some(host.name.clone()), ..login(&own) });
        checks.extend(by_host.remove(&Some(host.name.clone())).unwrap_or_default());
    }
    // What failed in kokctl itself belongs to no host.
    let others = unreachable.iter().filter(|failure| !cluster.hosts.iter().any(|host| failure.host() == Some(&host.name)));
    checks.extend(others.map(|failure| CheckResult { host: None, ..login(std::slice::from_ref(failure)) }));
    checks.push(CheckResult::new("holder", "no other run is at work on them", held));
    checks.extend(by_host.remove(&None).unwrap_or_default());
    checks.iter_mut().filter(|check| check.host.is_none()).for_each(|check| check.without(&away, away.len() < chosen.hosts.len()));
    let ok = checks.iter().all(|check| check.status != CheckStatus::Failed);
    CheckReport { cluster: cluster.name.clone(), ok, checks }
}

fn login(failures: &[Failure]) -> CheckResult {
    CheckResult::new("login", "it can be reached, is the one that it should be, and answers", failures.to_vec())
}

impl CheckResult {
    /// A check that is no precondition of the planner.
    pub(crate) fn new(check: &'static str, about: &'static str, failures: Vec<Failure>) -> Self {
        let status = if failures.is_empty() { CheckStatus::Ok } else { CheckStatus::Failed };
        Self { host: None, check, status, about, away: Vec::new(), findings: failures.into_iter().map(CheckFinding::from).collect() }
    }

    /// Hosts that could not be looked at took no part: what holds for the others may not hold for them.
    pub(crate) fn without(&mut self, away: &[&str], are_others: bool) {
        self.away = away.iter().map(|host| (*host).to_owned()).collect();
        if self.status == CheckStatus::Ok && !are_others {
            self.status = CheckStatus::NotChecked;
        }
    }
}

impl From<Examined> for CheckResult {
    fn from(examined: Examined) -> Self {
        let findings: Vec<CheckFinding> = examined.findings.into_iter().map(CheckFinding::from).collect();
        let status = findings.iter().map(|finding| finding.status).max().unwrap_or(CheckStatus::Ok);
        Self { host: examined.host, check: examined.name, status, about: examined.about, away: Vec::new(), findings }
    }
}

impl From<Finding> for CheckFinding {
    fn from(Finding { weight, refusal }: Finding) -> Self {
        let status = if weight == Weight::Refusal { CheckStatus::Failed } else { CheckStatus::Warning };
        Self { status, record: Failure::refusal(Kind::Host, refusal).to_record() }
    }
}

impl From<Failure> for CheckFinding {
    fn from(failure: Failure) -> Self {
        Self { status: CheckStatus::Failed, record: failure.to_record() }
    }
}
