//! The end of a node's object.

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{KubernetesState, Look, Observations};
use crate::operations::KUBECTL;
use crate::operations::ready::unanswered;
use crate::resources::Act;
use crate::script::Fragment;
use crate::shell::quote;

/// The cluster has no node of this name. Its pods are deleted by the cluster then, as those of a node that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoveNode {
    /// Name of the node.
    pub node: String,
}

impl RemoveNode {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match seen!(&seen.kubernetes) {
            KubernetesState::Absent => Verdict::Same,
            KubernetesState::Ready { nodes, .. } if !nodes.contains_key(&self.node) => Verdict::Same,
            KubernetesState::Ready { .. } => Verdict::differs(ChangeKind::Delete, "the cluster still counts it as a node"),
            state => unanswered(ChangeKind::Delete, state),
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let node = quote(&self.node);
        Act::Script(Fragment::text(format!("{KUBECTL}kube delete node --ignore-not-found --timeout=60s {node} >/dev/null\n")))
    }

    pub(super) fn title(&self) -> String {
        format!("node {} gone", self.node)
    }
}
