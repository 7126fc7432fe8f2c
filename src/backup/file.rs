//! A backup that is being written: it is under its name whole and on the disk, or not at all, and never on a disk unencrypted unless that is wished.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind};
use std::path::{Path, PathBuf};

use kok_tasks::backup::{BEGINNING, BackupName, BackupVersions, MANIFEST, Manifest, SNAPSHOT, snapshot_bytes};
use kok_tasks::snapshot::{Damage, Decoder, Form};

use super::archive::Archive;
use super::folder::{BackupPlace, PartialBackup};
use super::seal::{Seal, Sealing};
use crate::failure::{Failure, Kind};

/// A backup that is whole and on the disk, and has no name yet: dropped as such, it is gone. While it is there nobody takes it for left.
pub struct WholeBackup {
    place: BackupPlace,
    part: PartialBackup,
    /// Has the lock.
    _file: File,
    name: BackupName,
    bytes: u64,
    manifest: Manifest,
}

impl WholeBackup {
    /// What it is to be called.
    #[must_use]
    pub fn name(&self) -> &BackupName {
        &self.name
    }

    /// The length of the file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What it says of itself.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// By which it can be read.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.part.unnamed()
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// [`Failure`] if the disk does not take that, or has one of this name.
    pub fn keep(self) -> Result<KeptBackup, Failure> {
        let Self { place, part, bytes, manifest, .. } = self;
        let path = part.name().map_err(|error| cannot(&place, &error))?;
        Ok(KeptBackup { path, bytes, manifest })
    }
}

/// A backup that is whole and on the disk, under its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptBackup {
    /// Where it is.
    pub path: PathBuf,
    /// The length of the file.
    pub bytes: u64,
    /// What it says of itself.
    pub manifest: Manifest,
}

/// What a backup is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupSource {
    /// What ran.
    pub versions: BackupVersions,
    /// The host of the member.
    pub member: String,
    /// The revision that it had before, if it said it.
    pub revision: Option<u64>,
}

/// A backup that is being written, readable by its owner only.
pub struct BackupFile {
    place: BackupPlace,
    name: BackupName,
    part: PartialBackup,
    archive: Archive<Sealing<BufWriter<File>>>,
    decoder: Decoder,
    /// What came of the snapshot, as long as its length is not known.
    beginning: Vec<u8>,
    is_begun: bool,
}

/// What keeps a backup from being written.
enum Trouble {
    Damage(Damage),
    Disk(io::Error),
}

impl BackupFile {
    /// Begins one of a cluster and of this moment, whose snapshot comes in this form.
    ///
    /// # Errors
    /// [`Failure`] if it can't be written there.
    pub fn create(place: &BackupPlace, cluster: &str, seconds: i64, seal: &Seal, form: Form) -> Result<Self, Failure> {
        let name = BackupName { seconds, cluster: cluster.to_owned(), is_encrypted: seal.is_encrypted() };
        let begun = place.begin(&name).and_then(|(part, file)| Ok((part, seal.around(BufWriter::new(file))?)));
        let (part, output) = begun.map_err(|error| cannot(place, &error))?;
        let (archive, decoder) = (Archive::new(output, seconds), Decoder::new(form));
        Ok(Self { place: place.clone(), name, part, archive, decoder, beginning: Vec::new(), is_begun: false })
    }

    /// Adds a part that is short. The snapshot comes after all of these.
    ///
    /// # Errors
    /// [`Failure`] if the disk takes no more.
    pub fn add(&mut self, name: &'static str, content: &[u8]) -> Result<(), Failure> {
        self.archive.add(name, content).map_err(|error| cannot(&self.place, &error))
    }

    /// Writes what the host sends next of the snapshot. Nothing of it is kept in memory.
    ///
    /// # Errors
    /// [`Failure`] if that is no snapshot, or the disk takes no more.
    pub fn push(&mut self, answer: &[u8]) -> Result<(), Failure> {
        self.take(answer).map_err(|trouble| write_failure(&self.place, trouble))
    }

    fn take(&mut self, answer: &[u8]) -> Result<(), Trouble> {
        let bytes = self.decoder.push(answer).map_err(Trouble::Damage)?;
        if self.is_begun {
            return self.archive.push(&bytes).map_err(Trouble::Disk);
        }
        self.beginning.extend_from_slice(&bytes);
        if self.beginning.len() < BEGINNING {
            return Ok(());
        }
        let length = snapshot_bytes(&self.beginning).ok_or(Trouble::Damage(Damage::Unreadable))?;
        self.archive.begin(SNAPSHOT, length).map_err(Trouble::Disk)?;
        self.is_begun = true;
        self.archive.push(&std::mem::take(&mut self.beginning)).map_err(Trouble::Disk)
    }

    /// The host has sent all: compares it with the digest that etcd has put at its end, and says at the end of the file what it is.
    ///
    /// # Errors
    /// [`Failure`] if the snapshot is not whole, or the disk takes no more; then nothing is kept.
    pub fn finish(self, made: BackupSource) -> Result<WholeBackup, Failure> {
        let place = self.place.clone();
        self.end(made).map_err(|trouble| write_failure(&place, trouble))
    }

    fn end(self, made: BackupSource) -> Result<WholeBackup, Trouble> {
        let Self { place, name, part, mut archive, decoder, .. } = self;
        decoder.finish().map_err(Trouble::Damage)?;
        let disk = Trouble::Disk;
        archive.end().map_err(disk)?;
        let BackupSource { versions, member, revision } = made;
        let manifest = Manifest::new(&name.cluster, name.seconds, versions, (&member, revision), archive.parts().to_vec());
        archive.add(MANIFEST, manifest.text().as_bytes()).map_err(disk)?;
        let output = archive.finish().and_then(Sealing::finish).map_err(disk)?;
        let file = output.into_inner().map_err(|error| Trouble::Disk(error.into_error()))?;
        let bytes = file.sync_all().and_then(|()| file.metadata()).map_err(disk)?.len();
        Ok(WholeBackup { place, part, _file: file, name, bytes, manifest })
    }
}

fn write_failure(place: &BackupPlace, trouble: Trouble) -> Failure {
    let damaged = |because: String| {
        let failure = Failure::new(Kind::Host, "the snapshot of etcd did not come whole").because(because);
        failure.hint("nothing was kept; try again, and if it comes again, look at etcd on the host that was asked")
    };
    match trouble {
        Trouble::Damage(damage) => damaged(damage.to_string()),
        // Of its own lengths the tar says this.
        Trouble::Disk(error) if error.kind() == ErrorKind::InvalidData => damaged(error.to_string()),
        Trouble::Disk(error) => cannot(place, &error),
    }
}

fn cannot(place: &BackupPlace, error: &io::Error) -> Failure {
    place.cannot(error, "the backup can't be written")
}
