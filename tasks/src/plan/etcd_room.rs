//! The plan that makes room in etcd: each member's file is defragmented, one at a time and the leader's last, and the alarm of a full one ends.

use std::collections::BTreeSet;
use std::time::Duration;

use kok_crds::listed;
use kok_crds::model::{Cluster, Host};

use super::draft::{Draft, Edge};
use super::graph::Plan;
use super::id::StepId;
use super::make::{Making, Seen, compared, defect, enter};
use super::reason::Reason;
use super::refusal::Refusal;
use super::select::Selection;
use crate::gate::{Disruption, Need};
use crate::observe::{EtcdAlarm, EtcdMember, EtcdState, Look, Looks};
use crate::operations::{DefragmentMember, DisarmAlarms, Operation};
use crate::preconditions;

/// What is wanted of etcd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EtcdRoom<'a> {
    /// The files of the members on these hosts, or of all, without what they hold for nothing.
    Defragment(&'a [String]),
    /// That it takes writes again after a file has reached the quota: earlier values are given up, the files are made smaller, the alarm ends.
    Disarm,
}

const TASK: &str = "etcd";

/// 8 GiB, the most that etcd is made for, are copied within a file system, at some 30 MB/s.
const LASTS: Duration = Duration::from_secs(600);

/// A file that holds less for nothing is left alone: it is some seconds without an answer for next to nothing.
const LEAST_BYTES: u64 = 4 << 20;

/// The share of the file for which the same holds, in percent.
const LEAST_SHARE: u64 = 10;

/// From this share of the quota on a file counts as full, in percent: the alarm would come again at once.
const FULL_SHARE: u64 = 90;

/// What a first look at a host asks.
#[must_use]
pub fn etcd_room_looks(host: &Host) -> Looks {
    host.roles.etcd.then_some(Look::Etcd).into_iter().collect()
}

/// Whether defragmenting would free enough to be worth it.
#[must_use]
pub fn is_fragmented(member: &EtcdMember) -> bool {
    let free = member.size.saturating_sub(member.in_use);
    free >= LEAST_BYTES && free.saturating_mul(100) >= member.size.saturating_mul(LEAST_SHARE)
}

fn is_full(member: &EtcdMember) -> bool {
    member.quota.is_none_or(|quota| member.size.saturating_mul(100) >= quota.saturating_mul(FULL_SHARE))
}

/// The plan.
///
/// # Errors
/// [`Refusal`] where a host is another cluster's, etcd is being recovered, a member that is meant does not answer, or one's data are corrupt.
pub fn etcd_room(cluster: &Cluster, wanted: &EtcdRoom<'_>, seen: &Seen) -> Result<Making, Vec<Refusal>> {
    let refusals = preconditions::check_reset(cluster, seen);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let known = members(cluster, seen);
    let refusals = refused(cluster, wanted, &known, seen);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let mut plan = Plan::default();
    let mut edges = Vec::new();
    let alarmed = alarmed(&known, EtcdAlarm::NoSpace);
    let mut before: Vec<StepId> = Vec::new();
    if *wanted != EtcdRoom::Disarm || !alarmed.is_empty() {
        for (host, member) in known.iter().filter(|(host, member)| is_meant(wanted, host, member)) {
            let compact = (*wanted == EtcdRoom::Disarm).then(|| known.iter().map(|(_, member)| member.revision).max()).flatten();
            let (draft, step) = defragmented(host, member, compact, before.last());
            before.push(step);
            edges.extend(enter(&mut plan, draft).map_err(|refusal| vec![refusal])?);
        }
    }
    if *wanted == EtcdRoom::Disarm
        && !alarmed.is_empty()
        && let Some((host, _)) = known.last()
    {
        edges.extend(enter(&mut plan, disarmed(host, alarmed, &before)).map_err(|refusal| vec![refusal])?);
    }
    for Edge { later, earlier, reason } in edges {
        plan.order(&later, &earlier, reason).map_err(|sentence| vec![defect(sentence)])?;
    }
    compared(plan, seen, &Selection::whole())
}

/// The members that answer, the leader last.
fn members<'a>(cluster: &'a Cluster, seen: &'a Seen) -> Vec<(&'a Host, &'a EtcdMember)> {
    let member = |host: &'a Host| match &seen.observations(&host.name).etcd {
        Some(EtcdState::Ready(member)) => Some((host, member)),
        _ => None,
    };
    let mut members: Vec<(&Host, &EtcdMember)> = cluster.etcd_hosts().filter_map(member).collect();
    members.sort_by_key(|(_, member)| member.id == member.leader);
    members
}

fn alarmed(known: &[(&Host, &EtcdMember)], which: EtcdAlarm) -> BTreeSet<u64> {
    known.iter().flat_map(|(_, member)| member.alarms()).filter(|(_, alarm)| *alarm == which).map(|(id, _)| id).collect()
}

fn is_meant(wanted: &EtcdRoom<'_>, host: &Host, member: &EtcdMember) -> bool {
    match wanted {
        EtcdRoom::Defragment(hosts) => (hosts.is_empty() || hosts.contains(&host.name)) && is_fragmented(member),
        EtcdRoom::Disarm => is_full(member),
    }
}

fn refused(cluster: &Cluster, wanted: &EtcdRoom<'_>, known: &[(&Host, &EtcdMember)], seen: &Seen) -> Vec<Refusal> {
    let answers = |name: &str| known.iter().any(|(host, _)| host.name == name);
    let mut refusals: Vec<Refusal> = Vec::new();
    let named: &[String] = if let EtcdRoom::Defragment(hosts) = wanted { hosts } else { &[] };
    for name in named.iter().filter(|name| cluster.etcd_hosts().all(|host| host.name != **name)) {
        let hosts = listed(cluster.etcd_hosts().map(|host| host.name.as_str()));
        refusals
            .push(Refusal::new(format!("{name} has no member of etcd")).at(format!("host {name}")).hint(format!("members are on {hosts}")));
    }
    let is_asked = |host: &&Host| named.is_empty() || named.contains(&host.name);
    let silent = cluster.etcd_hosts().filter(is_asked).filter(|host| !answers(&host.name));
    // A full etcd is freed by those that answer, if these are enough for the gate.
    refusals.extend(silent.filter(|_| *wanted != EtcdRoom::Disarm || known.is_empty()).map(|host| silence(host, seen)));
    if !alarmed(known, EtcdAlarm::Corrupt).is_empty() {
        let refusal = Refusal::new("a member of etcd has data that differ from those of the others").because("etcd says CORRUPT");
        refusals.push(refusal.hint("`kokctl etcd status` names it; docs/etcd.md says what to do"));
    }
    refusals
}

fn silence(host: &Host, seen: &Seen) -> Refusal {
    let refusal = Refusal::new("the member of etcd does not answer").at(format!("host {}", host.name)).passing();
    let refusal = match &seen.observations(&host.name).etcd {
        Some(EtcdState::NotReady(output)) => refusal.because(output.trim().to_owned()),
        Some(EtcdState::Absent) => refusal.because("nothing of it is set up there"),
        _ => refusal.because("it was not asked"),
    };
    refusal.hint("see `kokctl status`, and mend it first")
}

fn defragmented<'a>(host: &'a Host, member: &EtcdMember, compact: Option<u64>, before: Option<&StepId>) -> (Draft<'a>, StepId) {
    let mut draft = Draft::new(&host.name, TASK);
    let step = draft.add("defragmented", Operation::DefragmentMember(DefragmentMember { compact, smaller_than: member.size }));
    draft.within(LASTS);
    let need = if compact.is_some() { Need::Repair } else { Need::Wanted };
    draft.gated(&step, Disruption::Defragment { host: host.name.clone() }, need);
    if let Some(before) = before {
        draft.needs(&step, before, Reason::Because("a member does not answer meanwhile, and the leader's goes last"));
    }
    (draft, step)
}

fn disarmed<'a>(host: &'a Host, members: BTreeSet<u64>, before: &[StepId]) -> Draft<'a> {
    let mut draft = Draft::new(&host.name, TASK);
    let step = draft.add("disarmed", Operation::DisarmAlarms(DisarmAlarms { members }));
    for earlier in before {
        draft.needs(&step, earlier, Reason::Because("the alarm would come again while a file is full"));
    }
    draft
}
