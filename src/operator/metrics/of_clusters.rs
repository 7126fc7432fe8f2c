//! What is told of each cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use serde_json::Value;

use super::super::drift::DRIFTED;
use super::super::group::ClusterKey;
use super::super::made::{OperationOutcome, Why};
use super::super::object;
use super::super::view::View;

/// Of more clusters only the phases are counted: each is some time series more, for ever.
const MOST: usize = 500;

/// What stands where a Cluster says nothing yet.
const PENDING: &str = "Pending";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    group: String,
    cluster: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Phase {
    phase: String,
}

/// How a cluster is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::operator) struct ClusterMetrics {
    phase: String,
    /// Whether it works, as its status says; one that is suspended may.
    is_ready: bool,
    is_drifted: bool,
    /// When the last backup by its schedule ended well, or until there is one when the Cluster was made, in seconds since 1970; nothing without a schedule.
    backed_up: Option<i64>,
    /// When the first of its certificates ends, in seconds since 1970; nothing before somebody has seen them.
    certificates_end: Option<i64>,
}

impl ClusterMetrics {
    /// What a Cluster says, and what the operator has made for it.
    pub(in crate::operator) fn from_cluster(cluster: &Value, view: &View) -> Self {
        let drifted = object::condition(cluster, "clusterConditions", DRIFTED).and_then(|it| object::text(it, "/status"));
        let backups = view.operations.iter().filter_map(|operation| operation.made.as_ref());
        let backups = backups.filter(|made| made.why == Why::Backup && made.outcome == OperationOutcome::Succeeded);
        let end = object::text(cluster, "/status/certificates/earliestEnd").and_then(|text| text.parse::<Timestamp>().ok());
        Self {
            certificates_end: end.map(Timestamp::as_second),
            phase: object::text(cluster, "/status/phase").unwrap_or(PENDING).to_owned(),
            is_ready: view.cluster.as_ref().is_some_and(|cluster| cluster.is_ready),
            is_drifted: drifted == Some("True"),
            backed_up: view.cluster.as_ref().filter(|cluster| cluster.backups.is_some()).map(|cluster| {
                // One that was never made is as late as one that is not made any more.
                backups.map(|made| made.ended).max().unwrap_or(cluster.created)
            }),
        }
    }
}

/// What was told last.
#[derive(Default)]
struct Known {
    clusters: BTreeMap<ClusterKey, ClusterMetrics>,
    /// Those of which more is told than their phase.
    shown: BTreeSet<ClusterKey>,
}

/// All of them.
#[derive(Default)]
pub(super) struct OfClusters {
    known: Mutex<Known>,
    phases: Family<Phase, Gauge>,
    ready: Family<Labels, Gauge>,
    drifted: Family<Labels, Gauge>,
    backed_up: Family<Labels, Gauge>,
    certificates_end: Family<Labels, Gauge>,
}

impl OfClusters {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("clusters", "Clusters that are served, by phase", self.phases.clone());
        registry.register("cluster_ready", "Whether a cluster is Ready", self.ready.clone());
        registry.register("cluster_drifted", "Whether hosts of a cluster differ from its description", self.drifted.clone());
        let help = "When the last backup by a cluster's schedule ended well, or the Cluster was made, in seconds since 1970";
        registry.register("cluster_backup_timestamp_seconds", help, self.backed_up.clone());
        let help = "When the first certificate of a cluster ends, in seconds since 1970";
        registry.register("certificate_end_seconds", help, self.certificates_end.clone());
    }

    /// Takes how a cluster is; nothing if there is none any more.
    pub(super) fn take(&self, key: &ClusterKey, metrics: Option<ClusterMetrics>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.clusters.get(key) == metrics.as_ref() {
            return;
        }
        if let Some(before) = known.clusters.remove(key) {
            self.phases.get_or_create(&Phase { phase: before.phase }).dec();
        }
        let labels = Labels { group: key.group.name().to_owned(), cluster: key.name.clone() };
        let Some(metrics) = metrics else {
            known.shown.remove(key);
            for family in [&self.ready, &self.drifted, &self.backed_up, &self.certificates_end] {
                family.remove(&labels);
            }
            return;
        };
        self.phases.get_or_create(&Phase { phase: metrics.phase.clone() }).inc();
        if known.shown.len() < MOST {
            known.shown.insert(key.clone());
        }
        if known.shown.contains(key) {
            self.show(&labels, &metrics);
        }
        known.clusters.insert(key.clone(), metrics);
    }

    fn show(&self, labels: &Labels, metrics: &ClusterMetrics) {
        self.ready.get_or_create(labels).set(metrics.is_ready.into());
        self.drifted.get_or_create(labels).set(metrics.is_drifted.into());
        for (family, at) in [(&self.backed_up, metrics.backed_up), (&self.certificates_end, metrics.certificates_end)] {
            match at {
                Some(at) => drop(family.get_or_create(labels).set(at)),
                // Nobody is to be called for what nobody wants any more, or what is no more.
                None => drop(family.remove(labels)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use kok_crds::model::Schedule;

    use super::super::super::group::Group;
    use super::super::super::served::Served;
    use super::super::Metrics;
    use super::*;

    fn key(name: &str) -> ClusterKey {
        ClusterKey { group: Group::KubeOnKube, name: name.to_owned() }
    }

    fn in_phase(phase: &str) -> ClusterMetrics {
        ClusterMetrics { phase: phase.to_owned(), is_ready: phase == "Ready", is_drifted: false, backed_up: None, certificates_end: None }
    }

    #[test]
    fn clusters_come_and_go() {
        let metrics = Metrics::default();
        metrics.cluster(&key("a"), Some(in_phase("Ready")));
        metrics.cluster(&key("b"), Some(ClusterMetrics { is_drifted: true, backed_up: Some(1_795_737_620), ..in_phase("Ready") }));
        metrics.cluster(&key("b"), Some(ClusterMetrics { is_drifted: true, backed_up: Some(1_795_737_620), ..in_phase("Degraded") }));
        let of = |what: &str, cluster: &str, value: i64| {
            format!("kokctl_cluster_{what}{{group=\"kubeonkube.clay.io\",cluster=\"{cluster}\"}} {value}\n")
        };
        let text = metrics.text();
        for line in [
            "kokctl_clusters{phase=\"Ready\"} 1\n".to_owned(),
            "kokctl_clusters{phase=\"Degraded\"} 1\n".to_owned(),
            of("ready", "a", 1),
            of("ready", "b", 0),
            of("drifted", "b", 1),
            of("backup_timestamp_seconds", "b", 1_795_737_620),
        ] {
            assert!(text.contains(&line), "{line}{text}");
        }
        // Its schedule is gone, and then the Cluster.
        metrics.cluster(&key("b"), Some(in_phase("Degraded")));
        let text = metrics.text();
        assert!(!text.contains("kokctl_cluster_backup_timestamp_seconds{") && text.contains(&of("drifted", "b", 0)), "{text}");
        metrics.cluster(&key("b"), None);
        let text = metrics.text();
        assert!(!text.contains("cluster=\"b\"") && text.contains("kokctl_clusters{phase=\"Degraded\"} 0\n"), "{text}");
    }

    /// Nobody is to be called for what somebody has suspended.
    #[test]
    fn a_suspended_cluster_that_works_is_ready() {
        let of = |ready: &str| {
            let condition = serde_json::json!({"type": "Ready", "status": ready});
            let status = serde_json::json!({"phase": "Suspended", "clusterConditions": [condition]});
            let object = serde_json::json!({"apiVersion": "v1", "kind": "Cluster", "metadata": {}, "spec": {}, "status": status});
            let cluster = Served::from_cluster(&serde_json::from_value(object.clone()).unwrap());
            let told = ClusterMetrics::from_cluster(&object, &View { cluster: Some(cluster), ..View::default() });
            (told.phase, told.is_ready)
        };
        assert_eq!(["True", "False"].map(of), [("Suspended".to_owned(), true), ("Suspended".to_owned(), false)]);
    }

    /// Whoever waits for the first backup is told as of one that is late.
    #[test]
    fn a_backup_that_was_never_made_counts_from_the_cluster() {
        let cluster = Served { created: 7, backups: Schedule::parse("@daily").ok(), ..Served::default() };
        let of =
            |cluster: Served| ClusterMetrics::from_cluster(&Value::Null, &View { cluster: Some(cluster), ..View::default() }).backed_up;
        assert_eq!(of(cluster.clone()), Some(7));
        assert_eq!(of(Served { backups: None, ..cluster }), None);
    }

    #[test]
    fn certificates_end_when_the_status_says_it() {
        let metrics = Metrics::default();
        let of = |status: Value| ClusterMetrics::from_cluster(&serde_json::json!({"status": status}), &View::default());
        metrics
            .cluster(&key("a"), Some(of(serde_json::json!({"phase": "Ready", "certificates": {"earliestEnd": "2027-11-27T17:33:15Z"}}))));
        let line = "kokctl_certificate_end_seconds{group=\"kubeonkube.clay.io\",cluster=\"a\"} 1827336795\n";
        assert!(metrics.text().contains(line), "{}", metrics.text());
        // It was reset, and has none.
        metrics.cluster(&key("a"), Some(of(serde_json::json!({"phase": "Pending"}))));
        assert!(!metrics.text().contains("kokctl_certificate_end_seconds{"));
    }

    #[test]
    fn of_very_many_only_phases_are_counted() {
        let metrics = Metrics::default();
        (0..=MOST).for_each(|number| metrics.cluster(&key(&format!("c{number}")), Some(in_phase("Ready"))));
        let text = metrics.text();
        assert_eq!(text.matches("kokctl_cluster_ready{").count(), MOST);
        assert!(text.contains(&format!("kokctl_clusters{{phase=\"Ready\"}} {}\n", MOST + 1)), "{text}");
        // Those that are shown are followed, and the place of one that is gone is another one's.
        metrics.cluster(&key("c7"), Some(in_phase("Degraded")));
        metrics.cluster(&key("c8"), None);
        metrics.cluster(&key(&format!("c{MOST}")), Some(ClusterMetrics { is_drifted: true, ..in_phase("Ready") }));
        let text = metrics.text();
        assert!(text.contains("kokctl_cluster_ready{group=\"kubeonkube.clay.io\",cluster=\"c7\"} 0\n"), "{text}");
        assert!(text.contains(&format!("kokctl_cluster_drifted{{group=\"kubeonkube.clay.io\",cluster=\"c{MOST}\"}} 1\n")), "{text}");
    }
}
