//! What a Cluster says of how it is served.

use kok_crds::interval_seconds;
use kok_crds::model::Schedule;
use kube::api::DynamicObject;
use serde_json::Value;

use super::object::{self, DECLARATIVE, FINALIZER, RECONCILE_AT};

/// Seconds between two looks for drift, unless the Cluster says how many.
const DRIFT_SECONDS: i64 = 600;
/// Seconds that hosts have to be taken down, unless the Cluster says how many.
pub(super) const DELETION_SECONDS: i64 = 1800;
/// The phase of a Cluster of which nothing is begun.
pub(super) const SUSPENDED: &str = "Suspended";

/// A Cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Served {
    /// Tells it from another one of its name.
    pub(super) uid: String,
    /// Version of its spec.
    pub(super) generation: i64,
    /// In seconds since 1970.
    pub(super) created: i64,
    /// Whether nothing is begun about it.
    pub(super) is_suspended: bool,
    /// If its status says that it is suspended: the phase that it has without that.
    pub(super) before_suspension: Option<&'static str>,
    /// Whether it is changed whenever it is described otherwise.
    pub(super) is_declarative: bool,
    /// What an annotation says by which somebody asks for another run.
    pub(super) asked: String,
    /// Whether it is as it was to be when somebody changed it last.
    pub(super) is_ready: bool,
    /// Whether anything was ever begun about its hosts.
    pub(super) has_begun: bool,
    /// Whether there is a cluster on its hosts that has worked once.
    pub(super) was_founded: bool,
    /// When backups of it are made; nothing where nobody asks for them, or where a run would refuse what stands there.
    pub(super) backups: Option<Schedule>,
    pub(super) drift: ServedDrift,
    /// Whether its hosts are taken down before it goes.
    pub(super) resets: bool,
    /// Whether it does not go before the operator says so.
    pub(super) is_held: bool,
    /// If it is being deleted, how long its hosts may take to be taken down.
    pub(super) deleted: Option<Deleted>,
}

/// How long the hosts of a Cluster that is being deleted may take, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Deleted {
    /// When hosts that don't answer are waited for no longer: there is a third of the time left for the others.
    pub(super) last_chance: i64,
    /// When the Cluster goes.
    pub(super) deadline: i64,
}

/// What there is about hosts that differ from their description.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ServedDrift {
    /// Seconds between two looks; nothing if nobody looks.
    pub(super) interval: Option<i64>,
    /// Whether what differs is mended.
    pub(super) is_repaired: bool,
    /// When it was looked at last, in seconds since 1970.
    pub(super) checked_at: i64,
    /// In how much they differed then.
    pub(super) changes: i64,
}

impl Served {
    /// What a Cluster says.
    pub(super) fn from_cluster(cluster: &DynamicObject) -> Self {
        let (data, meta) = (&cluster.data, &cluster.metadata);
        let word = |field: &str| object::text(data, &format!("/spec/operator/{field}"));
        let number = |field: &str| data.pointer(&format!("/spec/operator/{field}")).and_then(Value::as_i64);
        let is_declarative = word("mode") == Some(DECLARATIVE);
        let deleted = meta.deletion_timestamp.as_ref().map(|time| time.0.as_second());
        let patience = number("deletionDeadlineSeconds").unwrap_or(DELETION_SECONDS);
        let phase = object::text(data, "/status/phase");
        let before_suspension = (phase == Some(SUSPENDED)).then(|| phase_by(object::condition(data, "clusterConditions", "Ready")));
        let phase = before_suspension.or(phase);
        // What stands among variables is known by the operation that has read them last.
        let schedule = if names_variables(data) { "/status/backupSchedule" } else { "/spec/backup/schedule" };
        // Said when a cluster works, and taken back when it is taken down.
        let has_kubeconfig = data.pointer("/status/certificates").is_some_and(|value| !value.is_null());
        Self {
            uid: meta.uid.clone().unwrap_or_default(),
            generation: meta.generation.unwrap_or_default(),
            created: object::created(meta),
            is_suspended: object::flag(data, "/spec/operator/suspend"),
            before_suspension,
            is_declarative,
            asked: meta.annotations.as_ref().and_then(|all| all.get(RECONCILE_AT)).cloned().unwrap_or_default(),
            is_ready: phase == Some("Ready"),
            has_begun: phase.is_some(),
            was_founded: phase == Some("Ready") || (phase == Some("Degraded") && has_kubeconfig),
            backups: object::text(data, schedule).and_then(|text| Schedule::parse(text).ok()),
            drift: ServedDrift::from_cluster(data, is_declarative),
            resets: word("deletionPolicy") == Some("Reset"),
            is_held: meta.finalizers.iter().flatten().any(|name| name == FINALIZER),
            deleted: deleted.map(|at| Deleted { last_chance: at + patience - patience / 3, deadline: at + patience }),
        }
    }
}

/// The phase of a Cluster by what was said last of whether it works.
pub(super) fn phase_by(ready: Option<&Value>) -> &'static str {
    let says = |field: &str, word: &str| ready.and_then(|ready| ready.get(field)).is_some_and(|found| found == word);
    match (says("status", "True"), says("status", "False") && !says("reason", "Reset")) {
        (true, _) => "Ready",
        (_, true) => "Degraded",
        _ => "Pending",
    }
}

/// Whether the settings of a Cluster are variables beside an inventory that it names, and not a part of it.
fn names_variables(cluster: &Value) -> bool {
    cluster.pointer("/spec/hostsConfRef").is_some()
}

impl ServedDrift {
    fn from_cluster(cluster: &Value, is_declarative: bool) -> Self {
        let policy = object::text(cluster, "/spec/operator/driftPolicy");
        let seconds_asked = object::text(cluster, "/spec/operator/driftInterval").and_then(interval_seconds);
        let interval = seconds_asked.and_then(|seconds| i64::try_from(seconds).ok()).unwrap_or(DRIFT_SECONDS);
        let checked = object::text(cluster, "/status/drift/checkedAt").and_then(|at| at.parse::<jiff::Timestamp>().ok());
        Self {
            // Nobody logs in to hosts of whom that was not asked.
            interval: (is_declarative || policy.is_some()).then_some(interval),
            is_repaired: is_declarative && policy == Some("Repair"),
            checked_at: checked.map(jiff::Timestamp::as_second).unwrap_or_default(),
            changes: cluster.pointer("/status/drift/changes").and_then(Value::as_i64).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use serde_json::json;

    use super::*;

    fn served(operator: Value, metadata: Value) -> Served {
        let mut meta = json!({"name": "c", "uid": "u", "generation": 3});
        meta.as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        let cluster =
            json!({"apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": "Cluster", "metadata": meta, "spec": {"operator": operator}});
        Served::from_cluster(&serde_json::from_value(cluster).unwrap())
    }

    #[test]
    fn a_cluster_that_says_nothing_is_changed_by_operations_alone() {
        let plain = served(json!({}), json!({}));
        assert_eq!(plain, Served { uid: "u".to_owned(), generation: 3, ..Served::default() });
        let watched = served(json!({"driftPolicy": "Observe"}), json!({}));
        assert_eq!((watched.drift.interval, watched.is_declarative), (Some(600), false));
        assert_eq!(served(json!({"driftInterval": "5m"}), json!({})).drift.interval, None);
        let declared = served(json!({"mode": "Declarative", "driftPolicy": "Repair", "driftInterval": "90s"}), json!({}));
        assert_eq!((declared.is_declarative, declared.drift.interval, declared.drift.is_repaired), (true, Some(90), true));
        assert!(!served(json!({"driftPolicy": "Repair"}), json!({})).drift.is_repaired, "also where the API server has let that pass");
    }

    #[test]
    fn a_cluster_that_has_never_worked_has_nothing_to_back_up() {
        let of = |status: Value| {
            let spec = json!({"backup": {"schedule": "@daily"}});
            let meta = json!({"name": "c", "creationTimestamp": "2026-11-27T00:00:00Z"});
            let object =
                json!({"apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": "Cluster", "metadata": meta, "spec": spec, "status": status});
            let served = Served::from_cluster(&serde_json::from_value(object).unwrap());
            assert!(served.backups.is_some() && served.created == 1_795_737_600);
            served.was_founded
        };
        assert!(of(json!({"phase": "Ready"})));
        let listed = json!({"apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "c"},
            "spec": {"hostsConfRef": {"name": "h"}}, "status": {"backupSchedule": "@daily"}});
        assert!(Served::from_cluster(&serde_json::from_value(listed).unwrap()).backups.is_some());
        assert!(of(json!({"phase": "Degraded", "certificates": {"kubeconfig": "s"}})), "an upgrade that failed");
        assert!(!of(json!({"phase": "Degraded"})) && !of(json!({"phase": "Pending", "certificates": null})) && !of(json!({})));
    }

    #[test]
    fn a_suspended_one_is_what_it_was_before() {
        let of = |ready: Value| {
            let status = json!({"phase": "Suspended", "clusterConditions": [ready]});
            let object = json!({"apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "c"}, "spec": {},
                "status": status});
            let served = Served::from_cluster(&serde_json::from_value(object).unwrap());
            (served.before_suspension, served.is_ready, served.was_founded)
        };
        assert_eq!(of(json!({"type": "Ready", "status": "True"})), (Some("Ready"), true, true));
        assert_eq!(of(json!({"type": "Ready", "status": "False", "reason": "StepsFailed"})), (Some("Degraded"), false, false));
        assert_eq!(of(json!({"type": "InputsReady", "status": "True"})), (Some("Pending"), false, false));
    }

    #[test]
    fn the_time_to_take_hosts_down_counts_from_the_deletion() {
        let at = "2026-01-31T12:00:00Z";
        let seconds = at.parse::<jiff::Timestamp>().unwrap().as_second();
        let deleted = json!({"deletionTimestamp": at, "finalizers": [FINALIZER]});
        let said = served(json!({"deletionPolicy": "Reset", "deletionDeadlineSeconds": 90}), deleted.clone());
        let until = Deleted { last_chance: seconds + 60, deadline: seconds + 90 };
        assert_eq!((said.deleted, said.resets, said.is_held), (Some(until), true, true));
        assert_eq!(served(json!({}), deleted).deleted.map(|deleted| deleted.deadline), Some(seconds + 1800));
    }
}
