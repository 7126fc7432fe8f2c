//! The clock follows its source.

use kok_crds::listed;

use crate::change::{Change, Verdict, seen};
use crate::observe::{Look, Observations, TimeSource, TimeTracking};
use crate::resources::Act;

/// chronyd says that it is synchronised: with a source of its own, or with its local clock on a host that serves time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeSynchronised {
    /// Whether the host's own clock is the source (closed networks).
    pub serves: bool,
    /// The sources as they are configured, for those who wait for them.
    pub sources: Vec<String>,
}

/// Sources that are named at the most: a pool has many.
const MOST_SOURCES: usize = 6;

/// The reference identifier of chronyd's local clock.
const LOCAL_CLOCK: &str = "7F7F0101";

impl TimeSynchronised {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::TimeTracking]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let because = match seen!(&seen.time) {
            TimeTracking::Unavailable => "chronyd does not answer".to_owned(),
            TimeTracking::Tracking { leap, sources, .. } if leap == "Not synchronised" => {
                format!("chronyd is not synchronised{}", self.told(sources))
            }
            TimeTracking::Tracking { reference, sources, .. } if reference == LOCAL_CLOCK && !self.serves => {
                format!("chronyd follows the host's own clock only{}", self.told(sources))
            }
            TimeTracking::Tracking { .. } => return Verdict::Same,
        };
        Verdict::differs(super::ready::WAIT, because)
    }

    /// What chronyd says of each source; nothing of a host that has none but its own clock.
    fn told(&self, seen: &[TimeSource]) -> String {
        if self.sources.is_empty() {
            return String::new();
        }
        if seen.is_empty() {
            let names = listed(self.sources.iter().map(String::as_str));
            return format!(": it knows the address of none of its sources ({names})");
        }
        let said = |source: &TimeSource| {
            let state = match (source.answers, source.mark) {
                (false, _) => "does not answer",
                (true, 'x') => "answers, and its time is wrong",
                (true, '~') => "answers, and its time varies too much",
                (true, _) => "answers, and is still measured",
            };
            format!("{} {state}", source.name)
        };
        format!(": {}", seen.iter().take(MOST_SOURCES).map(said).collect::<Vec<_>>().join(", "))
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Wait
    }

    pub(super) fn title(&self) -> String {
        "clock synchronised".to_owned()
    }
}
