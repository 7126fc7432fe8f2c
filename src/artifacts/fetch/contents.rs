//! What is in an archive.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use aws_lc_rs::digest::{Context, SHA256};
use flate2::read::MultiGzDecoder;
use kok_tasks::bundle::ArchiveEntry;

use super::trouble::Trouble;

/// What an archive unpacks to at the most: a few kilobytes can stand for as much as one likes.
const MOST_BYTES: u64 = 4 << 30;

/// Whether what stands at an address is an archive, by its name.
pub(super) fn is_archive(address: &str) -> bool {
    let name = address.to_ascii_lowercase();
    [".tar.gz", ".tgz"].iter().any(|end| name.ends_with(end))
}

/// The regular files of an archive, sorted by their paths. None for what is no archive by its name.
pub(super) fn list(path: &Path, address: &str) -> Result<Vec<ArchiveEntry>, Trouble> {
    if !is_archive(address) {
        return Ok(Vec::new());
    }
    let wrong = |because: String| Trouble::of_content(address, because);
    let file = File::open(path).map_err(|error| Trouble::of_disk(path, &error))?;
    let reader = MultiGzDecoder::new(BufReader::with_capacity(1 << 18, file)).take(MOST_BYTES);
    let mut archive = tar::Archive::new(reader);
    let mut entries = Vec::new();
    let damaged = |error: std::io::Error| wrong(format!("the archive is damaged: {error}"));
    for entry in archive.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let inside =
            String::from_utf8(entry.path_bytes().into_owned()).map_err(|_| wrong("a path in the archive is no text".to_owned()))?;
        let inside = inside.strip_prefix("./").unwrap_or(&inside).to_owned();
        if is_outside(&inside) {
            return Err(wrong(format!("a path in the archive leads out of it: {inside:?}")));
        }
        if entry.header().entry_type().is_file() {
            entries.push(entry_of(inside, &mut entry).map_err(damaged)?);
        }
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    match entries.windows(2).find_map(|pair| if let [a, b] = pair { (a.path == b.path).then(|| a.path.clone()) } else { None }) {
        Some(twice) => Err(wrong(format!("{twice} is twice in the archive"))),
        None => Ok(entries),
    }
}

fn is_outside(path: &str) -> bool {
    path.starts_with('/') || path.split('/').any(|part| part == "..") || path.contains(['\\', '\0'])
}

fn entry_of(path: String, reader: &mut impl Read) -> std::io::Result<ArchiveEntry> {
    let mut context = Context::new(&SHA256);
    let mut buffer = vec![0; 1 << 18];
    let mut size = 0;
    loop {
        let read = reader.read(&mut buffer)?;
        if read == 0 {
            return Ok(ArchiveEntry { path, size, sha256: hex::encode(context.finish()) });
        }
        context.update(buffer.get(..read).unwrap_or_default());
        size += read as u64;
    }
}
