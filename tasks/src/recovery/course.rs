//! How far a recovery has come on a host. Whatever steers asks for this, and this asks for nothing but what the host has.

use super::{ASIDE, ENDED, MADE, Recovery, STARTED};
use crate::observe::{Look, Observations};
use crate::plan::Seen;

/// What a recovery has done on a host so far, each with all before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Course {
    /// Nothing, or it was taken back.
    Untouched,
    /// The host says that it is under way.
    Begun,
    /// The data of before are aside.
    Aside,
    /// There are data of a new etcd.
    Made,
    /// The new etcd was started: from here on nothing is taken back, for it may have been written to.
    Started,
    /// It works, and all that is left to do is to say that it has come to its end.
    Works,
    /// It has come to its end, and nothing says any more that it is under way.
    Ended,
}

impl Course {
    /// How far it has come on a host that answers.
    #[must_use]
    pub fn on_host(recovery: &Recovery, host: &str, seen: &Seen) -> Option<Self> {
        let is_marked = seen.facts(host)?.recovery.is_some();
        let observed = seen.observations(host);
        let says = |path: &str| lists(path, &recovery.id, observed);
        Some(match (is_marked, says(ENDED)) {
            (false, true) => Self::Ended,
            (true, true) => Self::Works,
            _ if says(STARTED) => Self::Started,
            _ if says(MADE) => Self::Made,
            _ if says(ASIDE) => Self::Aside,
            (true, false) => Self::Begun,
            (false, false) => Self::Untouched,
        })
    }

    /// Whether a recovery of that name has come to its end on a host.
    #[must_use]
    pub fn has_ended(id: &str, host: &str, seen: &Seen) -> bool {
        lists(ENDED, id, seen.observations(host))
    }

    /// What has to be looked at to tell.
    pub fn looks() -> impl Iterator<Item = Look> {
        [ASIDE, MADE, STARTED, ENDED].into_iter().flat_map(|path| [Look::Content(path.to_owned()), Look::Path(path.to_owned())])
    }
}

/// Whether a file has a line with this name.
fn lists(path: &str, id: &str, seen: &Observations) -> bool {
    seen.contents.get(path).is_some_and(|text| text.split(|byte| *byte == b'\n').any(|line| line.trim_ascii() == id.as_bytes()))
}
