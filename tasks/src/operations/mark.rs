//! Labels and taints of a node.

use std::collections::BTreeMap;

use crate::change::{Change, Verdict, seen};
use crate::observe::{KubernetesState, Look, Observations};
use crate::operations::KUBECTL;
use crate::operations::ready::unanswered;
use crate::resources::Act;
use crate::script::Fragment;
use crate::shell::quote;

/// Labels and taints that a node has to have; others that it has are left alone. Asked for on a control plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkNode {
    /// The node.
    pub node: String,
    /// Labels with their values.
    pub labels: BTreeMap<String, String>,
    /// Taints as `key=value:effect`.
    pub taints: Vec<String>,
}

impl MarkNode {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        if !matches!(state, KubernetesState::Ready { .. }) {
            return unanswered("mark", state);
        }
        let Some(node) = state.node(&self.node) else {
            return Verdict::differs("mark", format!("node {} does not exist yet", self.node));
        };
        let label = self.labels.iter().find(|(key, value)| node.labels.get(*key) != Some(value));
        if let Some((key, value)) = label {
            return Verdict::differs("mark", format!("it lacks the label {key}={value}"));
        }
        match self.taints.iter().find(|taint| !node.taints.contains(taint)) {
            Some(taint) => Verdict::differs("mark", format!("it lacks the taint {taint}")),
            None => Verdict::Same,
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let node = quote(&self.node);
        let mut script = KUBECTL.to_owned();
        // The kubelet registers the node a moment after it started; `wait` is kubectl's own watch, with a deadline below the step's, so that
        // a node that does not come is a failure and not a riddle.
        script.push_str(&format!("kube wait --for=create --timeout=90s node/{node} >/dev/null\n"));
        if !self.labels.is_empty() {
            let labels: Vec<String> = self.labels.iter().map(|(key, value)| quote(&format!("{key}={value}"))).collect();
            script.push_str(&format!("kube label --overwrite node {node} {} >/dev/null\n", labels.join(" ")));
        }
        if !self.taints.is_empty() {
            let taints: Vec<String> = self.taints.iter().map(|taint| quote(taint)).collect();
            script.push_str(&format!("kube taint --overwrite node {node} {} >/dev/null\n", taints.join(" ")));
        }
        Act::Script(Fragment::text(script))
    }

    pub(super) fn title(&self) -> String {
        format!("labels and taints of node {}", self.node)
    }
}
