//! A tar that is written piece by piece, with the sums of what is in it.

use std::io::{self, ErrorKind, Write};

use aws_lc_rs::digest::{Context, SHA256};
use kok_tasks::backup::PartSum;
use tar::{EntryType, Header};

/// Lengths of a tar are multiples of this (POSIX, "ustar Interchange Format").
const BLOCK: u64 = 512;

/// What a tar ends with.
const END: [u8; 1024] = [0; 1024];

/// A tar that is being written.
pub(super) struct Archive<W: Write> {
    output: W,
    seconds: i64,
    part: Option<Part>,
    parts: Vec<PartSum>,
}

struct Part {
    name: &'static str,
    bytes: u64,
    written: u64,
    digest: Context,
}

impl<W: Write> Archive<W> {
    /// One whose files are of this moment.
    pub(super) fn new(output: W, seconds: i64) -> Self {
        Self { output, seconds, part: None, parts: Vec::new() }
    }

    /// Begins a part of so many bytes.
    pub(super) fn begin(&mut self, name: &'static str, bytes: u64) -> io::Result<()> {
        let mut header = Header::new_gnu();
        header.set_path(name)?;
        header.set_size(bytes);
        header.set_mode(0o600);
        header.set_mtime(u64::try_from(self.seconds).unwrap_or_default());
        header.set_entry_type(EntryType::Regular);
        header.set_cksum();
        self.output.write_all(header.as_bytes())?;
        self.part = Some(Part { name, bytes, written: 0, digest: Context::new(&SHA256) });
        Ok(())
    }

    /// Writes the next bytes of the part.
    pub(super) fn push(&mut self, piece: &[u8]) -> io::Result<()> {
        let Some(part) = &mut self.part else { return Err(wrong("no part was begun")) };
        part.written += piece.len() as u64;
        if part.written > part.bytes {
            return Err(wrong("it is longer than it said at its beginning"));
        }
        part.digest.update(piece);
        self.output.write_all(piece)
    }

    /// Ends the part.
    pub(super) fn end(&mut self) -> io::Result<()> {
        let Some(part) = self.part.take() else { return Err(wrong("no part was begun")) };
        if part.written != part.bytes {
            return Err(wrong("it is shorter than it said at its beginning"));
        }
        let padding = part.bytes.next_multiple_of(BLOCK) - part.bytes;
        self.output.write_all(END.get(..usize::try_from(padding).unwrap_or_default()).unwrap_or_default())?;
        self.parts.push(PartSum { name: part.name.to_owned(), bytes: part.bytes, sha256: hex::encode(part.digest.finish()) });
        Ok(())
    }

    /// Writes a whole part.
    pub(super) fn add(&mut self, name: &'static str, content: &[u8]) -> io::Result<()> {
        self.begin(name, content.len() as u64)?;
        self.push(content)?;
        self.end()
    }

    /// What is in it so far.
    pub(super) fn parts(&self) -> &[PartSum] {
        &self.parts
    }

    /// Ends it.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.output.write_all(&END)?;
        Ok(self.output)
    }
}

fn wrong(because: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, because)
}
