//! Files by the paths that they get.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use tar::{Builder, EntryType};

use super::Result;
use crate::release::archive::{append, header};

/// Files, sorted by path.
#[derive(Debug, Default)]
pub(super) struct Tree(BTreeMap<String, (PathBuf, u32)>);

impl Tree {
    pub(super) fn add_program(&mut self, path: &str, source: &Path) {
        self.0.insert(path.to_owned(), (source.to_owned(), 0o755));
    }

    pub(super) fn add_file(&mut self, path: &str, source: &Path) {
        self.0.insert(path.to_owned(), (source.to_owned(), 0o644));
    }

    /// Writes it into a folder first.
    pub(super) fn add_text(&mut self, work: &Path, path: &str, text: &str) -> Result<()> {
        let source = work.join("texts").join(path);
        fs::create_dir_all(source.parent().unwrap_or(work))?;
        fs::write(&source, text)?;
        self.add_file(path, &source);
        Ok(())
    }

    pub(super) fn source(&self, path: &str) -> Option<&Path> {
        self.0.get(path).map(|(source, _)| source.as_path())
    }

    /// Path, source and permissions of each.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &Path, u32)> {
        self.0.iter().map(|(path, (source, mode))| (path.as_str(), source.as_path(), *mode))
    }

    /// As a tar archive below `top`.
    pub(super) fn write_tar<W: Write>(&self, top: &str, to: W) -> Result<W> {
        let mut builder = Builder::new(to);
        let parents = |path: &str| path.match_indices('/').filter_map(|(end, _)| path.get(..end)).map(str::to_owned).collect::<Vec<_>>();
        let folders: BTreeSet<String> = self.files().flat_map(|(path, ..)| parents(&format!("{top}/{path}"))).collect();
        for folder in folders {
            builder.append_data(&mut header(EntryType::Directory, 0o755, 0), format!("{folder}/"), std::io::empty())?;
        }
        for (path, source, mode) in self.files() {
            let file = File::open(source)?;
            let size = file.metadata()?.len();
            append(&mut builder, &format!("{top}/{path}"), mode, size, file)?;
        }
        Ok(builder.into_inner()?)
    }
}
