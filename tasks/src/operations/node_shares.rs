//! The nodes' shares of the pods' ranges, in the cluster.

use std::collections::BTreeMap;

use ipnet::IpNet;
use serde_json::json;

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{KubernetesState, Look, Observations};
use crate::operations::KUBECTL;
use crate::operations::ready::unanswered;
use crate::resources::Act;
use crate::script::Fragment;
use crate::shell::quote;

/// Nodes say which shares of the ranges are theirs. The API lets nobody change them once they are set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeShares {
    /// Shares by node: that of IPv4, and with dual stack that of IPv6 behind it.
    pub shares: BTreeMap<String, Vec<IpNet>>,
}

fn listed(shares: &[IpNet]) -> String {
    shares.iter().map(IpNet::to_string).collect::<Vec<_>>().join(" and ")
}

impl NodeShares {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        if !matches!(state, KubernetesState::Ready { .. }) {
            return unanswered(ChangeKind::Record, state);
        }
        let differing = self.shares.iter().find_map(|(name, shares)| match state.node(name).map(|node| node.pod_cidrs.as_slice()) {
            None => Some(format!("node {name} does not exist yet")),
            Some([]) => Some(format!("node {name} does not say that the pods {} are its own", listed(shares))),
            Some(is) if is != shares => {
                Some(format!("node {name} says that its pods are {}, and the host has {}", listed(is), listed(shares)))
            }
            Some(_) => None,
        });
        differing.map_or(Verdict::Same, |because| Verdict::differs(ChangeKind::Record, because))
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let mut script = KUBECTL.to_owned();
        for (name, shares) in &self.shares {
            let patch = json!({"spec": {"podCIDR": shares.first().map(IpNet::to_string), "podCIDRs": shares}}).to_string();
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
