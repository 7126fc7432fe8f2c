//! A path at which nothing is to be.

use super::Act;
use crate::change::{ChangeKind, Verdict, seen};
use crate::observe::{Kind, Look, Observations, PathState};
use crate::script::Fragment;
use crate::shell::quote;

/// Nothing at a path that a user wants gone. What files of ours have had their time is said by [`super::Absent`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gone {
    /// Absolute path.
    pub path: String,
    /// Whether a directory goes with all that is in it; without this only an empty one goes.
    pub recursive: bool,
}

impl Gone {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Path(self.path.clone())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match seen!(seen.paths.get(&self.path)) {
            PathState::Missing => Verdict::Same,
            PathState::Present(is) if is.kind == Kind::Directory && self.recursive => {
                Verdict::differs(ChangeKind::Remove, "it is a folder, and is to be gone with all that is in it")
            }
            PathState::Present(_) => Verdict::differs(ChangeKind::Remove, "it is there, and is to be gone"),
        }
    }

    /// A mount is left alone: what is below it is of another file system.
    pub(super) fn act(&self) -> Act {
        let path = quote(&self.path);
        let folder = if self.recursive {
            format!("rm -rf --one-file-system -- {path}")
        } else {
            format!("rmdir -- {path} || {{ echo \"what is in it goes only if its entry has recursive: true\" >&2; exit 1; }}")
        };
        Act::Script(Fragment::text(format!("if [ -d {path} ] && [ ! -L {path} ]; then\n  {folder}\nelse\n  rm -f -- {path}\nfi\n")))
    }

    pub(super) fn writes(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    pub(super) fn title(&self) -> String {
        format!("nothing at {}", self.path)
    }
}
