//! Taking the pods off a node: which go, which stay, and what keeps one that has to go. Pure.
//!
//! Pods leave by the API's evictions, which ask every PodDisruptionBudget (Kubernetes: "API-initiated Eviction"). Pods of DaemonSets would come back
//! at once, mirror pods are the kubelet's own, and pods that have ended hold nothing: these stay, as with `kubectl drain`.

mod blocker;
mod judge;
mod pods;
mod settings;
#[cfg(test)]
mod tests;

pub use blocker::Blocker;
pub use judge::{Drain, judge};
pub use pods::{Budget, Pod, PodOwner, Selector, Workload};
pub(crate) use pods::{read_budgets, read_pods};
pub use settings::DrainSettings;

/// The annotation of a node that says that kokctl keeps new pods away from it, and why. It is the only sign by which a cordon is lifted: one without it
/// is somebody else's.
pub const CORDONED_BY: &str = "kokctl.io/cordoned-by";

/// Whether new pods are kept away from a node, and by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cordon {
    /// They are not.
    #[default]
    None,
    /// By a person, or another program.
    Others,
    /// By kokctl.
    Ours(Cordoner),
}

/// Why kokctl keeps new pods away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cordoner {
    /// Somebody has asked for it; it stays until somebody asks for the contrary.
    Word,
    /// A run does while it has something to do there. Where it was cut off, the next `apply` lifts it.
    Run,
}

impl Cordoner {
    /// As it stands in the annotation.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Word => "word",
            Self::Run => "run",
        }
    }
}

impl Cordon {
    /// By the node's field and its annotation.
    pub(crate) fn read(unschedulable: bool, annotation: Option<&str>) -> Self {
        match annotation {
            _ if !unschedulable => Self::None,
            Some(by) if by == Cordoner::Word.as_str() => Self::Ours(Cordoner::Word),
            Some(by) if by == Cordoner::Run.as_str() => Self::Ours(Cordoner::Run),
            // Of a reason that this version does not know nobody can say whether it is over.
            _ => Self::Others,
        }
    }

    /// Whether a run keeps pods away for as long as it works there.
    #[must_use]
    pub fn is_of_run(self) -> bool {
        self == Self::Ours(Cordoner::Run)
    }
}
