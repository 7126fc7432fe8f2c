//! Controller manager and scheduler know their present kubeconfigs.

use super::tasks_of::{Readers, diff_of, end, looks_of};
use crate::change::{Change, Verdict};
use crate::observe::{CONTROLLERS, Look, Observations};
use crate::resources::Act;

/// Controller manager and scheduler of a control plane run with the kubeconfigs that are there. They read them at their start and never again,
/// so one that is older than its kubeconfig is ended, and the kubelet starts it anew. One that does not run will read what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadKubeconfigs;

/// Program and kubeconfig.
const READERS: Readers<'static> =
    &[(CONTROLLERS[0], "/etc/kubernetes/controller-manager.conf"), (CONTROLLERS[1], "/etc/kubernetes/scheduler.conf")];

impl ReadKubeconfigs {
    pub(super) fn looks(&self) -> Vec<Look> {
        looks_of(READERS)
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        diff_of(READERS, seen)
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        end(&CONTROLLERS)
    }

    pub(super) fn title(&self) -> String {
        "controller manager and scheduler know their kubeconfigs".to_owned()
    }
}
