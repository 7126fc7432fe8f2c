//! A compressed archive that nobody else may read, and that can be sent.

use std::fs::{File, OpenOptions};
use std::io::{Result, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

/// No archive is larger: what mail and most trackers take.
const MOST_BYTES: u64 = 20_000_000;

/// What the compressor holds back, the archive's own headers, and its end.
const BESIDE: u64 = 256 << 10;

pub(super) struct SupportArchive {
    tar: tar::Builder<GzEncoder<Counted>>,
    most: u64,
    left_out: Vec<String>,
}

struct Counted {
    file: File,
    bytes: u64,
}

impl Write for Counted {
    fn write(&mut self, piece: &[u8]) -> Result<usize> {
        let written = self.file.write(piece)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }
}

impl SupportArchive {
    /// A new one. What is there already is not written over.
    pub(super) fn create(path: &Path) -> Result<Self> {
        Self::create_limited(path, MOST_BYTES)
    }

    fn create_limited(path: &Path, most: u64) -> Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let tar = tar::Builder::new(GzEncoder::new(Counted { file, bytes: 0 }, Compression::default()));
        Ok(Self { tar, most, left_out: Vec::new() })
    }

    /// Adds a file, or leaves it out if there may not be room for it: how small it becomes is known afterwards only.
    pub(super) fn add(&mut self, name: &str, text: &str) -> Result<()> {
        let size = text.len() as u64;
        if self.tar.get_ref().get_ref().bytes + size + BESIDE > self.most {
            self.left_out.push(name.to_owned());
            return Ok(());
        }
        let mut header = tar::Header::new_gnu();
        header.set_size(size);
        header.set_mode(0o600);
        header.set_mtime(0);
        self.tar.append_data(&mut header, format!("support/{name}"), text.as_bytes())
    }

    /// How many bytes it has, and which files are not in it.
    pub(super) fn finish(self) -> Result<(u64, Vec<String>)> {
        let counted = self.tar.into_inner()?.finish()?;
        counted.file.sync_all()?;
        Ok((counted.bytes, self.left_out))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    /// What can't be compressed.
    fn noise(bytes: usize) -> String {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            char::from(b' ' + u8::try_from(state % 95).unwrap())
        };
        (0..bytes).map(|_| next()).collect()
    }

    #[test]
    fn it_is_no_larger_than_it_may_be_and_nobody_else_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tar.gz");
        let mut archive = SupportArchive::create_limited(&path, 1_000_000).unwrap();
        assert!(SupportArchive::create(&path).is_err(), "it is there");
        let text = noise(300_000);
        for number in 0..9 {
            archive.add(&format!("hosts/w{number}.txt"), &text).unwrap();
        }
        archive.add("small.txt", "it has room").unwrap();
        let (bytes, left_out) = archive.finish().unwrap();
        let about = std::fs::metadata(&path).unwrap();
        assert_eq!((about.len(), about.mode() & 0o777), (bytes, 0o600));
        assert!(bytes <= 1_000_000, "{bytes}");
        let names: Vec<String> = tar::Archive::new(flate2::read::GzDecoder::new(File::open(&path).unwrap()))
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().display().to_string())
            .collect();
        assert_eq!(names.len() + left_out.len(), 10, "{names:?} {left_out:?}");
        assert!(names.contains(&"support/small.txt".to_owned()) && left_out.contains(&"hosts/w8.txt".to_owned()), "{names:?}");
    }
}
