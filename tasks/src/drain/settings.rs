//! How a node is drained.

use std::time::Duration;

use kok_crds::model::Drains;

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

    /// What a file says, where nothing may be lost that is not there twice.
    #[must_use]
    pub fn from_drains(drains: &Drains) -> Self {
        let Drains { grace_seconds, timeout, force_budget, .. } = *drains;
        Self { grace_seconds, timeout: timeout.unwrap_or(Self::TIMEOUT), force_budget, ..Self::default() }
    }
}

impl Default for DrainSettings {
    fn default() -> Self {
        Self { grace_seconds: None, timeout: Self::TIMEOUT, force_budget: false, delete_empty_dir: false, delete_unmanaged: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_says_counts_and_the_rest_is_careful() {
        assert_eq!(DrainSettings::from_drains(&Drains::default()), DrainSettings::default());
        let drains = Drains { grace_seconds: Some(45), timeout: Some(Duration::from_secs(600)), force_budget: true, off: false };
        let expected =
            DrainSettings { grace_seconds: Some(45), timeout: Duration::from_secs(600), force_budget: true, ..DrainSettings::default() };
        assert_eq!(DrainSettings::from_drains(&drains), expected);
    }
}
