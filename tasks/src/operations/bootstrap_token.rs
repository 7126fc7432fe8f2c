//! A short-lived bootstrap token, and the rules for those who come with one. A run whose hosts come late makes it last for them.

use std::time::Duration;

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{KubernetesState, Look, Observations, kubeconfig_server as server};
use crate::operations::KUBECTL;
use crate::operations::ready::unanswered;
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::secret_name::SecretName;
use crate::shell::quote;

/// The run's bootstrap token with its rules and the ConfigMap `cluster-info`, by kubeadm's phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootstrapToken {
    /// The control plane that asks its own API server.
    pub host: String,
    /// The public half of the token, with kokctl's prefix (see [`super::tokens`]).
    pub id: String,
    /// Whether the token itself is needed, because a host joins in this run.
    pub needed: bool,
    /// Whether API servers come to kubelets as a user with rights of its own, and no more as a member of a group.
    pub kubelet_client: bool,
    /// Where `cluster-info` is to lead to; nothing where it is the address of the control plane that has written it.
    pub server: Option<String>,
}

/// How long a bootstrap token is valid, from when it was made or made to last: no longer than a coffee break, in case the run dies before it removes
/// it.
pub const TOKEN_VALIDITY: Duration = Duration::from_secs(30 * 60);

/// What a token must have left for a host that begins to join: it may be reached again before (2 minutes), and kubeadm waits for the kubelet's
/// certificate for five. The rest is for clocks: the token is made by that of one control plane, and ends by that of any.
pub const TOKEN_RESERVE: Duration = Duration::from_secs(10 * 60);

/// kubeadm reads the token from here and nowhere else; a tmpfs, and gone when the step ends.
const CONFIGURATION: &str = "/run/kokctl/bootstrap-token.yaml";

/// Where the rules are, only the token is made: kubeadm's phase would write them anew, and show the cluster's address and authority to strangers again.
/// A token that is there lasts longer: who joins with it goes on. `token create` prints it.
/// An API server that does not answer has not said that nothing is there: it is asked once more, and then the step fails.
const SCRIPT: &str = r#"there() {
  found=$(kube get --ignore-not-found -o name "$@") || found=$(kube get --ignore-not-found -o name "$@") || exit 1
  [ -n "$found" ]
}
if there clusterrolebinding kubeadm:node-autoapprove-bootstrap && there -n kube-public configmap cluster-info; then
  if [ -z "$needed" ]; then
    :
  elif there -n kube-system secret "$secret"; then
    ends=$(date -u -d "@$(($(date +%s) + validity))" +%Y-%m-%dT%H:%M:%SZ)
    kube -n kube-system patch secret "$secret" -p "{\"stringData\":{\"expiration\":\"$ends\"}}" >/dev/null
  else
    kubeadm token create --config=/run/kokctl/bootstrap-token.yaml >/dev/null
  fi
else
  kubeadm init phase bootstrap-token --skip-token-print --config=/run/kokctl/bootstrap-token.yaml
fi
"#;

/// Clusters that were founded by a kubeadm before 1.35.5 and 1.36.1 have no such binding; without it nobody could read logs once an API server has a
/// certificate of 1.37.
const BINDING: &str = r#"there clusterrolebinding kubeadm:apiserver-kubelet-client ||
  kube create clusterrolebinding kubeadm:apiserver-kubelet-client --clusterrole=system:kubelet-api-admin --user=kube-apiserver-kubelet-client >/dev/null
"#;

/// The rest of it stays; its signatures are made anew by the controller manager, which may write at the same time.
const LEADS: &str = r#"leads() { kube -n kube-public get configmap cluster-info -o jsonpath='{.data.kubeconfig}' | grep -qF "server: $server"; }
tries=5
until leads; do
  [ "$tries" -gt 0 ] || { echo "cluster-info does not lead to $server" >&2; exit 1; }
  tries=$((tries - 1))
  kube -n kube-public get configmap cluster-info -o yaml | sed "s|^\( *server: \).*|\1$server|" | kube replace -f - >/dev/null || :
done
"#;

fn nanoseconds(duration: Duration) -> i128 {
    i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX)
}

impl BootstrapToken {
    pub(super) fn lasts(&self) -> Option<Duration> {
        Some(TOKEN_VALIDITY - TOKEN_RESERVE)
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        let KubernetesState::Ready { bootstrap_tokens, .. } = state else {
            return unanswered(ChangeKind::Create, state);
        };
        let rules = state.object("ClusterRoleBinding", "", "kubeadm:node-autoapprove-bootstrap").is_some()
            && state.object("ConfigMap", "kube-public", "cluster-info").is_some();
        if !rules {
            return Verdict::differs(ChangeKind::Create, "the cluster has no rules for joining hosts");
        }
        if self.kubelet_client && state.object("ClusterRoleBinding", "", "kubeadm:apiserver-kubelet-client").is_none() {
            return Verdict::differs(ChangeKind::Create, "the cluster has no rule by which API servers reach kubelets");
        }
        let info = state.object("ConfigMap", "kube-public", "cluster-info").and_then(|map| map.text("/data/kubeconfig"));
        if let Some((is, server)) = info.and_then(server).zip(self.server.as_ref()).filter(|(is, server)| is != *server) {
            return Verdict::differs(ChangeKind::SetTo(server.clone()), format!("cluster-info leads to {is}"));
        }
        if !self.needed {
            return Verdict::Same;
        }
        let Some(token) = bootstrap_tokens.iter().find(|token| token.name == self.secret()) else {
            return Verdict::differs(ChangeKind::Create, "hosts are to join");
        };
        let until = seen.clock_nanoseconds.saturating_add(nanoseconds(TOKEN_RESERVE));
        match token.ends_seconds.map(|seconds| i128::from(seconds) * 1_000_000_000) {
            Some(ends) if ends < until => {
                Verdict::differs(ChangeKind::Create, "the token ends before hosts that are to join may have joined")
            }
            _ => Verdict::Same,
        }
    }

    fn secret(&self) -> String {
        format!("bootstrap-token-{}", self.id)
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        // Here for a job that could not be started, and in the job for one that nobody waits for any more.
        let mut fragment = Fragment::text(format!("trap 'rm -f {CONFIGURATION}' EXIT\n"));
        fragment.put(CONFIGURATION, 0o600, Content::Secret(&SecretName::BootstrapTokenConfiguration { host: self.host.clone() }));
        let leads = self.server.as_ref().map(|server| format!("server={}\n{LEADS}", quote(server))).unwrap_or_default();
        let binding = if self.kubelet_client { BINDING } else { "" };
        let needed = if self.needed { "yes" } else { "" };
        let (secret, validity) = (quote(&self.secret()), TOKEN_VALIDITY.as_secs());
        let script = format!(
            "trap 'rm -f {CONFIGURATION}' EXIT\n{KUBECTL}secret={secret}\nvalidity={validity}\nneeded={needed}\n{SCRIPT}{binding}{leads}"
        );
        fragment.feed(Content::Bytes(script.as_bytes()), "job bootstrap-token");
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        "bootstrap token and rules for joining".to_owned()
    }
}
