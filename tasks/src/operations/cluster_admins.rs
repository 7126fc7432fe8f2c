//! The rights of the administrators' group.

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{KubernetesState, Look, Observations};
use crate::operations::ready::unanswered;
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::secret_name::SecretName;

/// The binding that gives the group of `admin.conf` its rights. kubeadm makes it with `super-admin.conf`; here that kubeconfig exists only
/// while it is needed, in a tmpfs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterAdmins {
    /// The control plane that asks its own API server.
    pub host: String,
}

/// Group and binding have the same name since Kubernetes 1.29 (kubeadm's constant `ClusterAdminsGroupAndClusterRoleBinding`).
const NAME: &str = "kubeadm:cluster-admins";

const SCRIPT: &str = concat!(
    own_api_server!(),
    r#"trap 'rm -f /run/kokctl/super-admin.conf' EXIT
HOME=/run/kokctl /usr/local/bin/kubectl --kubeconfig=/run/kokctl/super-admin.conf --server="$own_api_server" --request-timeout=20s apply --server-side=true --field-manager=kokctl --force-conflicts=true -f - <<'--BINDING--'
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: kubeadm:cluster-admins
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: cluster-admin
subjects:
- apiGroup: rbac.authorization.k8s.io
  kind: Group
  name: kubeadm:cluster-admins
--BINDING--
"#
);

impl ClusterAdmins {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        // Without the binding, admin.conf may read nothing at all: then the probe's questions fail, but `/readyz` is open to everybody.
        match state {
            KubernetesState::Ready { .. } if state.object("ClusterRoleBinding", "", NAME).is_some() => Verdict::Same,
            // The same answers come from an API server that goes away after the binding is made.
            KubernetesState::NotReady(_) | KubernetesState::Unanswered(_) => unanswered(ChangeKind::Bind, state),
            _ => Verdict::differs(ChangeKind::Bind, "the group kubeadm:cluster-admins has no rights yet"),
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        // Here for a job that could not be started, and in the job for one that nobody waits for any more.
        let mut fragment = Fragment::text("trap 'rm -f /run/kokctl/super-admin.conf' EXIT\n");
        let kubeconfig = SecretName::SuperAdminKubeconfig { host: self.host.clone() };
        fragment.put("/run/kokctl/super-admin.conf", 0o600, Content::Secret(&kubeconfig));
        fragment.feed(Content::Bytes(SCRIPT.as_bytes()), "job cluster-admins");
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        "administrators' rights".to_owned()
    }
}
