//! What the operator does of its own accord about a Cluster that is not being deleted, of which nothing is under way.

use super::{Intent, Make, OperationOutcome, Served, View, Why, numbered, pause};
use crate::operator::made::{ClusterTarget, Made, Note};
use crate::operator::view::Claim;

/// Seconds until it is looked again whether something that a Cluster names has changed.
const LOOKED: i64 = 30;
/// Seconds after one that did not succeed: the first pause, and the longest.
const AGAIN: (i64, i64) = (60, 3600);

/// A Cluster that is described otherwise than its hosts were made is made so; and it is looked whether they have stayed so.
pub(super) fn of_description(view: &View, cluster: &Served, now: i64) -> Vec<Intent> {
    let last = view.last_made(&[Why::Description, Why::Drift]);
    if !cluster.is_declarative {
        return of_drift(view, cluster, last, now);
    }
    let ended = last.map(|last| last.ended).unwrap_or_default();
    let Some(versions) = view.versions.as_ref().filter(|versions| versions.at > ended) else {
        // What was seen before the last one ended may be what that has done.
        return vec![if now > ended { Intent::Look } else { Intent::Requeue(ended + 1) }];
    };
    let next_look = versions.at + LOOKED;
    let mut intents = vec![if now >= next_look { Intent::Look } else { Intent::Requeue(next_look) }];
    let target = ClusterTarget { generation: cluster.generation, versions: versions.text.clone(), asked: cluster.asked.clone() };
    let make = |why, failures| {
        let note = Note { cluster: cluster.uid.clone(), number: 0, failures, gives_up: false, moment: None, target: target.clone() };
        numbered(view, Make { why, note })
    };
    match last {
        // The Cluster is known as it was before that.
        Some(last) if last.note.target.generation > cluster.generation => {}
        Some(last) if target.is_met_by(&last.note.target) => match last.outcome {
            OperationOutcome::Succeeded => intents.extend(of_drift(view, cluster, Some(last), now)),
            OperationOutcome::Failed => {
                let at = last.ended + pause(last.note.failures, AGAIN);
                intents.push(if now >= at { make(last.why, last.note.failures + 1) } else { Intent::Requeue(at) });
            }
            // It is nobody's to begin, or somebody has to change something first.
            OperationOutcome::Open | OperationOutcome::Waits => {}
        },
        _ => intents.push(make(Why::Description, 0)),
    }
    intents
}

/// Hosts that somebody has changed are found, and mended where that is wished. What is mended is looked at anew by the run itself.
fn of_drift(view: &View, cluster: &Served, last: Option<&Made>, now: i64) -> Vec<Intent> {
    let Some(interval) = cluster.drift.interval.filter(|_| cluster.is_ready) else { return Vec::new() };
    let is_new = last.is_none_or(|last| cluster.drift.checked_at > last.ended);
    if let Some(last) = last.filter(|_| cluster.drift.is_repaired && cluster.drift.changes > 0 && is_new) {
        let note =
            Note { cluster: cluster.uid.clone(), number: 0, failures: 0, gives_up: false, moment: None, target: last.note.target.clone() };
        return vec![numbered(view, Make { why: Why::Drift, note })];
    }
    let claim = if let Claim::RetryAt(at) = view.claim { at } else { 0 };
    let at = [cluster.drift.checked_at + spread(interval, cluster), view.check_after, claim].into_iter().max().unwrap_or(now);
    match view.is_checking {
        true => Vec::new(),
        false if now >= at => vec![Intent::Check],
        false => vec![Intent::Requeue(at)],
    }
}

/// An interval that is up to a tenth shorter or longer, so that clusters that were made together are not looked at together: another one each time, and
/// the same for all replicas.
fn spread(interval: i64, cluster: &Served) -> i64 {
    let seed = format!("{}{}", cluster.uid, cluster.drift.checked_at);
    // FNV-1a: what is spread here is nobody's secret.
    let hash = seed.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let thousandths = i64::try_from((hash >> 17) % 201).unwrap_or_default() - 100;
    interval + interval * thousandths / 1000
}

#[cfg(test)]
mod tests;
