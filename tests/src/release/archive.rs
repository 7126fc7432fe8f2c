//! Tar archives whose bytes depend on their contents only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};
use kok_tasks::bundle::ArchiveEntry;
use tar::{Builder, EntryType, Header};

use super::digest::sha256_reader;
use super::error::{ReleaseError, Result};

/// 1980-01-01 00:00:00 UTC, the time of every entry. Not 0, at which tar on a host warns of an implausible time.
const TIME: u64 = 315_532_800;

/// Writes the directories that the paths need and then the files, sorted by path, all owned by root. Paths are relative; the
/// files keep nothing of their origin but their content and get mode 0755.
///
/// # Errors
/// When a file can't be read or the writer fails.
pub fn write_tree(files: &BTreeMap<String, PathBuf>, extra_directories: &[(&str, u32)], to: impl Write) -> Result<()> {
    let mut builder = Builder::new(to);
    let mut directories: BTreeMap<String, u32> = files.keys().flat_map(|path| parents(path)).map(|path| (path, 0o755)).collect();
    directories.extend(extra_directories.iter().map(|(path, mode)| ((*path).to_owned(), *mode)));
    for (path, mode) in &directories {
        let mut header = header(EntryType::Directory, *mode, 0);
        builder.append_data(&mut header, format!("{path}/"), io::empty()).map_err(ReleaseError::io("pack", Path::new(path)))?;
    }
    for (path, source) in files {
        let file = File::open(source).map_err(ReleaseError::io("open", source))?;
        let size = file.metadata().map_err(ReleaseError::io("read", source))?.len();
        append(&mut builder, path, 0o755, size, file).map_err(ReleaseError::io("pack", source))?;
    }
    builder.into_inner().and_then(|mut inner| inner.flush()).map_err(ReleaseError::io("pack", Path::new("archive")))
}

/// Adds one regular file with fixed owner and time.
///
/// # Errors
/// When the reader or the writer fails.
pub fn append(builder: &mut Builder<impl Write>, path: &str, mode: u32, size: u64, data: impl Read) -> io::Result<()> {
    builder.append_data(&mut header(EntryType::Regular, mode, size), path, data)
}

/// The head of an entry, with fixed owner and time.
pub(crate) fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(TIME);
    header.set_size(size);
    header
}

fn parents(path: &str) -> BTreeSet<String> {
    path.match_indices('/').filter_map(|(end, _)| path.get(..end)).map(str::to_owned).collect()
}

/// Writes a `.tar.gz` of the files, without a time or a name in its head, and says what is inside.
///
/// # Errors
/// As [`write_tree`].
pub fn write_tar_gz(files: &BTreeMap<String, PathBuf>, to: impl Write) -> Result<Vec<ArchiveEntry>> {
    let mut gzip = GzBuilder::new().mtime(0).write(to, Compression::default());
    write_tree(files, &[], &mut gzip)?;
    gzip.finish().and_then(|mut inner| inner.flush()).map_err(ReleaseError::io("compress", Path::new("archive")))?;
    files
        .iter()
        .map(|(path, source)| {
            let file = File::open(source).map_err(ReleaseError::io("open", source))?;
            let (size, sha256) = sha256_reader(file).map_err(ReleaseError::io("read", source))?;
            Ok(ArchiveEntry { path: path.clone(), size, sha256 })
        })
        .collect()
}
