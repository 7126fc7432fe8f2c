//! SHA-256 of files and streams.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use aws_lc_rs::digest::{Context, SHA256, digest};

use super::error::{ReleaseError, Result};

/// Large enough that system calls don't count beside hashing.
const BUFFER: usize = 1 << 20;

/// Lower-case hexadecimal SHA-256 of the bytes.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hex::encode(digest(&SHA256, bytes))
}

/// Length and SHA-256 of a whole file.
///
/// # Errors
/// When the file can't be read.
pub fn sha256_file(path: &Path) -> Result<(u64, String)> {
    let file = File::open(path).map_err(ReleaseError::io("open", path))?;
    sha256_reader(file).map_err(ReleaseError::io("read", path))
}

/// Length and SHA-256 of everything that the reader yields.
///
/// # Errors
/// When the reader fails.
pub fn sha256_reader(reader: impl Read) -> io::Result<(u64, String)> {
    let mut sink = HashWriter::new(io::sink());
    copy(reader, &mut sink)?;
    let (_, size, sha256) = sink.finish();
    Ok((size, sha256))
}

/// Copies all, in pieces of a size that suits files of a hundred megabytes.
///
/// # Errors
/// When either side fails.
pub fn copy(mut from: impl Read, to: &mut impl Write) -> io::Result<u64> {
    let mut buffer = vec![0; BUFFER];
    let mut total = 0;
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => return Ok(total),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        to.write_all(buffer.get(..length).unwrap_or_default())?;
        total += length as u64;
    }
}

/// Passes on what is written and keeps its length and SHA-256.
pub struct HashWriter<W> {
    inner: W,
    context: Context,
    size: u64,
}

impl<W: Write> HashWriter<W> {
    /// Begins with nothing written.
    pub fn new(inner: W) -> Self {
        Self { inner, context: Context::new(&SHA256), size: 0 }
    }

    /// The writer below, the number of bytes and their SHA-256.
    pub fn finish(self) -> (W, u64, String) {
        (self.inner, self.size, hex::encode(self.context.finish()))
    }
}

impl<W: Write> Write for HashWriter<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let length = self.inner.write(buffer)?;
        self.context.update(buffer.get(..length).unwrap_or_default());
        self.size += length as u64;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
