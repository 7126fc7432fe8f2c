//! How much of a cluster may be away at a time, and how pods leave nodes.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How many workers may be away at a time, as Ansible's `serial` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serial {
    /// So many.
    Count(usize),
    /// So many of a hundred.
    Share(usize),
}

impl Serial {
    /// What it looks like, as an error says it.
    pub const RULE: &str = "it is a number of hosts, such as 2, or a share of them, such as 20%; at least one is always taken";

    /// Of so many workers: a share is rounded down, and one may be away in any case, or nothing would ever be done.
    #[must_use]
    pub fn count_of(self, workers: usize) -> usize {
        let most = match self {
            Self::Count(count) => count,
            Self::Share(share) => workers.saturating_mul(share) / 100,
        };
        most.max(1)
    }
}

impl Default for Serial {
    /// Kubespray's default.
    fn default() -> Self {
        Self::Share(20)
    }
}

impl FromStr for Serial {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number > 0).ok_or(Self::RULE);
        match text.strip_suffix('%') {
            Some(share) => number(share).and_then(|share| if share <= 100 { Ok(Self::Share(share)) } else { Err(Self::RULE) }),
            None => number(text).map(Self::Count),
        }
    }
}

impl fmt::Display for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Share(share) => write!(f, "{share}%"),
        }
    }
}

/// How pods leave nodes, where nobody says otherwise on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drains {
    /// How many seconds a pod has to end; nothing for what it asks for itself.
    pub grace_seconds: Option<u32>,
    /// After so long a drain is given up.
    pub timeout: Option<Duration>,
    /// Whether pods are deleted that a PodDisruptionBudget protects.
    pub force_budget: bool,
    /// Whether pods stay on a node that is upgraded, against what Kubernetes asks for.
    pub off: bool,
}

#[cfg(test)]
mod tests {
    use super::Serial;

    #[test]
    fn a_number_or_a_share_of_the_workers_and_one_at_least() {
        let of = |text: &str, workers| text.parse::<Serial>().map(|serial| serial.count_of(workers)).ok();
        let said = [of("2", 50), of("20%", 50), of("20%", 9), of("20%", 3), of("100%", 3), of("7", 3)];
        assert_eq!(said, [Some(2), Some(10), Some(1), Some(1), Some(3), Some(7)]);
        for wrong in ["", "%", "0", "0%", "-1", "101%", "two", "1.5", "[1, 2]"] {
            assert_eq!(of(wrong, 10), None, "{wrong}");
        }
    }
}
