//! Files of this machine.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{self, Path, PathBuf};

use kok_crds::model::{Addon, EscrowFile, Payload, PayloadSource};
use kok_crds::{Position, Problem, Source};

use super::fetch;
use super::files::{Contents, Files, Unread, UnreadCause};
use crate::artifacts::sums;
use crate::plain_file;
use crate::remote::mode_if_open;
use crate::state::{Keeping, Kept, beside};

/// Files of this machine. A position's file is a path of it, too.
#[derive(Debug, Clone, Default)]
pub struct LocalFiles {
    home: Option<PathBuf>,
    state: Option<PathBuf>,
}

impl LocalFiles {
    /// Those that this user names: `home` is where `~/` is, and what was fetched is kept below the folder `state`.
    #[must_use]
    pub fn new(home: Option<PathBuf>, state: Option<PathBuf>) -> Self {
        Self { home, state }
    }

    fn path(&self, origin: &Position, path: &str) -> PathBuf {
        beside(origin, path, self.home.as_deref())
    }
}

impl Files for LocalFiles {
    fn name(&self, origin: &Position, path: &str) -> String {
        self.path(origin, path).display().to_string()
    }

    fn read(&self, origin: &Position, path: &str, most: u64) -> Result<Contents, Unread> {
        let file = plain_file::open(&self.path(origin, path)).map_err(unread)?;
        // What a shell has opened is no file of anybody's.
        let metadata = file.metadata().map_err(unread)?;
        let open_mode = Some(metadata).filter(fs::Metadata::is_file).as_ref().and_then(mode_if_open);
        let bytes = plain_file::bounded(file, most).map_err(|because| Unread { cause: UnreadCause::Other, because })?;
        Ok(Contents { bytes, open_mode })
    }

    fn open_to_others(&self, origin: &Position) -> Option<(String, u32)> {
        // What came by standard input or in an option is no file.
        let mode = mode_if_open(&fs::metadata(&*origin.file).ok().filter(fs::Metadata::is_file)?)?;
        Some((origin.file.to_string(), mode))
    }

    fn fetch(&self, addon: &Addon, url: &str) -> Result<Source, Problem> {
        fetch::manifest(addon, url, self.state.as_ref().map(|state| state.join("manifests")).as_deref())
    }

    fn payload(&self, payload: &Payload) -> Result<PathBuf, Problem> {
        let path = match &payload.source {
            PayloadSource::File(path) => self.path(&payload.origin, path),
            PayloadSource::Url(url) => {
                let folder = self.state.as_ref().map(|state| state.join("files"));
                return fetch::payload(payload, url, folder.as_deref());
            }
        };
        // It is opened again to be sent; a pipe would have nothing left.
        let found = plain_file::open(&path).and_then(|file| match file.metadata()?.is_file() {
            true => path::absolute(&path),
            false => Err(io::Error::new(ErrorKind::InvalidInput, "it is a pipe, and no file")),
        });
        found.map_err(|error| {
            let problem = Problem::new("a file for the hosts can't be read").at(&payload.origin);
            problem.because(format!("{}: {error}", path.display())).hint("name a file, as seen from the folder of this file")
        })
    }

    fn sum(&self, path: &Path) -> io::Result<(u64, String)> {
        sums::sum(path, self.state.as_deref().map(sums::kept_in).as_deref())
    }

    fn kept(&self, cluster: &str, file: &EscrowFile) -> Result<Option<Kept>, Problem> {
        Keeping::new(cluster, file, self.home.as_deref()).read()
    }
}

fn unread(error: io::Error) -> Unread {
    let cause = match error.kind() {
        ErrorKind::NotFound => UnreadCause::Missing,
        ErrorKind::InvalidInput => UnreadCause::NoFile,
        _ => UnreadCause::Other,
    };
    Unread { cause, because: error.to_string() }
}
