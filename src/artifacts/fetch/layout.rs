//! An image as an OCI archive, as containerd takes it: `oci-layout`, `index.json` and the blobs.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256};
use serde_json::json;
use tar::{Builder, EntryType, Header};

use super::part;

/// So much is read at once.
const AT_ONCE: usize = 1 << 18;
/// Of a tar archive.
const BLOCK: u64 = 512;

const LAYOUT: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;

/// What an archive is made of.
pub(super) struct Parts {
    /// Full reference with tag, under which containerd files the image.
    pub(super) reference: String,
    pub(super) architecture: String,
    pub(super) manifest: Vec<u8>,
    pub(super) media_type: String,
    /// The manifest's.
    pub(super) digest: String,
    /// By their digests where they are.
    pub(super) blobs: Vec<(String, PathBuf)>,
}

/// Writes the archive: the same parts make the same bytes. Returns its length and its sha256.
pub(super) fn write(parts: &Parts, path: &Path) -> io::Result<(u64, String)> {
    let part = part(path);
    let mut archive = Builder::new(Hashing::new(BufWriter::with_capacity(1 << 16, File::create(&part)?)));
    append(&mut archive, "oci-layout", LAYOUT.len() as u64, LAYOUT)?;
    let index = index(parts)?;
    append(&mut archive, "index.json", index.len() as u64, index.as_slice())?;
    append(&mut archive, &inside(&parts.digest), parts.manifest.len() as u64, parts.manifest.as_slice())?;
    for (digest, blob) in &parts.blobs {
        append_file(&mut archive, &inside(digest), File::open(blob)?)?;
    }
    let (file, size, sum) = archive.into_inner()?.finish()?;
    file.sync_data()?;

    std::fs::rename(&part, path)?;
    Ok((size, sum))
}

fn inside(digest: &str) -> String {
    format!("blobs/{}", digest.replacen(':', "/", 1))
}

fn index(parts: &Parts) -> io::Result<Vec<u8>> {
    let tag = parts.reference.rsplit_once(':').map_or("latest", |(_, tag)| tag);
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [{
            "mediaType": parts.media_type,
            "digest": parts.digest,
            "size": parts.manifest.len(),
            "platform": {"architecture": parts.architecture, "os": "linux"},
            "annotations": {"io.containerd.image.name": parts.reference, "org.opencontainers.image.ref.name": tag},
        }],
    });
    Ok(serde_json::to_vec(&index)?)
}

fn header(size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_size(size);
    header
}

pub(super) fn append(archive: &mut Builder<impl Write>, path: &str, size: u64, content: impl Read) -> io::Result<()> {
    archive.append_data(&mut header(size), path, content)
}

/// The same for a large file: the library copies by 8 KiB, which is more calls than bytes are worth.
fn append_file(archive: &mut Builder<impl Write>, path: &str, mut file: File) -> io::Result<()> {
    let size = file.metadata()?.len();
    let mut header = header(size);
    header.set_path(path)?;
    header.set_cksum();
    let archive = archive.get_mut();
    archive.write_all(header.as_bytes())?;
    let mut buffer = vec![0; AT_ONCE];
    let mut copied = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        archive.write_all(buffer.get(..read).unwrap_or_default())?;
        copied += read as u64;
    }
    if copied != size {
        return Err(io::Error::other("a blob has changed while it was read"));
    }
    let over = usize::try_from(size % BLOCK).unwrap_or_default();
    archive.write_all([0; BLOCK as usize].get(over..).filter(|_| over > 0).unwrap_or_default())
}

/// Hashes what is written through it.
pub(super) struct Hashing {
    inner: BufWriter<File>,
    context: Context,
    size: u64,
}

impl Hashing {
    pub(super) fn new(inner: BufWriter<File>) -> Self {
        Self { inner, context: Context::new(&SHA256), size: 0 }
    }

    pub(super) fn finish(self) -> io::Result<(File, u64, String)> {
        let file = self.inner.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok((file, self.size, hex::encode(self.context.finish())))
    }
}

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.context.update(bytes.get(..written).unwrap_or_default());
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
