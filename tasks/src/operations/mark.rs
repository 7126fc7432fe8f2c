//! Labels, annotations and taints of a node.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::given::{ANNOTATION, Given, without_value};
use crate::observe::{KubernetesState, Look, NodeState, Observations};
use crate::operations::KUBECTL;
use crate::operations::ready::unanswered;
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::shell::quote;

/// Labels, annotations and taints that a node has to have, and those that it was given once and is to have no more; others that it has are left alone.
/// Asked for on a control plane.
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
    /// What of these is written down as given.
    pub given: Given,
    /// What is taken back.
    pub back: Given,
}

/// Takes a patch, and makes it once the node is there: the kubelet registers it a moment after it started. `wait` is kubectl's own watch, with a
/// deadline below the step's, so that a node that does not come is a failure and not a riddle. It is asked only where the patch failed: a kubectl
/// costs a control plane a tenth of a second of a processor.
const PATCHED: &str = r#"patched() {
  patch=$(cat)
  patch_node() { printf '%s\n' "$patch" | kube patch node "$node" --type=merge --patch-file=/dev/stdin >/dev/null; }
  ! patch_node 2>/dev/null || return 0
  kube wait --for=create --timeout=90s "node/$node" >/dev/null && patch_node
}"#;

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
                Err(reason) => return unanswered(ChangeKind::Mark, &KubernetesState::Unanswered(reason.clone())),
                Ok(nodes) => {
                    if let Some(key) = self.lacks_annotation(nodes) {
                        return Verdict::differs(ChangeKind::Mark, format!("it lacks the annotation {key}"));
                    }
                }
            }
        }
        match self.taints.iter().find(|taint| !node.taints.contains(taint)) {
            Some(taint) => Verdict::differs(ChangeKind::Mark, format!("it lacks the taint {taint}")),
            None => self.left(node),
        }
    }

    /// What the node has that the file no longer gives it, and whether it is written down what it was given.
    fn left(&self, node: &NodeState) -> Verdict {
        let label = self.back.labels.iter().find(|key| node.labels.contains_key(*key)).map(|key| format!("label {key}"));
        let has_taint = |taint: &&String| node.taints.iter().any(|is| without_value(is) == **taint);
        let taint = || self.back.taints.iter().find(has_taint).map(|taint| format!("taint {taint}"));
        let annotation =
            || self.back.annotations.iter().find(|key| node.given.annotations.contains(*key)).map(|key| format!("annotation {key}"));
        match label.or_else(taint).or_else(annotation) {
            Some(what) => Verdict::differs(ChangeKind::Mark, format!("it has the {what}, which the file no longer gives it")),
            None if node.given != self.given => Verdict::differs(ChangeKind::Record, "it does not say what it was given by the file"),
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
        script.line(&format!("node={node}\n{PATCHED}"));
        // Any text may be a value, and one may be longer than an argument.
        let patch = json!({"metadata": {"labels": self.all_labels(), "annotations": self.all_annotations()}}).to_string();
        script.feed(Content::Bytes(patch.as_bytes()), "patched");
        if !self.taints.is_empty() {
            let taints: Vec<String> = self.taints.iter().map(|taint| quote(taint)).collect();
            script.line(&format!("kube taint --overwrite node {node} {} >/dev/null", taints.join(" ")));
        }
        // kubectl calls it an error if the node has none.
        for taint in &self.back.taints {
            script.line(&format!("kube taint node {node} {} >/dev/null 2>&1 || :", quote(&format!("{taint}-"))));
        }
        Act::Script(script)
    }

    /// Those that it is to have, and no value for those that it is not to have.
    fn all_labels(&self) -> Map<String, Value> {
        let back = self.back.labels.iter().map(|key| (key.clone(), Value::Null));
        back.chain(self.labels.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str())))).collect()
    }

    /// The same of annotations, with what says which of all these are the file's.
    fn all_annotations(&self) -> Map<String, Value> {
        let given = if self.given.is_empty() { Value::Null } else { json!(self.given).to_string().into() };
        let back = self.back.annotations.iter().map(|key| (key.clone(), Value::Null));
        let own = self.annotations.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str())));
        back.chain(own).chain([(ANNOTATION.to_owned(), given)]).collect()
    }

    pub(super) fn title(&self) -> String {
        let what = if self.annotations.is_empty() { "labels and taints" } else { "labels, annotations and taints" };
        format!("{what} of node {}", self.node)
    }
}
