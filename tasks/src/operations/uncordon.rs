//! Letting new pods come to nodes again.

use serde_json::json;

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::drain::{CORDONED_BY, Cordon, Cordoner};
use crate::observe::{KubernetesState, Look, Observations};
use crate::operations::KUBECTL;
use crate::operations::ready::unanswered;
use crate::resources::Act;
use crate::script::Fragment;
use crate::shell::quote;

/// These nodes take new pods again, if it was kokctl that kept them away for this reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UncordonNodes {
    /// The nodes.
    pub nodes: Vec<String>,
    /// For which reason they may be cordoned; what was cut off is lifted by a word, too.
    pub by: Cordoner,
}

impl UncordonNodes {
    fn lifts(&self, cordon: Cordon) -> bool {
        cordon.is_of_run() || cordon == Cordon::Ours(self.by)
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        let cordoned: Vec<&str> = match state {
            KubernetesState::Ready { nodes, .. } => {
                let of_ours = self.nodes.iter().filter(|name| nodes.get(*name).is_some_and(|node| self.lifts(node.cordon)));
                of_ours.map(String::as_str).collect()
            }
            // Nobody who does not answer has a cordon of which we know, and nothing else waits for this.
            KubernetesState::Absent => Vec::new(),
            state => return unanswered(ChangeKind::Uncordon, state),
        };
        if cordoned.is_empty() {
            return Verdict::Same;
        }
        Verdict::differs(ChangeKind::Uncordon, format!("kokctl keeps new pods away from {}", kok_crds::listed(cordoned)))
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let mut script = Fragment::text(KUBECTL);
        for node in &self.nodes {
            script.line(&lift(node, &[Cordoner::Run, self.by]));
        }
        Act::Script(script)
    }

    pub(super) fn title(&self) -> String {
        match self.nodes.as_slice() {
            [node] => format!("node {node} schedulable"),
            _ => "nodes schedulable".to_owned(),
        }
    }
}

/// Lines that lift a cordon of ours, if it is for one of these reasons. The API compares and changes at once, so that no other cordon is hit. An API server
/// that does not say who has cordoned the node fails them: a word in a `case` alone would be taken for nobody's.
pub(super) fn lift(node: &str, by: &[Cordoner]) -> String {
    let node = quote(node);
    let path = format!("/metadata/annotations/{}", CORDONED_BY.replace('/', "~1"));
    let cases: String = by
        .iter()
        .map(|by| {
            let patch = json!([
                {"op": "test", "path": path, "value": by.as_str()},
                {"op": "remove", "path": path},
                {"op": "add", "path": "/spec/unschedulable", "value": false},
            ]);
            format!("{}) kube patch node {node} --type=json -p {} >/dev/null ;; ", by.as_str(), quote(&patch.to_string()))
        })
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .collect();
    let annotation = CORDONED_BY.replace('.', "\\.");
    format!(
        "cordoned_by=$(kube get node {node} --ignore-not-found -o jsonpath='{{.metadata.annotations.{annotation}}}') || exit 1\n\
         case $cordoned_by in {cases}esac"
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "these are tests")]
mod tests {
    use std::process::Command;

    use super::{Cordoner, lift};

    /// What is not known must not look like what is done.
    #[test]
    fn an_api_server_that_does_not_answer_fails_it() {
        for (kube, succeeds) in [("return 1", false), ("echo somebody", true), (":", true)] {
            let script = format!("kube() {{ {kube}; }}\n{}\n", lift("cp1", &[Cordoner::Run]));
            let status = Command::new("sh").arg("-c").arg(script).status().unwrap();
            assert_eq!(status.success(), succeeds, "{kube}");
        }
    }
}
