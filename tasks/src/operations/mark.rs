//! Labels, annotations and taints of a node.

use std::collections::BTreeMap;

use serde_json::json;

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{KubernetesState, Look, Observations};
use crate::operations::KUBECTL;
use crate::operations::ready::unanswered;
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::shell::quote;

/// Labels, annotations and taints that a node has to have; others that it has are left alone. Asked for on a control plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkNode {
    /// The node.
    pub node: String,
    /// Labels with their values.
    pub labels: BTreeMap<String, String>,
    /// Annotations with their values.
    pub annotations: BTreeMap<String, String>,
    /// Taints as `key=value:effect`.
    pub taints: Vec<String>,
}

impl MarkNode {
    pub(super) fn looks(&self) -> Vec<Look> {
        [Look::Kubernetes].into_iter().chain((!self.annotations.is_empty()).then_some(Look::NodeAnnotations)).collect()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        if !matches!(state, KubernetesState::Ready { .. }) {
            return unanswered(ChangeKind::Mark, state);
        }
        let Some(node) = state.node(&self.node) else {
            return Verdict::differs(ChangeKind::Mark, format!("node {} does not exist yet", self.node));
        };
        let label = self.labels.iter().find(|(key, value)| node.labels.get(*key) != Some(value));
        if let Some((key, value)) = label {
            return Verdict::differs(ChangeKind::Mark, format!("it lacks the label {key}={value}"));
        }
        if !self.annotations.is_empty() {
            match seen!(&seen.node_annotations) {
                Err(said) => return unanswered(ChangeKind::Mark, &KubernetesState::Unanswered(said.clone())),
                Ok(nodes) => {
                    if let Some(key) = self.lacks_annotation(nodes) {
                        return Verdict::differs(ChangeKind::Mark, format!("it lacks the annotation {key}"));
                    }
                }
            }
        }
        match self.taints.iter().find(|taint| !node.taints.contains(taint)) {
            Some(taint) => Verdict::differs(ChangeKind::Mark, format!("it lacks the taint {taint}")),
            None => Verdict::Same,
        }
    }

    /// The key of the first annotation that the node does not have, or has with another value.
    fn lacks_annotation(&self, nodes: &BTreeMap<String, BTreeMap<String, String>>) -> Option<&String> {
        let own = nodes.get(&self.node);
        self.annotations.iter().find(|(key, value)| own.and_then(|own| own.get(*key)) != Some(value)).map(|(key, _)| key)
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let node = quote(&self.node);
        let mut script = Fragment::text(KUBECTL);
        // The kubelet registers the node a moment after it started; `wait` is kubectl's own watch, with a deadline below the step's, so that
        // a node that does not come is a failure and not a riddle.
        script.line(&format!("kube wait --for=create --timeout=90s node/{node} >/dev/null"));
        if !self.labels.is_empty() {
            let labels: Vec<String> = self.labels.iter().map(|(key, value)| quote(&format!("{key}={value}"))).collect();
            script.line(&format!("kube label --overwrite node {node} {} >/dev/null", labels.join(" ")));
        }
        if !self.annotations.is_empty() {
            // Any text may be a value, and one may be longer than an argument.
            let patch = json!({"metadata": {"annotations": self.annotations}}).to_string();
            let command = format!("kube patch node {node} --type=merge --patch-file=/dev/stdin >/dev/null");
            script.feed(Content::Bytes(patch.as_bytes()), &command);
        }
        if !self.taints.is_empty() {
            let taints: Vec<String> = self.taints.iter().map(|taint| quote(taint)).collect();
            script.line(&format!("kube taint --overwrite node {node} {} >/dev/null", taints.join(" ")));
        }
        Act::Script(script)
    }

    pub(super) fn title(&self) -> String {
        let what = if self.annotations.is_empty() { "labels and taints" } else { "labels, annotations and taints" };
        format!("{what} of node {}", self.node)
    }
}
