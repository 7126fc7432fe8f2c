//! Debian's archives, and those of its relatives: signed lists, what they say of packages, and which packages need which.
//!
//! The signature is of the `Release` (here `InRelease`, which has it inside), that names each list by its sha256, and a list names each package by its
//! own. Whoever fetches compares along this chain; the signature itself is checked on hosts, by their own apt with their own keyring.

mod closure;
mod list;
mod release;
#[cfg(test)]
mod tests;

pub use closure::closure;
pub use list::Deb;
pub use release::Release;

/// Why an archive can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// There is no signature around the list.
    #[error("it is not signed: it does not lie between the lines of OpenPGP that a signed text begins and ends with")]
    Unsigned,
    /// It is the list of something else.
    #[error("it is of {found}, and not of {asked}")]
    Suite {
        /// What was asked for.
        asked: String,
        /// What it says of itself.
        found: String,
    },
    /// Its time is over: a mirror that is no longer brought up to date, or one that shows old lists.
    #[error("its time was over on {until}: the mirror is not up to date")]
    Expired {
        /// Until when it holds, as it says.
        until: String,
    },
    /// It does not name a list.
    #[error("it names no {list} with a sha256")]
    NoList {
        /// Its path.
        list: String,
    },
    /// No list has a package.
    #[error("its lists have no package {name}")]
    NoPackage {
        /// The package.
        name: String,
    },
}

/// Whether a word is one that may stand in a list of sources and in a path: of a suite, a component, a package or a version.
#[must_use]
pub fn is_word(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'+' | b'~' | b':' | b'%');
    !text.is_empty() && text.bytes().all(fits) && text.bytes().any(|byte| byte != b'.')
}

/// Whether a path has such words only: it leads nowhere else than below where it is looked up.
#[must_use]
pub fn is_plain_path(path: &str) -> bool {
    path.split('/').all(is_word)
}
