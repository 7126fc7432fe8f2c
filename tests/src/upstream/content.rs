//! What stands at an address.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::Served;

/// What is sent.
pub(super) enum Body {
    Text(Vec<u8>),
    /// A part of a file.
    File {
        path: PathBuf,
        offset: u64,
        length: u64,
    },
}

impl Body {
    pub(super) fn length(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::File { length, .. } => *length,
        }
    }
}

/// What stands at an address, with its kind and, in registries, its digest.
pub(super) struct Content {
    pub(super) body: Body,
    pub(super) kind: &'static str,
    pub(super) digest: Option<String>,
}

const BYTES: &str = "application/octet-stream";

pub(super) fn find(served: &Served, host: &str, path: &str) -> Option<Content> {
    if let Some(path) = path.strip_prefix("/v2/") {
        return served.images.find(host, path);
    }
    let address = format!("files/{host}{path}");
    let plain = |body: Body| Content { body, kind: BYTES, digest: None };
    if let Some(file) = served.bundle.files.iter().find(|file| file.path == address) {
        let body = Body::File { path: served.folder.join(&file.path), offset: 0, length: file.size };
        return Some(plain(body));
    }
    if let Some(file) = further(served, &format!("{host}{path}")) {
        return Some(plain(file));
    }
    checksums(served, host, &address).map(|text| plain(Body::Text(text.into_bytes())))
}

/// A file that is no part of the bundle.
fn further(served: &Served, address: &str) -> Option<Body> {
    let path = served.files.as_ref().filter(|_| !address.split('/').any(|part| part == ".."))?.join(address);
    let about = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    Some(Body::File { path, offset: 0, length: about.len() })
}

/// As upstream publishes them: beside a file, of which dl.k8s.io writes the digits alone, or one list for all files of a release.
fn checksums(served: &Served, host: &str, address: &str) -> Option<String> {
    let of_one = [".sha256sum", ".sha256"].iter().find_map(|end| address.strip_suffix(end));
    if let Some(file) = of_one.and_then(|path| served.bundle.files.iter().find(|file| file.path == path)) {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        return Some(if matches!(host, "dl.k8s.io") { file.sha256.clone() } else { format!("{}  {name}\n", file.sha256) });
    }
    let (folder, list) = address.rsplit_once('/')?;
    if !["SHA256SUMS", "runc.sha256sum"].contains(&list) {
        return None;
    }
    let mut text = String::new();
    for file in &served.bundle.files {
        if let Some(("", name)) = file.path.strip_prefix(folder).map(|rest| rest.split_once('/').unwrap_or((rest, ""))) {
            let _ = writeln!(text, "{}  {name}", file.sha256);
        }
    }
    (!text.is_empty()).then_some(text)
}
