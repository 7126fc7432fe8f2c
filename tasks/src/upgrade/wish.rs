//! What somebody wishes of an upgrade: a part of it, or a stop on the way.

use std::collections::BTreeSet;

use kok_crds::model::Host;

use super::{Running, Stage, StageName};

/// Which part of the cluster is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterPart {
    /// Control planes with their kubelets, etcd and what the cluster says of itself.
    ControlPlanes,
    /// Kubelets of workers.
    Workers,
}

/// After which stages somebody wishes to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// After the first control plane.
    First,
    /// When all control planes have the version, and the cluster says so of itself.
    ControlPlanes,
}

impl Pause {
    /// The stages before it. Where everything before it is done there are none, so that whoever types it again goes no further.
    #[must_use]
    pub fn before(self, running: &Running, mut stages: Vec<Stage>) -> Vec<Stage> {
        let end = match self {
            Self::First => {
                let differ = running.planes.values().collect::<BTreeSet<_>>().len() > 1;
                // Whatever else comes before it belongs to a version that the first has already.
                let is_next = |first: &usize| stages.iter().take(*first).all(|stage| stage.name == StageName::Etcd);
                let first = stages.iter().position(|stage| stage.name == StageName::First);
                first.filter(|_| !differ).filter(is_next).map_or(0, |first| first + 1)
            }
            Self::ControlPlanes => {
                let kubelets = || stages.iter().position(|stage| stage.name == StageName::Kubelets).unwrap_or(stages.len());
                let last = stages.iter().rposition(|stage| stage.name == StageName::Configuration);
                last.map_or_else(kubelets, |last| last + 1)
            }
        };
        stages.truncate(end);
        stages
    }
}

/// What somebody wishes of an upgrade.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wish {
    /// The hosts that are meant; all, if it is empty.
    pub limit: Vec<String>,
    /// The part that is meant.
    pub part: Option<ClusterPart>,
    /// Where it stops on the way.
    pub pause: Option<Pause>,
    /// Whether pods stay where they are, against what Kubernetes asks for.
    pub undrained: bool,
    /// Workers that can't be reached and are none of those that are meant: others do not wait for them.
    pub away: BTreeSet<String>,
}

impl Wish {
    pub(super) fn has(&self, host: &str) -> bool {
        self.limit.is_empty() || self.limit.iter().any(|name| name == host)
    }

    pub(super) fn has_planes(&self) -> bool {
        matches!(self.part, None | Some(ClusterPart::ControlPlanes))
    }

    pub(super) fn has_kubelet(&self, host: &Host) -> bool {
        let is_of_part = match self.part {
            None => true,
            Some(ClusterPart::ControlPlanes) => host.roles.control_plane,
            Some(ClusterPart::Workers) => !host.roles.control_plane,
        };
        is_of_part && self.has(&host.name)
    }
}
