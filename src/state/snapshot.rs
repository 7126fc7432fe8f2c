//! A snapshot of etcd on the machine that kokctl runs on. It holds every secret of its cluster.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use kok_tasks::snapshot::{Damage, Decoder, Form};

use super::folder;
use crate::ui::{Failure, Kind};

/// A snapshot that is whole and on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptSnapshot {
    /// Where it is.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// The digest that etcd has put at its end.
    pub sha256: String,
    /// The file with the key to what it holds, if that is encrypted.
    pub key: Option<PathBuf>,
}

/// Where a snapshot is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotPlace {
    path: PathBuf,
}

/// The folder in which snapshots of a cluster are kept, unless their user names another place. It need not be there.
///
/// # Errors
/// [`Failure`] where nobody knows where kokctl keeps anything.
pub fn snapshots_of(cluster: &str) -> Result<PathBuf, Failure> {
    Ok(folder()?.join("clusters").join(cluster).join("snapshots"))
}

impl SnapshotPlace {
    /// Where the snapshot of a run is kept: where its user wants it, or in the cluster's folder. What runs of this cluster that died have left
    /// of theirs there is removed: whoever asks has the cluster's lock.
    ///
    /// # Errors
    /// [`Failure`] if the folder can't be made.
    pub fn of(cluster: &str, run: &str, wanted: Option<&Path>) -> Result<Self, Failure> {
        Self::within(snapshots_of(cluster)?, run, wanted)
    }

    fn within(folder: PathBuf, run: &str, wanted: Option<&Path>) -> Result<Self, Failure> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|error| cannot(&folder, &error))?;
        let entries = fs::read_dir(&folder).map_err(|error| cannot(&folder, &error))?;
        for left in entries.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == PART)) {
            let _ = fs::remove_file(left);
        }
        Ok(Self { path: wanted.map_or_else(|| folder.join(format!("{run}.db")), Path::to_owned) })
    }
}

/// A snapshot that is being written, readable by its owner only. Under its name it is there whole or not at all; dropped before, it goes.
pub struct SnapshotFile {
    path: PathBuf,
    part: PathBuf,
    file: File,
    decoder: Decoder,
    finished: bool,
}

/// What keeps a snapshot from being written.
enum Trouble {
    Damage(Damage),
    Disk(io::Error),
}

impl SnapshotFile {
    /// Says why there can't be a snapshot of this name, before anything is asked of a host: it may be that of another cluster.
    ///
    /// # Errors
    /// [`Failure`] if something is there, or its folder is not.
    pub fn check(path: &Path) -> Result<(), Failure> {
        let wrong = |what: String| Failure::new(Kind::Input, what).at("--snapshot");
        if let Some(there) = [path.to_owned(), key_beside(path)].into_iter().find(|path| path.symlink_metadata().is_ok()) {
            let failure = wrong(format!("{} is there already", there.display()));
            return Err(failure.because("a snapshot is written over nothing").hint("name a file that is not there yet"));
        }
        if !parent(path).is_dir() {
            return Err(wrong(format!("the folder of {} is not there", path.display())).hint("make it, or name another"));
        }
        Ok(())
    }

    /// Begins one that is to be at this place.
    ///
    /// # Errors
    /// [`Failure`] if it can't be written there.
    pub fn create(place: &SnapshotPlace, form: Form) -> Result<Self, Failure> {
        let part = beside(&place.path);
        // Of a run that died; what others may read must not become what secrets are written into.
        let _ = fs::remove_file(&part);
        let file = File::options().create_new(true).write(true).mode(0o600).open(&part).map_err(|error| cannot(&part, &error))?;
        Ok(Self { path: place.path.clone(), part, file, decoder: Decoder::new(form), finished: false })
    }

    /// Writes what the host sends next.
    ///
    /// # Errors
    /// [`Failure`] if that is no snapshot, or the disk takes no more.
    pub fn push(&mut self, answer: &[u8]) -> Result<(), Failure> {
        let bytes = self.decoder.push(answer).map_err(Trouble::Damage);
        bytes.and_then(|bytes| self.file.write_all(&bytes).map_err(Trouble::Disk)).map_err(|trouble| self.failure(trouble))
    }

    /// The host has sent all. What is kept is compared with the digest at its end, and on the disk when this returns. The key to what it holds
    /// is there first: without it, a snapshot is of no use.
    ///
    /// # Errors
    /// [`Failure`] if it is not whole; then nothing is kept.
    pub fn finish(mut self, key: Option<&[u8]>) -> Result<KeptSnapshot, Failure> {
        let decoder = std::mem::replace(&mut self.decoder, Decoder::new(Form::Raw));
        let (bytes, sha256) = decoder.finish().map_err(|damage| self.failure(Trouble::Damage(damage)))?;
        self.file.sync_all().map_err(|error| self.failure(Trouble::Disk(error)))?;
        let key = key.map(|key| keep_key(&self.path, key)).transpose()?;
        let named = fs::rename(&self.part, &self.path).and_then(|()| File::open(parent(&self.path))?.sync_all());
        named.map_err(|error| {
            key.iter().for_each(|key| drop(fs::remove_file(key)));
            self.failure(Trouble::Disk(error))
        })?;
        self.finished = true;
        Ok(KeptSnapshot { path: self.path.clone(), bytes, sha256, key })
    }

    fn failure(&self, trouble: Trouble) -> Failure {
        match trouble {
            Trouble::Disk(error) => cannot(&self.path, &error),
            Trouble::Damage(damage) => Failure::new(Kind::Host, "the snapshot of etcd did not come whole").because(damage.to_string()),
        }
    }
}

/// The file of the key with which is encrypted what a snapshot holds.
fn key_beside(snapshot: &Path) -> PathBuf {
    let mut name = snapshot.as_os_str().to_owned();
    name.push(".encryption.yaml");
    PathBuf::from(name)
}

/// What is being written, as long as it is not whole.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{PART}"));
    parent(path).join(name)
}

/// Keeps the API server's configuration of encryption beside a snapshot, readable by its owner only. Says where.
fn keep_key(snapshot: &Path, configuration: &[u8]) -> Result<PathBuf, Failure> {
    let path = key_beside(snapshot);
    // An earlier plan of this run may have got it already.
    let _ = fs::remove_file(&path);
    let file = File::options().create_new(true).write(true).mode(0o600).open(&path);
    let written = file.and_then(|mut file| file.write_all(configuration).and_then(|()| file.sync_all()));
    written.and_then(|()| File::open(parent(&path))?.sync_all()).map_err(|error| cannot(&path, &error))?;
    Ok(path)
}

impl Drop for SnapshotFile {
    fn drop(&mut self) {
        if !self.finished {
            let _ = fs::remove_file(&self.part);
        }
    }
}

const PART: &str = "kokctl-part";

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn cannot(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Kind::Internal, "the snapshot of etcd can't be kept")
        .at(path.display().to_string())
        .because(error.to_string())
        .hint("make room or correct the rights there; or name another file with --snapshot FILE")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn snapshot() -> Vec<u8> {
        let data = vec![7; 4096];
        let end = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &data);
        [data.as_slice(), end.as_ref()].concat()
    }

    #[test]
    fn a_snapshot_is_there_whole_and_for_its_owner_only_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let names = || fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
        let place = SnapshotPlace { path: path.clone() };
        let begin = || SnapshotFile::create(&place, Form::Raw).unwrap();

        let mut cut_off = begin();
        cut_off.push(snapshot().get(..900).unwrap()).unwrap();
        assert_eq!(names().len(), 1);
        assert!(cut_off.finish(Some(b"key")).unwrap_err().because.unwrap().contains("only a part of it came (900 bytes)"));
        drop(begin());
        assert_eq!(names(), Vec::<OsString>::new());

        // One that died has left something that anybody may read.
        fs::write(folder.path().join(".a.db.kokctl-part"), "x").unwrap();
        let mut whole = begin();
        whole.push(&snapshot()).unwrap();
        let kept = whole.finish(None).unwrap();
        assert_eq!((kept.bytes, kept.key, names()), (4128, None, vec![OsString::from("a.db")]));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read(&path).unwrap(), snapshot());
        assert!(SnapshotFile::check(&path).unwrap_err().what.ends_with("a.db is there already"));
        assert!(SnapshotFile::check(&folder.path().join("none/b.db")).is_err());
        let mut encrypted = SnapshotFile::create(&SnapshotPlace { path: folder.path().join("b.db") }, Form::Raw).unwrap();
        encrypted.push(&snapshot()).unwrap();
        let kept = encrypted.finish(Some(b"key")).unwrap();
        let key = kept.key.unwrap();
        assert_eq!(fs::read(&key).unwrap(), b"key");
        fs::remove_file(kept.path).unwrap();
        assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(SnapshotFile::check(&folder.path().join("b.db")).is_err(), "its key would be lost");
        fs::remove_file(key).unwrap();
        assert!(SnapshotFile::check(&folder.path().join("b.db")).is_ok());
    }
}
