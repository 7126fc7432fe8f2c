//! kubeadm's configuration in the cluster, where later joins and upgrades find it.

use crate::change::{Change, Verdict, seen};
use crate::observe::{KubernetesState, Look, Observations, STATE_DIRECTORY};
use crate::operations::ready::unanswered;
use crate::operations::{KUBECTL, SOURCE_ANNOTATION};
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::shell::quote;

/// The ConfigMaps `kubeadm-config` and `kubelet-config`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadConfiguration {
    /// Path of the configuration on the host.
    pub configuration: String,
    /// Its sha256; stands as an annotation of `kubeadm-config`, and is lost when something else uploads another one.
    pub source: String,
    /// Names of the control planes that the cluster has or is about to get: while it is founded, a host that has nothing of one yet may be one
    /// of them, and later none may.
    pub control_planes: Vec<String>,
}

/// JSON pointer of the annotation of `kubeadm-config` with the names of the control planes.
pub(crate) const CONTROL_PLANES_ANNOTATION: &str = "/metadata/annotations/kokctl.io~1control-planes";

/// Says on a control plane that the cluster was set up once, whatever its etcd says later.
pub const FOUNDED: &str = "/var/lib/kokctl/made/founded";

impl UploadConfiguration {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes, Look::Content(FOUNDED.to_owned())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        if !matches!(state, KubernetesState::Ready { .. }) {
            return unanswered("upload", state);
        }
        if state.object("ConfigMap", "kube-system", "kubelet-config").is_none() {
            return Verdict::differs("upload", "the cluster has no ConfigMap kubelet-config");
        }
        match state.object("ConfigMap", "kube-system", "kubeadm-config") {
            None => Verdict::differs("upload", "the cluster has no ConfigMap kubeadm-config"),
            Some(object) if object.text(SOURCE_ANNOTATION) == Some(&self.source) => Verdict::Same,
            Some(_) => Verdict::differs("upload", "the ConfigMap kubeadm-config was made from another configuration"),
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let script = format!(
            "{KUBECTL}kubeadm init phase upload-config all --config={}\n\
             kube -n kube-system annotate --overwrite configmap kubeadm-config kokctl.io/source-sha256={} kokctl.io/control-planes={} >/dev/null\n",
            quote(&self.configuration),
            quote(&self.source),
            quote(&self.control_planes.join(","))
        );
        // Only now there is something in the cluster that could be lost.
        let script = format!("{script}mkdir -p -m 700 {STATE_DIRECTORY}/made\ndate +%s >{FOUNDED}\n");
        let mut fragment = Fragment::default();
        fragment.feed(Content::Bytes(script.as_bytes()), "job upload-config");
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        "configuration in the cluster".to_owned()
    }
}
