//! The control plane that speaks for the cluster.
//!
//! What is asked of the cluster, and done in it, goes through one API server. None has that office for good: it is the first of the file
//! whose API server answers, and before one does, the first of the file.

use kok_crds::model::{Cluster, Host};

use crate::observe::ApiServerState;
use crate::plan::Seen;

/// The control plane whose API server is asked, by what was seen. `None` only for a cluster without control planes.
#[must_use]
pub fn speaker<'a>(cluster: &'a Cluster, seen: &Seen) -> Option<&'a Host> {
    let answers = |host: &&Host| matches!(seen.observations(&host.name).api_server, Some(ApiServerState::Ready));
    cluster.control_planes().find(answers).or_else(|| cluster.control_planes().next())
}
