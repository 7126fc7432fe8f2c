//! Files of any length that a user has brought to hosts, and what is in archives.

use std::sync::Arc;

use crate::Position;

/// A file of any length that comes to hosts as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// Where it comes from.
    pub source: PayloadSource,
    /// The SHA-256 that it has to have, in lower-case hexadecimal digits; what is fetched has one.
    pub sha256: Option<String>,
    /// Where it lies; `None` until somebody has looked who has files.
    pub held: Option<Held>,
    /// Where it is named.
    pub origin: Position,
}

impl Payload {
    /// What it is called: the last part of its path or address.
    #[must_use]
    pub fn title(&self) -> &str {
        let (PayloadSource::File(text) | PayloadSource::Url(text)) = &self.source;
        text.trim_end_matches('/').rsplit('/').next().unwrap_or(text)
    }
}

/// Where a [`Payload`] comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PayloadSource {
    /// A file of the user's, as seen from the file in which it is named.
    File(String),
    /// An address from which the user's machine fetches it.
    Url(String),
}

/// A file on the machine that sends it, as it was when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Where it lies there, absolute.
    pub path: String,
    /// Its length in bytes.
    pub size: u64,
    /// Its SHA-256 in lower-case hexadecimal digits.
    pub sha256: String,
}

/// What is in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// How it is compressed.
    pub compression: Compression,
    /// The folders of the archive whose contents are meant: one without a name, where nothing is left out of paths.
    pub roots: Vec<String>,
    /// What is below these, by path.
    pub members: Arc<[Member]>,
}

/// How a tar is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// By gzip.
    Gzip,
    /// By xz.
    Xz,
}

/// One thing in an archive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    /// Where it comes below the folder, without `.`, `..`, a `/` at its beginning, control characters and backslashes.
    pub path: String,
    /// What it is.
    pub kind: MemberKind,
}

/// What a thing in an archive is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemberKind {
    /// A file.
    File {
        /// Its permission bits.
        mode: u32,
        /// SHA-256 of what stands in it, in lower-case hexadecimal digits.
        sha256: String,
    },
    /// A folder.
    Folder {
        /// Its permission bits.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Where it leads.
        target: String,
    },
}
