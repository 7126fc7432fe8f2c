//! The record of what kubeadm wrote.
//!
//! kubeadm renders manifests and kubelet files itself. To see later whether somebody changed one by hand, or whether the configuration they
//! were made from is another by now, the sums of the files and of the configuration are kept on the host.

use std::collections::BTreeMap;

use crate::change::{Change, Verdict, seen};
use crate::observe::{Look, Observations, PathState, STATE_DIRECTORY};
use crate::shell::quote;

/// Files that an operation makes from a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record<'a> {
    /// Name of the record.
    pub name: &'a str,
    /// sha256 of the configuration.
    pub source: &'a str,
    /// The files, absolute.
    pub files: &'a [&'a str],
}

impl Record<'_> {
    fn path(&self) -> String {
        format!("{STATE_DIRECTORY}/made/{}", self.name)
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        let files = self.files.iter().map(|path| Look::File { path: (*path).to_owned(), expected: None });
        [Look::Content(self.path()), Look::Path(self.path())].into_iter().chain(files).collect()
    }

    /// Same if every file is as it was written, from this source.
    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let mut sums = BTreeMap::new();
        for path in self.files {
            match seen!(seen.paths.get(*path)) {
                PathState::Missing => return Verdict::differs("write", format!("{path} does not exist")),
                PathState::Present(is) => sums.insert(*path, is.sha256.clone().unwrap_or_default()),
            };
        }
        seen!(seen.paths.get(&self.path()));
        let Some(record) = seen.contents.get(&self.path()) else {
            return Verdict::differs("write", "it is not known who wrote it");
        };
        let text = String::from_utf8_lossy(record);
        let lines: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.split_once("  ")).map(|(sum, path)| (path, sum)).collect();
        if lines.get("configuration") != Some(&self.source) {
            return Verdict::Differs(Change::new("write", "it was made from another configuration"));
        }
        match sums.iter().find(|(path, sum)| lines.get(*path) != Some(&sum.as_str())) {
            Some((path, _)) => Verdict::differs("write", format!("{path} was changed by hand")),
            None => Verdict::Same,
        }
    }

    /// Shell text that forgets the record. It stands before the files are written, so that a crash in between leaves no wrong record.
    pub(super) fn forget(&self) -> String {
        format!("mkdir -p -m 700 {STATE_DIRECTORY}/made\nrm -f {}\n", quote(&self.path()))
    }

    /// Shell text that writes the record.
    pub(super) fn keep(&self) -> String {
        let files = self.files.iter().map(|path| quote(path)).collect::<Vec<_>>().join(" ");
        let (path, source) = (quote(&self.path()), quote(self.source));
        format!(
            "{{ printf '%s  configuration\\n' {source}; sha256sum -- {files}; }} >{path}.new\nsync {path}.new\nmv -f {path}.new {path}\n"
        )
    }
}
