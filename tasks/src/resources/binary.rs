//! A file that comes as it is: an executable out of the bundle, or a file of the user's.

use super::owner::{Owner, Rights};
use super::{Act, fetch};
use crate::artifact::{Artifact, Supply};
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Kind, Look, Observations, PathState};
use crate::script::Fragment;
use crate::shell::quote;

/// A file of any length, compared by digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    /// Absolute path; its folder exists or is made by an earlier step.
    pub path: String,
    /// Where it comes from.
    pub artifact: Artifact,
    /// Permission bits.
    pub mode: u32,
    /// Whose it is.
    pub owner: Owner,
}

/// Permissions of everything that is executed.
pub(super) const EXECUTABLE: u32 = 0o755;

/// Compares an executable on a host with the digest that it should have.
pub(super) fn compare(path: &str, expected: &str, seen: &Observations) -> Verdict {
    match seen!(seen.paths.get(path)) {
        PathState::Missing => Verdict::differs(ChangeKind::Install, format!("{path} does not exist")),
        PathState::Present(is) if is.kind == Kind::File && is.sha256.as_deref() == Some(expected) => {
            if is.mode == EXECUTABLE && (is.user, is.group) == (0, 0) {
                Verdict::Same
            } else {
                Verdict::differs(ChangeKind::Install, format!("{path} has mode {:04o} and owner {}:{}", is.mode, is.user, is.group))
            }
        }
        PathState::Present(_) => Verdict::differs(ChangeKind::Install, format!("{path} is another file than the bundle's")),
    }
}

impl Binary {
    /// An executable of root's.
    #[must_use]
    pub fn executable(path: impl Into<String>, artifact: Artifact) -> Self {
        Self { path: path.into(), artifact, mode: EXECUTABLE, owner: Owner::default() }
    }

    fn rights(&self) -> Rights<'_> {
        Rights { mode: self.mode, owner: &self.owner }
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        [Look::LargeFile(self.path.clone())].into_iter().chain(self.owner.looks()).collect()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let path = &self.path;
        match seen!(seen.paths.get(path)) {
            PathState::Present(is) if is.kind == Kind::File && is.sha256.as_ref() == Some(&self.artifact.sha256) => {
                self.rights().diff(is, seen)
            }
            PathState::Present(_) if self.artifact.is_users() => {
                Verdict::differs(ChangeKind::Install, format!("{path} is another file than {}", self.artifact.title))
            }
            _ => compare(path, &self.artifact.sha256, seen),
        }
    }

    /// When the connection breaks, the shell must live on to remove what it wrote: so it takes no notice of a closed pipe. The temporary
    /// name is always the same, so that what a power cut left is replaced by the next run.
    pub(super) fn act(&self, change: &Change) -> Act {
        if matches!(change.kind, ChangeKind::Mode(_) | ChangeKind::Owned { .. }) {
            return Act::Script(Fragment::text(self.rights().script(&self.path)));
        }
        if let Supply::Fetched(source) = &self.artifact.supply {
            let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let (path, sum) = (quote(&self.path), quote(&self.artifact.sha256));
            let place = format!("{}mv -fT \"$fetched\" {path}\nremember {sum} {path}\n", self.rights().of_variable("fetched"));
            return Act::Fetch(self.renaming(fetch::file(&self.artifact, source, folder) + &place));
        }
        let script = format!(
            "trap '' PIPE\ntarget={}\ntemporary=\"${{target%/*}}/.kokctl-${{target##*/}}\"\ntrap '[ ! -e \"$temporary\" ] || rm -f \"$temporary\"' EXIT\n\
             clear_temporary\n{}\
             timeout \"${{kokctl_limit:-900}}\" cat >\"$temporary\"\nsync \"$temporary\"\ndigest_of \"$temporary\" {}\n\
             [ \"$sum\" = {} ] || {{ echo \"what arrived has another sha256: $sum\" >&2; exit 1; }}\n\
             mv -fT \"$temporary\" \"$target\"\nremember \"$sum\" \"$target\"\n",
            quote(&self.path),
            self.rights().of_variable("temporary"),
            self.artifact.size,
            quote(&self.artifact.sha256),
        );
        Act::Stream { script: self.renaming(script), artifact: self.artifact.clone() }
    }

    fn renaming(&self, script: String) -> Fragment {
        let mut fragment = Fragment::text(script);
        fragment.renames_into(&self.path);
        fragment
    }

    pub(super) fn writes(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    pub(super) fn title(&self) -> String {
        format!("binary {} ({}{})", self.path, self.artifact.title, self.artifact.supply_words())
    }
}
