//! Puts a bundle together from built components. Its index is removed before the first change and written after the last, so a
//! folder with an index is whole.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use kok_tasks::bundle::{Bundle, INDEX};

use super::cache::{CachedComponent, sync};
use super::digest::{HashWriter, copy};
use super::error::{ReleaseError, Result};

/// The folders of a bundle.
const FOLDERS: [&str; 2] = ["files", "images"];

/// Beginning of the names of files that are being written.
const PARTIAL: &str = ".partial-";

/// The folder in which a bundle is made.
pub struct Output {
    root: PathBuf,
    changed: bool,
}

impl Output {
    /// Opens the folder, makes it if need be.
    ///
    /// # Errors
    /// [`ReleaseError::ForeignOutput`] when it holds anything that doesn't belong into a bundle.
    pub fn open(root: &Path) -> Result<Self> {
        fs::create_dir_all(root).map_err(ReleaseError::io("create", root))?;
        for entry in fs::read_dir(root).map_err(ReleaseError::io("list", root))? {
            let name = entry.map_err(ReleaseError::io("list", root))?.file_name().to_string_lossy().into_owned();
            if name.starts_with(PARTIAL) {
                // An index that was being written when its builder was killed.
                remove(&root.join(&name)).map_err(ReleaseError::io("remove", root))?;
            } else if name != INDEX && !FOLDERS.contains(&name.as_str()) {
                return Err(ReleaseError::ForeignOutput { path: root.to_path_buf(), entry: name });
            }
        }
        Ok(Self { root: root.to_path_buf(), changed: false })
    }

    /// Brings everything of a component into the bundle. A file that was put here before and not touched since is left alone;
    /// any other is copied and its digest checked on the way.
    ///
    /// # Errors
    /// [`ReleaseError::Damaged`] when the cached file isn't what its manifest says.
    pub fn place(&mut self, component: &CachedComponent, from: &Path) -> Result<()> {
        for (path, size, sha256) in component.entries() {
            let (source, target) = (from.join(path), self.root.join(path));
            let damaged = |found: String| ReleaseError::Damaged { path: source.clone(), expected: sha256.to_owned(), found };
            let original = fs::metadata(&source).map_err(|_| damaged("missing".to_owned()))?;
            if original.len() == size && fs::symlink_metadata(&target).is_ok_and(|copied| untouched(&original, &copied)) {
                continue;
            }
            self.change()?;
            let found = copy_file(&source, &original, &target)?;
            if found != sha256 {
                fs::remove_file(&target).map_err(ReleaseError::io("remove", &target))?;
                return Err(damaged(found));
            }
        }
        Ok(())
    }

    /// Removes what the bundle doesn't list and writes the index, last and in one step. Returns whether anything was changed.
    ///
    /// # Errors
    /// When a file can't be removed or written.
    pub fn finish(mut self, bundle: &Bundle) -> Result<bool> {
        let files = bundle.files.iter().map(|file| file.path.as_str());
        let listed: BTreeSet<PathBuf> =
            files.chain(bundle.images.iter().map(|image| image.path.as_str())).map(|path| self.root.join(path)).collect();
        let mut unlisted = Vec::new();
        for folder in FOLDERS {
            collect_unlisted(&self.root.join(folder), &listed, &mut unlisted)?;
        }
        let index = self.root.join(INDEX);
        let text = serde_json::to_string_pretty(bundle).map_err(|error| ReleaseError::io("write", &index)(error.into()))? + "\n";
        if !unlisted.is_empty() || fs::read_to_string(&index).ok().as_ref() != Some(&text) {
            self.change()?;
        }
        if !self.changed {
            return Ok(false);
        }
        for path in &unlisted {
            remove(path).map_err(ReleaseError::io("remove", path))?;
        }
        sync(&self.root)?;
        write_atomically(&self.root, &index, text.as_bytes()).map_err(ReleaseError::io("write", &index))?;
        Ok(true)
    }

    /// From now on the folder is not a whole bundle, until it is finished.
    fn change(&mut self) -> Result<()> {
        if self.changed {
            return Ok(());
        }
        let index = self.root.join(INDEX);
        match fs::remove_file(&index) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(ReleaseError::io("remove", &index)(error));
            }
            _ => self.changed = true,
        }
        Ok(())
    }
}

/// Copies keep the time of their original, and whoever writes to one changes that time.
fn untouched(original: &Metadata, copied: &Metadata) -> bool {
    copied.is_file() && copied.len() == original.len() && matches!((original.modified(), copied.modified()), (Ok(a), Ok(b)) if a == b)
}

/// Copies with mode and time and returns the SHA-256 of what was copied.
fn copy_file(source: &Path, original: &Metadata, target: &Path) -> Result<String> {
    let folder = target.parent().unwrap_or(target);
    fs::create_dir_all(folder).map_err(ReleaseError::io("create", folder))?;
    let reader = File::open(source).map_err(ReleaseError::io("open", source))?;
    let written = (|| {
        let temporary = tempfile::Builder::new().prefix(PARTIAL).tempfile_in(folder)?;
        let mut writer = HashWriter::new(temporary);
        copy(reader, &mut writer)?;
        let (temporary, _, sha256) = writer.finish();
        temporary.as_file().set_permissions(original.permissions())?;
        temporary.as_file().set_modified(original.modified()?)?;
        temporary.persist(target)?;
        Ok(sha256)
    })();
    written.map_err(ReleaseError::io("copy to", target))
}

fn collect_unlisted(folder: &Path, listed: &BTreeSet<PathBuf>, unlisted: &mut Vec<PathBuf>) -> Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(ReleaseError::io("list", folder))?,
    };
    for entry in entries {
        let path = entry.map_err(ReleaseError::io("list", folder))?.path();
        if listed.contains(&path) {
            continue;
        }
        if path.is_dir() && !path.is_symlink() && listed.iter().any(|file| file.starts_with(&path)) {
            collect_unlisted(&path, listed, unlisted)?;
        } else {
            unlisted.push(path);
        }
    }
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    if path.is_dir() && !path.is_symlink() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

fn write_atomically(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Temporary files are made for their owner only; a bundle is for everyone who can reach its folder.
    let mode = fs::Permissions::from_mode(0o644);
    let mut temporary = tempfile::Builder::new().prefix(PARTIAL).permissions(mode).tempfile_in(folder)?;
    temporary.write_all(bytes)?;
    temporary.as_file().sync_all()?;
    temporary.persist(path)?;
    Ok(())
}
