//! Pods and budgets as the API has them, of which little is kept.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::observe::list;

/// What runs on nodes, and what protects it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Workload {
    /// Pods by node, of the nodes that were asked for.
    pub pods: BTreeMap<String, Vec<Pod>>,
    /// All budgets of the cluster.
    pub budgets: Vec<Budget>,
}

/// A pod.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// What makes it again.
    pub owner: PodOwner,
    /// Whether the kubelet runs it by itself, out of a file.
    pub is_mirror: bool,
    /// Whether all that it had to do is done.
    pub has_ended: bool,
    /// Whether it was told to end.
    pub is_leaving: bool,
    /// Whether it has data that are lost with it.
    pub has_empty_dir: bool,
}

/// What makes a pod again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PodOwner {
    /// Nothing.
    #[default]
    Nobody,
    /// A DaemonSet, on the same node.
    DaemonSet,
    /// Another controller, anywhere.
    Another,
}

impl Pod {
    /// `namespace/name`.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// A PodDisruptionBudget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Which pods of the namespace it protects.
    pub selector: Selector,
    /// How many may be away more than are.
    pub allowed: i64,
    /// How many are healthy.
    pub healthy: i64,
    /// How many have to be.
    pub desired: i64,
    /// How many it covers.
    pub expected: i64,
}

impl Budget {
    /// Whether it protects this pod.
    #[must_use]
    pub fn covers(&self, pod: &Pod) -> bool {
        self.namespace == pod.namespace && self.selector.takes(&pod.labels)
    }

    /// Whether no disruption is ever allowed, as with `maxUnavailable: 0`.
    #[must_use]
    pub const fn is_never_met(&self) -> bool {
        self.expected > 0 && self.desired >= self.expected
    }
}

/// A label selector. One that is empty takes every pod, one that is not there takes none (`policy/v1`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Selector {
    match_labels: BTreeMap<String, String>,
    match_expressions: Vec<Expression>,
    #[serde(skip)]
    is_absent: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
struct Expression {
    key: String,
    operator: String,
    values: Vec<String>,
}

impl Expression {
    fn takes(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        match self.operator.as_str() {
            "In" => value.is_some_and(|value| self.values.contains(value)),
            "NotIn" => value.is_none_or(|value| !self.values.contains(value)),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            // What a later version may have is taken for one that protects: then more is said than has to be.
            _ => true,
        }
    }
}

impl Selector {
    /// Whether pods with these labels are meant.
    #[must_use]
    pub fn takes(&self, labels: &BTreeMap<String, String>) -> bool {
        let has = |(key, value): (&String, &String)| labels.get(key) == Some(value);
        !self.is_absent && self.match_labels.iter().all(has) && self.match_expressions.iter().all(|it| it.takes(labels))
    }

    /// One by labels.
    #[must_use]
    pub fn of_labels(match_labels: BTreeMap<String, String>) -> Self {
        Self { match_labels, ..Self::default() }
    }
}

impl fmt::Display for Selector {
    /// As `kubectl -l` takes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels = self.match_labels.iter().map(|(key, value)| format!("{key}={value}"));
        let expressions = self.match_expressions.iter().map(|Expression { key, operator, values }| match operator.as_str() {
            "Exists" => key.clone(),
            "DoesNotExist" => format!("!{key}"),
            other => format!("{key} {} ({})", other.to_lowercase(), values.join(",")),
        });
        let all: Vec<String> = labels.chain(expressions).collect();
        f.write_str(if all.is_empty() { "all pods of the namespace".to_owned() } else { all.join(",") }.as_str())
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    namespace: String,
    name: String,
    labels: BTreeMap<String, String>,
    annotations: Annotations,
    owner_references: Vec<Reference>,
    deletion_timestamp: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Annotations {
    #[serde(rename = "kubernetes.io/config.mirror")]
    mirror: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Reference {
    kind: String,
    controller: bool,
}

#[derive(Deserialize)]
struct ListedPod {
    metadata: Metadata,
    #[serde(default)]
    spec: PodSpec,
    #[serde(default)]
    status: PodStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodSpec {
    volumes: Vec<Volume>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Volume {
    empty_dir: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodStatus {
    phase: String,
}

/// The pods of a node; nothing if this is no list of pods.
pub(crate) fn read_pods(body: &str) -> Option<Vec<Pod>> {
    let pod = |ListedPod { metadata, spec, status }: ListedPod| Pod {
        owner: match metadata.owner_references.iter().find(|owner| owner.controller) {
            None => PodOwner::Nobody,
            Some(owner) if owner.kind == "DaemonSet" => PodOwner::DaemonSet,
            Some(_) => PodOwner::Another,
        },
        namespace: metadata.namespace,
        name: metadata.name,
        labels: metadata.labels,
        is_mirror: metadata.annotations.mirror.is_some(),
        has_ended: ["Succeeded", "Failed"].contains(&status.phase.as_str()),
        is_leaving: metadata.deletion_timestamp.is_some(),
        has_empty_dir: spec.volumes.iter().any(|volume| volume.empty_dir.is_some()),
    };
    Some(list::<ListedPod>(body, "PodList")?.into_iter().map(pod).collect())
}

#[derive(Deserialize)]
struct ListedBudget {
    metadata: Metadata,
    #[serde(default)]
    spec: BudgetSpec,
    #[serde(default)]
    status: BudgetStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct BudgetSpec {
    selector: Option<Selector>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BudgetStatus {
    disruptions_allowed: i64,
    current_healthy: i64,
    desired_healthy: i64,
    expected_pods: i64,
}

/// The budgets; nothing if this is no list of them.
pub(crate) fn read_budgets(body: &str) -> Option<Vec<Budget>> {
    let budget = |ListedBudget { metadata, spec, status }: ListedBudget| Budget {
        namespace: metadata.namespace,
        name: metadata.name,
        selector: spec.selector.unwrap_or_else(|| Selector { is_absent: true, ..Selector::default() }),
        allowed: status.disruptions_allowed,
        healthy: status.current_healthy,
        desired: status.desired_healthy,
        expected: status.expected_pods,
    };
    Some(list::<ListedBudget>(body, "PodDisruptionBudgetList")?.into_iter().map(budget).collect())
}
