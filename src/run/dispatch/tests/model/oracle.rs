//! What must hold whenever something that works is disturbed. Told by what the hosts were when the run looked at them, and by what the run itself had done
//! by then: what comes to pass between a look and an act nobody can know. Nothing of it asks the gate.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kok_tasks::gate::{Disruption, Removal};
use kok_tasks::plan::Step;
use tokio::time::Instant;

use super::Inner;
use super::support::api;
use crate::event::EventKind;

/// A view that is older may not be used.
const FRESH: Duration = Duration::from_secs(5);

/// What the hosts were at a moment at which the run looked at one of them.
#[derive(Debug, Clone)]
pub(super) struct Moment {
    at: Instant,
    /// Members that run, API servers that answer, and nodes that are Ready.
    members: BTreeSet<String>,
    api_servers: BTreeSet<String>,
    nodes: BTreeSet<String>,
    /// Nodes that the cluster has, Ready or not.
    counted: BTreeSet<String>,
}

/// What the run could know, and what it did against that.
#[derive(Debug, Default)]
pub(super) struct Oracle {
    shown: Vec<Moment>,
    /// When steps were sent last.
    sent: BTreeMap<String, Instant>,
    /// Whether something has changed since the last look.
    pub(super) is_changed: bool,
    pub(super) broken: Vec<String>,
}

impl Oracle {
    pub(super) fn sends<'a>(&mut self, steps: impl Iterator<Item = &'a Step>) {
        self.sent.extend(steps.map(|step| (step.id.to_string(), Instant::now())));
    }
}

impl Inner {
    /// Notes what a look could see.
    pub(super) fn is_looked_at(&mut self) {
        let same_moment = self.oracle.shown.last().is_some_and(|last| last.at == Instant::now());
        if same_moment && !std::mem::take(&mut self.oracle.is_changed) {
            return;
        }
        let (cluster, hosts, at) = (&self.world.cluster, &self.world.hosts, Instant::now());
        let names = |is_so: &dyn Fn(&str) -> bool| hosts.keys().filter(|name| is_so(name)).cloned().collect();
        let is_plane = |name: &str| cluster.host(name).is_some_and(|host| host.roles.control_plane);
        let moment = Moment {
            at,
            members: names(&|name| self.world.api.members.iter().any(|member| member == name) && api::runs_etcd(&hosts[name])),
            api_servers: names(&|name| is_plane(name) && api::answers(&self.world.api, &hosts[name], hosts)),
            counted: self.world.api.nodes.keys().cloned().collect(),
            nodes: names(&|name| !is_plane(name) && api::is_ready(&self.world.api, &hosts[name])),
        };
        self.oracle.shown.push(moment);
    }

    /// Whether a program of a host is away because the run started it anew.
    pub(super) fn is_away_by_us(&self, host: &str, program: &'static str) -> bool {
        self.down.get(&(host.to_owned(), program)).is_some_and(|away| away.by_us)
    }

    /// Notes where a step disturbs what it may not: nothing that the run was shown in time lets it, with what the run has done itself.
    pub(super) fn judge(&mut self, step: &Step, disturbs: &Disruption) {
        let Some(sent) = self.oracle.sent.get(step.id.as_str()).copied() else { return };
        let is_fresh = |moment: &&Moment| moment.at <= sent && sent - moment.at <= FRESH;
        let mut against: Vec<Option<String>> =
            self.oracle.shown.iter().filter(is_fresh).map(|seen| self.forbids(step, disturbs, seen)).collect();
        if against.iter().any(Option::is_none) {
            return;
        }
        let because = against.pop().flatten().unwrap_or_else(|| "nobody has looked".to_owned());
        self.oracle.broken.push(format!("{}, although {because}", step.id));
    }

    /// Why this may not be disturbed, if the cluster is as it was seen.
    fn forbids(&self, step: &Step, disturbs: &Disruption, seen: &Moment) -> Option<String> {
        match disturbs {
            Disruption::RestartMember { host } => self.forbids_member(host, seen),
            Disruption::RemoveMember { why: Removal::Leaving, .. } => self.forbids_removal(step.id.host(), seen),
            Disruption::AddLearner { .. } => {
                let away = self.world.api.members.iter().find(|name| !seen.members.contains(*name));
                away.map(|name| format!("S1: the member of {name} is away"))
            }
            Disruption::RestartApiServer { host } => {
                let is_there = |name: &&String| !["etcd", "kube-apiserver"].iter().any(|program| self.is_away_by_us(name, program));
                let is_alone = self.world.cluster.control_planes().count() == 1;
                let is_left = seen.api_servers.iter().filter(|name| *name != host).any(|name| is_there(&name));
                (!is_alone && seen.api_servers.contains(host) && !is_left).then(|| "it has the last API server".to_owned())
            }
            Disruption::RestartKubelet { host } => {
                let workers = self.world.cluster.nodes().filter(|node| !node.roles.control_plane && node.name != *host);
                // One that has left, or has not come yet, is not missed.
                let counted = workers.map(|node| node.name.as_str()).filter(|name| seen.counted.contains(*name));
                let excused = self.excused();
                let away: Vec<&str> = counted.filter(|name| !seen.nodes.contains(*name) && !excused.contains(*name)).collect();
                // Without an API server nobody knows of nodes.
                let is_known = !seen.api_servers.is_empty() && seen.nodes.contains(host);
                (is_known && !away.is_empty()).then(|| format!("{away:?} is away"))
            }
            _ => None,
        }
    }

    /// Hosts that have failed, while there are no more of them than may: nobody waits for these.
    fn excused(&self) -> BTreeSet<&str> {
        let failed = self.emitted.iter().filter_map(|kind| match kind {
            EventKind::StepFailed { step, .. } => step.split('/').next(),
            _ => None,
        });
        let failed: BTreeSet<&str> = failed.collect();
        if self.may_fail.is_some_and(|most| failed.len() <= most) { failed } else { BTreeSet::new() }
    }

    /// S1: those that are left go on.
    fn forbids_removal(&self, host: &str, seen: &Moment) -> Option<String> {
        let others: Vec<&String> = self.world.api.members.iter().filter(|name| *name != host).collect();
        let left = others.iter().filter(|name| seen.members.contains(**name)).count();
        (left < others.len() / 2 + 1).then(|| format!("S1: {left} of {} members are left", others.len()))
    }

    /// S1: etcd keeps its quorum. S2: one member at a time. Where there is no quorum to lose, and of a member that does not run, nothing is lost.
    fn forbids_member(&self, host: &str, seen: &Moment) -> Option<String> {
        let count = self.world.api.members.len();
        let quorum = count / 2 + 1;
        if count == 1 || !seen.members.contains(host) || seen.members.len() < quorum {
            return None;
        }
        let mut others = self.world.api.members.iter().filter(|name| *name != host);
        if let Some(other) = others.clone().find(|name| self.is_away_by_us(name, "etcd")) {
            return Some(format!("S2: {other}'s member is away by the run"));
        }
        let left = others.by_ref().filter(|name| seen.members.contains(*name)).count();
        (left < quorum).then(|| format!("S1: {left} of {count} members are left"))
    }
}
