//! Load balancers of hosts that have found an API server.

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{ApiServerState, Look, Observations};
use crate::resources::Act;

/// The load balancer of each of these nodes runs and has an API server to send its clients to, asked on a control plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadBalancersReady {
    /// Names of the nodes.
    pub nodes: Vec<String>,
}

impl LoadBalancersReady {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::ApiServer, Look::LoadBalancers]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        if *seen!(&seen.api_server) != ApiServerState::Ready {
            let assumed = matches!(seen.api_server, Some(ApiServerState::NotReady(_)));
            return Verdict::Differs(Change { assumed, ..Change::new(ChangeKind::Wait, "the API server does not answer yet") });
        }
        let found = seen!(&seen.load_balancers);
        let missing = self.nodes.iter().find_map(|node| match found.get(node) {
            None => Some(format!("node {node} has no load balancer")),
            Some(false) => Some(format!("the load balancer of node {node} is not ready")),
            Some(true) => None,
        });
        missing.map_or(Verdict::Same, |because| Verdict::differs(ChangeKind::Wait, because))
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Wait
    }

    pub(super) fn title(&self) -> String {
        "load balancers ready".to_owned()
    }
}
