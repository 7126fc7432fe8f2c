//! Where the time of a run went: the chain of steps that made it as long as it was, and what each host did when.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::record::{Record, StepRecord};
use crate::event::Lane;

/// A step that ends is heard of, and what waits for it is begun, within this time even on a busy machine.
const TOLERANCE_MILLISECONDS: u64 = 50;

/// A step of the critical path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CriticalStep {
    /// The step.
    pub step: String,
    /// When it was begun, in milliseconds of the run.
    pub began: u64,
    /// How long it took.
    pub took_milliseconds: u64,
    /// Time between the end of what it came after and its beginning.
    pub waited_milliseconds: u64,
    /// Whether it came after the one before it only because that had its lane: scripts of a host run one after the other, and so do its
    /// streams.
    pub for_its_turn: bool,
    /// How many steps were done by the same script.
    pub together: usize,
}

/// What a host did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostTime {
    /// The host.
    pub host: String,
    /// Milliseconds in which a script ran.
    pub scripts_milliseconds: u64,
    /// Milliseconds in which data was streamed.
    pub streams_milliseconds: u64,
    /// Milliseconds in which nothing ran and something was waited for.
    pub waits_milliseconds: u64,
    /// Milliseconds in which nothing was begun, from the first change of the run to its end.
    pub idle_milliseconds: u64,
    /// When it was last busy.
    pub last: u64,
    /// The times of its steps.
    #[serde(skip)]
    pub spans: Vec<(Lane, u64, u64)>,
}

/// Where the time of a run went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Timeline {
    /// What came before the first change, and how long it took.
    pub before: Vec<(&'static str, u64)>,
    /// How long the changes took.
    pub changes_milliseconds: u64,
    /// The hosts, those that were busy to the end first.
    pub hosts: Vec<HostTime>,
    /// The critical path, the first step first.
    pub critical_path: Vec<CriticalStep>,
}

struct Done<'a> {
    record: &'a StepRecord,
    began: u64,
    ended: u64,
}

impl HostTime {
    /// What the host did from the beginning of the run to `end`, in milliseconds, in so many columns: `#` for a script, `=` for a stream, `~` for waiting
    /// and `.` for nothing.
    #[must_use]
    pub fn picture(&self, end: u64, columns: u64) -> String {
        let column = |index: u64| {
            let (from, to) = (end * index / columns, end * (index + 1) / columns);
            let busy = |lane: Lane| self.spans.iter().any(|(own, began, ended)| *own == lane && *began < to.max(from + 1) && *ended > from);
            match (busy(Lane::Script), busy(Lane::Stream), busy(Lane::Wait)) {
                (true, ..) => '#',
                (_, true, _) => '=',
                (_, _, true) => '~',
                _ => '.',
            }
        };
        (0..columns).map(column).collect()
    }
}

impl Timeline {
    /// The timeline of a run; steps that did not end are taken to have lasted to the end of its journal.
    #[must_use]
    pub fn from_record(record: &Record) -> Self {
        let done: BTreeMap<&str, Done<'_>> = record
            .steps
            .iter()
            .filter_map(|step| Some((step, step.began?, step.ended.unwrap_or(record.took_milliseconds))))
            .map(|(step, began, ended)| (step.step.as_str(), Done { record: step, began, ended }))
            .collect();
        let mut last = 0;
        let before = record.marks.iter().map(|(what, at)| (*what, at - std::mem::replace(&mut last, *at))).collect();
        let first = done.values().map(|step| step.began).min().unwrap_or(last);
        Self {
            before,
            changes_milliseconds: if done.is_empty() { 0 } else { record.took_milliseconds.saturating_sub(first) },
            hosts: hosts(&done, first, record.took_milliseconds),
            critical_path: critical_path(&done),
        }
    }
}

fn critical_path(done: &BTreeMap<&str, Done<'_>>) -> Vec<CriticalStep> {
    let mut path = Vec::new();
    // Of steps that end together, the one that was begun last is what the end waited for.
    let mut next = done.values().max_by_key(|step| (step.ended, step.began)).map(|step| (step, false));
    let mut seen = BTreeSet::new();
    while let Some((step, _)) = next.filter(|(step, _)| seen.insert(step.record.step.as_str())) {
        let before = predecessor(done, step);
        let same =
            |other: &&Done<'_>| other.record.host == step.record.host && other.began == step.began && other.record.lane == Lane::Script;
        path.push(CriticalStep {
            step: step.record.step.clone(),
            began: step.began,
            took_milliseconds: step.ended - step.began,
            waited_milliseconds: before.map_or(0, |(before, _)| step.began.saturating_sub(before.ended)),
            for_its_turn: before.is_some_and(|(_, turn)| turn),
            together: if step.record.lane == Lane::Script { done.values().filter(same).count() } else { 1 },
        });
        next = before;
    }
    path.reverse();
    path
}

/// What a step came after: of the steps that it needs and those that had its lane, the one that ended last. Needs in the same script are
/// passed by for what they need.
fn predecessor<'a, 'b>(done: &'a BTreeMap<&str, Done<'b>>, step: &Done<'_>) -> Option<(&'a Done<'b>, bool)> {
    let before = |other: &&Done<'_>| other.ended <= step.began + TOLERANCE_MILLISECONDS && other.began < step.began;
    let (mut open, mut seen, mut found) = (step.record.needs.iter().map(String::as_str).collect::<Vec<_>>(), BTreeSet::new(), Vec::new());
    while let Some(need) = open.pop() {
        let Some(need) = done.get(need).filter(|need| seen.insert(need.record.step.as_str())) else { continue };
        if before(&need) {
            found.push((need, false));
        } else {
            open.extend(need.record.needs.iter().map(String::as_str));
        }
    }
    let lane = |other: &&Done<'_>| {
        other.record.lane == step.record.lane && step.record.lane != Lane::Wait && other.record.host == step.record.host && before(other)
    };
    found.extend(done.values().filter(lane).map(|other| (other, true)));
    // A need goes before a turn that ended at the same time.
    found.into_iter().max_by_key(|(other, turn)| (other.ended, !turn))
}

fn hosts(done: &BTreeMap<&str, Done<'_>>, first: u64, end: u64) -> Vec<HostTime> {
    let mut by_host: BTreeMap<&str, Vec<(Lane, u64, u64)>> = BTreeMap::new();
    for step in done.values() {
        by_host.entry(&step.record.host).or_default().push((step.record.lane, step.began, step.ended));
    }
    let mut hosts: Vec<HostTime> = by_host.into_iter().map(|(host, spans)| host_time(host, spans, first, end)).collect();
    hosts.sort_by_key(|host| (std::cmp::Reverse(host.last), host.host.clone()));
    hosts
}

fn host_time(host: &str, spans: Vec<(Lane, u64, u64)>, first: u64, end: u64) -> HostTime {
    let covered =
        |wanted: &dyn Fn(Lane) -> bool| covered(spans.iter().filter(|(lane, ..)| wanted(*lane)).map(|(_, began, ended)| (*began, *ended)));
    let (all, busy) = (covered(&|_| true), covered(&|lane| lane != Lane::Wait));
    HostTime {
        host: host.to_owned(),
        scripts_milliseconds: covered(&|lane| lane == Lane::Script),
        streams_milliseconds: covered(&|lane| lane == Lane::Stream),
        waits_milliseconds: all - busy,
        idle_milliseconds: end.saturating_sub(first).saturating_sub(all),
        last: spans.iter().map(|(_, _, ended)| *ended).max().unwrap_or_default(),
        spans,
    }
}

/// How much time these spans cover together.
fn covered(spans: impl Iterator<Item = (u64, u64)>) -> u64 {
    let mut spans: Vec<(u64, u64)> = spans.collect();
    spans.sort_unstable();
    let (mut sum, mut until) = (0, 0);
    for (began, ended) in spans {
        sum += ended.saturating_sub(began.max(until));
        until = until.max(ended);
    }
    sum
}

#[cfg(test)]
mod tests;
