//! Where what a cluster's files name comes from.

use std::io;
use std::path::{Path, PathBuf};

use kok_crds::model::{Addon, EscrowFile, Payload};
use kok_crds::{Position, Problem, Source};

use crate::artifacts::sum_of;
use crate::state::Kept;

/// Where what a cluster's files name comes from. A path is one as seen from the file in which it stands, at `origin`.
pub trait Files: Sync {
    /// What messages call the file of this path.
    fn name(&self, origin: &Position, path: &str) -> String;

    /// All of a file.
    ///
    /// # Errors
    /// [`Unread`] if it can't be read, is no file, or is longer than `most` bytes.
    fn read(&self, origin: &Position, path: &str, most: u64) -> Result<Contents, Unread>;

    /// The name and the mode of the file in which a place stands, if others than its owner may do anything with it.
    fn open_to_others(&self, origin: &Position) -> Option<(String, u32)>;

    /// The manifest of an addon that is at an address. Whoever asks compares its sum.
    ///
    /// # Errors
    /// [`Problem`] if it can't be had.
    fn fetch(&self, addon: &Addon, url: &str) -> Result<Source, Problem>;

    /// Where a file of any length lies on this machine that hosts are to get: the one that is named, or what was fetched. Whoever asks compares its sum.
    ///
    /// # Errors
    /// [`Problem`] if it can't be had.
    fn payload(&self, payload: &Payload) -> Result<PathBuf, Problem>;

    /// Length and sha256 of such a file.
    ///
    /// # Errors
    /// If it can't be read.
    fn sum(&self, path: &Path) -> io::Result<(u64, String)> {
        sum_of(path)
    }

    /// The keys that are kept of a cluster; nothing where there are none yet.
    ///
    /// # Errors
    /// [`Problem`] where there is anything else than these, or others could read them.
    fn kept(&self, cluster: &str, file: &EscrowFile) -> Result<Option<Kept>, Problem>;
}

/// What stands in a file. It has no `Debug` on purpose: it may be a key.
pub struct Contents {
    /// All of it.
    pub bytes: Vec<u8>,
    /// The file's mode, if others than its owner may do anything with it.
    pub open_mode: Option<u32>,
}

/// Why a file was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// What kind of reason it is.
    pub cause: UnreadCause,
    /// The same for people.
    pub because: String,
}

/// What kind of reason there is not to read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnreadCause {
    /// There is nothing of that name.
    Missing,
    /// It is a folder, a pipe or a device.
    NoFile,
    /// Anything else.
    Other,
}
