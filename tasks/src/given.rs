//! What kokctl has given a node by the file's word, so that it can take it back when the file no longer says so. It stands on the node itself.

use std::collections::BTreeSet;

use kok_crds::model::Host;
use serde::{Deserialize, Serialize};

/// The annotation of a node that says it.
pub const ANNOTATION: &str = "kokctl.io/given";

/// Labels and annotations by their keys, taints as `key:effect`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Given {
    /// Keys of labels.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<String>,
    /// Keys of annotations.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub annotations: BTreeSet<String>,
    /// Taints, without their values.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub taints: BTreeSet<String>,
}

/// The taint that keeps work away from control planes that are no workers (kubeadm's `mark-control-plane`).
const OF_CONTROL_PLANES: &str = "node-role.kubernetes.io/control-plane:NoSchedule";

impl Given {
    /// What the file gives a host, besides what its roles do.
    #[must_use]
    pub fn by(host: &Host) -> Self {
        let taints = host.taints.iter().map(|taint| format!("{}:{}", taint.key, taint.effect.as_str()));
        Self {
            labels: host.labels.keys().cloned().collect(),
            annotations: host.annotations.keys().cloned().collect(),
            taints: taints.collect(),
        }
    }

    /// What is to be taken back of what a host was given once.
    #[must_use]
    pub fn taken_back(&self, host: &Host) -> Self {
        let wanted = Self::by(host);
        let less = |given: &BTreeSet<String>, wanted: &BTreeSet<String>| given.difference(wanted).cloned().collect::<BTreeSet<_>>();
        let mut taints = less(&self.taints, &wanted.taints);
        // A control plane that has become a worker, too. Whoever wants that taint all the same has it in the file.
        let by_role = host.roles.control_plane && host.roles.worker && !wanted.taints.contains(OF_CONTROL_PLANES);
        taints.extend(by_role.then(|| OF_CONTROL_PLANES.to_owned()));
        if host.roles.control_plane && !host.roles.worker {
            taints.remove(OF_CONTROL_PLANES);
        }
        Self { labels: less(&self.labels, &wanted.labels), annotations: less(&self.annotations, &wanted.annotations), taints }
    }

    /// Whether it is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.annotations.is_empty() && self.taints.is_empty()
    }

    /// What the annotation says; what can't be read says nothing, and nothing is taken back by it.
    #[must_use]
    pub fn read(text: Option<&str>) -> Self {
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}

/// A taint without its value.
#[must_use]
pub fn without_value(taint: &str) -> String {
    let (key, rest) = taint.split_once('=').unwrap_or((taint, taint));
    let effect = rest.rsplit_once(':').map_or("", |(_, effect)| effect);
    format!("{key}:{effect}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taint_is_known_by_key_and_effect() {
        assert_eq!(without_value("a/b=c:NoSchedule"), "a/b:NoSchedule");
        assert_eq!(without_value("a/b=:NoExecute"), "a/b:NoExecute");
        assert_eq!(Given::read(Some("{\"labels\":[\"a\"]}")).labels.len(), 1);
        assert!(Given::read(Some("no JSON")).is_empty() && Given::read(None).is_empty());
    }
}
