//! The operations under way in this process: one of each cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use super::attend::{Attendant, Attended, Wish};
use super::drift::{Check, Checked};
use super::group::ClusterKey;
use super::lease::{LASTS, Observation, RENEWED};
use super::shared::Shared;
use super::view::{Active, Claim, Stopping, View};
use crate::clock::Clock;

/// Seconds until something is tried again that the API did not answer.
const UNANSWERED: i64 = 5;
/// Seconds until hosts are looked at again where the API did not answer: nobody waits for that.
const UNCHECKED: i64 = 60;
/// Seconds until a Lease is asked for again whose holder is leaving: it says so a moment before it lets go, and what is known of it may be old.
const LEAVING: i64 = 1;

/// Something that has ended.
pub(super) struct Report {
    pub(super) key: ClusterKey,
    became: Became,
}

/// What became of it.
enum Became {
    Attended(Attended),
    Checked(Checked),
}

/// One operation under way.
struct Run {
    operation: String,
    uid: String,
    wish: Arc<watch::Sender<Wish>>,
    stopping: Option<Stopping>,
}

/// When something is tried again.
#[derive(Debug, Clone, Copy)]
struct Retry {
    /// In seconds since 1970.
    at: i64,
    /// The same where the other replica has said that it leaves.
    when_left: i64,
}

/// All operations under way, and what is known of those that were.
pub(super) struct Supervisor {
    shared: Arc<Shared>,
    reports: mpsc::UnboundedSender<Report>,
    runs: BTreeMap<ClusterKey, Run>,
    retry: BTreeMap<ClusterKey, Retry>,
    seen: BTreeMap<ClusterKey, Observation>,
    /// The UID of the operation that ended last, of each cluster.
    over: BTreeMap<ClusterKey, String>,
    /// Looks for drift under way, each with what calls it off.
    checks: BTreeMap<ClusterKey, watch::Sender<bool>>,
    /// When the next look may begin, in seconds since 1970.
    check_after: BTreeMap<ClusterKey, i64>,
    is_leaving: bool,
}

impl Supervisor {
    /// One that reports there.
    pub(super) fn new(shared: Arc<Shared>, reports: mpsc::UnboundedSender<Report>) -> Self {
        let (runs, retry, seen, over) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (checks, check_after) = (BTreeMap::new(), BTreeMap::new());
        Self { shared, reports, runs, retry, seen, over, checks, check_after, is_leaving: false }
    }

    /// The UID of the operation of a cluster that has ended here last, which the stores may not have heard of yet.
    pub(super) fn over(&self, key: &ClusterKey) -> Option<&str> {
        self.over.get(key).map(String::as_str)
    }

    /// Adds what it knows of a cluster to a view.
    pub(super) fn add_to(&self, key: &ClusterKey, view: &mut View) {
        view.active = self.runs.get(key).map(|run| Active {
            operation: run.operation.clone(),
            uid: run.uid.clone(),
            deadline: i64::MAX,
            stopping: run.stopping,
        });
        let is_left = view.operations.iter().any(|operation| operation.is_left);
        let at = self.retry.get(key).map(|retry| if is_left { retry.when_left } else { retry.at });
        view.claim = at.map_or(Claim::Untried, Claim::RetryAt);
        view.is_checking = self.checks.contains_key(key);
        view.check_after = self.check_after.get(key).copied().unwrap_or_default();
        if self.is_leaving {
            view.claim = Claim::RetryAt(i64::MAX);
        }
    }

    /// Forgets what it knows of a cluster of which there is no object any more.
    pub(super) fn forget(&mut self, key: &ClusterKey) {
        self.retry.remove(key);
        self.seen.remove(key);
        self.over.remove(key);
        self.check_after.remove(key);
    }

    /// How many are under way.
    pub(super) fn count(&self) -> usize {
        self.runs.len() + self.checks.len()
    }

    /// Begins to look for drift.
    pub(super) fn check(&mut self, key: &ClusterKey) {
        if self.is_leaving || self.runs.contains_key(key) || self.checks.contains_key(key) {
            return;
        }
        let (call_off, called_off) = watch::channel(false);
        self.checks.insert(key.clone(), call_off);
        let check = Check { shared: Arc::clone(&self.shared), key: key.clone(), called_off };
        let (reports, key, before) = (self.reports.clone(), key.clone(), self.seen.remove(key));
        tokio::spawn(async move {
            let checked = tokio::spawn(check.run(before)).await.unwrap_or(Checked::Unanswered);
            let _ = reports.send(Report { key, became: Became::Checked(checked) });
        });
    }

    /// Begins one, or goes on with it.
    pub(super) fn start(&mut self, key: &ClusterKey, (operation, uid): (&str, &str)) {
        if self.is_leaving || self.runs.contains_key(key) {
            return;
        }
        // It is begun as soon as that says that it has let go.
        if let Some(check) = self.checks.get(key) {
            check.send_replace(true);
            return;
        }
        let wish = Arc::new(watch::channel(Wish::None).0);
        let (operation, uid) = (operation.to_owned(), uid.to_owned());
        let run = Run { operation: operation.clone(), uid: uid.clone(), wish: Arc::clone(&wish), stopping: None };
        self.runs.insert(key.clone(), run);
        let attendant = Attendant { shared: Arc::clone(&self.shared), key: key.clone(), operation, uid, wish };
        let (reports, key) = (self.reports.clone(), key.clone());
        let before = self.seen.remove(&key);
        tokio::spawn(async move {
            // A defect in one operation must not end the others, nor be taken for the end of this one.
            let attended = tokio::spawn(attendant.attend(before)).await.unwrap_or(Attended::Unanswered);
            let _ = reports.send(Report { key, became: Became::Attended(attended) });
        });
    }

    /// Has the run of a cluster end.
    pub(super) fn stop(&mut self, key: &ClusterKey, stopping: Stopping) {
        let Some(run) = self.runs.get_mut(key) else { return };
        run.stopping = Some(stopping);
        let wish = match stopping {
            Stopping::Cancel { .. } => Wish::Cancel,
            Stopping::Deadline { .. } => Wish::Deadline,
            Stopping::Now { cancelled } => Wish::Now { cancelled },
        };
        // Who has lost the Lease has nothing to say any more.
        run.wish.send_if_modified(|before| {
            let may = *before != Wish::Lost;
            if may {
                *before = wish;
            }
            may
        });
    }

    /// Takes what became of one.
    pub(super) fn take(&mut self, report: Report) {
        let Report { key, became } = report;
        match became {
            Became::Attended(attended) => self.attended(key, attended),
            Became::Checked(checked) => self.checked(key, checked),
        }
    }

    fn checked(&mut self, key: ClusterKey, checked: Checked) {
        self.checks.remove(&key);
        let pause = match checked {
            // The status says when it was, which the stores may not have heard of yet.
            Checked::Done => UNANSWERED,
            Checked::Unanswered => UNCHECKED,
            Checked::CalledOff | Checked::Busy => LEAVING,
            Checked::Elsewhere(observation) => {
                self.seen.insert(key.clone(), observation);
                i64::try_from(RENEWED.as_secs()).unwrap_or(UNANSWERED)
            }
        };
        self.check_after.insert(key, Clock::seconds() + pause);
    }

    fn attended(&mut self, key: ClusterKey, attended: Attended) {
        self.runs.remove(&key);
        self.retry.remove(&key);
        let now = Clock::seconds();
        let after = |seconds: i64| Retry { at: now + seconds, when_left: now + seconds };
        match attended {
            Attended::Ended(Some(uid)) => drop(self.over.insert(key, uid)),
            // What is gone is in the stores until their watch has told.
            Attended::Ended(None) => drop(self.retry.insert(key, after(UNANSWERED))),
            Attended::Elsewhere(observation) => {
                let left = LASTS.saturating_sub(observation.since().elapsed());
                let pause = RENEWED.min(left + std::time::Duration::from_secs(1));
                let pause = i64::try_from(pause.as_secs()).unwrap_or(UNANSWERED);
                self.retry.insert(key.clone(), Retry { when_left: now + LEAVING.min(pause), ..after(pause) });
                self.seen.insert(key, observation);
            }
            Attended::Left | Attended::Unanswered => {
                self.retry.insert(key, after(UNANSWERED));
            }
        }
    }

    /// Has all of them end in good order, for others to go on with. None is begun any more.
    pub(super) fn leave(&mut self) {
        self.is_leaving = true;
        for check in self.checks.values() {
            check.send_replace(true);
        }
        for run in self.runs.values() {
            run.wish.send_if_modified(|wish| {
                let may = *wish == Wish::None;
                if may {
                    *wish = Wish::Leave;
                }
                may
            });
        }
    }
}

#[cfg(test)]
mod tests;
