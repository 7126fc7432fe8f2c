//! What is told of each cluster.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use serde_json::Value;

use super::super::drift::DRIFTED;
use super::super::group::ClusterKey;
use super::super::made::{Outcome, Why};
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
pub(in crate::operator) struct Told {
    phase: String,
    is_drifted: bool,
    /// When the last backup by its schedule ended well, in seconds since 1970.
    backed_up: Option<i64>,
}

impl Told {
    /// What a Cluster says, and what the operator has made for it.
    pub(in crate::operator) fn of(cluster: &Value, view: &View) -> Self {
        let drifted = object::condition(cluster, "clusterConditions", DRIFTED).and_then(|it| object::text(it, "/status"));
        let backups = view.operations.iter().filter_map(|operation| operation.made.as_ref());
        let backups = backups.filter(|made| made.why == Why::Backup && made.outcome == Outcome::Succeeded);
        Self {
            phase: object::text(cluster, "/status/phase").unwrap_or(PENDING).to_owned(),
            is_drifted: drifted == Some("True"),
            backed_up: backups.map(|made| made.ended).max(),
        }
    }
}

/// All of them.
#[derive(Default)]
pub(super) struct OfClusters {
    known: Mutex<BTreeMap<ClusterKey, Told>>,
    phases: Family<Phase, Gauge>,
    ready: Family<Labels, Gauge>,
    drifted: Family<Labels, Gauge>,
    backed_up: Family<Labels, Gauge>,
}

impl OfClusters {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("clusters", "Clusters that are served, by phase", self.phases.clone());
        registry.register("cluster_ready", "Whether a cluster is Ready", self.ready.clone());
        registry.register("cluster_drifted", "Whether hosts of a cluster differ from its description", self.drifted.clone());
        let help = "When the last backup by a cluster's schedule ended well, in seconds since 1970";
        registry.register("cluster_backup_timestamp_seconds", help, self.backed_up.clone());
    }

    /// Takes how a cluster is; nothing if there is none any more.
    pub(super) fn take(&self, key: &ClusterKey, told: Option<Told>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.get(key) == told.as_ref() {
            return;
        }
        if let Some(before) = known.remove(key) {
            self.phases.get_or_create(&Phase { phase: before.phase }).dec();
        }
        let labels = Labels { group: key.group.name().to_owned(), cluster: key.name.clone() };
        let Some(told) = told else {
            for family in [&self.ready, &self.drifted, &self.backed_up] {
                family.remove(&labels);
            }
            return;
        };
        self.phases.get_or_create(&Phase { phase: told.phase.clone() }).inc();
        if known.len() < MOST {
            self.ready.get_or_create(&labels).set((told.phase == "Ready").into());
            self.drifted.get_or_create(&labels).set(told.is_drifted.into());
            if let Some(at) = told.backed_up {
                self.backed_up.get_or_create(&labels).set(at);
            }
        }
        known.insert(key.clone(), told);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::group::Group;
    use super::super::Metrics;
    use super::*;

    fn key(name: &str) -> ClusterKey {
        ClusterKey { group: Group::KubeOnKube, name: name.to_owned() }
    }

    fn told(phase: &str) -> Told {
        Told { phase: phase.to_owned(), is_drifted: false, backed_up: None }
    }

    #[test]
    fn clusters_come_and_go() {
        let metrics = Metrics::default();
        metrics.cluster(&key("a"), Some(told("Ready")));
        metrics.cluster(&key("b"), Some(Told { is_drifted: true, backed_up: Some(1_795_737_620), ..told("Ready") }));
        metrics.cluster(&key("b"), Some(Told { is_drifted: true, backed_up: Some(1_795_737_620), ..told("Degraded") }));
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
        metrics.cluster(&key("b"), None);
        let text = metrics.text();
        assert!(!text.contains("cluster=\"b\"") && text.contains("kokctl_clusters{phase=\"Degraded\"} 0\n"), "{text}");
    }

    #[test]
    fn of_very_many_only_phases_are_counted() {
        let metrics = Metrics::default();
        (0..=MOST).for_each(|number| metrics.cluster(&key(&format!("c{number}")), Some(told("Ready"))));
        let text = metrics.text();
        assert_eq!(text.matches("kokctl_cluster_ready{").count(), MOST);
        assert!(text.contains(&format!("kokctl_clusters{{phase=\"Ready\"}} {}\n", MOST + 1)), "{text}");
    }
}
