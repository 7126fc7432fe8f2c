//! Steps that failed, and what is not begun for them.

use std::collections::{BTreeMap, BTreeSet};

use kok_crds::counted;
use kok_crds::model::Host;
use kok_tasks::plan::StepId;

use super::super::hosts::Hosts;
use super::super::outcome::StepFailure;
use super::super::schedule::Status;
use super::Dispatcher;
use crate::event::EventKind;

impl<H: Hosts> Dispatcher<'_, H> {
    /// A step has failed, and what needs it is not begun. Of a worker whose failure is allowed that is only what needs it: others whose turn comes after it go
    /// on without it.
    pub(super) fn fail(&mut self, id: &StepId, error: &str, unknown: bool) {
        let (host, title) = self.plan.step(id).map(|step| (step.host.clone(), step.title())).unwrap_or_default();
        self.events.send(EventKind::StepFailed { step: id.to_string(), host: host.clone(), error: error.to_owned(), unknown });
        // What is done for a host on another one is that host's.
        self.outcome.failed_hosts.insert(id.host().to_owned());
        if self.may_fail(id.host()) {
            self.gates.excuse(id.host());
        }
        self.stop_behind(id);
        self.outcome.failed.push(StepFailure { step: id.clone(), host, title, error: error.to_owned(), unknown });
        if let Some(most) = self.most_failed.filter(|most| self.outcome.failed_hosts.len() > *most) {
            self.finish(&too_many(&self.outcome.failed_hosts, most));
        }
    }

    /// Stops what needs a step that has failed. What was in the same script, and was not begun for it, is put back before.
    pub(super) fn stop_behind(&mut self, id: &StepId) {
        let may_fail = self.may_fail(id.host()).then_some(id.host());
        for blocked in self.schedule.stop_behind(id, may_fail) {
            self.blocked(&blocked, id);
        }
    }

    /// Whether the user puts up with it that this host fails, and nothing but its own pods hangs on it.
    pub(super) fn may_fail(&self, host: &str) -> bool {
        let is_worker = |host: &Host| !host.roles.control_plane && !host.roles.etcd;
        let is_allowed = self.most_failed.is_some_and(|most| self.outcome.failed_hosts.len() <= most);
        is_allowed && self.cluster.hosts.iter().any(|of_file| of_file.name == host && is_worker(of_file))
    }

    pub(super) fn blocked(&mut self, id: &StepId, by: &StepId) {
        self.outcome.blocked += 1;
        self.events.send(EventKind::StepBlocked { step: id.to_string(), by: by.to_string() });
    }

    /// How many changes of each host have not begun.
    pub(super) fn not_begun(&self) -> BTreeMap<String, usize> {
        let failed: BTreeSet<&StepId> = self.outcome.failed.iter().map(|failure| &failure.step).collect();
        let mut hosts = BTreeMap::new();
        for (step, _) in self.plan.changes() {
            let is_left = match self.schedule.status(&step.id) {
                Status::Pending | Status::Held => true,
                Status::Stopped => !failed.contains(&step.id),
                Status::Running | Status::Done => false,
            };
            if is_left {
                *hosts.entry(step.host.clone()).or_default() += 1;
            }
        }
        hosts
    }
}

/// Why a run ends of which more hosts have failed than may.
fn too_many(failed: &BTreeSet<String>, most: usize) -> String {
    let names = kok_crds::listed(failed.iter().map(String::as_str));
    format!("{} failed ({names}), and --max-fail allows {most}", counted(failed.len(), "host has", "hosts have"))
}
