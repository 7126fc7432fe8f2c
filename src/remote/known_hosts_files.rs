//! known_hosts files, each read once as long as it stays the same: it has lines for all hosts, and each host asks for its own.
use super::known_hosts::KnownHosts;
use crate::plain_file;
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Some hundred thousand lines: more than any fleet has.
const MAX_BYTES: u64 = 64 << 20;

/// What a run has read.
#[derive(Default)]
pub(super) struct KnownHostsFiles(Mutex<BTreeMap<PathBuf, (Stamp, Arc<KnownHosts>)>>);

/// What differs when a file was written to or replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: (u64, u64),
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Nothing for what is no regular file: that says something else each time.
    fn from_metadata(metadata: &Metadata) -> Option<Self> {
        metadata.is_file().then(|| Self {
            inode: (metadata.dev(), metadata.ino()),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

impl KnownHostsFiles {
    /// The lines of a file as they are now.
    ///
    /// # Errors
    /// The system's, if it can't be read.
    pub(super) fn read(&self, path: &Path) -> io::Result<Arc<KnownHosts>> {
        // Taken before the content is read: what is written meanwhile makes the stamp an old one.
        let stamp = Stamp::from_metadata(&fs::metadata(path)?);
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, lines)) = files.get(path)
            && stamp == Some(*known)
        {
            return Ok(Arc::clone(lines));
        }
        // A line that is not UTF-8 is no reason to leave out the others.
        let lines = Arc::new(KnownHosts::read(&String::from_utf8_lossy(&content(path)?)));
        if let Some(stamp) = stamp {
            files.insert(path.to_owned(), (stamp, Arc::clone(&lines)));
        }
        Ok(lines)
    }
}

/// A device has no end, and that of a pipe may never come.
fn content(path: &Path) -> io::Result<Vec<u8>> {
    if plain_file::is_null(path) {
        return Ok(Vec::new());
    }
    let file = plain_file::open(path)?;
    plain_file::bounded(file, MAX_BYTES).map_err(|because| io::Error::new(io::ErrorKind::FileTooLarge, because))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_was_added_or_replaced_is_seen() {
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("known_hosts");
        let files = KnownHostsFiles::default();
        let lines = |host: &str| files.read(&file).unwrap().matching(host).len();
        fs::write(&file, "a ssh-ed25519 AAAA\n").unwrap();
        assert_eq!((lines("a"), lines("b")), (1, 0));
        fs::write(&file, "a ssh-ed25519 AAAA\nb ssh-ed25519 AAAA\n").unwrap();
        assert_eq!((lines("a"), lines("b")), (1, 1));
        let other = folder.path().join("other");
        fs::write(&other, "b ssh-ed25519 AAAA\nc ssh-ed25519 AAAA\n").unwrap();
        fs::rename(&other, &file).unwrap();
        assert_eq!((lines("a"), lines("c")), (0, 1));
        fs::remove_file(&file).unwrap();
        assert_eq!(files.read(&file).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    /// A test that waited would wait for ever.
    #[test]
    fn what_is_no_file_is_not_read() {
        let folder = tempfile::TempDir::new().unwrap();
        let pipe = folder.path().join("known_hosts");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        for path in [pipe.as_path(), "/dev/zero".as_ref(), folder.path()] {
            let error = KnownHostsFiles::default().read(path).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
        }
        // So people say that they want none.
        assert!(KnownHostsFiles::default().read("/dev/null".as_ref()).unwrap().matching("a").is_empty());
    }
}
