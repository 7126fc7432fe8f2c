//! The clock follows its source.

use crate::change::{Change, Verdict, seen};
use crate::observe::{Look, Observations, TimeTracking};
use crate::resources::Act;

/// chronyd says that it is synchronised: with a source of its own, or with its local clock on a host that serves time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeSynchronised {
    /// Whether the host's own clock is the source (closed networks).
    pub serves: bool,
}

/// The reference identifier of chronyd's local clock.
const LOCAL_CLOCK: &str = "7F7F0101";

impl TimeSynchronised {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::TimeTracking]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let because = match seen!(&seen.time) {
            TimeTracking::Unavailable => "chronyd does not answer".to_owned(),
            TimeTracking::Tracking { leap, .. } if leap == "Not synchronised" => "chronyd is not synchronised".to_owned(),
            TimeTracking::Tracking { reference, .. } if reference == LOCAL_CLOCK && !self.serves => {
                "chronyd follows the host's own clock only".to_owned()
            }
            TimeTracking::Tracking { .. } => return Verdict::Same,
        };
        Verdict::differs(super::ready::WAIT, because)
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Wait
    }

    pub(super) fn title(&self) -> String {
        "clock synchronised".to_owned()
    }
}
