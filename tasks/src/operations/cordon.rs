//! Keeping new pods away from a node.

use serde_json::json;

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::drain::{CORDONED_BY, Cordon, Cordoner};
use crate::observe::{KubernetesState, Look, Observations};
use crate::operations::KUBECTL;
use crate::operations::ready::unanswered;
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::shell::quote;

/// New pods are kept away from the node. A cordon of somebody else does as well, and stays theirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CordonNode {
    /// The node.
    pub node: String,
    /// Why.
    pub by: Cordoner,
}

impl CordonNode {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        if !matches!(state, KubernetesState::Ready { .. }) {
            return unanswered(ChangeKind::Cordon, state);
        }
        match (state.node(&self.node).map(|node| node.cordon), self.by) {
            // A node that does not exist takes no pods.
            (None | Some(Cordon::Others | Cordon::Ours(Cordoner::Word)), _) => Verdict::Same,
            (Some(Cordon::Ours(Cordoner::Run)), Cordoner::Run) => Verdict::Same,
            (Some(Cordon::Ours(Cordoner::Run)), Cordoner::Word) => {
                Verdict::differs(ChangeKind::Cordon, "it is cordoned for a run only, and the next one would lift that")
            }
            (Some(Cordon::None), _) => Verdict::differs(ChangeKind::Cordon, "it takes new pods"),
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let node = quote(&self.node);
        let patch = json!({"metadata": {"annotations": {CORDONED_BY: self.by.as_str()}}, "spec": {"unschedulable": true}}).to_string();
        let mut script = Fragment::text(KUBECTL);
        script.feed(Content::Bytes(patch.as_bytes()), &format!("kube patch node {node} --type=merge --patch-file=/dev/stdin >/dev/null"));
        Act::Script(script)
    }

    pub(super) fn title(&self) -> String {
        match self.by {
            Cordoner::Run => format!("node {} cordoned", self.node),
            Cordoner::Word => format!("node {} stays cordoned", self.node),
        }
    }
}
