//! Files, with what they include.
use super::{Item, SshConfigFault, split};
use crate::plain_file;
use crate::remote::host_key_fault::KnownHostsPlace;
use crate::remote::pattern::{Case, matches};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// OpenSSH's limit.
const MAX_DEPTH: usize = 16;
/// No configuration is longer; what is, is something else.
const MAX_BYTES: u64 = 1 << 20;

/// Reads one of the two configurations.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    /// Where relative names of `Include` begin.
    pub(super) folder: &'a Path,
    pub(super) home: Option<&'a Path>,
    /// Whether it is the user's own, which nobody else may write.
    pub(super) of_user: bool,
}

impl Reader<'_> {
    /// The lines of a file that need not exist.
    pub(super) fn file(self, file: &Path, depth: usize) -> Result<Vec<Item>, SshConfigFault> {
        let unreadable = |source| SshConfigFault::Unreadable { file: file.to_owned(), source };
        let metadata = match std::fs::metadata(file) {
            Ok(metadata) => metadata,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(Vec::new()),
            Err(error) => return Err(unreadable(error)),
        };
        let foreign = metadata.uid() != 0 && metadata.uid() != rustix::process::getuid().as_raw();
        if self.of_user && (foreign || metadata.mode() & 0o022 != 0) {
            return Err(SshConfigFault::TooOpen { file: file.to_owned() });
        }
        if plain_file::is_null(file) {
            return Ok(Vec::new());
        }
        let text = plain_file::bounded(plain_file::open(file).map_err(unreadable)?, MAX_BYTES)
            .map_err(|because| unreadable(io::Error::new(io::ErrorKind::FileTooLarge, because)))?;
        let text = String::from_utf8_lossy(&text);
        let mut items = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let place = KnownHostsPlace { file: file.to_owned(), line: index + 1 };
            let wrong =
                |reason: &str| SshConfigFault::Wrong { keyword: "the line".to_owned(), place: place.clone(), reason: reason.into() };
            let Some((keyword, arguments)) = split::split(line).map_err(wrong)? else { continue };
            if arguments.is_empty() {
                return Err(SshConfigFault::Wrong { keyword, place, reason: "it has no value".to_owned() });
            }
            let included = if keyword == "include" { self.included(&arguments, &place, depth)? } else { Vec::new() };
            items.push(Item { place, keyword, arguments, included });
        }
        Ok(items)
    }

    fn included(self, patterns: &[String], place: &KnownHostsPlace, depth: usize) -> Result<Vec<Item>, SshConfigFault> {
        let wrong = |reason: &str| SshConfigFault::Wrong { keyword: "include".to_owned(), place: place.clone(), reason: reason.to_owned() };
        if depth == MAX_DEPTH {
            return Err(wrong("it is nested too deep"));
        }
        let mut items = Vec::new();
        for pattern in patterns {
            let path = match (pattern.strip_prefix("~/"), self.home) {
                (Some(rest), Some(home)) => home.join(rest),
                (Some(_), None) => return Err(wrong("the home directory is not known")),
                (None, _) => self.folder.join(pattern),
            };
            for file in files(&path) {
                items.extend(self.file(&file, depth + 1)?);
            }
        }
        Ok(items)
    }
}

/// The files that a pattern names, sorted; a `*` or `?` in any part stands for what is there, but for hidden names.
fn files(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in pattern.components() {
        let text = part.as_os_str().to_string_lossy();
        if !text.contains(['*', '?']) {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        }
        let names = |folder: &PathBuf| {
            let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
            let fits = |name: &str| matches(&text, name, Case::Matters) && (text.starts_with('.') || !name.starts_with('.'));
            let mut paths: Vec<_> = entries.filter(|entry| fits(&entry.file_name().to_string_lossy())).map(|entry| entry.path()).collect();
            paths.sort();
            paths
        };
        found = found.iter().flat_map(names).collect();
    }
    found
}
