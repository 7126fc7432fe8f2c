//! The nodes' shares of the pods' range, in the cluster.

use std::collections::BTreeMap;

use ipnet::Ipv4Net;

use crate::change::{Change, Verdict, seen};
use crate::observe::{KubernetesState, Look, Observations};
use crate::operations::KUBECTL;
use crate::operations::ready::unanswered;
use crate::resources::Act;
use crate::script::Fragment;
use crate::shell::quote;

/// Nodes say which share of the range is theirs. The API lets nobody change it once it is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeShares {
    /// Shares by node.
    pub shares: BTreeMap<String, Ipv4Net>,
}

impl NodeShares {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        if !matches!(state, KubernetesState::Ready { .. }) {
            return unanswered("record", state);
        }
        let differing = self.shares.iter().find_map(|(name, share)| match state.node(name).map(|node| node.pod_cidr) {
            None => Some(format!("node {name} does not exist yet")),
            Some(None) => Some(format!("node {name} does not say that the pods {share} are its own")),
            Some(Some(is)) if is != *share => Some(format!("node {name} says that its pods are {is}, and the host has {share}")),
            Some(Some(_)) => None,
        });
        differing.map_or(Verdict::Same, |because| Verdict::differs("record", because))
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let mut script = KUBECTL.to_owned();
        for (name, share) in &self.shares {
            let patch = format!("{{\"spec\":{{\"podCIDR\":\"{share}\",\"podCIDRs\":[\"{share}\"]}}}}");
            let node = quote(name);
            script.push_str(&format!(
                "kube wait --for=create --timeout=90s node/{node} >/dev/null\nkube patch node {node} --type=merge -p {} >/dev/null\n",
                quote(&patch)
            ));
        }
        Act::Script(Fragment::text(script))
    }

    pub(super) fn title(&self) -> String {
        "the nodes' shares of the pods' range".to_owned()
    }
}
