//! A kubelet whose node is gone makes it again.

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations};
use crate::resources::Act;
use crate::script::Fragment;

/// The kubelet of a host that was a node is started anew, for it makes its node's object once, when it starts (kubelet, `registerWithAPIServer`). Who looks whether
/// the node is there again is a step of the cluster's. Pods go on meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeletRegisters {
    /// When the one was started that has no node, in microseconds since boot.
    pub was_started_microseconds: u64,
}

impl KubeletRegisters {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Unit("kubelet.service".to_owned())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let unit = seen!(seen.units.get("kubelet.service"));
        if unit.active == "active" && unit.started_microseconds == self.was_started_microseconds {
            return Verdict::differs(ChangeKind::Restart, "the cluster has no node of this host, and a kubelet makes it when it starts");
        }
        Verdict::Same
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Script(Fragment::text("systemctl restart kubelet.service\n"))
    }

    pub(super) fn title(&self) -> String {
        "kubelet makes its node".to_owned()
    }
}
