//! Where a snapshot is to be, and where it is while it is not whole: whatever kills kokctl, nothing of it stays for ever.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::super::StateFolder;
use super::{cannot, parent};
use crate::failure::Failure;

/// What is not whole yet.
const PART: &str = "kokctl-part";

/// Names a part that is in somebody else's folder.
const NOTE: &str = "kokctl-note";

/// Where a snapshot is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotPlace {
    /// kokctl's own for this cluster.
    folder: PathBuf,
    path: PathBuf,
}

impl StateFolder {
    /// The folder in which snapshots of a cluster are kept, unless their user names another place. It need not be there.
    #[must_use]
    pub fn snapshots_of(&self, cluster: &str) -> PathBuf {
        self.cluster(cluster).join("snapshots")
    }

    /// The folder in which backups of a cluster are kept, where nobody names another place. It need not be there.
    #[must_use]
    pub fn backups_of(&self, cluster: &str) -> PathBuf {
        self.cluster(cluster).join("backups")
    }
}

impl SnapshotPlace {
    /// Where the snapshot of a run is kept: where its user wants it, or in the cluster's folder. What runs of this cluster that died have left
    /// is removed: whoever asks has the cluster's lock.
    ///
    /// # Errors
    /// [`Failure`] if the folder can't be made.
    pub fn for_run(state: &StateFolder, cluster: &str, run: &str, wanted: Option<&Path>) -> Result<Self, Failure> {
        Self::within(state.snapshots_of(cluster), run, wanted)
    }

    pub(super) fn within(folder: PathBuf, run: &str, wanted: Option<&Path>) -> Result<Self, Failure> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.and_then(|()| sweep(&folder)).map_err(|error| cannot(&folder, &error))?;
        // A note outlives the folder that kokctl was in.
        let wanted = wanted.map(std::path::absolute).transpose().map_err(|error| cannot(&folder, &error))?;
        let path = wanted.unwrap_or_else(|| folder.join(format!("{run}.db")));
        Ok(Self { folder, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Begins it: in kokctl's own folder, if it can be renamed from there, and else beside its name, with a note of that.
    pub(super) fn begin(&self) -> Result<(PartialSnapshot, File), Failure> {
        let own = self.folder.join(hidden(&self.path, PART));
        let (near, note) = (parent(&self.path).join(hidden(&self.path, PART)), self.folder.join(hidden(&self.path, NOTE)));
        let file = create(&own).map_err(|error| cannot(&own, &error))?;
        if own == near || can_be_renamed(&own, &near) {
            return Ok((PartialSnapshot { path: own, note: None }, file));
        }
        let _ = fs::remove_file(&own);
        let noted = create(&note).and_then(|mut file| file.write_all(near.as_os_str().as_bytes()).and_then(|()| file.sync_all()));
        noted.map_err(|error| cannot(&note, &error))?;
        let part = PartialSnapshot { path: near, note: Some(note) };
        match create(&part.path) {
            Ok(file) => Ok((part, file)),
            Err(error) => {
                part.forget();
                Err(cannot(&part.path, &error))
            }
        }
    }
}

/// A snapshot that is not whole.
pub(super) struct PartialSnapshot {
    path: PathBuf,
    note: Option<PathBuf>,
}

impl PartialSnapshot {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// It has its name now.
    pub(super) fn forget(&self) {
        self.note.iter().for_each(|note| drop(fs::remove_file(note)));
    }

    pub(super) fn remove(&self) {
        let _ = fs::remove_file(&self.path);
        self.forget();
    }
}

fn hidden(path: &Path, end: &str) -> OsString {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{end}"));
    name
}

/// Of a run that died something may be there, and what others may read must not become what secrets are written into.
fn create(path: &Path) -> io::Result<File> {
    let _ = fs::remove_file(path);
    File::options().create_new(true).write(true).mode(0o600).open(path)
}

/// There and back, while it is empty: a file system alone does not tell, for it can be mounted at two places.
fn can_be_renamed(own: &Path, near: &Path) -> bool {
    fs::rename(own, near).and_then(|()| fs::rename(near, own)).is_ok()
}

fn sweep(folder: &Path) -> io::Result<()> {
    for path in fs::read_dir(folder)?.flatten().map(|entry| entry.path()) {
        match path.extension().and_then(OsStr::to_str) {
            Some(PART) => drop(fs::remove_file(path)),
            Some(NOTE) => follow(&path),
            _ => {}
        }
    }
    Ok(())
}

/// Removes the part that a note names, and the note once there is none. What a note can't have named stays.
fn follow(note: &Path) {
    let Ok(named) = fs::read(note).map(|bytes| PathBuf::from(OsString::from_vec(bytes))) else { return };
    let is_part = named.is_absolute() && named.extension().is_some_and(|end| end == PART) && parent(&named).is_dir();
    let is_gone = is_part && fs::remove_file(&named).map_or_else(|error| error.kind() == ErrorKind::NotFound, |()| true);
    if is_gone {
        let _ = fs::remove_file(note);
    }
}
