//! The clock follows its source.

use std::net::IpAddr;

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, TimeSource, TimeTracking};
use crate::resources::Act;

/// chronyd says that it is synchronised: with a source of its own, or with its local clock on a host that serves time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeSynchronised {
    /// Whether the host's own clock is the source (closed networks).
    pub serves: bool,
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
                format!("chronyd is not synchronised{}", describe_sources(sources))
            }
            TimeTracking::Tracking { reference, sources, .. } if reference == LOCAL_CLOCK && !self.serves => {
                format!("chronyd follows the host's own clock only{}", describe_sources(sources))
            }
            TimeTracking::Tracking { .. } => return Verdict::Same,
        };
        Verdict::differs(ChangeKind::Wait, because)
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Wait
    }

    pub(super) fn title(&self) -> String {
        "clock synchronised".to_owned()
    }
}

/// What chronyd says of each of its sources; nothing of one that has none, as before it is configured.
fn describe_sources(sources: &[TimeSource]) -> String {
    let describe = |source: &TimeSource| {
        let state = match (source.answers, source.mark) {
            (false, _) if source.name.parse::<IpAddr>().is_ok() => "does not answer",
            (false, _) => "has no address or does not answer",
            (true, 'x') => "answers, and its time is wrong",
            (true, '~') => "answers, and its time varies too much",
            (true, _) => "answers, and is still measured",
        };
        format!("{} {state}", source.name)
    };
    let described: Vec<String> = sources.iter().take(MOST_SOURCES).map(describe).collect();
    if described.is_empty() { String::new() } else { format!(": {}", described.join(", ")) }
}
