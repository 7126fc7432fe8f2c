//! Controller manager and scheduler of a control plane run.

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{CONTROLLERS, Look, Observations};
use crate::resources::Act;

/// Controller manager and scheduler of this host run, and have got over their start. Nothing is done: the kubelet starts them, at first at once and
/// after each failure later, up to five minutes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllersRun;

/// A program that does not take its options or its kubeconfig has ended by then.
const SETTLED_NANOSECONDS: i128 = 3_000_000_000;

impl ControllersRun {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Programs]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let programs = seen!(&seen.programs);
        for program in CONTROLLERS {
            let because = match programs.get(program) {
                _ if Self::is_over(program, seen) => continue,
                None => "does not run",
                Some(_) => "was started just now",
            };
            return Verdict::differs(ChangeKind::Wait, format!("{program} {because}"));
        }
        Verdict::Same
    }

    /// Whether a program of that name runs and has got over its start: what it complained of before is over.
    #[must_use]
    pub fn is_over(program: &str, seen: &Observations) -> bool {
        let started = seen.programs.as_ref().and_then(|programs| programs.get(program)).filter(|_| CONTROLLERS.contains(&program));
        started.is_some_and(|started| seen.clock_nanoseconds - started >= SETTLED_NANOSECONDS)
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Wait
    }

    pub(super) fn title(&self) -> String {
        "controller manager and scheduler run".to_owned()
    }
}
