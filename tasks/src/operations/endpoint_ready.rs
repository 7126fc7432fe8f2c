//! A way to the API that kokctl does not make.

use super::ready::said_briefly;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{ApiServerState, Look, Observations};
use crate::resources::Act;

/// An API server of this cluster that is ready answers at the endpoint that the user runs, under a name of its certificate, asked on a
/// control plane. What a client asks of the cluster is asked there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointReady {
    /// URL of the endpoint.
    pub url: String,
}

impl EndpointReady {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::ApiEndpoint(self.url.clone())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match seen!(seen.api_endpoints.get(&self.url)) {
            ApiServerState::Ready => Verdict::Same,
            ApiServerState::NotReady(output) => Verdict::differs(
                ChangeKind::Wait,
                format!("at {}, where the cluster's clients are sent, {}", self.url, said_briefly(output)),
            ),
            ApiServerState::Absent => Verdict::differs(ChangeKind::Wait, "there is no control plane yet"),
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Wait
    }

    pub(super) fn title(&self) -> String {
        format!("API at {}", self.url)
    }
}
