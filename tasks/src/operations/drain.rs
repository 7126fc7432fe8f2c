//! Taking the pods off a node.

use serde_json::json;

use super::uncordon::lift;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::drain::{Cordoner, Drain, DrainSettings, judge};
use crate::observe::{KubernetesState, Look, Observations};
use crate::operations::KUBECTL;
use crate::operations::ready::unanswered;
use crate::resources::Act;
use crate::script::Fragment;
use crate::shell::quote;

/// No pod is left on the node that has to leave it. Where they don't leave in time, the node takes new pods again, if it was a run of ours that kept
/// them away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrainNode {
    /// The node.
    pub node: String,
    /// How.
    pub settings: DrainSettings,
}

/// So many pods are named.
const NAMED: usize = 3;

impl DrainNode {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes, Look::Workload(self.node.clone())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        if !matches!(state, KubernetesState::Ready { .. }) {
            return unanswered(ChangeKind::Evict, state);
        }
        let workload = match seen!(&seen.workload) {
            Ok(workload) => workload,
            Err(reason) => return unanswered(ChangeKind::Evict, &KubernetesState::Unanswered(reason.clone())),
        };
        let drain = judge(seen!(workload.pods.get(&self.node)), &workload.budgets, &self.settings);
        // A kubelet that is silent ends no pod, and nobody can wait for that.
        let is_silent = state.node(&self.node).is_none_or(|node| node.silent);
        let drain = if is_silent { Drain { ending: Vec::new(), ..drain } } else { drain };
        if drain.is_done() {
            return Verdict::Same;
        }
        let blocked = drain.blocked.iter().map(|(pod, blocker)| format!("pod {pod} stays: {blocker}"));
        let ending = drain.ending.iter().map(|pod| format!("pod {pod} is ending"));
        let evicted = drain.evict.iter().map(|pod| format!("pod {pod} has to leave"));
        let all: Vec<String> = blocked.chain(evicted).chain(ending).collect();
        let more = all.len().saturating_sub(NAMED);
        let mut because = all.into_iter().take(NAMED).collect::<Vec<_>>().join("; ");
        if more > 0 {
            because.push_str(&format!("; and {more} more"));
        }
        Verdict::differs(ChangeKind::Evict, because)
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let mut script = Fragment::text(KUBECTL);
        script.line(&self.evictions());
        let mut give_up = Fragment::text(KUBECTL);
        give_up.line(&lift(&self.node, &[Cordoner::Run]));
        Act::Until { script, give_up: Some(give_up) }
    }

    /// Asks for an eviction of each pod that has to leave. Only what will be answered again and again is a failure; a budget that allows none now, or an
    /// API server on its way out, is asked again. By their UIDs, so that none that
    /// has taken the place of another is hit.
    fn evictions(&self) -> String {
        let node = quote(&format!("spec.nodeName={},status.phase!=Succeeded,status.phase!=Failed", self.node));
        let grace = self.settings.grace_seconds.map(|seconds| format!(",\"gracePeriodSeconds\":{seconds}")).unwrap_or_default();
        let options = format!("{{\"preconditions\":{{\"uid\":\"%s\"}}{grace}}}");
        let (path, body) = if self.settings.force_budget {
            ("delete --raw", format!("{{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",{}", &options[1..]))
        } else {
            let head = json!({"apiVersion": "policy/v1", "kind": "Eviction"}).to_string();
            let head = head.trim_end_matches('}');
            ("create --raw", format!("{head},\"metadata\":{{\"namespace\":\"%s\",\"name\":\"%s\"}},\"deleteOptions\":{options}}}"))
        };
        let (suffix, values) =
            if self.settings.force_budget { ("", "\"$uid\"") } else { ("/eviction", "\"$namespace\" \"$name\" \"$uid\"") };
        let body = quote(&format!("{body}\\n"));
        format!(
            r#"kube get pods -A --field-selector {node} -o jsonpath='{{range .items[*]}}{{.metadata.namespace}} {{.metadata.name}} {{.metadata.uid}} {{.metadata.deletionTimestamp}}/{{.metadata.annotations.kubernetes\.io/config\.mirror}}/{{.metadata.ownerReferences[?(@.controller==true)].kind}}{{"\n"}}{{end}}' |
while read -r namespace name uid how; do
  case $how in //DaemonSet) continue;; //*) ;; *) continue;; esac
  said=$(printf {body} {values} | kube {path} "/api/v1/namespaces/$namespace/pods/$name{suffix}" -f - 2>&1) && continue
  case $said in *'being terminated'*) ;; *'(Forbidden)'*|*'denied the request'*|*'(Invalid)'*|*'(BadRequest)'*) printf '%s\n' "$said" >&2; exit 1;; esac
done"#
        )
    }

    pub(super) fn title(&self) -> String {
        format!("node {} drained", self.node)
    }
}
