//! kubeadm's configuration in the cluster, where later joins and upgrades find it.

use std::collections::BTreeSet;

use crate::change::{Change, ChangeKind, Verdict, seen};
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
    /// Whether this host has to say that the cluster was set up: where kubelets make no certificates of their own, nothing else on it would.
    pub recorded: bool,
}

/// JSON pointer of the annotation of `kubeadm-config` with the names of the control planes.
pub(crate) const CONTROL_PLANES_ANNOTATION: &str = "/metadata/annotations/kokctl.io~1control-planes";

/// Says on a control plane that the cluster was set up once, whatever its etcd says later: when that was said, in seconds since 1970, and on a
/// second line, which earlier versions do not write, the names of its control planes.
pub const FOUNDED: &str = "/var/lib/kokctl/made/founded";

/// What stands between the names.
const SEPARATOR: char = ',';

/// The names of control planes that stand in an annotation, or on the second line of [`FOUNDED`].
pub(crate) fn names(text: &str) -> BTreeSet<&str> {
    text.trim().split(SEPARATOR).filter(|name| !name.is_empty()).collect()
}

/// What [`FOUNDED`] says: when it was written, and the names, if it has any.
pub(crate) fn founded(content: &[u8]) -> (u64, Option<BTreeSet<&str>>) {
    let text = std::str::from_utf8(content).unwrap_or_default();
    let mut lines = text.lines();
    let seconds = lines.next().and_then(|line| line.trim().parse().ok()).unwrap_or_default();
    (seconds, lines.next().map(names).filter(|names| !names.is_empty()))
}

impl UploadConfiguration {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes, Look::Content(FOUNDED.to_owned())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        if !matches!(state, KubernetesState::Ready { .. }) {
            return unanswered(ChangeKind::Upload, state);
        }
        if state.object("ConfigMap", "kube-system", "kubelet-config").is_none() {
            return Verdict::differs(ChangeKind::Upload, "the cluster has no ConfigMap kubelet-config");
        }
        match state.object("ConfigMap", "kube-system", "kubeadm-config") {
            None => Verdict::differs(ChangeKind::Upload, "the cluster has no ConfigMap kubeadm-config"),
            Some(object) if object.text(SOURCE_ANNOTATION) != Some(&self.source) => {
                Verdict::differs(ChangeKind::Upload, "the ConfigMap kubeadm-config was made from another configuration")
            }
            Some(object) if object.text(CONTROL_PLANES_ANNOTATION).is_none_or(|text| names(text) != self.names()) => {
                Verdict::differs(ChangeKind::Upload, "the ConfigMap kubeadm-config does not name the control planes of the file")
            }
            Some(_) if seen.contents.get(FOUNDED).is_some_and(|content| founded(content).1 != Some(self.names())) => {
                Verdict::differs(ChangeKind::Upload, format!("{FOUNDED} does not name the control planes of the file"))
            }
            Some(_) if self.recorded && !seen.contents.contains_key(FOUNDED) => {
                Verdict::differs(ChangeKind::Upload, format!("{FOUNDED} does not exist"))
            }
            Some(_) => Verdict::Same,
        }
    }

    /// In which order hosts stand in the file says nothing.
    fn names(&self) -> BTreeSet<&str> {
        self.control_planes.iter().map(String::as_str).collect()
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let names = quote(&self.control_planes.join(&SEPARATOR.to_string()));
        let script = format!(
            "{KUBECTL}kubeadm init phase upload-config all --config={}\n\
             kube -n kube-system annotate --overwrite configmap kubeadm-config kokctl.io/source-sha256={} kokctl.io/control-planes={names} >/dev/null\n",
            quote(&self.configuration),
            quote(&self.source),
        );
        // Only now there is something in the cluster that could be lost. A record of which a part is there would name other control planes.
        let new = "founded=/var/lib/kokctl/made/.kokctl-founded";
        let script = format!(
            "{script}mkdir -p -m 700 {STATE_DIRECTORY}/made\n{new}\n\
             {{ date +%s; echo {names}; }} >\"$founded\"\nsync \"$founded\"\nmv -fT \"$founded\" {FOUNDED}\nsync {STATE_DIRECTORY}/made\n"
        );
        let mut fragment = Fragment::default();
        fragment.feed(Content::Bytes(script.as_bytes()), "job upload-config");
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        "configuration in the cluster".to_owned()
    }
}
