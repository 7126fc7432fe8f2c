//! How a node is drained.

use std::time::Duration;

/// What may be done to pods that don't leave by an eviction alone, and how long it may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrainSettings {
    /// How many seconds a pod has to end; nothing for what it asks for itself.
    pub grace_seconds: Option<u32>,
    /// After so long a drain is given up.
    pub timeout: Duration,
    /// Whether pods are deleted that a PodDisruptionBudget protects.
    pub force_budget: bool,
    /// Whether pods go whose `emptyDir` is lost with them.
    pub delete_empty_dir: bool,
    /// Whether pods go that nothing makes again elsewhere.
    pub delete_unmanaged: bool,
}

impl DrainSettings {
    /// Kubespray's `drain_timeout`.
    pub const TIMEOUT: Duration = Duration::from_secs(360);
}

impl Default for DrainSettings {
    fn default() -> Self {
        Self { grace_seconds: None, timeout: Self::TIMEOUT, force_budget: false, delete_empty_dir: false, delete_unmanaged: false }
    }
}
