//! A symbolic link.

use super::Act;
use crate::change::{ChangeKind, Verdict, seen};
use crate::observe::{Kind, Look, Observations, PathState, Piece};
use crate::script::Fragment;
use crate::shell::quote;

/// A symbolic link with where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symlink {
    /// Absolute path.
    pub path: String,
    /// Where it leads, as it stands in the link.
    pub target: String,
}

impl Symlink {
    fn piece(&self) -> Piece {
        Piece::Link(self.path.clone())
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Path(self.path.clone()), Look::Piece(self.piece())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let target = seen!(seen.pieces.get(&self.piece())).trim_end_matches('\n');
        match seen!(seen.paths.get(&self.path)) {
            PathState::Missing => Verdict::differs(ChangeKind::Create, "it does not exist"),
            PathState::Present(is) if is.kind != Kind::Symlink => {
                Verdict::differs(ChangeKind::Create, "something that is no link stands in its place")
            }
            PathState::Present(_) if target != self.target => {
                let mut change = crate::change::Change::new(ChangeKind::Replace, "it leads elsewhere");
                change.diff = Some(super::unified(&self.path, &format!("{target}\n"), &format!("{}\n", self.target)));
                Verdict::Differs(change)
            }
            PathState::Present(_) => Verdict::Same,
        }
    }

    /// At once, so that there is always one of the two. A folder stays, with what is in it.
    pub(super) fn act(&self) -> Act {
        let (path, target) = (quote(&self.path), quote(&self.target));
        Act::Script(Fragment::text(format!(
            "path={path}\nif [ -d \"$path\" ] && [ ! -L \"$path\" ]; then echo \"$path is a folder\" >&2; exit 1; fi\n\
             if [ ! -e \"$path\" ] && [ ! -L \"$path\" ]; then\n  ln -sT -- {target} \"$path\"\nelse\n  \
             temporary=\"${{path%/*}}/.kokctl-${{path##*/}}\"\n  ln -sfnT -- {target} \"$temporary\"\n  mv -fT -- \"$temporary\" \"$path\"\nfi\n"
        )))
    }

    pub(super) fn writes(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    pub(super) fn title(&self) -> String {
        format!("link {}", self.path)
    }
}
