//! How a run ended.

use std::collections::{BTreeMap, BTreeSet};

use kok_tasks::plan::StepId;

use crate::event::EventKind;

/// How a run ended.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Steps done.
    pub done: usize,
    /// Steps that failed, with the reason.
    pub failed: Vec<StepFailure>,
    /// Steps that were not begun, because one that they need failed or the run was stopped.
    pub blocked: usize,
    /// Why nothing new was begun from some moment on.
    pub stopped: Option<String>,
    /// The hosts on which something failed.
    pub failed_hosts: BTreeSet<String>,
    /// Hosts that were there when the run began, and could not be reached any more.
    pub lost: BTreeSet<String>,
    /// How many steps of each host were not begun.
    pub not_begun: BTreeMap<String, usize>,
    /// Steps that were at work when the run was left at once.
    pub in_doubt: Vec<InDoubt>,
    /// Whether another run has taken over.
    pub taken_over: bool,
    /// Whether what is left is what `apply` does, whatever the verb was.
    pub left_to_apply: bool,
}

impl Outcome {
    /// How it is told.
    #[must_use]
    pub fn to_event(&self, took_milliseconds: u64) -> EventKind {
        EventKind::RunFinished {
            done: self.done,
            failed: self.failed.len(),
            blocked: self.blocked,
            stopped: self.stopped.clone(),
            failed_hosts: self.failed_hosts.iter().cloned().collect(),
            not_begun: self.not_begun.clone(),
            took_milliseconds,
        }
    }

    /// Whether everything that was planned is done.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty() && self.blocked == 0 && self.in_doubt.is_empty()
    }
}

/// A step that was at work when nobody waited for it any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InDoubt {
    /// The step.
    pub step: StepId,
    /// Its host.
    pub host: String,
    /// What it is.
    pub title: String,
}

/// A step that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepFailure {
    /// The step.
    pub step: StepId,
    /// Its host.
    pub host: String,
    /// What it is.
    pub title: String,
    /// Why.
    pub error: String,
    /// Whether it may have been done all the same.
    pub unknown: bool,
}
