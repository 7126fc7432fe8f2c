//! Conditions that are waited for: nothing is done, they come about by earlier steps.

use std::collections::BTreeMap;

use kok_crds::{count, counted};
use kok_pki::inspect_certificate;
use semver::Version;
use time::OffsetDateTime;

use super::kubelet::{ENDS, ends_again_and_again};
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{API_SERVER, ApiServerState, KubernetesState, Look, NodeState, Observations, PathState};
use crate::resources::Act;

/// What kubectl or the API server said, cut to what matters: of a long list of checks those that fail, of an error its first sentence.
#[must_use]
pub fn said_briefly(output: &str) -> String {
    let failing: Vec<&str> = output.split("\\n").flat_map(str::lines).filter_map(|line| line.trim().strip_prefix("[-]")).collect();
    if let [first, ..] = failing.as_slice() {
        let names: Vec<&str> = failing.iter().map(|line| line.split(' ').next().unwrap_or(line)).collect();
        let names = if names.len() > 3 {
            format!("{} checks, {} among them", names.len(), first.split(' ').next().unwrap_or(first))
        } else {
            names.join(", ")
        };
        return format!("the API server is not ready yet: {names}");
    }
    // The rules by which everybody may ask are made in its first seconds.
    if output.contains("(Forbidden)") {
        return "the API server is not ready yet: it has no rules of access".to_owned();
    }
    let sentence = output.trim().lines().next().unwrap_or_default().split(" - did you").next().unwrap_or_default();
    format!("the API server does not answer: {sentence}")
}

/// The API server of this host answers `/readyz` with `ok`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ApiServerReady {
    /// The version that it has to say it has; nothing if any will do.
    pub version: Option<Version>,
}

impl ApiServerReady {
    pub(super) fn looks(&self) -> Vec<Look> {
        let versions = self.version.as_ref().map(|_| Look::Versions);
        [Look::ApiServer, Look::Unit("kubelet.service".to_owned())].into_iter().chain(versions).collect()
    }

    /// The kubelet starts the API server, so a kubelet that does not stay up is the cause, and what its clients say is not.
    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let kubelet = seen!(seen.units.get("kubelet.service"));
        match seen!(&seen.api_server) {
            ApiServerState::Ready => self.is_of_version(seen),
            _ if ends_again_and_again(kubelet, seen) => Verdict::differs(ChangeKind::Wait, ENDS),
            _ if !["active", ""].contains(&kubelet.active.as_str()) => Verdict::differs(
                ChangeKind::Wait,
                format!("the kubelet is {} and can't start it; `journalctl -u kubelet` on the host says why", kubelet.active),
            ),
            // That it does not answer was seen.
            ApiServerState::NotReady(output) => Verdict::differs(ChangeKind::Wait, said_briefly(output)),
            ApiServerState::Absent => Verdict::differs(ChangeKind::Wait, without_means(seen).unwrap_or("there is no control plane yet")),
        }
    }

    /// One that is on its way out is still ready.
    fn is_of_version(&self, seen: &Observations) -> Verdict {
        let Some(wanted) = &self.version else { return Verdict::Same };
        match seen!(&seen.versions).get(API_SERVER).and_then(|installed| installed.running.as_ref()) {
            Some(is) if is == wanted => Verdict::Same,
            Some(is) => Verdict::differs(ChangeKind::Wait, format!("the API server that answers is {is}, and it is to be {wanted}")),
            None => Verdict::differs(ChangeKind::Wait, "the API server does not say its version"),
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Wait
    }

    pub(super) fn title(&self) -> String {
        match &self.version {
            Some(version) => format!("API server {version} ready"),
            None => "API server ready".to_owned(),
        }
    }
}

/// Says that a control plane was set up.
pub const API_SERVER_MANIFEST: &str = "/etc/kubernetes/manifests/kube-apiserver.yaml";

/// That a control plane is there which can't be asked for want of what asks.
#[must_use]
pub fn without_means(seen: &Observations) -> Option<&'static str> {
    let is_there = matches!(seen.paths.get(API_SERVER_MANIFEST), Some(PathState::Present(_)));
    is_there.then_some("it can't be asked without /etc/kubernetes/admin.conf and /usr/local/bin/kubectl, one of which is not there")
}

/// What to say of something to do where the cluster itself can't be asked whether it is done. Where there is a cluster that does not answer,
/// that is no more than an assumption.
pub(super) fn unanswered(kind: ChangeKind, state: &KubernetesState) -> Verdict {
    let (because, assumed) = match state {
        KubernetesState::NotReady(output) | KubernetesState::Unanswered(output) => (said_briefly(output), true),
        _ => ("there is no control plane yet".to_owned(), false),
    };
    Verdict::Differs(Change { assumed, ..Change::new(kind, because) })
}

/// The kubelet has written the certificate that it renews by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialReady;

/// Where the kubelet keeps its present client certificate and key.
pub(crate) const CLIENT_CERTIFICATE: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";

/// When the certificate ended that the kubelet renews by itself, if it has, by the clock of the host. Nobody takes it any more, so the kubelet can't ask
/// for another one by it.
pub(crate) fn kubelets_own_has_ended(seen: &Observations) -> Option<OffsetDateTime> {
    let pem = seen.certificates.get(CLIENT_CERTIFICATE)?.as_ref()?;
    let end = inspect_certificate(pem).ok()?.not_after;
    (end.unix_timestamp_nanos() < seen.clock_nanoseconds).then_some(end)
}

impl CredentialReady {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Path(CLIENT_CERTIFICATE.to_owned()), Look::Certificate(CLIENT_CERTIFICATE.to_owned())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match seen!(seen.paths.get(CLIENT_CERTIFICATE)) {
            PathState::Missing => Verdict::differs(ChangeKind::Wait, format!("{CLIENT_CERTIFICATE} does not exist")),
            PathState::Present(_) => kubelets_own_has_ended(seen).map_or(Verdict::Same, |end| {
                Verdict::differs(ChangeKind::Wait, format!("{CLIENT_CERTIFICATE} ended at {end}, and the kubelet has not got another one"))
            }),
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Wait
    }

    pub(super) fn title(&self) -> String {
        "kubelet's own certificate".to_owned()
    }
}

/// flannel's daemon has written what its plugin needs to give addresses to pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubnetReady;

/// In a tmpfs: after a reboot it is missing until the daemon runs again.
const SUBNET: &str = "/run/flannel/subnet.env";

impl SubnetReady {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Path(SUBNET.to_owned())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match seen!(seen.paths.get(SUBNET)) {
            PathState::Missing => Verdict::differs(ChangeKind::Wait, format!("flannel's daemon has not written {SUBNET}")),
            PathState::Present(_) => Verdict::Same,
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Wait
    }

    pub(super) fn title(&self) -> String {
        "flannel's subnet".to_owned()
    }
}

/// These nodes exist and are Ready, with the versions of their kubelets as desired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodesReady {
    /// Versions without a leading `v`, by the names of nodes.
    pub versions: BTreeMap<String, String>,
}

impl NodesReady {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        if !matches!(state, KubernetesState::Ready { .. }) {
            return unanswered(ChangeKind::Wait, state);
        }
        let missing = self.versions.iter().find_map(|(name, version)| {
            let because = match state.node(name) {
                None => format!("node {name} does not exist"),
                Some(node) if !node.ready => format!("node {name} is not Ready: {}", node.message),
                Some(node) if speaks_of_before(node, seen.kubelets_started.get(name)) => {
                    format!("the kubelet of node {name} has not said that it is Ready since it was started")
                }
                Some(node) if let Some((taint, why)) = keeping_away(&node.taints) => format!("node {name} has the taint {taint}: {why}"),
                Some(node) if node.kubelet_version != format!("v{version}") => {
                    format!("the kubelet of node {name} is {}", node.kubelet_version)
                }
                Some(_) => return None,
            };
            Some(because)
        });
        missing.map_or(Verdict::Same, |because| Verdict::differs(ChangeKind::Wait, because))
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Wait
    }

    pub(super) fn title(&self) -> String {
        match self.versions.first_key_value() {
            Some((node, _)) if self.versions.len() == 1 => format!("node {node} Ready"),
            _ => format!("{} Ready", count(self.versions.len(), "node")),
        }
    }
}

/// Whether what a node says is from before its kubelet was started. What the kubelet says first, within a second, is mostly that its node is
/// not Ready, and only 10 s later (`nodeStatusUpdateFrequency`) that it is; the controller manager takes its pods for not ready meanwhile. The
/// API knows whole seconds only.
fn speaks_of_before(node: &NodeState, started_nanoseconds: Option<&i128>) -> bool {
    let started = started_nanoseconds.map(|at| at.div_euclid(1_000_000_000));
    started.is_some_and(|started| node.said_at_seconds.is_some_and(|moment| i128::from(moment) < started))
}

/// Taints that Kubernetes itself gives and takes, and that keep workload from a node that calls itself Ready. `unschedulable` is not
/// among them: that is somebody's wish.
const KEEPING_AWAY: [(&str, &str); 5] = [
    ("node.kubernetes.io/not-ready", "the controller manager has not seen yet that it is Ready"),
    ("node.kubernetes.io/network-unavailable", "its network is not set up"),
    (
        "node.kubernetes.io/disk-pressure",
        "its file system, or containerd's, has less room than `eviction_hard` asks for (10 % and 15 % where nothing else is said); make room there",
    ),
    ("node.kubernetes.io/memory-pressure", "the kubelet evicts pods when memory is short"),
    ("node.kubernetes.io/pid-pressure", "the kubelet evicts pods when process ids are short"),
];

/// The first such taint of a node, written as `key=value:effect`, and what it means.
fn keeping_away<'a>(taints: impl IntoIterator<Item = &'a String>) -> Option<(&'static str, &'static str)> {
    let keys: Vec<&str> = taints.into_iter().filter_map(|taint| taint.split(['=', ':']).next()).collect();
    KEEPING_AWAY.into_iter().find(|(key, _)| keys.contains(key))
}

/// A DaemonSet or Deployment whose pods are all there, current and available; of a DaemonSet those on nodes that are Ready.
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

    pub(crate) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        let KubernetesState::Ready { nodes, .. } = state else { return unanswered(ChangeKind::Wait, state) };
        let Some(object) = state.object(self.kind, self.namespace, self.name) else {
            return Verdict::differs(ChangeKind::Wait, "it does not exist");
        };
        let daemon = self.kind == "DaemonSet";
        let wanted = if daemon { object.number("/status/desiredNumberScheduled") } else { object.number("/spec/replicas") };
        let updated = object.number(if daemon { "/status/updatedNumberScheduled" } else { "/status/updatedReplicas" });
        let available = object.number(if daemon { "/status/numberAvailable" } else { "/status/availableReplicas" });
        let observed = object.number("/status/observedGeneration") >= object.number("/metadata/generation");
        let wanted = wanted.max(self.at_least);
        // A node that is away, and that nobody wants back, has a pod that nobody waits for: those of all others are counted by `at_least`.
        let away = if daemon { nodes.values().filter(|node| !node.ready).count() as u64 } else { 0 };
        let enough = wanted.saturating_sub(away).max(self.at_least);
        if observed && updated >= enough && available >= enough {
            return Verdict::Same;
        }
        Verdict::differs(
            ChangeKind::Wait,
            format!("{available} of {} available", counted(usize::try_from(wanted).unwrap_or(usize::MAX), "pod is", "pods are")),
        )
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Wait
    }

    pub(super) fn title(&self) -> String {
        format!("{} {} available", self.kind, self.name)
    }
}
