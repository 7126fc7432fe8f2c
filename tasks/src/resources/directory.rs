//! A directory with its mode, owned by root.

use super::Act;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Kind, Look, Observations, PathState};
use crate::script::Fragment;
use crate::shell::quote;

/// A directory owned by root. What is in it is not touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// Absolute path.
    pub path: String,
    /// Permission bits.
    pub mode: u32,
}

impl Directory {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Path(self.path.clone())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match seen!(seen.paths.get(&self.path)) {
            PathState::Missing => Verdict::differs(ChangeKind::Create, "it does not exist"),
            PathState::Present(is) if is.kind != Kind::Directory => {
                Verdict::differs(ChangeKind::Create, "something that is no directory stands in its place")
            }
            PathState::Present(is) if is.mode != self.mode || (is.user, is.group) != (0, 0) => {
                Verdict::differs(ChangeKind::Mode(self.mode), format!("it has mode {:04o} and owner {}:{}", is.mode, is.user, is.group))
            }
            PathState::Present(_) => Verdict::Same,
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let path = quote(&self.path);
        Act::Script(Fragment::text(format!("mkdir -p {path}\nchmod {:04o} {path}\nchown 0:0 {path}\n", self.mode)))
    }

    pub(super) fn writes(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    pub(super) fn title(&self) -> String {
        format!("directory {}", self.path)
    }
}
