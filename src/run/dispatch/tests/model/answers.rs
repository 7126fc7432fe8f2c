//! What the model has seen of a run.

use std::collections::BTreeSet;
use std::time::Duration;

use kok_tasks::plan::StepId;

use super::support::world::World;
use super::{EventKind, Model};

impl Model {
    /// What must always hold and did not, in the order of time.
    pub(in super::super) fn broken(&self) -> Vec<String> {
        self.lock().oracle.broken.clone()
    }

    /// The world once everything that is away has come back.
    pub(in super::super) fn world_afterwards(&self) -> World {
        let mut world = self.world();
        for (name, host) in &mut world.hosts {
            host.down.clear();
            // One that was never started does not start by itself.
            if self.lock().down.contains_key(&(name.clone(), "kubelet")) {
                host.units.get_mut("kubelet.service").unwrap().active = "active".into();
            }
        }
        world
    }

    /// How often hosts were looked at, besides by steps.
    pub(in super::super) fn looks(&self) -> usize {
        self.lock().looks
    }

    /// The most members of etcd and API servers that were away at the same time, and whether etcd lost more than half.
    pub(in super::super) fn away(&self) -> (usize, usize, bool) {
        let inner = self.lock();
        (inner.most_members_away, inner.most_api_servers_away, inner.lost_quorum)
    }

    /// Steps of which it was said that they begin.
    pub(in super::super) fn begun(&self) -> Vec<String> {
        let begun = |kind: &EventKind| if let EventKind::StepStarted { step, .. } = kind { Some(step.clone()) } else { None };
        self.lock().emitted.iter().filter_map(begun).collect()
    }

    /// What a step waited for, in its own words.
    pub(in super::super) fn waited(&self, id: &StepId) -> Vec<String> {
        let told = &self.lock().emitted;
        let waits = told.iter().filter_map(|kind| match kind {
            EventKind::StepWaiting { step, because, .. } if *step == id.to_string() => Some(because.clone()),
            _ => None,
        });
        waits.collect()
    }

    /// What the run said, and how long after its beginning.
    pub(in super::super) fn timed_events(&self) -> Vec<(Duration, EventKind)> {
        let inner = self.lock();
        inner.told_at.iter().copied().zip(inner.emitted.iter().cloned()).collect()
    }

    pub(in super::super) fn orders(&self) -> usize {
        self.lock().orders
    }

    /// Steps in the order in which hosts did them.
    pub(in super::super) fn done(&self) -> Vec<String> {
        self.lock().done.clone()
    }

    pub(in super::super) fn done_twice(&self) -> Vec<String> {
        let (done, mut seen) = (self.done(), BTreeSet::new());
        done.into_iter().filter(|id| !seen.insert(id.clone())).collect()
    }

    /// Whether the run said that a step, a condition included, is done.
    pub(in super::super) fn was_done(&self, id: &StepId) -> bool {
        self.lock().emitted.iter().any(|kind| matches!(kind, EventKind::StepDone { step, .. } if step == id.as_str()))
    }

    /// Orders that came while an earlier one of the same lane was at work on the host.
    pub(in super::super) fn beside_each_other(&self) -> Vec<String> {
        self.lock().beside.clone()
    }

    /// Steps that were begun after the signal came, whenever the run heard it.
    pub(in super::super) fn begun_after_interrupt(&self) -> usize {
        let inner = self.lock();
        let after = inner.emitted.iter().skip(inner.interrupted.unwrap());
        after.filter(|kind| matches!(kind, EventKind::StepStarted { .. })).count()
    }

    /// Whether the user has wished to stop.
    pub(in super::super) fn was_interrupted(&self) -> bool {
        self.lock().interrupted.is_some()
    }

    pub(in super::super) fn steps_at_work(&self) -> BTreeSet<String> {
        self.lock().in_flight.clone()
    }

    /// Steps that reached a host before a crash could not have undone their beginning in the journal.
    pub(in super::super) fn unwritten(&self) -> Vec<String> {
        self.lock().unwritten.clone()
    }

    /// The deadline of the order that had the longest.
    pub(in super::super) fn longest_deadline(&self) -> Duration {
        self.lock().longest_deadline
    }

    pub(in super::super) fn flushes(&self) -> usize {
        self.lock().flushes
    }

    pub(in super::super) fn most_streams(&self) -> usize {
        self.lock().most_streams
    }

    pub(in super::super) fn took(&self) -> Duration {
        self.began.elapsed()
    }
}
