//! The operations under way in this process: one of each cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use super::attend::{Attendant, Attended, Wish};
use super::group::ClusterKey;
use super::lease::{LASTS, Observation, RENEWED};
use super::shared::Shared;
use super::view::{Active, Claim, Stopping, View};
use crate::clock::Clock;

/// Seconds until something is tried again that the API did not answer.
const UNANSWERED: i64 = 5;

/// Something that has ended.
pub(super) struct Report {
    pub(super) key: ClusterKey,
    attended: Attended,
}

/// One operation under way.
struct Run {
    operation: String,
    uid: String,
    wish: Arc<watch::Sender<Wish>>,
    deadline: i64,
    stopping: Option<Stopping>,
}

/// All operations under way, and what is known of those that were.
pub(super) struct Supervisor {
    shared: Arc<Shared>,
    reports: mpsc::UnboundedSender<Report>,
    runs: BTreeMap<ClusterKey, Run>,
    retry: BTreeMap<ClusterKey, i64>,
    seen: BTreeMap<ClusterKey, Observation>,
    /// The UID of the operation that ended last, of each cluster.
    over: BTreeMap<ClusterKey, String>,
    is_leaving: bool,
}

impl Supervisor {
    /// One that reports there.
    pub(super) fn new(shared: Arc<Shared>, reports: mpsc::UnboundedSender<Report>) -> Self {
        let (runs, retry, seen, over) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { shared, reports, runs, retry, seen, over, is_leaving: false }
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
            deadline: run.deadline,
            stopping: run.stopping,
        });
        view.claim = self.retry.get(key).map_or(Claim::Untried, |at| Claim::RetryAt(*at));
        if self.is_leaving {
            view.claim = Claim::RetryAt(i64::MAX);
        }
    }

    /// How many are under way.
    pub(super) fn count(&self) -> usize {
        self.runs.len()
    }

    /// Begins one, or goes on with it. It may take until this time, in seconds since 1970.
    pub(super) fn start(&mut self, key: &ClusterKey, (operation, uid): (&str, &str), deadline: i64) {
        if self.is_leaving || self.runs.contains_key(key) {
            return;
        }
        let wish = Arc::new(watch::channel(Wish::None).0);
        let (operation, uid) = (operation.to_owned(), uid.to_owned());
        let run = Run { operation: operation.clone(), uid: uid.clone(), wish: Arc::clone(&wish), deadline, stopping: None };
        self.runs.insert(key.clone(), run);
        let attendant = Attendant { shared: Arc::clone(&self.shared), key: key.clone(), operation, uid, wish };
        let (reports, key) = (self.reports.clone(), key.clone());
        let before = self.seen.remove(&key);
        tokio::spawn(async move {
            // A defect in one operation must not end the others, nor be taken for the end of this one.
            let attended = tokio::spawn(attendant.attend(before)).await.unwrap_or(Attended::Unanswered);
            let _ = reports.send(Report { key, attended });
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
        let Report { key, attended } = report;
        self.runs.remove(&key);
        self.retry.remove(&key);
        let now = Clock::seconds();
        match attended {
            Attended::Ended(Some(uid)) => drop(self.over.insert(key, uid)),
            // What is gone is in the stores until their watch has told.
            Attended::Ended(None) => drop(self.retry.insert(key, now + UNANSWERED)),
            Attended::Elsewhere(observation) => {
                let left = LASTS.saturating_sub(observation.since().elapsed());
                let pause = RENEWED.min(left + std::time::Duration::from_secs(1));
                self.retry.insert(key.clone(), now + i64::try_from(pause.as_secs()).unwrap_or(UNANSWERED));
                self.seen.insert(key, observation);
            }
            Attended::Left | Attended::Unanswered => {
                self.retry.insert(key, now + UNANSWERED);
            }
        }
    }

    /// Has all of them end in good order, for others to go on with. None is begun any more.
    pub(super) fn leave(&mut self) {
        self.is_leaving = true;
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
