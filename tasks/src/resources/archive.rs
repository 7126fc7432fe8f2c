//! Executables out of an archive of the bundle.

use std::fmt::Write as _;

use super::binary::compare;
use super::{Act, fetch};
use crate::artifact::{Artifact, Placed, Supply};
use crate::change::{Change, Verdict};
use crate::observe::{Look, Observations};
use crate::script::Fragment;
use crate::shell::quote;

/// Files out of a compressed archive, each put in place by a rename once all have the digests that the bundle promises. The archive is
/// unpacked in a folder of its own, and only the listed files leave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// Where it comes from.
    pub artifact: Artifact,
    /// Folder on the host to unpack in, on the file system of the targets; exists or is made by an earlier step.
    pub folder: String,
    /// The files and where they belong.
    pub files: Vec<Placed>,
}

impl Archive {
    pub(super) fn looks(&self) -> Vec<Look> {
        self.files.iter().map(|file| Look::LargeFile(file.path.clone())).collect()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let verdicts = self.files.iter().map(|file| compare(&file.path, &file.entry.sha256, seen));
        verdicts.fold(Verdict::Same, |all, one| if all == Verdict::Same { one } else { all })
    }

    /// See [`super::Binary`] for what happens when the connection breaks.
    pub(super) fn act(&self, _: &Change) -> Act {
        let mut script = format!(
            "trap '' PIPE\nfolder={}/.kokctl-unpacked\ntrap 'rm -rf \"$folder\"' EXIT\nrm -rf \"$folder\"\nmkdir -m 700 \"$folder\"\n\
             timeout \"${{kokctl_limit:-900}}\" tar -xz --no-same-owner -C \"$folder\" -f -\n\
             timeout \"${{kokctl_limit:-900}}\" cat >/dev/null\ncd \"$folder\"\nsha256sum --quiet -c - <<'--SUMS--' >&2\n",
            quote(&self.folder)
        );
        for file in &self.files {
            let _ = writeln!(script, "{}  {}", file.entry.sha256, file.entry.path);
        }
        script.push_str("--SUMS--\n");
        for file in &self.files {
            let (from, to) = (quote(&file.entry.path), quote(&file.path));
            let _ = writeln!(script, "chown 0:0 {from}\nchmod 0755 {from}\nsync {from}\nmv -fT {from} {to}");
        }
        match &self.artifact.supply {
            Supply::Fetched(source) => {
                let fetch = fetch::file(&self.artifact, source, &self.folder);
                Act::Fetch(Fragment::text(format!("{fetch}exec <\"$fetched\"\n{script}rm -f \"$fetched\"\n")))
            }
            Supply::Sent | Supply::SentBecause(_) => Act::Stream { script: Fragment::text(script), artifact: self.artifact.clone() },
        }
    }

    pub(super) fn writes(&self) -> Vec<String> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }

    pub(super) fn title(&self) -> String {
        format!("archive {}{}", self.artifact.title, self.artifact.supply_words())
    }
}
