//! How a run ended.

use kok_tasks::plan::StepId;

/// How a run ended.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Steps done.
    pub done: usize,
    /// Steps that failed, with the reason.
    pub failed: Vec<StepFailure>,
    /// Steps that were not begun, because one that they need failed.
    pub blocked: usize,
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
