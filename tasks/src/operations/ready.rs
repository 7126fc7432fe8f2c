//! Conditions that are waited for: nothing is done, they come about by earlier steps.

use crate::change::{Change, Verdict, seen};
use crate::observe::{KubernetesState, Look, Observations, PathState};
use crate::resources::Act;

/// The API server of this host answers `/readyz` with `ok`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiServerReady;

impl ApiServerReady {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes, Look::Unit("kubelet.service".to_owned())]
    }

    /// The kubelet starts the API server, so a kubelet that does not stay up is the cause, and what its clients say is not.
    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let kubelet = seen!(seen.units.get("kubelet.service"));
        match seen!(&seen.kubernetes) {
            KubernetesState::Ready { .. } | KubernetesState::Unanswered(_) => Verdict::Same,
            _ if !["active", ""].contains(&kubelet.active.as_str()) => Verdict::differs(
                "wait for the API server",
                format!("the kubelet is {} and can't start it; `journalctl -u kubelet` on the host says why", kubelet.active),
            ),
            other => waiting("the API server", other),
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Wait
    }

    pub(super) fn title(&self) -> String {
        "API server ready".to_owned()
    }
}

/// What to say where the cluster itself can't be asked.
pub(super) fn waiting(what: &str, state: &KubernetesState) -> Verdict {
    let because = match state {
        KubernetesState::NotReady(said) | KubernetesState::Unanswered(said) => format!("the API server says: {}", said.trim()),
        _ => "there is no control plane yet".to_owned(),
    };
    Verdict::differs(format!("wait for {what}"), because)
}

/// The kubelet has written the certificate that it renews by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialReady;

/// Where the kubelet keeps its present client certificate and key.
pub(super) const CLIENT_CERTIFICATE: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";

impl CredentialReady {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Path(CLIENT_CERTIFICATE.to_owned())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match seen!(seen.paths.get(CLIENT_CERTIFICATE)) {
            PathState::Missing => Verdict::differs("wait for the kubelet's certificate", format!("{CLIENT_CERTIFICATE} does not exist")),
            PathState::Present(_) => Verdict::Same,
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Wait
    }

    pub(super) fn title(&self) -> String {
        "kubelet's own certificate".to_owned()
    }
}

/// These nodes exist and are Ready, with the kubelet's version as desired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodesReady {
    /// Node names.
    pub nodes: Vec<String>,
    /// Version without a leading `v`.
    pub version: String,
}

impl NodesReady {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        if !matches!(state, KubernetesState::Ready { .. }) {
            return waiting("the nodes", state);
        }
        let missing = self.nodes.iter().find_map(|name| {
            let because = match state.node(name) {
                None => format!("node {name} does not exist"),
                Some(node) if !node.ready => format!("node {name} is not Ready: {}", node.message),
                Some(node) if node.kubelet_version != format!("v{}", self.version) => {
                    format!("the kubelet of node {name} is {}", node.kubelet_version)
                }
                Some(_) => return None,
            };
            Some(because)
        });
        missing.map_or(Verdict::Same, |because| Verdict::differs("wait for the nodes", because))
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Wait
    }

    pub(super) fn title(&self) -> String {
        format!("{} nodes Ready", self.nodes.len())
    }
}

/// A DaemonSet or Deployment whose pods are all there, current and available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadReady {
    /// `DaemonSet` or `Deployment`.
    pub kind: &'static str,
    /// Namespace.
    pub namespace: &'static str,
    /// Name.
    pub name: &'static str,
    /// How many pods there must be at least: a DaemonSet counts the nodes that it knows of, and must not be taken at its word before
    /// all of them are there.
    pub at_least: u64,
}

impl WorkloadReady {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        if !matches!(state, KubernetesState::Ready { .. }) {
            return waiting(self.name, state);
        }
        let Some(object) = state.object(self.kind, self.namespace, self.name) else {
            return Verdict::differs(format!("wait for {}", self.name), "it does not exist");
        };
        let daemon = self.kind == "DaemonSet";
        let wanted = if daemon { object.number("/status/desiredNumberScheduled") } else { object.number("/spec/replicas") };
        let updated = object.number(if daemon { "/status/updatedNumberScheduled" } else { "/status/updatedReplicas" });
        let available = object.number(if daemon { "/status/numberAvailable" } else { "/status/availableReplicas" });
        let observed = object.number("/status/observedGeneration") >= object.number("/metadata/generation");
        let wanted = wanted.max(self.at_least);
        if observed && updated >= wanted && available >= wanted {
            return Verdict::Same;
        }
        Verdict::differs(format!("wait for {}", self.name), format!("{available} of {wanted} pods are available"))
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Wait
    }

    pub(super) fn title(&self) -> String {
        format!("{} {} available", self.kind, self.name)
    }
}
