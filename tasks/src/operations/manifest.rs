//! Objects of the API out of a manifest.

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::digest::sha256;
use crate::observe::{KubernetesState, Look, Observations};
use crate::operations::ready::unanswered;
use crate::operations::{KUBECTL, SOURCE_ANNOTATION};
use crate::resources::Act;
use crate::script::{Content, Fragment};

/// A manifest that is applied by the API server (server-side apply, field manager `kokctl`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyManifest {
    /// What it is, for people.
    pub what: &'static str,
    /// The manifest. Its DaemonSet carries the annotation `kokctl.io/source-sha256: @SHA256@`; the sum of the manifest is put in there.
    pub text: String,
    /// The DaemonSet that stands for the whole manifest: it is the last object of it.
    pub namespace: &'static str,
    /// Its name.
    pub name: &'static str,
}

/// Stands in a manifest where the sum of the manifest belongs.
const SUM: &str = "@SHA256@";

impl ApplyManifest {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes]
    }

    /// The sum of the manifest.
    #[must_use]
    pub fn sum(&self) -> String {
        sha256(self.text.as_bytes())
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        if !matches!(state, KubernetesState::Ready { .. }) {
            return unanswered(ChangeKind::Apply, state);
        }
        match state.object("DaemonSet", self.namespace, self.name) {
            None => Verdict::differs(ChangeKind::Apply, format!("DaemonSet {} does not exist", self.name)),
            Some(object) if object.text("/metadata/deletionTimestamp").is_some() => {
                Verdict::differs(ChangeKind::Apply, format!("DaemonSet {} is being removed", self.name))
            }
            Some(object) if object.text(SOURCE_ANNOTATION) == Some(&self.sum()) => Verdict::Same,
            Some(_) => Verdict::differs(ChangeKind::Apply, format!("DaemonSet {} was made from another manifest", self.name)),
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let mut fragment = Fragment::text(KUBECTL);
        let text = self.text.replace(SUM, &self.sum());
        fragment.feed(Content::Bytes(text.as_bytes()), "kube apply --server-side --field-manager=kokctl --force-conflicts -f - >/dev/null");
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        format!("{} in the cluster", self.what)
    }
}
