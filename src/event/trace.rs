//! Events for the log.

use std::collections::BTreeMap;

use tracing::field::Empty;
use tracing::{Span, debug, debug_span, info, info_span, trace, warn};

use super::{Event, EventKind, Sink};
use crate::failure::printable;

/// Writes every event to the log, in spans of the run, its hosts and its steps. Events hold no secrets, and so neither does what is
/// logged of them. A span of what has failed says so by its field `failed`.
#[derive(Default)]
pub struct Trace {
    run: Option<Span>,
    /// Its name and its cluster.
    run_and_cluster: (String, String),
    hosts: BTreeMap<String, Span>,
    steps: BTreeMap<String, Span>,
}

impl Trace {
    fn host(&mut self, host: &str) -> Span {
        let run = self.run.as_ref().and_then(Span::id);
        self.hosts.entry(host.to_owned()).or_insert_with(|| info_span!(target: "kokctl::run", parent: run, "host", name = host)).clone()
    }

    fn begin(&mut self, step: &str, host: &str) -> Span {
        let host = self.host(host).id();
        let span = debug_span!(target: "kokctl::run", parent: host, "step", name = step, failed = Empty);
        self.steps.insert(step.to_owned(), span.clone());
        span
    }

    fn step(&mut self, step: &str, host: &str) -> Span {
        match self.steps.get(step) {
            Some(span) => span.clone(),
            None => self.host(host),
        }
    }

    fn end(&mut self, step: &str, host: &str) -> Span {
        self.steps.remove(step).unwrap_or_else(|| self.host(host))
    }
}

impl Sink for Trace {
    fn take(&mut self, event: &Event) {
        match &event.kind {
            EventKind::RunStarted { run, verb, cluster, version, .. } => {
                let span = info_span!(target: "kokctl::run", "run", name = run, verb, cluster, failed = Empty);
                info!(target: "kokctl::run", parent: &span, version, "{verb} begins");
                (self.run, self.run_and_cluster) = (Some(span), (run.clone(), cluster.clone()));
            }
            EventKind::HostProbed { host, connect_milliseconds, probe_milliseconds } => {
                info!(target: "kokctl::run", parent: &self.host(host), connect_milliseconds, probe_milliseconds, "probed");
            }
            EventKind::StepStarted { step, host, title, summary } => {
                debug!(target: "kokctl::run", parent: &self.begin(step, host), "{title}: {summary}");
            }
            EventKind::StepWaiting { step, host, because, last_words } => {
                let words = last_words.as_ref().map(|words| format!("; {words}")).unwrap_or_default();
                debug!(target: "kokctl::run", parent: &self.step(step, host), "waits: {}", printable(&format!("{because}{words}")));
            }
            EventKind::StepDone { step, host, took_milliseconds } => {
                info!(target: "kokctl::run", parent: &self.end(step, host), took_milliseconds, step, "done");
            }
            EventKind::StepFailed { step, host, error, unknown } => {
                let span = self.end(step, host);
                span.record("failed", true);
                // Where this is all that is logged, of many runs at once, no span says of which it is.
                let (run, cluster) = &self.run_and_cluster;
                warn!(target: "kokctl::run", parent: &span, cluster, run, unknown, step, "failed: {}", printable(error));
            }
            EventKind::StepProgress { .. } | EventKind::StepPlanned { .. } | EventKind::StepBlocked { .. } => {
                trace!(target: "kokctl::run", parent: self.run.as_ref().and_then(Span::id), "{:?}", event.kind);
            }
            EventKind::RunFinished { done, failed, blocked, stopped, .. } => {
                if let Some(span) = self.run.as_ref().filter(|_| failed + blocked > 0) {
                    span.record("failed", true);
                }
                info!(target: "kokctl::run", parent: self.run.as_ref().and_then(Span::id), done, failed, blocked, stopped, "ends");
                (self.run, self.hosts) = (None, BTreeMap::new());
            }
            EventKind::RunRefused { .. } => {
                if let Some(span) = &self.run {
                    span.record("failed", true);
                }
                debug!(target: "kokctl::run", parent: self.run.as_ref().and_then(Span::id), "{}", printable(&format!("{:?}", event.kind)));
            }
            other => debug!(target: "kokctl::run", parent: self.run.as_ref().and_then(Span::id), "{}", printable(&format!("{other:?}"))),
        }
    }
}
