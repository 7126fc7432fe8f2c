//! The API server of a control plane that leaves its cluster.

use super::ready::API_SERVER_MANIFEST;
use super::tasks_of::TASKS_OF;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{API_SERVER, Look, Observations, PathState};
use crate::resources::Act;
use crate::script::Fragment;

/// The host has no API server any more, while its member of etcd works still: one whose member has left lets everybody wait who is sent to it, and load
/// balancers send clients there until they have noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndApiServer;

/// The kubelet ends it by its manifest, and gives it time for what it was asked. Where no kubelet runs, nobody else would end it, nor start it again.
const SCRIPT: &str = r#"rm -f /etc/kubernetes/manifests/kube-apiserver.yaml
if ! systemctl is-active --quiet kubelet.service; then
  tasks_of kube-apiserver | while read -r container process; do
    /usr/local/bin/ctr -n k8s.io tasks kill --signal SIGTERM "$container" || :
  done
fi
"#;

impl EndApiServer {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Path(API_SERVER_MANIFEST.to_owned()), Look::Programs]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let is_wanted = *seen!(seen.paths.get(API_SERVER_MANIFEST)) != PathState::Missing;
        match seen!(&seen.programs).contains_key(API_SERVER) {
            _ if is_wanted => Verdict::differs(ChangeKind::Remove, "whoever asks it would wait in vain once its member has left etcd"),
            true => Verdict::differs(ChangeKind::Wait, "it ends what it was asked"),
            false => Verdict::Same,
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let mut fragment = Fragment::text(TASKS_OF);
        fragment.line(SCRIPT);
        Act::Until { script: fragment, give_up: None }
    }

    pub(super) fn title(&self) -> String {
        "API server ended".to_owned()
    }
}
