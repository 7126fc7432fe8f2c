//! What becomes of the pods of a node.

use super::{Blocker, Budget, DrainSettings, Pod, PodOwner};

/// What becomes of the pods of a node that have to leave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Drain {
    /// They may leave now.
    pub evict: Vec<String>,
    /// They have to leave, and something keeps them.
    pub blocked: Vec<(String, Blocker)>,
    /// They were told to, and have not ended yet.
    pub ending: Vec<String>,
}

impl Drain {
    /// Whether no pod is left that has to leave.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.evict.is_empty() && self.blocked.is_empty() && self.ending.is_empty()
    }
}

/// Judges the pods of a node. Of several pods that one budget covers as many may leave at once as it allows.
#[must_use]
pub fn judge(pods: &[Pod], budgets: &[Budget], settings: &DrainSettings) -> Drain {
    let mut budgets = budgets.to_vec();
    let mut drain = Drain::default();
    for pod in pods.iter().filter(|pod| has_to_leave(pod)) {
        match blocker(pod, &mut budgets, settings) {
            _ if pod.is_leaving => drain.ending.push(pod.path()),
            Some(blocker) => drain.blocked.push((pod.path(), blocker)),
            None => drain.evict.push(pod.path()),
        }
    }
    drain
}

fn has_to_leave(pod: &Pod) -> bool {
    !pod.is_mirror && !pod.has_ended && pod.owner != PodOwner::DaemonSet
}

/// What keeps a pod; if nothing does, its budget allows one less.
fn blocker(pod: &Pod, budgets: &mut [Budget], settings: &DrainSettings) -> Option<Blocker> {
    if pod.is_leaving {
        return None;
    }
    if pod.owner == PodOwner::Nobody && !settings.delete_unmanaged {
        return Some(Blocker::Unmanaged);
    }
    if pod.has_empty_dir && !settings.delete_empty_dir {
        return Some(Blocker::EmptyDir);
    }
    if settings.force_budget {
        return None;
    }
    let mut covering: Vec<&mut Budget> = budgets.iter_mut().filter(|budget| budget.covers(pod)).collect();
    match covering.as_mut_slice() {
        [] => None,
        [budget] if budget.allowed > 0 => {
            budget.allowed -= 1;
            None
        }
        [budget] if budget.is_never_met() => Some(Blocker::NeverMet(budget.clone())),
        [budget] => Some(Blocker::Budget(budget.clone())),
        several => Some(Blocker::Several(several.iter().map(|budget| budget.name.clone()).collect())),
    }
}
