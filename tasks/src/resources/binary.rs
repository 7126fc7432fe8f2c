//! An executable out of the bundle.

use super::{Act, fetch};
use crate::artifact::{Artifact, Supply};
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Kind, Look, Observations, PathState};
use crate::script::Fragment;
use crate::shell::quote;

/// An executable file owned by root, mode 0755, out of the bundle and compared by digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    /// Absolute path; its folder exists or is made by an earlier step.
    pub path: String,
    /// Where it comes from.
    pub artifact: Artifact,
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
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::LargeFile(self.path.clone())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        compare(&self.path, &self.artifact.sha256, seen)
    }

    /// When the connection breaks, the shell must live on to remove what it wrote: so it takes no notice of a closed pipe. The temporary
    /// name is always the same, so that what a power cut left is replaced by the next run.
    pub(super) fn act(&self, _: &Change) -> Act {
        if let Supply::Fetched(source) = &self.artifact.supply {
            let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let place = format!("chmod 0755 \"$fetched\"\nmv -fT \"$fetched\" {}\n", quote(&self.path));
            return Act::Fetch(Fragment::text(fetch::file(&self.artifact, source, folder) + &place));
        }
        let script = format!(
            "trap '' PIPE\ntarget={}\ntemporary=\"${{target%/*}}/.kokctl-${{target##*/}}\"\ntrap 'rm -f \"$temporary\"' EXIT\n\
             rm -f \"$temporary\"\n(umask 077; : >\"$temporary\")\nchmod 0755 \"$temporary\"\n\
             timeout \"${{kokctl_limit:-900}}\" cat >\"$temporary\"\nsync \"$temporary\"\nsum=$(sha256sum <\"$temporary\")\n\
             [ \"${{sum%% *}}\" = {} ] || {{ echo \"what arrived has another sha256: ${{sum%% *}}\" >&2; exit 1; }}\n\
             mv -fT \"$temporary\" \"$target\"\n",
            quote(&self.path),
            quote(&self.artifact.sha256),
        );
        Act::Stream { script: Fragment::text(script), artifact: self.artifact.clone() }
    }

    pub(super) fn writes(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    pub(super) fn title(&self) -> String {
        format!("binary {} ({}{})", self.path, self.artifact.title, self.artifact.supply_words())
    }
}
