//! A kubelet is started anew for what it does at its start alone.

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{ApiServerState, Look, Observations};
use crate::resources::Act;
use crate::script::Fragment;

/// The kubelet of a host that was a node is started anew. Who looks whether the node is as it should be is a step of the cluster's. Pods go on meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeletRegisters {
    /// When the one was started that is meant, in microseconds since boot.
    pub was_started_microseconds: u64,
    /// What it lacks.
    pub lacks: Lacks,
}

/// What a kubelet lacks since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lacks {
    /// The object of its node, which it makes once, when it starts (kubelet, `registerWithAPIServer`).
    Node,
    /// An API server that answers. It tries to write its CSINode six times, with a last pause of two minutes before it ends, and its node is not Ready until it
    /// has (kubelet, `initializeCSINode`).
    ApiServer,
}

/// A kubelet that was started earlier has written its CSINode, or has ended: its tries and pauses take 140 s.
const CSI_NODE_MICROSECONDS: u64 = 150_000_000;

impl KubeletRegisters {
    /// Of a kubelet that runs, and has found its own API server away since its start. One that has run for longer has got over it.
    #[must_use]
    pub fn without_api_server(seen: &Observations) -> Option<Self> {
        let is_away = matches!(seen.api_server, Some(ApiServerState::NotReady(_)));
        let unit = seen.units.get("kubelet.service").filter(|unit| unit.active == "active" && unit.started_microseconds > 0)?;
        let is_young = seen.monotonic_microseconds.saturating_sub(unit.started_microseconds) <= CSI_NODE_MICROSECONDS;
        (is_away && is_young).then_some(Self { was_started_microseconds: unit.started_microseconds, lacks: Lacks::ApiServer })
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Unit("kubelet.service".to_owned())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let unit = seen!(seen.units.get("kubelet.service"));
        if unit.active == "active" && unit.started_microseconds == self.was_started_microseconds {
            let because = match self.lacks {
                Lacks::Node => "the cluster has no node of this host, and a kubelet makes it when it starts",
                Lacks::ApiServer => "its API server was away when it was started, and it may pause for two minutes before it asks again",
            };
            return Verdict::differs(ChangeKind::Restart, because);
        }
        Verdict::Same
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Script(Fragment::text("systemctl restart kubelet.service\n"))
    }

    pub(super) fn title(&self) -> String {
        match self.lacks {
            Lacks::Node => "kubelet makes its node",
            Lacks::ApiServer => "kubelet asks its API server at once",
        }
        .to_owned()
    }
}
