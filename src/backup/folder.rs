//! The folder that backups lie in. Nobody else's files in it are ever touched.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use kok_crds::model::Keep;
use kok_tasks::backup::{BackupName, KEYS, surplus};
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use rustix::io::Errno;

use super::seal::MARK;
use crate::failure::{Failure, Kind};

/// What is not whole yet.
const PART: &str = ".kokctl-part";

/// A tar ends with so many zeros (POSIX).
const ZEROS: u64 = 1024;

/// A folder with backups.
#[derive(Debug, Clone)]
pub struct BackupPlace(PathBuf);

/// A backup that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundBackup {
    /// What it is by its name.
    pub name: BackupName,
    /// Where it is.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// Whether it begins, and as far as that can be told without a key ends, as a backup does.
    pub looks_whole: bool,
}

impl BackupPlace {
    /// A folder, which has to be there: one that is made where a disk is not mounted would fill another one.
    ///
    /// # Errors
    /// [`Failure`] where there is none.
    pub fn at(path: &Path) -> Result<Self, Failure> {
        let wrong = |because: String| {
            let failure = Failure::new(Kind::Input, "backups can't be kept there").at(path.display().to_string()).because(because);
            failure.hint(format!("`mkdir -m 700 {}`, or mount what should be there; or name another folder", path.display()))
        };
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Ok(Self(path.to_owned())),
            Ok(_) => Err(wrong("it is no folder".to_owned())),
            Err(error) => Err(wrong(error.to_string())),
        }
    }

    /// A folder of kokctl's own, which is made.
    ///
    /// # Errors
    /// [`Failure`] where it can't be.
    pub fn own(path: &Path) -> Result<Self, Failure> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        let place = Self(path.to_owned());
        made.map_err(|error| place.cannot(&error, "backups can't be kept"))?;
        Ok(place)
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The backups in it, of one cluster or of all, the oldest first. Whatever is called otherwise, and is no plain file, is none.
    ///
    /// # Errors
    /// [`Failure`] where the folder can't be read.
    pub fn list(&self, cluster: Option<&str>) -> Result<Vec<FoundBackup>, Failure> {
        let found = self.names().map_err(|error| self.cannot(&error, "backups can't be listed"))?;
        let mut found: Vec<FoundBackup> = found
            .into_iter()
            .filter(|name| cluster.is_none_or(|cluster| name.cluster == cluster))
            .filter_map(|name| {
                let path = self.0.join(name.file_name());
                let metadata = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
                let looks_whole = looks_whole(&path, name.is_encrypted).unwrap_or(false);
                Some(FoundBackup { name, path, bytes: metadata.len(), looks_whole })
            })
            .collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    fn names(&self) -> io::Result<Vec<BackupName>> {
        let entries = fs::read_dir(&self.0)?.collect::<Result<Vec<_>, _>>()?;
        Ok(entries.iter().filter_map(|entry| BackupName::parse(entry.file_name().to_str()?)).collect())
    }

    /// What would go of a cluster's backups. Those that are damaged are passed over: they count for nothing, and a person may want to look at them.
    ///
    /// # Errors
    /// [`Failure`] where the folder can't be read.
    pub fn surplus(&self, cluster: &str, keep: &Keep, now: i64) -> Result<Vec<FoundBackup>, Failure> {
        let found: Vec<FoundBackup> = self.list(Some(cluster))?.into_iter().filter(|found| found.looks_whole).collect();
        let names: Vec<BackupName> = found.iter().map(|found| found.name.clone()).collect();
        let gone = surplus(&names, keep, now);
        Ok(found.into_iter().filter(|found| gone.contains(&&found.name)).collect())
    }

    /// Removes these.
    ///
    /// # Errors
    /// [`Failure`] at the first that can't be removed.
    pub fn remove(&self, surplus: &[FoundBackup]) -> Result<(), Failure> {
        let remove = |found: &FoundBackup| {
            fs::remove_file(&found.path).or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
        };
        let removed = surplus.iter().try_for_each(remove).and_then(|()| File::open(&self.0)?.sync_all());
        removed.map_err(|error| self.cannot(&error, "an older backup can't be removed"))
    }

    pub(super) fn cannot(&self, error: &io::Error, what: &str) -> Failure {
        let failure = Failure::new(Kind::Internal, what).at(self.0.display().to_string()).because(error.to_string());
        failure.hint("make room or correct the rights there; or name another folder with --to FOLDER")
    }

    /// Begins one. What backups of this cluster have left that were killed is removed; one that is being written has a lock on its part.
    pub(super) fn begin(&self, name: &BackupName) -> io::Result<(PartialBackup, File)> {
        self.sweep(&name.cluster)?;
        let path = self.0.join(name.file_name());
        if path.symlink_metadata().is_ok() {
            return Err(taken());
        }
        let part = self.0.join(format!(".{}{PART}", name.file_name()));
        let file = File::options().create_new(true).write(true).mode(0o600).open(&part)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        // Between the two, another one may have taken it for left.
        if file.metadata()?.nlink() == 0 {
            return Err(io::Error::other("another backup of this cluster has begun at the same moment"));
        }
        Ok((PartialBackup { part, path, folder: self.0.clone(), is_named: false }, file))
    }

    fn sweep(&self, cluster: &str) -> io::Result<()> {
        for entry in fs::read_dir(&self.0)?.collect::<Result<Vec<_>, _>>()? {
            let name = entry.file_name();
            let name = name.to_str().and_then(|name| name.strip_prefix('.')?.strip_suffix(PART)).and_then(BackupName::parse);
            if name.is_none_or(|name| name.cluster != cluster) || !entry.file_type()?.is_file() {
                continue;
            }
            let is_left = File::open(entry.path()).is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok());
            if is_left {
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }
}

/// A backup that is not whole. Dropped as such, it goes.
pub(super) struct PartialBackup {
    part: PathBuf,
    path: PathBuf,
    folder: PathBuf,
    is_named: bool,
}

impl PartialBackup {
    /// Where it is as long as it has no name.
    pub(super) fn unnamed(&self) -> &Path {
        &self.part
    }

    /// It is whole, and on the disk: gives it its name, which replaces nothing. Says where it is.
    pub(super) fn name(mut self) -> io::Result<PathBuf> {
        match renameat_with(CWD, &self.part, CWD, &self.path, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            // Not every file system knows such a rename; nobody else gives a file this name.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if self.path.symlink_metadata().is_err() => {
                fs::rename(&self.part, &self.path)?
            }
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::EXIST) => return Err(taken()),
            Err(error) => return Err(error.into()),
        }
        self.is_named = true;
        File::open(&self.folder)?.sync_all()?;
        Ok(self.path.clone())
    }
}

impl Drop for PartialBackup {
    fn drop(&mut self) {
        if !self.is_named {
            let _ = fs::remove_file(&self.part);
        }
    }
}

fn taken() -> io::Error {
    io::Error::new(ErrorKind::AlreadyExists, "a backup of this cluster and second is there already")
}

/// Whether a file begins and ends as a backup does, as far as nobody has to have a key for it.
fn looks_whole(path: &Path, is_encrypted: bool) -> io::Result<bool> {
    let mut file = crate::plain_file::open(path)?;
    let bytes = file.metadata()?.len();
    let mut beginning = [0; MARK.len()];
    file.read_exact(&mut beginning)?;
    if is_encrypted {
        return Ok(beginning == MARK);
    }
    if !beginning.starts_with(KEYS.as_bytes()) || bytes < ZEROS {
        return Ok(false);
    }
    file.seek(SeekFrom::Start(bytes - ZEROS))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    Ok(end.iter().all(|byte| *byte == 0))
}
