//! What the operator counts.

mod of_clusters;
mod of_leases;
mod of_requests;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

pub(super) use of_clusters::ClusterMetrics;
use of_clusters::OfClusters;
pub(super) use of_leases::LeaseAges;
use of_requests::Requests;

use super::group::ClusterKey;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    verb: String,
    ending: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ending {
    task: String,
    ending: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfVerb {
    verb: String,
}

/// Seconds of a run: a converged host takes one, a large cluster an hour.
const RUN_SECONDS: [f64; 10] = [1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0];
/// Seconds of a decision.
const DECISION_SECONDS: [f64; 5] = [0.0001, 0.001, 0.01, 0.1, 1.0];

/// What the operator counts.
pub(super) struct Metrics {
    registry: Registry,
    runs: Family<Ended, Counter>,
    run_seconds: Family<OfVerb, Histogram>,
    steps: Family<Ending, Counter>,
    reconcile_seconds: Histogram,
    pub(super) active: Gauge,
    pub(super) queued: Gauge,
    pub(super) oldest_queued: Gauge,
    /// To be laid around the client of the meta-cluster.
    pub(super) requests: Requests,
    /// Leases that are kept.
    pub(super) leases: Arc<LeaseAges>,
    lease_age: Gauge<f64, AtomicU64>,
    clusters: OfClusters,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut all = Self {
            registry: Registry::with_prefix("kokctl"),
            runs: Family::default(),
            run_seconds: Family::new_with_constructor(|| Histogram::new(RUN_SECONDS)),
            steps: Family::default(),
            reconcile_seconds: Histogram::new(DECISION_SECONDS),
            active: Gauge::default(),
            queued: Gauge::default(),
            oldest_queued: Gauge::default(),
            requests: Requests::default(),
            leases: Arc::default(),
            lease_age: Gauge::default(),
            clusters: OfClusters::default(),
        };
        let registry = &mut all.registry;
        registry.register("runs", "Runs that have ended", all.runs.clone());
        registry.register("run_seconds", "How long runs took", all.run_seconds.clone());
        registry.register("steps", "Steps that have ended", all.steps.clone());
        registry.register("reconcile_seconds", "How long it took to decide about a cluster", all.reconcile_seconds.clone());
        registry.register("runs_active", "Operations under way", all.active.clone());
        registry.register("queue_length", "Operations that wait for another one", all.queued.clone());
        let help = "When the oldest of them was made, in seconds since 1970; 0 while none waits";
        registry.register("queue_oldest_timestamp_seconds", help, all.oldest_queued.clone());
        registry.register("api_requests", "Requests to the API server of the meta-cluster", all.requests.0.clone());
        let help = "How long ago the Lease was renewed that waits longest for it, of those that this replica keeps; 0 while it keeps none";
        registry.register("lease_age_seconds", help, all.lease_age.clone());
        all.clusters.register(registry);
        all
    }
}

impl Metrics {
    /// A run has ended.
    pub(super) fn run(&self, verb: &str, ending: &str, took: Duration) {
        let labels = Ended { verb: verb.to_owned(), ending: ending.to_owned() };
        self.runs.get_or_create(&labels).inc();
        self.run_seconds.get_or_create(&OfVerb { verb: verb.to_owned() }).observe(took.as_secs_f64());
    }

    /// A step has ended, by its whole name: host, task, and the step of it. Hosts and steps would be too many series.
    pub(super) fn step(&self, id: &str, ending: &str) {
        let task = id.split('/').nth(1).unwrap_or_default().to_owned();
        self.steps.get_or_create(&Ending { task, ending: ending.to_owned() }).inc();
    }

    /// Something was decided.
    pub(super) fn decided(&self, took: Duration) {
        self.reconcile_seconds.observe(took.as_secs_f64());
    }

    /// A cluster is so, or is no more.
    pub(super) fn cluster(&self, key: &ClusterKey, metrics: Option<ClusterMetrics>) {
        self.clusters.take(key, metrics);
    }

    /// All of it, as Prometheus reads it.
    pub(super) fn text(&self) -> String {
        self.lease_age.set(self.leases.oldest(Instant::now()).as_secs_f64());
        let mut text = String::new();
        // A text takes whatever is written to it.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_told() {
        let metrics = Metrics::default();
        metrics.run("apply", "succeeded", Duration::from_secs(2));
        metrics.step("cp1/container-runtime/service", "done");
        metrics.active.set(3);
        let text = metrics.text();
        for line in [
            "kokctl_runs_total{verb=\"apply\",ending=\"succeeded\"} 1",
            "kokctl_run_seconds_count{verb=\"apply\"} 1",
            "kokctl_steps_total{task=\"container-runtime\",ending=\"done\"} 1",
            "kokctl_runs_active 3",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}
