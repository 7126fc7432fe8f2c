//! A snapshot of etcd on the machine that kokctl runs on. It holds every secret of its cluster.

mod place;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use kok_tasks::snapshot::{Damage, Decoder, Form};

use crate::failure::{Failure, Kind};
use place::PartialSnapshot;

pub use place::SnapshotPlace;

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

/// A snapshot that is being written, readable by its owner only. Under its name it is there whole or not at all; dropped before, it goes.
pub struct SnapshotFile {
    path: PathBuf,
    part: PartialSnapshot,
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
        let (part, file) = place.begin()?;
        Ok(Self { path: place.path().to_owned(), part, file, decoder: Decoder::new(form), finished: false })
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
    /// [`Failure`] if it is not whole; then nothing is kept, but perhaps the key, which may be that of an earlier one.
    pub fn finish(mut self, key: Option<&[u8]>) -> Result<KeptSnapshot, Failure> {
        let decoder = std::mem::replace(&mut self.decoder, Decoder::new(Form::Raw));
        let (bytes, sha256) = decoder.finish().map_err(|damage| self.failure(Trouble::Damage(damage)))?;
        self.file.sync_all().map_err(|error| self.failure(Trouble::Disk(error)))?;
        let key = key.map(|key| keep_key(&self.path, key)).transpose()?;
        let named = fs::rename(self.part.path(), &self.path).and_then(|()| File::open(parent(&self.path))?.sync_all());
        named.map_err(|error| self.failure(Trouble::Disk(error)))?;
        self.finished = true;
        self.part.forget();
        Ok(KeptSnapshot { path: self.path.clone(), bytes, sha256, key })
    }

    fn failure(&self, trouble: Trouble) -> Failure {
        match trouble {
            Trouble::Disk(error) => cannot(&self.path, &error),
            Trouble::Damage(damage) => Failure::new(Kind::Host, "the snapshot of etcd did not come whole")
                .because(damage.to_string())
                .hint("try again; if it comes again, look at etcd on the host that was asked"),
        }
    }
}

/// The file of the key with which is encrypted what a snapshot holds.
fn key_beside(snapshot: &Path) -> PathBuf {
    let mut name = snapshot.as_os_str().to_owned();
    name.push(".encryption.yaml");
    PathBuf::from(name)
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
            self.part.remove();
        }
    }
}

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
mod tests;
