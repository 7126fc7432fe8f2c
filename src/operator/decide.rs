//! What is to be done next about a cluster and all its operations together. It knows no clock and no client: what is known comes in as a
//! [`View`], and goes out as [`Intent`]s.

mod backups;
mod declarative;
mod deletion;

use super::made::{Make, OperationOutcome, Why};
use super::served::{SUSPENDED, Served};
use super::view::{Active, Claim, Life, Operation, Stopping, View};

/// Seconds between the wish that a run ends in good order and the one that it ends at once.
pub(super) const GRACE_SECONDS: i64 = 120;

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Intent {
    /// The operation is begun, or gone on with.
    Start {
        /// Its name.
        operation: String,
        /// Tells it from another one of its name.
        uid: String,
    },
    /// The run under way is to end.
    Stop(Stopping),
    /// The operation is not begun, and its status is to say why.
    Refuse {
        /// Its name.
        operation: String,
        /// Why.
        because: Refused,
    },
    /// The operation waits for another one, which its status is to say.
    Queue {
        /// Its name.
        operation: String,
        /// What it waits for.
        behind: String,
    },
    /// The operation was cancelled before it began.
    Cancel {
        /// Its name.
        operation: String,
    },
    /// The operation has ended, and its labels don't say so.
    Label {
        /// Its name.
        operation: String,
    },
    /// The operation has ended long ago, and is forgotten.
    Prune {
        /// Its name.
        operation: String,
    },
    /// An operation is made, of the operator's own accord.
    Make(Make),
    /// The operation waits for somebody who approves what nobody wants any more: it is called off.
    Supersede {
        /// Its name.
        operation: String,
    },
    /// The versions of what the Cluster names are read.
    Look,
    /// The hosts are looked at for drift.
    Check,
    /// The Cluster is not to go before the operator says so.
    Hold,
    /// The Cluster may go.
    LetGo {
        /// Why its hosts are left as they are, where they were not to be.
        given_up: Option<String>,
    },
    /// The Cluster's status is to have this phase.
    Phase(&'static str),
    /// To be looked at again at this time, in seconds since 1970.
    Requeue(i64),
}

/// Why an operation is not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// There is no such Cluster.
    ClusterNotFound,
    /// It is older than the operator, and nobody has said that it is to be begun.
    FoundAtTakeOver,
    /// Another operator has made a Job for it.
    HandledByAnotherOperator,
    /// The Cluster is suspended.
    Suspended,
}

impl Refused {
    /// The word for it in a condition.
    pub(super) const fn reason(self) -> &'static str {
        match self {
            Self::ClusterNotFound => "ClusterNotFound",
            Self::FoundAtTakeOver => "FoundAtTakeOver",
            Self::HandledByAnotherOperator => "HandledByAnotherOperator",
            Self::Suspended => "Suspended",
        }
    }
}

/// What is to be done at this time, in seconds since 1970. The same view leads to the same intents, and a view in which they are done to none but
/// to look again.
pub(super) fn decide(view: &View, now: i64) -> Vec<Intent> {
    let mut intents = Vec::new();
    let (ended, live): (Vec<&Operation>, Vec<&Operation>) = view.operations.iter().partition(|operation| operation.life == Life::Ended);
    let unlabelled = ended.iter().filter(|operation| !operation.is_labelled);
    intents.extend(unlabelled.map(|operation| Intent::Label { operation: operation.name.clone() }));
    let surplus = view.history.map(|history| surplus(view, &ended, history)).unwrap_or_default();
    intents.extend(surplus.into_iter().map(|operation| Intent::Prune { operation }));
    let (cancelled, live): (Vec<&Operation>, Vec<&Operation>) = live.into_iter().partition(|operation| is_called_off(view, operation, now));
    intents.extend(cancelled.into_iter().map(|operation| Intent::Cancel { operation: operation.name.clone() }));
    let mut waiting = Vec::new();
    for operation in in_order(live) {
        match refused(view, operation).filter(|_| !view.is_active(operation)) {
            Some(because) if operation.refused == Some(because.reason()) => {}
            Some(because) => intents.push(Intent::Refuse { operation: operation.name.clone(), because }),
            None => waiting.push(operation),
        }
    }
    match &view.active {
        Some(active) => intents.extend(of_active(view, active, now)),
        None => intents.extend(waiting.first().map(|first| begin(view, first, now))),
    }
    intents.extend(queued(view, &waiting));
    if let Some(cluster) = &view.cluster {
        intents.extend(superseded(cluster, &waiting));
        let is_idle = view.active.is_none() && waiting.is_empty();
        intents.extend(of_cluster(view, cluster, is_idle, now));
    }
    intents
}

/// What is to be done about a Cluster of the operator's own accord. While anything is under way, or waits, that is first.
fn of_cluster(view: &View, cluster: &Served, is_idle: bool, now: i64) -> Vec<Intent> {
    if let Some(deleted) = cluster.deleted {
        return deletion::of_deletion(view, cluster, deleted, (is_idle, now));
    }
    let mut intents = deletion::hold(cluster);
    intents.extend(of_suspension(cluster, is_idle));
    if is_idle && !cluster.is_suspended {
        intents.extend(in_turn(view, backups::of_schedule(view, cluster, now), declarative::of_description(view, cluster, now)));
    }
    intents
}

/// A Cluster of which nothing is begun says so when nothing is under way any more, and what it was before as soon as it is not suspended.
fn of_suspension(cluster: &Served, is_idle: bool) -> Option<Intent> {
    match (cluster.is_suspended, cluster.before_suspension) {
        (true, None) => is_idle.then_some(Intent::Phase(SUSPENDED)),
        (false, Some(before)) => Some(Intent::Phase(before)),
        _ => None,
    }
}

/// Both, of which one alone is made at a time: it has the next number.
fn in_turn(view: &View, backups: Vec<Intent>, described: Vec<Intent>) -> Vec<Intent> {
    // A copy of what there is comes before it is changed, unless one was made last: backups that take long must not be all that is done.
    let was_backup = view.last_made(&Why::ALL).is_some_and(|last| last.why == Why::Backup);
    let (mut first, second) = if was_backup { (described, backups) } else { (backups, described) };
    let makes = |intent: &Intent| matches!(intent, Intent::Make(_));
    let is_made = first.iter().any(makes);
    first.extend(second.into_iter().filter(|intent| !is_made || !makes(intent)));
    first
}

/// Those that wait for somebody who approves what the Cluster is not described as any more.
fn superseded(cluster: &Served, waiting: &[&Operation]) -> Vec<Intent> {
    let is = |operation: &&&Operation| {
        let made = operation.made.as_ref().filter(|made| made.awaits_approval && made.why != Why::Deletion);
        !operation.is_cancelled && made.is_some_and(|made| made.note.target.generation < cluster.generation)
    };
    waiting.iter().filter(is).map(|operation| Intent::Supersede { operation: operation.name.clone() }).collect()
}

/// The number of the operation that is made next: the one after the last, and none of which the name is taken.
fn numbered(view: &View, make: Make) -> Intent {
    let last = view.operations.iter().filter_map(|operation| operation.made.as_ref()).map(|made| made.note.number).max();
    let mut make = make;
    make.note.number = last.unwrap_or_default() + 1;
    while view.operations.iter().any(|operation| operation.name.ends_with(&super::made::name_end(&make.note))) {
        make.note.number += 1;
    }
    Intent::Make(make)
}

/// The pause after so many that did not succeed, one after the other: twice as long each time, from `first` to `most`.
fn pause(failures: u32, (first, most): (i64, i64)) -> i64 {
    first.saturating_mul(1_i64 << failures.min(30)).min(most)
}

/// Each that waits says behind which one: the one before it in their order.
fn queued(view: &View, waiting: &[&Operation]) -> Vec<Intent> {
    let active = view.active.as_ref().map(|active| active.operation.as_str());
    let waiting: Vec<&&Operation> = waiting.iter().filter(|operation| !view.is_active(operation)).collect();
    // The first of them is what is begun next, if nothing is under way.
    let before = active.into_iter().chain(waiting.iter().map(|operation| operation.name.as_str()));
    let next = usize::from(active.is_none());
    let says = |(operation, behind): (&&Operation, &str)| match operation.life {
        Life::New => true,
        Life::Queued => operation.behind.as_deref() != Some(behind),
        Life::Begun | Life::Ended => false,
    };
    let pairs = waiting.iter().skip(next).map(|operation| **operation).zip(before);
    let pairs = pairs.filter(|(operation, behind)| says((operation, behind)));
    pairs.map(|(operation, behind)| Intent::Queue { operation: operation.name.clone(), behind: behind.to_owned() }).collect()
}

/// One that was begun is gone on with before another one begins; of the others the oldest is first, and what somebody has made before what the operator has.
fn in_order(mut operations: Vec<&Operation>) -> Vec<&Operation> {
    operations.sort_by(|a, b| {
        let key =
            |operation: &&Operation| (operation.life != Life::Begun, operation.made.is_some(), operation.created, operation.name.clone());
        key(a).cmp(&key(b))
    });
    operations
}

/// Whether it ends before it has begun.
fn is_called_off(view: &View, operation: &Operation, now: i64) -> bool {
    is_unwanted(view, operation, now) && !view.is_active(operation) && operation.life != Life::Begun
}

/// Whether nobody wants it any more. Of a Cluster that is being deleted that is so of all but the one that takes its hosts down in time; and what has waited for
/// one that is gone is not meant for the next one of its name.
fn is_unwanted(view: &View, operation: &Operation, now: i64) -> bool {
    let is_last = |cluster: &Served, deadline: i64| {
        cluster.resets && now < deadline && operation.made.as_ref().is_some_and(|made| made.why == Why::Deletion)
    };
    let goes = |cluster: &Served| cluster.deleted.is_some_and(|deleted| !is_last(cluster, deleted.deadline));
    let has_waited = operation.life == Life::Queued || operation.refused == Some(Refused::Suspended.reason());
    operation.is_cancelled || view.cluster.as_ref().map_or(has_waited, goes)
}

/// Why it is not begun. What has begun is gone on with, whatever came about meanwhile.
fn refused(view: &View, operation: &Operation) -> Option<Refused> {
    let Some(cluster) = &view.cluster else { return Some(Refused::ClusterNotFound) };
    if operation.life == Life::Begun {
        return None;
    }
    if operation.has_job {
        return Some(Refused::HandledByAnotherOperator);
    }
    if operation.created < view.first_start && !operation.is_wanted {
        return Some(Refused::FoundAtTakeOver);
    }
    cluster.is_suspended.then_some(Refused::Suspended)
}

fn begin(view: &View, operation: &Operation, now: i64) -> Intent {
    match view.claim {
        Claim::RetryAt(at) if at > now => Intent::Requeue(at),
        Claim::RetryAt(_) | Claim::Untried => Intent::Start { operation: operation.name.clone(), uid: operation.uid.clone() },
    }
}

/// Whether the run under way is to end, and when to look again.
fn of_active(view: &View, active: &Active, now: i64) -> Vec<Intent> {
    let operation = view.operations.iter().find(|operation| view.is_active(operation));
    // One that was deleted, or whose Cluster was, has nobody left who wants it, also if there is another one of its name.
    let is_cancelled = view.cluster.is_none() || operation.is_none_or(|operation| is_unwanted(view, operation, now));
    let is_late = now >= active.deadline;
    let wished = match active.stopping {
        None if is_cancelled => Some(Stopping::Cancel { at: now }),
        None if is_late => Some(Stopping::Deadline { at: now }),
        Some(stopping @ (Stopping::Cancel { at } | Stopping::Deadline { at })) if now >= at + GRACE_SECONDS => {
            Some(Stopping::Now { cancelled: matches!(stopping, Stopping::Cancel { .. }) })
        }
        _ => None,
    };
    let next = match wished.or(active.stopping) {
        None => Some(active.deadline),
        Some(Stopping::Cancel { at } | Stopping::Deadline { at }) => Some(at + GRACE_SECONDS),
        Some(Stopping::Now { .. }) => None,
    };
    wished.map(Intent::Stop).into_iter().chain(next.map(Intent::Requeue)).collect()
}

/// Those that have ended and are more than are kept: a higher score goes first, then the older one. The last one that the operator has made stays, for it is
/// what is known of what the hosts were made for; and of a Cluster that is gone none stays that took it down.
fn surplus(view: &View, ended: &[&Operation], history: usize) -> Vec<String> {
    let last = view.last_made(&[Why::Description, Why::Drift]).map(|made| made.note.number);
    let number = |operation: &Operation| operation.made.as_ref().map(|made| (made.why, made.note.number));
    let is_last = |operation: &Operation| view.cluster.is_some() && last.is_some() && number(operation).map(|(_, number)| number) == last;
    let has_done = |operation: &Operation| view.cluster.is_none() && number(operation).is_some_and(|(why, _)| why == Why::Deletion);
    let is_backup = |operation: &&Operation| operation.made.as_ref().is_some_and(|made| made.why == Why::Backup);
    let (backups, ended): (Vec<&Operation>, Vec<&Operation>) = ended.iter().copied().partition(is_backup);
    let (over, ended): (Vec<&Operation>, Vec<&Operation>) = ended.into_iter().partition(|operation| has_done(operation));
    let mut kept: Vec<&&Operation> = ended.iter().filter(|operation| !is_last(operation)).collect();
    kept.sort_by(|a, b| (a.score, -a.created, &a.name).cmp(&(b.score, -b.created, &b.name)));
    let surplus = kept.into_iter().skip(history).copied();
    over.into_iter().chain(surplus).chain(backups::surplus(backups)).map(|operation| operation.name.clone()).collect()
}

#[cfg(test)]
mod support;
#[cfg(test)]
mod tests;
