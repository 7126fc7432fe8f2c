//! The loop that watches, decides, and has things done. It waits for nothing but the next thing to decide about.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, SelectAll};
use kube::api::DynamicObject;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::deadline;
use super::decide::{Intent, decide};
use super::group::ClusterKey;
use super::history::History;
use super::http::Health;
use super::metrics::ClusterMetrics;
use super::page::Card;
use super::shared::Shared;
use super::status::ANSWER;
use super::stores::{Stores, What};
use super::supervisor::{Report, Supervisor};
use super::versions::{Versions, versions};
use super::view::View;
use super::watches::{WatchEvent, watched};
use super::writes;
use crate::clock::Clock;

/// How often the loop turns round when nothing happens.
const TURN: Duration = Duration::from_secs(5);
/// How often it is seen whether the API answers.
const ASK: Duration = Duration::from_secs(3);
/// How often it is read how many operations are kept.
const READ: Duration = Duration::from_secs(60);
/// Seconds until a write is tried again.
const AGAIN: i64 = 5;

/// All that the loop knows.
pub(super) struct ServeLoop {
    shared: Arc<Shared>,
    health: Arc<Health>,
    first_start: i64,
    stores: Stores,
    supervisor: Supervisor,
    history: History,
    /// Whether it was known how many are kept when that was asked last.
    knows_history: bool,
    reports: mpsc::UnboundedReceiver<Report>,
    /// Clusters to decide about.
    due: BTreeSet<ClusterKey>,
    /// Clusters to decide about at a time, in seconds since 1970.
    later: BTreeMap<ClusterKey, i64>,
    /// Clusters of which something that was decided is being written.
    busy: BTreeSet<ClusterKey>,
    writes: JoinSet<(ClusterKey, bool)>,
    /// The versions of what Clusters name, as they were seen last.
    versions: BTreeMap<ClusterKey, Versions>,
    /// Clusters of which they are being read.
    looking: BTreeSet<ClusterKey>,
    looks: JoinSet<(ClusterKey, Option<Versions>)>,
}

impl ServeLoop {
    /// One that knows nothing yet.
    pub(super) fn new(shared: Arc<Shared>, first_start: i64, health: Arc<Health>) -> Self {
        let (sender, reports) = mpsc::unbounded_channel();
        Self {
            supervisor: Supervisor::new(Arc::clone(&shared), sender),
            shared,
            health,
            first_start,
            stores: Stores::default(),
            history: History::default(),
            knows_history: false,
            reports,
            due: BTreeSet::new(),
            later: BTreeMap::new(),
            busy: BTreeSet::new(),
            writes: JoinSet::new(),
            versions: BTreeMap::new(),
            looking: BTreeSet::new(),
            looks: JoinSet::new(),
        }
    }

    /// Serves until it is told to end, and everything under way has ended.
    pub(super) async fn serve(mut self) {
        let mut watches = self.watches();
        let mut stop = self.shared.settings.stop.clone();
        let (mut ask, mut read) = (tokio::time::interval(ASK), tokio::time::interval(READ));
        tracing::info!(identity = self.shared.identity, namespaces = self.shared.namespaces.join(","), "serves");
        let mut is_leaving = false;
        while !(is_leaving && self.supervisor.count() == 0) {
            self.turn();
            tokio::select! {
                Some(watched) = watches.next() => self.take(watched),
                Some(report) = self.reports.recv() => {
                    self.due.insert(report.key.clone());
                    self.supervisor.take(report);
                }
                Some(written) = self.writes.join_next(), if !self.writes.is_empty() => self.written(written),
                Some(looked) = self.looks.join_next(), if !self.looks.is_empty() => self.looked(looked),
                _ = ask.tick() => self.ask(),
                _ = read.tick() => self.read(),
                _ = stop.wait_for(|stop| *stop), if !is_leaving => {
                    is_leaving = true;
                    self.supervisor.leave();
                }
                () = tokio::time::sleep(TURN) => {}
            }
        }
    }

    fn watches(&self) -> SelectAll<BoxStream<'static, WatchEvent>> {
        let mut all = SelectAll::new();
        for group in &self.shared.settings.groups {
            let (clusters, operations) = (self.shared.clusters(*group), self.shared.operations(*group));
            for (what, api) in [(What::Clusters, clusters), (What::Operations, operations)] {
                all.push(watched((*group, what), api));
            }
        }
        all
    }

    fn take(&mut self, (watch, event): WatchEvent) {
        match event {
            Ok(event) => {
                let touched = self.stores.take(watch, event);
                self.due.extend(touched);
            }
            Err(error) => tracing::warn!(group = watch.0.name(), %error, "the watch is interrupted"),
        }
    }

    fn written(&mut self, written: Result<(ClusterKey, bool), tokio::task::JoinError>) {
        let Ok((key, is_written)) = written else { return };
        self.busy.remove(&key);
        if !is_written {
            self.later.insert(key, Clock::seconds() + AGAIN);
        }
    }

    /// Reads in the background the versions of what a Cluster names.
    fn look(&mut self, key: &ClusterKey, now: i64) {
        let Some(cluster) = self.stores.known_of(key).cluster.filter(|_| !self.looking.contains(key)) else { return };
        self.looking.insert(key.clone());
        let (shared, key) = (Arc::clone(&self.shared), key.clone());
        self.looks.spawn(async move {
            let text = match timeout(ANSWER, versions(&shared, &cluster)).await {
                Ok(Ok(text)) => Some(text),
                Ok(Err(error)) => {
                    tracing::warn!(cluster = %key, %error, "what the Cluster names can't be read");
                    None
                }
                Err(_) => None,
            };
            (key, text.map(|text| Versions { at: now, text }))
        });
    }

    fn looked(&mut self, looked: Result<(ClusterKey, Option<Versions>), tokio::task::JoinError>) {
        let Ok((key, found)) = looked else { return };
        self.looking.remove(&key);
        match found {
            Some(found) => {
                self.versions.insert(key.clone(), found);
                self.due.insert(key);
            }
            None => drop(self.later.insert(key, Clock::seconds() + AGAIN)),
        }
    }

    /// Sees in the background whether the API answers.
    fn ask(&self) {
        let is_synced = self.stores.is_synced(&self.shared.settings.groups);
        let (client, health) = (self.shared.client.clone(), Arc::clone(&self.health));
        tokio::spawn(async move {
            if matches!(timeout(ANSWER, client.apiserver_version()).await, Ok(Ok(_))) && is_synced {
                health.answered();
            }
        });
    }

    /// Reads in the background how many operations are kept.
    fn read(&self) {
        let (history, shared) = (self.history.clone(), Arc::clone(&self.shared));
        tokio::spawn(async move { history.read(&shared).await });
    }

    /// Decides about all clusters that are due.
    fn turn(&mut self) {
        self.health.turned();
        // What is not known yet would be taken for gone.
        if !self.stores.is_synced(&self.shared.settings.groups) {
            return;
        }
        self.learn_history();
        let now = Clock::seconds();
        let ripe: Vec<ClusterKey> = self.later.iter().filter(|(_, at)| **at <= now).map(|(key, _)| key.clone()).collect();
        for key in ripe {
            self.later.remove(&key);
            self.due.insert(key);
        }
        let due: Vec<ClusterKey> = self.due.iter().filter(|key| !self.busy.contains(*key)).cloned().collect();
        for key in due {
            self.due.remove(&key);
            self.pass(&key, now);
        }
        self.count();
    }

    /// What ended before it was known how many are kept is looked at when it is.
    fn learn_history(&mut self) {
        let option = self.shared.settings.history;
        let knows = self.shared.settings.groups.iter().all(|group| self.history.limit_for(*group, option).is_some());
        if knows && !self.knows_history {
            self.due.extend(self.stores.keys());
        }
        self.knows_history = knows;
    }

    fn pass(&mut self, key: &ClusterKey, now: i64) {
        let began = Instant::now();
        let known = self.stores.known_of(key);
        let mut view = View::from_known(&known, key, self.supervisor.over(key));
        (view.first_start, view.history) = (self.first_start, self.history.limit_for(key.group, self.shared.settings.history));
        view.versions = self.versions.get(key).filter(|_| view.cluster.is_some()).cloned();
        if view.cluster.is_none() {
            self.versions.remove(key);
            if view.operations.is_empty() {
                self.supervisor.forget(key);
            }
        }
        self.supervisor.add_to(key, &mut view);
        if let Some(active) = &mut view.active {
            active.deadline = self.deadline(known.operation(&active.operation), now);
        }
        self.shared.metrics.cluster(key, known.cluster.as_ref().map(|cluster| ClusterMetrics::from_cluster(&cluster.data, &view)));
        if self.shared.settings.web.is_some() {
            self.shared.board.put(key, Card::from_objects(key, known.cluster.as_ref(), known.operations.iter()));
        }
        let intents = decide(&view, now);
        // Everything is decided anew, also when to look again.
        self.later.remove(key);
        self.shared.metrics.decided(began.elapsed());
        let mut all = Vec::new();
        for intent in &intents {
            match intent {
                Intent::Start { operation, uid } => {
                    self.supervisor.start(key, (operation, uid));
                    self.due.insert(key.clone());
                }
                Intent::Stop(stopping) => self.supervisor.stop(key, *stopping),
                Intent::Requeue(at) => {
                    let first = self.later.entry(key.clone()).or_insert(*at);
                    *first = (*first).min(*at);
                }
                Intent::Look => self.look(key, now),
                Intent::Check => self.supervisor.check(key),
                write => all.extend(writes::write_of(write, &self.shared, key, &known)),
            }
        }
        if !all.is_empty() {
            self.busy.insert(key.clone());
            let key = key.clone();
            self.writes.spawn(async move {
                let mut is_written = true;
                for write in all {
                    is_written &= write.write().await;
                }
                (key, is_written)
            });
        }
    }

    fn deadline(&self, operation: Option<&DynamicObject>, now: i64) -> i64 {
        let seconds = i64::try_from(self.shared.settings.run_deadline.as_secs()).unwrap_or(i64::MAX);
        deadline::until(operation.map(|operation| &operation.data), seconds, now)
    }

    fn count(&self) {
        let gauge = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.shared.metrics.active.set(gauge(self.supervisor.count()));
        self.shared.metrics.queued.set(gauge(self.stores.queued().count()));
        self.shared.metrics.oldest_queued.set(self.stores.queued().min().unwrap_or_default());
    }
}
