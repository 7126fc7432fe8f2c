//! Archives of the user's: what is in them, and that nothing of it would leave the folder that it is unpacked into.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use aws_lc_rs::digest::{Context, SHA256};
use flate2::read::MultiGzDecoder;
use kok_crds::model::{Compression, Contents, Member, MemberKind};
use liblzma::read::XzDecoder;
use tar::{Archive, Entry, EntryType};

/// As much may come out of an archive: what a few bytes stand for has no end otherwise.
const MOST_UNPACKED: u64 = 32 << 30;

/// Each path is compared on every host in every run; so many take a host a tenth of a second.
const MOST_COMPARED: usize = 2000;

/// Where nothing is compared, the paths are still held against those of others.
const MOST_MEMBERS: usize = 20_000;

/// Longer ones are no path below a folder on Linux (`PATH_MAX`), with room for the folder.
const MOST_PATH: usize = 2048;

/// What an archive has behind the first `strip` folders of each path; `compared` if all of it is looked at on hosts.
///
/// # Errors
/// What keeps it from being unpacked, for people.
pub(super) fn contents(path: &Path, strip: u32, compared: bool) -> Result<Contents, String> {
    let mut file = BufReader::new(File::open(path).map_err(|error| error.to_string())?);
    let compression = compression(&mut file).map_err(|error| error.to_string())??;
    let reader: Box<dyn Read> = match compression {
        Compression::None => Box::new(file),
        Compression::Gzip => Box::new(MultiGzDecoder::new(file)),
        Compression::Xz => Box::new(XzDecoder::new_multi_decoder(file)),
    };
    let all = members(reader).map_err(|error| format!("it can't be read as a tar: {error}"))??;
    if let Some((path, _)) = all.iter().find(|(path, _)| is_behind_no_folder(path, &all)) {
        return Err(format!("{} lies behind what is no folder", path.escape_debug()));
    }
    placed(&all, strip, compared).map(|(roots, members)| Contents { compression, roots, members })
}

/// By its first bytes, whatever it is called.
fn compression(file: &mut BufReader<File>) -> io::Result<Result<Compression, String>> {
    let mut head = Vec::new();
    file.by_ref().take(6).read_to_end(&mut head)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(match head.as_slice() {
        [0x1f, 0x8b, ..] => Ok(Compression::Gzip),
        [0xfd, b'7', b'z', b'X', b'Z', 0] => Ok(Compression::Xz),
        [b'P', b'K', ..] => Err("it is a zip, and hosts are sure to have tar alone".to_owned()),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Err("it is compressed by zstd, and hosts are sure to have gzip alone".to_owned()),
        [b'B', b'Z', b'h', ..] => Err("it is compressed by bzip2, and hosts are sure to have gzip alone".to_owned()),
        _ => Ok(Compression::None),
    })
}

type Members = BTreeMap<String, MemberKind>;

fn members(reader: impl Read) -> io::Result<Result<Members, String>> {
    let mut archive = Archive::new(reader.take(MOST_UNPACKED));
    let mut all = Members::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        if matches!(entry.header().entry_type(), EntryType::XGlobalHeader) {
            continue;
        }
        let path = match path_of(&entry.path_bytes()) {
            Ok(path) if path.is_empty() => continue,
            Ok(path) => path,
            Err(because) => return Ok(Err(because)),
        };
        match kind(&mut entry, &path, &all)? {
            Ok(kind) => drop(all.insert(path, kind)),
            Err(because) => return Ok(Err(because)),
        }
        if all.len() > MOST_MEMBERS {
            return Ok(Err(format!("it has more than {MOST_MEMBERS} paths")));
        }
    }
    Ok(if all.is_empty() { Err("there is nothing in it".to_owned()) } else { Ok(all) })
}

/// A path without what leads nowhere else, as `./`.
fn path_of(bytes: &[u8]) -> Result<String, String> {
    let shown = || String::from_utf8_lossy(bytes).escape_debug().to_string();
    let text = std::str::from_utf8(bytes).map_err(|_| format!("the path {} is not UTF-8", shown()))?;
    if text.starts_with('/') {
        return Err(format!("the path {} is absolute", shown()));
    }
    let parts: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.contains(&"..") {
        return Err(format!("the path {} leads out of its folder", shown()));
    }
    if text.chars().any(|c| c.is_control() || c == '\\') {
        return Err(format!("the path {} has control characters or backslashes", shown()));
    }
    if text.len() > MOST_PATH {
        return Err(format!("a path has {} bytes, and {MOST_PATH} are taken", text.len()));
    }
    Ok(parts.join("/"))
}

fn kind(entry: &mut Entry<'_, impl Read>, path: &str, all: &Members) -> io::Result<Result<MemberKind, String>> {
    // Whoever unpacks as root takes no rights from an archive that go beyond those of its owner.
    let mode = entry.header().mode()? & 0o777;
    let shown = path.escape_debug();
    let target = || {
        let bytes = entry.link_name_bytes().unwrap_or_default();
        let text = std::str::from_utf8(&bytes).ok().filter(|text| !text.is_empty() && !text.chars().any(char::is_control));
        text.map(str::to_owned).ok_or_else(|| format!("the link {shown} leads nowhere"))
    };
    Ok(match entry.header().entry_type() {
        EntryType::Directory => Ok(MemberKind::Folder { mode }),
        EntryType::Symlink => target().map(|target| MemberKind::Link { target }),
        EntryType::Link => {
            let linked = target().and_then(|target| path_of(target.as_bytes()));
            linked.and_then(|linked| {
                all.get(&linked).cloned().ok_or_else(|| format!("the hard link {shown} leads to what does not stand before it"))
            })
        }
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => Ok(MemberKind::File { mode, sha256: sum(entry)? }),
        _ => Err(format!("{shown} is neither a file, a folder nor a link")),
    })
}

fn sum(mut content: impl Read) -> io::Result<String> {
    let mut context = Context::new(&SHA256);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = content.read(&mut buffer)?;
        if length == 0 {
            return Ok(hex::encode(context.finish()));
        }
        context.update(buffer.get(..length).unwrap_or_default());
    }
}

/// Whoever unpacks it would follow a link, or have two things in one place.
fn is_behind_no_folder(path: &str, all: &Members) -> bool {
    let mut folders = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
    folders.any(|folder| matches!(all.get(folder), Some(MemberKind::Link { .. } | MemberKind::File { .. })))
}

/// The folders that are left out, and what is below them.
fn placed(all: &Members, strip: u32, compared: bool) -> Result<(Vec<String>, Arc<[Member]>), String> {
    let strip = usize::try_from(strip).unwrap_or(usize::MAX);
    let mut below: BTreeMap<String, (String, MemberKind)> = BTreeMap::new();
    for (path, kind) in all {
        let parts: Vec<&str> = path.split('/').collect();
        let Some((root, rest)) = parts.split_at_checked(strip).filter(|(_, rest)| !rest.is_empty()) else { continue };
        let (root, rest) = (root.join("/"), rest.join("/"));
        let both_folders = |other: &MemberKind| matches!((other, kind), (MemberKind::Folder { .. }, MemberKind::Folder { .. }));
        if let Some((_, other)) = below.insert(rest.clone(), (root, kind.clone())).filter(|(_, other)| !both_folders(other)) {
            let what = if matches!(other, MemberKind::Folder { .. }) { "folder" } else { "path" };
            return Err(format!("without the first {strip} folders the {what} {} is there twice", rest.escape_debug()));
        }
    }
    if below.is_empty() {
        return Err(format!("no path in it has more than {strip} parts, and so many are left out"));
    }
    if compared && below.len() > MOST_COMPARED {
        return Err(format!(
            "it has {} paths, and {MOST_COMPARED} are compared on hosts at the most; with `creates`, a path of it, that one alone is looked at",
            below.len()
        ));
    }
    let mut roots: Vec<String> = below.values().map(|(root, _)| root.clone()).collect();
    roots.sort();
    roots.dedup();
    Ok((roots, below.into_iter().map(|(path, (_, kind))| Member { path, kind }).collect()))
}
