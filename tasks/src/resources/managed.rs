//! The list of what is declared for a host, by which it is known what is declared no more.

use std::collections::BTreeSet;

use super::Act;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::digest::sha256;
use crate::observe::{Look, Observations, PathState};
use crate::script::{Content, Fragment};

/// Where a host keeps it.
pub(crate) const MANAGED: &str = "/var/lib/kokctl/managed";

/// What is declared, a line each. It says nothing of how it is: that is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Managed {
    /// Kinds with what they are about, as `file /etc/motd`; each once, and sorted.
    pub lines: BTreeSet<String>,
}

/// So many are named.
const NAMED: usize = 5;

impl Managed {
    /// What stands in the list.
    #[must_use]
    pub fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::File { path: MANAGED.to_owned(), expected: Some(sha256(self.text().as_bytes())) }]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match seen!(seen.paths.get(MANAGED)) {
            PathState::Present(is) if is.sha256.as_deref() == Some(&sha256(self.text().as_bytes())) => Verdict::Same,
            PathState::Present(_) => {
                let kept = seen.contents.get(MANAGED).map(|bytes| String::from_utf8_lossy(bytes)).unwrap_or_default();
                let gone: Vec<&str> = kept.lines().filter(|line| !self.lines.contains(*line)).collect();
                Verdict::Differs(Change::new(ChangeKind::Record, because(&gone)))
            }
            PathState::Missing => Verdict::differs(ChangeKind::Record, "there is no list of what is declared"),
        }
    }

    pub(super) fn act(&self) -> Act {
        let mut fragment = Fragment::text("mkdir -p -m 755 /var/lib/kokctl\n");
        fragment.put(MANAGED, 0o644, Content::Bytes(self.text().as_bytes()));
        Act::Script(fragment)
    }
}

fn because(gone: &[&str]) -> String {
    if gone.is_empty() {
        return "more is declared than was".to_owned();
    }
    let more = gone.len().saturating_sub(NAMED);
    let named = gone.iter().take(NAMED).map(|line| line.escape_debug().to_string()).collect::<Vec<_>>().join(", ");
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("no longer managed, and left as it is: {named}{more}")
}
