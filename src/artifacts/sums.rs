//! Digests of large files of this machine.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::sum_of;
use crate::clock::Clock;

/// Smaller ones are hashed sooner than anything is looked up.
const LEAST: u64 = 1 << 20;

/// What is changed so soon before it is read may be changed again within the same tick of the file system's clock.
const SETTLED_NANOSECONDS: i128 = 2_000_000_000;

/// So many are kept; of more, those of which the names come last.
const MOST: usize = 500;

/// Tells whether a file is the one that was hashed. Nobody can set the time at which an inode changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    device: u64,
    inode: u64,
    size: u64,
    modified: i128,
    changed: i128,
    sha256: String,
}

impl Known {
    fn from_metadata(is: &Metadata, sha256: String) -> Self {
        let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Self {
            device: is.dev(),
            inode: is.ino(),
            size: is.size(),
            modified: nanoseconds(is.mtime(), is.mtime_nsec()),
            changed: nanoseconds(is.ctime(), is.ctime_nsec()),
            sha256,
        }
    }

    fn is_settled(&self) -> bool {
        self.modified.max(self.changed) + SETTLED_NANOSECONDS < Clock::nanoseconds()
    }
}

/// Where they are kept below a folder of state.
#[must_use]
pub fn kept_in(state: &Path) -> PathBuf {
    state.join("files/sums")
}

/// Length and sha256 of a file. Of a large one they are taken from `kept` as long as it is the same file, for hashing it costs more than a run that has
/// nothing to do; the host that gets it compares it again.
///
/// # Errors
/// If it can't be read, or is changed meanwhile.
pub fn sum(path: &Path, kept: Option<&Path>) -> io::Result<(u64, String)> {
    let before = fs::metadata(path)?;
    let (Some(kept), Some(name)) = (kept.filter(|_| before.size() >= LEAST), path.to_str()) else { return sum_of(path) };
    let all = read(kept);
    if let Some(known) = all.get(name).filter(|known| **known == Known::from_metadata(&before, known.sha256.clone())) {
        return Ok((known.size, known.sha256.clone()));
    }
    let (size, sha256) = sum_of(path)?;
    let known = Known::from_metadata(&before, sha256.clone());
    if known == Known::from_metadata(&fs::metadata(path)?, sha256.clone()) && known.is_settled() {
        // Where it can't be kept it is hashed again.
        let _ = write(kept, all, name, known);
    }
    Ok((size, sha256))
}

fn read(kept: &Path) -> BTreeMap<String, Known> {
    fs::read(kept).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn write(kept: &Path, mut all: BTreeMap<String, Known>, name: &str, known: Known) -> io::Result<()> {
    all.retain(|path, _| Path::new(path).exists());
    all.insert(name.to_owned(), known);
    while all.len() > MOST {
        all.pop_last();
    }
    let folder = kept.parent().unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(folder)?;
    let file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer(&file, &all)?;
    file.persist(kept).map(|_| ()).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use std::fs::{self, File, FileTimes};
    use std::time::{Duration, SystemTime};

    use super::{LEAST, read, sum};

    /// A file that nobody has changed for an hour, as far as one can tell by `modified`.
    fn write(path: &std::path::Path, letter: u8) {
        fs::write(path, vec![letter; usize::try_from(LEAST).unwrap()]).unwrap();
        let times = FileTimes::new().set_modified(SystemTime::now() - Duration::from_secs(3600));
        File::options().write(true).open(path).unwrap().set_times(times).unwrap();
    }

    #[test]
    fn a_file_that_is_another_one_is_hashed_again() {
        let folder = tempfile::tempdir().unwrap();
        let (file, kept) = (folder.path().join("file"), folder.path().join("state/sums"));
        write(&file, b'a');
        let first = sum(&file, Some(&kept)).unwrap();
        assert!(read(&kept).is_empty(), "it was changed a moment ago, whatever its own time says");
        // As if it had been long ago.
        let known = super::Known::from_metadata(&fs::metadata(&file).unwrap(), first.1.clone());
        super::write(&kept, Default::default(), file.to_str().unwrap(), known).unwrap();
        let mut lie = read(&kept);
        lie.values_mut().for_each(|known| known.sha256 = "0".repeat(64));
        fs::write(&kept, serde_json::to_vec(&lie).unwrap()).unwrap();
        assert_eq!(sum(&file, Some(&kept)).unwrap().1, "0".repeat(64), "it is not read again");
        assert_eq!(sum(&file, None).unwrap(), first);
        // The same length, and the same time.
        write(&file, b'b');
        let second = sum(&file, Some(&kept)).unwrap();
        assert!(second.0 == first.0 && second.1 != first.1 && second.1 != "0".repeat(64));
        fs::write(&kept, "no list").unwrap();
        assert_eq!(sum(&file, Some(&kept)).unwrap(), second);
    }
}
