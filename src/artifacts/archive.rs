//! A bundle as one file, to be carried to a site without a network: a tar, compressed by zstd, with the index before everything else.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256};
use kok_tasks::artifact::Artifact;
use kok_tasks::bundle::{Bundle, INDEX};
use russh::keys::PrivateKey;
use tar::{Archive, Builder, EntryType, Header};

use super::fetch::{index_bytes, join, read_index, write_index, write_index_bytes};
use super::signature::{MOST_SIGNATURE_BYTES, SIGNATURE, sign};
use super::{BundleFolder, MOST_INDEX_BYTES};
use crate::failure::{Failure, Kind};

/// Layers of images are compressed already; more effort costs time and saves nothing.
const EFFORT: i32 = 1;

/// How names of such files end.
pub const EXTENSION: &str = ".tar.zst";

/// How many files were carried, and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CarriedFiles {
    /// How many.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// Writes a bundle into one file. What `since` holds is left out: whoever has that needs only the rest. Each file is compared with its digest on
/// the way; the archive has its name only when it is whole. With a key its index is signed; without one it has the signature of the folder, if that is
/// of the same index.
///
/// # Errors
/// [`Failure`] if something can't be read or written, or is not what the index says.
pub fn export(folder: &BundleFolder, since: Option<&Bundle>, key: Option<&PrivateKey>, output: &Path) -> Result<CarriedFiles, Failure> {
    let failed = |error: io::Error| {
        let failure = Failure::new(Kind::Input, "the archive can't be written").at(output.display().to_string());
        failure.because(error.to_string()).hint("mend that, and run it again")
    };
    let part = part(output);
    let index = folder.index().map_or_else(|| index_bytes(folder.bundle()), |index| Ok(index.to_vec())).map_err(failed)?;
    let signature = match key {
        Some(key) => Some(sign(&index, key)?.into_bytes()),
        None => folder.index().and_then(|_| fs::read(folder.path().join(SIGNATURE)).ok()),
    };
    let written =
        write(folder, since, (&index, signature.as_deref()), &part).and_then(|carried| fs::rename(&part, output).map(|()| carried));
    written.map_err(|error| {
        let _ = fs::remove_file(&part);
        failed(error)
    })
}

fn part(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    path.with_file_name(name)
}

fn write(
    folder: &BundleFolder,
    since: Option<&Bundle>,
    (index, signature): (&[u8], Option<&[u8]>),
    part: &Path,
) -> io::Result<CarriedFiles> {
    let compressed = zstd::Encoder::new(BufWriter::with_capacity(1 << 20, File::create(part)?), EFFORT)?;
    let mut archive = Builder::new(compressed);
    append(&mut archive, INDEX, index.len() as u64, index)?;
    if let Some(signature) = signature {
        append(&mut archive, SIGNATURE, signature.len() as u64, signature)?;
    }
    let has = |artifact: &Artifact| {
        since.is_some_and(|since| since.artifacts().any(|held| held.path == artifact.path && held.sha256 == artifact.sha256))
    };
    let mut carried = CarriedFiles::default();
    for artifact in folder.bundle().artifacts().filter(|artifact| !has(artifact)) {
        let mut reader = Hashing::new(File::open(folder.file(&artifact))?);
        append(&mut archive, &artifact.path, artifact.size, (&mut reader).take(artifact.size))?;
        reader.is(&artifact)?;
        carried = CarriedFiles { files: carried.files + 1, bytes: carried.bytes + artifact.size };
    }
    let file = archive.into_inner()?.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    Ok(carried)
}

fn append(archive: &mut Builder<impl Write>, path: &str, size: u64, content: impl Read) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_size(size);
    archive.append_data(&mut header, path, content)
}

/// Reads what it hashes.
struct Hashing<R> {
    inner: R,
    context: Context,
    size: u64,
}

impl<R> Hashing<R> {
    fn new(inner: R) -> Self {
        Self { inner, context: Context::new(&SHA256), size: 0 }
    }

    /// Whether it was what the index says.
    fn is(self, artifact: &Artifact) -> io::Result<()> {
        let found = hex::encode(self.context.finish());
        if self.size == artifact.size && found == artifact.sha256 {
            return Ok(());
        }
        let expected = format!("the index says {} bytes and {}", artifact.size, artifact.sha256);
        Err(io::Error::other(format!("{} is corrupted: it has {} bytes and the sha256 {found}; {expected}", artifact.path, self.size)))
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.context.update(buffer.get(..read).unwrap_or_default());
        self.size += read as u64;
        Ok(read)
    }
}

/// Puts what an archive holds into a bundle's folder, beside what is there. Each file is compared with the archive's index before it has its name;
/// nothing else than what that names is taken.
///
/// # Errors
/// [`Failure`] if the archive is damaged, or leaves something out that the folder does not have.
pub fn import(archive: &Path, folder: &Path) -> Result<CarriedFiles, Failure> {
    let mut held = read_index(folder)?;
    let Unpacked { carried, index, text, signature } = read(archive, folder).map_err(|error| {
        Failure::new(Kind::Input, "the archive can't be imported")
            .at(archive.display().to_string())
            .because(error.to_string())
            .hint("copy or export it again; nothing of what was in the folder before was changed")
    })?;
    let is_there = |artifact: &Artifact| folder.join(&artifact.path).metadata().is_ok_and(|metadata| metadata.len() == artifact.size);
    if let Some(missing) = index.artifacts().find(|artifact| !is_there(artifact)) {
        return Err(Failure::new(Kind::Input, "the archive leaves something out that the folder does not have")
            .at(folder.display().to_string())
            .because(format!("{} is in neither: the archive has only what came after another bundle", missing.title))
            .hint("import that other bundle into the same folder first, or export all of it, without --since"));
    }
    let is_alone = held.artifacts().next().is_none();
    join(&mut held, index);
    // Beside what the folder held before the index is another one, which nobody has signed.
    if is_alone {
        let written =
            write_index_bytes(folder, &text).and_then(|()| signature.map_or(Ok(()), |text| fs::write(folder.join(SIGNATURE), text)));
        written.map_err(|error| {
            let failure = Failure::new(Kind::Input, "the index can't be written").at(folder.display().to_string());
            failure.because(error.to_string()).hint("mend that, and import it again")
        })?;
    } else {
        write_index(folder, &held)?;
    }
    Ok(carried)
}

/// What came out of an archive.
struct Unpacked {
    carried: CarriedFiles,
    index: Bundle,
    /// The bytes of the index.
    text: Vec<u8>,
    signature: Option<Vec<u8>>,
}

fn read(archive: &Path, folder: &Path) -> io::Result<Unpacked> {
    let reader = zstd::Decoder::new(BufReader::with_capacity(1 << 20, File::open(archive)?))?;
    let mut archive = Archive::new(reader);
    let mut entries = archive.entries()?;
    let mut first = entries.next().ok_or_else(|| io::Error::other("it is empty"))??;
    if first.path_bytes().as_ref() != INDEX.as_bytes() || first.size() > MOST_INDEX_BYTES {
        return Err(io::Error::other(format!("it does not begin with {INDEX}")));
    }
    let mut text = String::new();
    first.read_to_string(&mut text)?;
    let index = Bundle::parse(&text).map_err(io::Error::other)?;
    let (mut carried, mut signature) = (CarriedFiles::default(), None);
    for entry in entries {
        let entry = entry?;
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if path == SIGNATURE {
            let mut bytes = Vec::new();
            entry.take(MOST_SIGNATURE_BYTES).read_to_end(&mut bytes)?;
            signature = Some(bytes);
            continue;
        }
        let artifact = index
            .artifacts()
            .find(|artifact| artifact.path == path)
            .ok_or_else(|| io::Error::other(format!("its index does not name {path:?}")))?;
        unpack(entry, &artifact, folder)?;
        carried = CarriedFiles { files: carried.files + 1, bytes: carried.bytes + artifact.size };
    }
    Ok(Unpacked { carried, index, text: text.into_bytes(), signature })
}

/// The index has been checked: its paths lead nowhere else than into the folder.
fn unpack(entry: impl Read, artifact: &Artifact, folder: &Path) -> io::Result<()> {
    let path = folder.join(&artifact.path);
    fs::create_dir_all(path.parent().unwrap_or(folder))?;
    let part = part(&path);
    let mut reader = Hashing::new(entry);
    let mut file = BufWriter::with_capacity(1 << 20, File::create(&part)?);
    io::copy(&mut (&mut reader).take(artifact.size + 1), &mut file)?;
    file.flush()?;
    if let Err(error) = reader.is(artifact) {
        fs::remove_file(&part)?;
        return Err(error);
    }
    fs::rename(&part, &path)
}

#[cfg(test)]
mod tests;
