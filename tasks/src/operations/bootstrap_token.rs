//! A short-lived bootstrap token, and the rules for those who come with one.

use crate::change::{Change, Verdict, seen};
use crate::observe::{KubernetesState, Look, Observations};
use crate::operations::ready::unanswered;
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::secret_name::SecretName;

/// The run's bootstrap token with its rules and the ConfigMap `cluster-info`, by kubeadm's phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootstrapToken {
    /// The control plane that asks its own API server.
    pub host: String,
    /// The public half of the token, with kokctl's prefix (see [`super::tokens`]).
    pub id: String,
    /// Whether the token itself is needed, because a host joins in this run.
    pub needed: bool,
}

/// kubeadm reads the token from here and nowhere else; a tmpfs, and gone when the step ends.
const CONFIGURATION: &str = "/run/kokctl/bootstrap-token.yaml";

impl BootstrapToken {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        let KubernetesState::Ready { bootstrap_tokens, .. } = state else {
            return unanswered("create", state);
        };
        let rules = state.object("ClusterRoleBinding", "", "kubeadm:node-autoapprove-bootstrap").is_some()
            && state.object("ConfigMap", "kube-public", "cluster-info").is_some();
        if !rules {
            return Verdict::differs("create", "the cluster has no rules for joining hosts");
        }
        if self.needed && !bootstrap_tokens.contains(&format!("bootstrap-token-{}", self.id)) {
            return Verdict::differs("create", "hosts are to join");
        }
        Verdict::Same
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        // Here for a job that could not be started, and in the job for one that nobody waits for any more.
        let mut fragment = Fragment::text(format!("trap 'rm -f {CONFIGURATION}' EXIT\n"));
        fragment.put(CONFIGURATION, 0o600, Content::Secret(&SecretName::BootstrapTokenConfiguration { host: self.host.clone() }));
        let script =
            format!("trap 'rm -f {CONFIGURATION}' EXIT\nkubeadm init phase bootstrap-token --skip-token-print --config={CONFIGURATION}\n");
        fragment.feed(Content::Bytes(script.as_bytes()), "job bootstrap-token");
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        "bootstrap token and rules for joining".to_owned()
    }
}
