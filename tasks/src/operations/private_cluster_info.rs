//! What strangers may not read.

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{KubernetesState, Look, Observations};
use crate::operations::KUBECTL;
use crate::operations::ready::unanswered;
use crate::resources::Act;
use crate::script::Fragment;

/// The ConfigMap `cluster-info`, with the cluster's address and authority, is not for strangers. kubeadm's phase
/// `bootstrap-token` shows it to everybody each time (kubeadm design, "Create the public cluster-info ConfigMap"), so that a host can find
/// the cluster by a token alone; kokctl's hosts come with a discovery file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateClusterInfo;

/// Lets everybody read it, and nothing else.
const BINDING: &str = "kubeadm:bootstrap-signer-clusterinfo";

impl PrivateClusterInfo {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        match state {
            // Before there is a cluster there is nothing to read; the step follows the one that shows it.
            KubernetesState::Absent => Verdict::Same,
            KubernetesState::Ready { .. } if state.object("RoleBinding", "kube-public", BINDING).is_some() => {
                Verdict::differs(ChangeKind::Close, "strangers may read cluster-info")
            }
            KubernetesState::Ready { .. } => Verdict::Same,
            _ => unanswered(ChangeKind::Close, state),
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Script(Fragment::text(format!("{KUBECTL}kube -n kube-public delete rolebinding --ignore-not-found {BINDING} >/dev/null\n")))
    }

    pub(super) fn title(&self) -> String {
        "cluster-info closed to strangers".to_owned()
    }
}
