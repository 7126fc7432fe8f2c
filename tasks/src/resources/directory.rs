//! A directory with its mode and owner.

use super::Act;
use super::owner::{Owner, Rights};
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Kind, Look, Observations, PathState};
use crate::script::Fragment;
use crate::shell::quote;

/// A directory. What is in it is not touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// Absolute path.
    pub path: String,
    /// Permission bits.
    pub mode: u32,
    /// Whose it is.
    pub owner: Owner,
}

impl Directory {
    /// A directory of root's.
    #[must_use]
    pub fn new(path: impl Into<String>, mode: u32) -> Self {
        Self { path: path.into(), mode, owner: Owner::default() }
    }

    /// The same of somebody else.
    #[must_use]
    pub fn owned(self, owner: Owner) -> Self {
        Self { owner, ..self }
    }

    fn rights(&self) -> Rights<'_> {
        Rights { mode: self.mode, owner: &self.owner }
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        [Look::Path(self.path.clone())].into_iter().chain(self.owner.looks()).collect()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match seen!(seen.paths.get(&self.path)) {
            PathState::Missing => Verdict::differs(ChangeKind::Create, "it does not exist"),
            PathState::Present(is) if is.kind != Kind::Directory => {
                Verdict::differs(ChangeKind::Create, "something that is no directory stands in its place")
            }
            PathState::Present(is) => self.rights().diff(is, seen),
        }
    }

    /// A new one of root's has its rights at once, unless the folder around it gives its group to what is made in it.
    pub(super) fn act(&self, _: &Change) -> Act {
        let (path, rights) = (quote(&self.path), self.rights().script(&self.path));
        let made = if self.owner == Owner::default() { format!("[ ! -g {path} ] || {{\n{rights}}}\n") } else { rights.clone() };
        Act::Script(Fragment::text(format!("if [ -d {path} ]; then\n{rights}else\nmkdir -p -m {:04o} {path}\n{made}fi\n", self.mode)))
    }

    pub(super) fn writes(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    pub(super) fn title(&self) -> String {
        format!("directory {}", self.path)
    }
}
