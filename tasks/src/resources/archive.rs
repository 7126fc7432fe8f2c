//! What is in an archive: executables out of one of the bundle, or all of one of the user's.

use std::collections::BTreeMap;

use kok_crds::model::MemberKind;

use super::binary::compare;
use super::tree::Tree;
use super::{Act, Touch, fetch};
use crate::artifact::{Artifact, Placed, Supply};
use crate::change::{Change, Verdict};
use crate::observe::{Look, Observations};
use crate::script::Fragment;
use crate::shell::quote;

/// Files out of an archive. It is unpacked in a folder of its own, and only what is meant leaves that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// Where it comes from.
    pub artifact: Artifact,
    /// Folder on the host to unpack in, on the file system of the targets; exists or is made by an earlier step. Of a tree it is where it belongs,
    /// and is made if it is not there.
    pub folder: String,
    /// What comes out of it.
    pub unpacked: Unpacked,
}

/// What comes out of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unpacked {
    /// Executables, and where they belong: each put in place by a rename once all have the digests that the bundle promises.
    Files(Vec<Placed>),
    /// All of it.
    Tree(Tree),
}

impl Archive {
    pub(super) fn looks(&self) -> Vec<Look> {
        let files = match &self.unpacked {
            Unpacked::Files(files) => files,
            Unpacked::Tree(tree) => return tree.looks(&self.folder),
        };
        files.iter().map(|file| Look::LargeFile(file.path.clone())).collect()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let files = match &self.unpacked {
            Unpacked::Files(files) => files,
            Unpacked::Tree(tree) => return tree.diff(&self.artifact, &self.folder, seen),
        };
        let verdicts = files.iter().map(|file| compare(&file.path, &file.entry.sha256, seen));
        verdicts.fold(Verdict::Same, |all, one| if all == Verdict::Same { one } else { all })
    }

    /// See [`super::Binary`] for what happens when the connection breaks.
    pub(super) fn act(&self, _: &Change) -> Act {
        let files = match &self.unpacked {
            Unpacked::Files(files) => files,
            Unpacked::Tree(tree) => {
                return Act::Stream { script: tree.script(&self.artifact, &self.folder), artifact: self.artifact.clone() };
            }
        };
        let script = format!(
            "trap '' PIPE\nfolder={}/.kokctl-unpacked\ntrap 'rm -rf \"$folder\"' EXIT\nrm -rf \"$folder\"\nmkdir -m 700 \"$folder\"\n\
             timeout \"${{kokctl_limit:-900}}\" tar -xz --no-same-owner -C \"$folder\" -f -\n\
             timeout \"${{kokctl_limit:-900}}\" cat >/dev/null\ncd \"$folder\"\n{}",
            quote(&self.folder),
            placed(files)
        );
        match &self.artifact.supply {
            Supply::Fetched(source) => {
                let fetch = fetch::file(&self.artifact, source, &self.folder);
                Act::Fetch(renaming(files, format!("{fetch}exec <\"$fetched\"\n{script}rm -f \"$fetched\"\n")))
            }
            Supply::Sent | Supply::SentBecause(_) => Act::Stream { script: renaming(files, script), artifact: self.artifact.clone() },
        }
    }

    pub(super) fn writes(&self) -> Vec<String> {
        match &self.unpacked {
            Unpacked::Files(files) => files.iter().map(|file| file.path.clone()).collect(),
            // Two archives may have a file of one name; what kokctl writes itself is held against all that is touched.
            Unpacked::Tree(_) => Vec::new(),
        }
    }

    pub(super) fn touches(&self) -> Vec<(String, Touch)> {
        let Unpacked::Tree(tree) = &self.unpacked else {
            return self.writes().into_iter().map(|path| (path, Touch::Whole)).collect();
        };
        let members = tree.contents.members.iter().filter(|member| !matches!(member.kind, MemberKind::Folder { .. }));
        members.map(|member| (format!("{}/{}", self.folder, member.path), Touch::Whole)).collect()
    }

    pub(super) fn title(&self) -> String {
        match &self.unpacked {
            Unpacked::Files(_) => format!("archive {}{}", self.artifact.title, self.artifact.supply_words()),
            Unpacked::Tree(_) => format!("archive {} in {}", self.artifact.title, self.folder),
        }
    }
}

/// Puts files in their places that are unpacked below the folder at hand. A program that has all of them costs a host what it costs for one; if
/// what it finds is not right, another one says which file is wrong.
fn placed(files: &[Placed]) -> String {
    let list = |line: &dyn Fn(&Placed) -> String, between: &str| files.iter().map(line).collect::<Vec<_>>().join(between);
    let unpacked = list(&|file| quote(&format!("./{}", file.entry.path)), " ");
    let expected = quote(&list(&|file| format!("{} *./{}", file.entry.sha256, file.entry.path), "\n"));
    let sums = list(&|file| format!("{}  {}", file.entry.sha256, file.entry.path), "\n");
    let moves = moves(files);
    let noted = list(&|file| format!("{} {}", file.entry.sha256, quote(&file.path)), " ");
    format!(
        "[ \"$(digests_of {unpacked})\" = {expected} ] || sha256sum --quiet -c - <<'--SUMS--' >&2\n{sums}\n--SUMS--\n\
         chown 0:0 {unpacked}\nchmod 0755 {unpacked}\nsync {unpacked}\n{moves}remember {noted}\n"
    )
}

/// Those that keep their names are renamed into a folder together.
fn moves(files: &[Placed]) -> String {
    let (mut together, mut script) = (BTreeMap::<&str, Vec<String>>::new(), String::new());
    for file in files {
        let (from, to) = (format!("./{}", file.entry.path), file.path.as_str());
        match to.rsplit_once('/') {
            Some((folder, name)) if from.ends_with(&format!("/{name}")) => together.entry(folder).or_default().push(quote(&from)),
            _ => script.push_str(&format!("mv -fT {} {}\n", quote(&from), quote(to))),
        }
    }
    for (folder, files) in together {
        script.push_str(&format!("mv -f -t {} {}\n", quote(&format!("{folder}/")), files.join(" ")));
    }
    script
}

fn renaming(files: &[Placed], script: String) -> Fragment {
    let mut fragment = Fragment::text(script);
    files.iter().for_each(|file| fragment.renames_into(&file.path));
    fragment
}
