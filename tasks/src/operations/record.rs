//! The record of what kubeadm wrote.
//!
//! kubeadm renders manifests and kubelet files itself. To see later whether somebody changed one by hand, or whether the configuration they
//! were made from is another by now, the sums of the files and of the configuration are kept on the host, and copies of the files, so that
//! what was changed can be shown.

use std::collections::BTreeMap;

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Metadata, Observations, PathState, STATE_DIRECTORY};
use crate::resources::unified;
use crate::shell::quote;

/// Files that an operation makes from a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record<'a> {
    /// Name of the record.
    pub name: &'a str,
    /// sha256 of the configuration.
    pub source: &'a str,
    /// That of another one from which the same files come.
    pub also: Option<&'a str>,
    /// The files, absolute.
    pub files: &'a [&'a str],
}

impl Record<'_> {
    fn path(&self) -> String {
        format!("{STATE_DIRECTORY}/made/{}", self.name)
    }

    /// Where the copies of the files are.
    fn copies(&self) -> String {
        format!("{}.files", self.path())
    }

    fn copy(&self, path: &str) -> String {
        format!("{}/{}", self.copies(), path.rsplit('/').next().unwrap_or_default())
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        let mut looks = vec![Look::Content(self.path()), Look::Path(self.path())];
        for path in self.files {
            let (path, copy) = ((*path).to_owned(), self.copy(path));
            looks.extend([path.clone(), copy.clone()].map(|path| Look::File { path, expected: None }));
            looks.push(Look::Edited { path, copy });
        }
        looks
    }

    /// Same if every file is as it was written, from this source.
    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let mut sums = BTreeMap::new();
        let mut open = None;
        for path in self.files {
            match seen!(seen.paths.get(*path)) {
                PathState::Missing => return Verdict::differs(ChangeKind::Write, format!("{path} does not exist")),
                PathState::Present(is) => {
                    open = open.or_else(|| writable_by_others(path, is));
                    sums.insert(*path, is.sha256.clone().unwrap_or_default());
                }
            };
        }
        seen!(seen.paths.get(&self.path()));
        let Some(record) = seen.contents.get(&self.path()) else {
            return Verdict::differs(ChangeKind::Write, "it is not known who wrote it");
        };
        let text = String::from_utf8_lossy(record);
        let lines: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.split_once("  ")).map(|(sum, path)| (path, sum)).collect();
        let source = lines.get("configuration").copied();
        if source != Some(self.source) && (source.is_none() || source != self.also) {
            return Verdict::Differs(Change::new(ChangeKind::Write, "it was made from another configuration"));
        }
        match sums.iter().find(|(path, sum)| lines.get(*path) != Some(&sum.as_str())) {
            Some((path, _)) => Verdict::Differs(self.edited(path, seen)),
            None => open.map_or(Verdict::Same, |because| Verdict::differs(ChangeKind::Write, because)),
        }
    }

    fn edited(&self, path: &str, seen: &Observations) -> Change {
        let text = |path: &str| seen.contents.get(path).map(|bytes| String::from_utf8_lossy(bytes));
        let diff = text(path).zip(text(&self.copy(path))).map(|(is, before)| unified(path, &is, &before));
        Change { diff, ..Change::new(ChangeKind::Write, format!("{path} was changed by hand")) }
    }

    /// Shell text that forgets the record. It stands before the files are written, so that a crash in between leaves no wrong record. Files that
    /// exist keep owner and mode when kubeadm writes them anew; and what read them is started after that, for it asks when they changed.
    pub(super) fn forget(&self) -> String {
        let files = self.files.iter().map(|path| quote(path)).collect::<Vec<_>>().join(" ");
        let (path, copies) = (quote(&self.path()), quote(&self.copies()));
        format!(
            "mkdir -p -m 700 {STATE_DIRECTORY}/made\nrm -rf {path} {copies}\nmkdir -m 700 {copies}\n\
             for file in {files}; do\n  if [ -f \"$file\" ]; then chown 0:0 -- \"$file\"; chmod go-w -- \"$file\"; fi\ndone\n"
        )
    }

    /// Shell text that writes the record.
    pub(super) fn keep(&self) -> String {
        let files = self.files.iter().map(|path| quote(path)).collect::<Vec<_>>().join(" ");
        let (path, copies, source) = (quote(&self.path()), quote(&self.copies()), quote(self.source));
        format!(
            "cp -- {files} {copies}/\n{{ printf '%s  configuration\\n' {source}; sha256sum -- {files}; }} >{path}.new\nsync {path}.new\nmv -f {path}.new {path}\n"
        )
    }
}

/// Who can write these files decides what runs on the node as root.
fn writable_by_others(path: &str, is: &Metadata) -> Option<String> {
    let others = is.user != 0 || is.mode & 0o022 != 0;
    others.then(|| format!("{path} may be written by others than root: it has mode {:04o} and owner {}", is.mode, is.user))
}
