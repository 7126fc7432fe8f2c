//! From the events of a run to the status of its operation.

use std::sync::Arc;

use tokio::sync::watch;

use super::metrics::Metrics;
use super::status::{OperationStatus, Phase};
use crate::event::{Event, EventKind, Sink};

/// Folds events into the status, which its writer writes once a second at the most.
pub(super) struct StatusSink {
    status: Arc<watch::Sender<OperationStatus>>,
    metrics: Arc<Metrics>,
}

impl StatusSink {
    pub(super) fn new(status: Arc<watch::Sender<OperationStatus>>, metrics: Arc<Metrics>) -> Self {
        Self { status, metrics }
    }
}

impl Sink for StatusSink {
    fn take(&mut self, event: &Event) {
        match &event.kind {
            EventKind::StepDone { .. } => self.metrics.step("done"),
            EventKind::StepFailed { .. } => self.metrics.step("failed"),
            _ => {}
        }
        self.status.send_if_modified(|status| {
            let is_new = status.progress.take(event);
            if matches!(event.kind, EventKind::StepStarted { .. }) && status.phase == Phase::Planning {
                status.phase = Phase::Running;
            }
            is_new
        });
    }
}
