//! Files of this machine.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use kok_crds::model::{Addon, EscrowFile};
use kok_crds::{Position, Problem, Source};

use super::fetch;
use super::files::{Contents, Files, Unread, UnreadCause};
use crate::plain_file;
use crate::remote::mode_if_open;
use crate::state::{Keeping, Kept, beside};

/// Files of this machine. A position's file is a path of it, too.
#[derive(Debug, Clone, Default)]
pub struct LocalFiles {
    home: Option<PathBuf>,
    fetched: Option<PathBuf>,
}

impl LocalFiles {
    /// Those that this user names: `home` is where `~/` is, and manifests that were fetched are kept in the folder `fetched`.
    #[must_use]
    pub fn new(home: Option<PathBuf>, fetched: Option<PathBuf>) -> Self {
        Self { home, fetched }
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
        fetch::manifest(addon, url, self.fetched.as_deref())
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
