//! The hosts that a run holds, over all of its stages.

use std::collections::{BTreeMap, BTreeSet};

use kok_tasks::holder::Standing;
use tokio::sync::watch;

use super::door::ByLinks;
use super::release;
use crate::event::Events;
use crate::run::link::Links;
use crate::run::wish::{Stop, unless_wished};

/// The hosts that a run holds, over all of its stages, with one record on all of them.
#[derive(Default)]
pub struct Held {
    /// The line of their holder records; empty before the first is taken.
    pub(in crate::run) line: String,
    /// What is left there at the end.
    pub(super) left: String,
    pub(super) epoch: u64,
    /// The boot id of each host when it was taken, or probed after that.
    pub(in crate::run) boots: BTreeMap<String, String>,
    /// The hosts that were asked, whether they have answered or not.
    pub(super) asked: BTreeSet<String>,
    /// The connections by which they are let go: those of the last stage.
    links: Links,
    is_in_doubt: bool,
}

impl Held {
    /// Whether it holds nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    /// Whether it holds this host, and did so when that was probed.
    pub(super) fn has(&self, host: &str, standing: &BTreeMap<String, Standing>) -> bool {
        self.boots.contains_key(host) && standing.get(host).is_some_and(|standing| standing.line == self.line)
    }

    /// The hosts that a later run had than this one's record says: an epoch never goes back, so they can't get this record.
    pub(super) fn too_old_for(&self, hosts: &[String], standing: &BTreeMap<String, Standing>) -> Vec<String> {
        let is_later = |host: &&String| standing.get(*host).is_some_and(|standing| standing.epoch >= self.epoch && standing.epoch > 0);
        hosts.iter().filter(is_later).filter(|_| !self.is_empty()).cloned().collect()
    }

    /// Says what record hosts get from now on, and what is left there at the end, unless some have it already.
    pub(super) fn begin(&mut self, epoch: u64, lines: impl FnOnce(u64) -> (String, String)) {
        if self.is_empty() {
            // What the run let go of before keeps a record that is another one.
            self.epoch = epoch.max(self.epoch.saturating_add(1));
            (self.line, self.left) = lines(self.epoch);
        }
    }

    /// Takes over the boot ids that hosts had when they were probed last: what was started anew before that is seen as it is.
    pub(super) fn know_boots(&mut self, boots: &BTreeMap<String, String>) {
        let known = boots.iter().filter(|(host, _)| self.asked.contains(*host)).map(|(host, boot)| (host.clone(), boot.clone()));
        self.boots.extend(known);
    }

    /// Every host was let go.
    pub(super) fn end(&mut self) {
        *self = Self { epoch: self.epoch, ..Self::default() };
    }

    /// Hosts are let go by these from now on.
    pub(in crate::run) fn reached_by(&mut self, links: &Links) {
        self.links.extend(links.iter().map(|(host, link)| (host.clone(), link.clone())));
    }

    /// What is in doubt may still be at work, and only the next run of this controller knows that it may take these hosts all the same.
    pub(in crate::run) fn leave_in_doubt(&mut self) {
        self.is_in_doubt = true;
    }

    /// Lets go of all hosts, as far as they can be reached, unless something may still be at work there. Ends at once if the user wishes that.
    pub async fn let_go(&mut self, stop: &mut watch::Receiver<Stop>, events: &Events) {
        if !self.is_in_doubt && !self.is_empty() {
            let door = ByLinks::new(&self.links, events);
            unless_wished(stop, Stop::Now, release(&door, self, events)).await;
        }
    }
}
