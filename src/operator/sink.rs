//! From the events of a run to the status of its operation.

use std::sync::Arc;

use tokio::sync::watch;

use super::metrics::Metrics;
use super::object::Condition;
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
            EventKind::StepDone { step, .. } => self.metrics.step(step, "done"),
            EventKind::StepFailed { step, .. } => self.metrics.step(step, "failed"),
            _ => {}
        }
        self.status.send_if_modified(|status| {
            let is_new = status.progress.take(event);
            if matches!(event.kind, EventKind::StepStarted { .. }) && matches!(status.phase, Phase::Planning | Phase::Resuming) {
                status.phase = Phase::Running;
            }
            if matches!(event.kind, EventKind::StepDone { .. }) {
                status.fruitless = 0;
            }
            // An Event is gone within an hour, and an approval may take a night.
            if let EventKind::LossTold { what } = &event.kind {
                status.set(Condition { kind: "DataLoss", is: true, reason: "Told", message: what.clone() });
            }
            is_new || matches!(event.kind, EventKind::LossTold { .. })
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_is_done_ends_the_count_of_attempts_that_did_nothing() {
        let begun = OperationStatus { phase: Phase::Resuming, fruitless: 3, ..OperationStatus::default() };
        let status = Arc::new(watch::channel(begun).0);
        let mut sink = StatusSink::new(Arc::clone(&status), Arc::default());
        let mut take = |kind| sink.take(&Event { sequence: 0, milliseconds: 0, kind });
        let (step, host) = ("a/x", "a");
        take(EventKind::StepStarted { step: step.into(), host: host.into(), title: String::new(), summary: String::new() });
        assert_eq!((status.borrow().phase, status.borrow().fruitless), (Phase::Running, 3));
        take(EventKind::StepDone { step: step.into(), host: host.into(), took_milliseconds: 1 });
        assert_eq!(status.borrow().fruitless, 0);
    }
}
