//! Why a pod does not leave its node.

use std::fmt;

use super::pods::Budget;

/// Why a pod does not leave its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocker {
    /// This budget allows no disruption now.
    Budget(Budget),
    /// This budget never allows one, as long as nobody changes it.
    NeverMet(Budget),
    /// Several budgets protect it, and the API evicts no such pod.
    Several(Vec<String>),
    /// Nothing would make it again elsewhere.
    Unmanaged,
    /// What it has in an `emptyDir` would be lost.
    EmptyDir,
}

impl Blocker {
    /// Whether waiting can't help, so that a drain need not begin.
    #[must_use]
    pub const fn is_decision(&self) -> bool {
        matches!(self, Self::Unmanaged | Self::EmptyDir)
    }
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let budget = |budget: &Budget| {
            let Budget { name, selector, allowed, healthy, desired, .. } = budget;
            format!("budget {name} ({selector}) allows {allowed}: {healthy} pods are healthy, and {desired} have to be")
        };
        match self {
            Self::Budget(it) => f.write_str(&budget(it)),
            Self::NeverMet(it) => write!(f, "{}; it covers {}, so it never allows one", budget(it), it.expected),
            Self::Several(names) => write!(f, "the budgets {} all cover it, and the API evicts no such pod", names.join(", ")),
            Self::Unmanaged => f.write_str("no controller would make it again elsewhere"),
            Self::EmptyDir => f.write_str("what it has in an emptyDir would be lost"),
        }
    }
}
