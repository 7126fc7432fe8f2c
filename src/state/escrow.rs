//! The file on this machine that keeps the keys of a cluster, where the user asked for one.
//!
//! It is written before a host gets anything that these keys have made, and as a whole or not at all; what it holds is never lost for
//! something else.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use kok_crds::model::EscrowFile;
use kok_crds::{Position, Problem};
use kok_pki::{Escrow, SecretText};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use zeroize::Zeroizing;

use crate::remote::mode_if_open;

/// Certificates of authorities may have much text before them; ten times of what kokctl itself writes with the longest keys.
const MOST_BYTES: u64 = 1 << 20;

/// A path as seen from the folder of the file in which it stands. What came by standard input stands where the user is.
#[must_use]
pub fn beside(origin: &Position, path: &str, home: Option<&Path>) -> PathBuf {
    let home = path.strip_prefix("~/").and_then(|rest| Some(home?.join(rest)));
    home.unwrap_or_else(|| Path::new(&*origin.file).parent().unwrap_or(Path::new("")).join(path))
}

/// What is kept of a cluster, with the text as it stands in the file.
pub struct Kept {
    /// What was read.
    pub escrow: Escrow,
    /// The text.
    pub text: SecretText,
}

/// The file of one cluster. It has no `Debug` on purpose.
pub struct Keeping<'a> {
    file: &'a EscrowFile,
    path: PathBuf,
    cluster: &'a str,
}

impl<'a> Keeping<'a> {
    /// The file that keeps the keys of this cluster.
    #[must_use]
    pub fn new(cluster: &'a str, file: &'a EscrowFile, home: Option<&Path>) -> Self {
        Self { file, path: beside(&file.origin, &file.path, home), cluster }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it keeps; nothing where there is no file yet.
    ///
    /// # Errors
    /// [`Problem`] where there is anything else than the keys of this cluster, or others could read them.
    pub fn read(&self) -> Result<Option<Kept>, Problem> {
        let metadata = match fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return self.folder_is_there().map(|()| None),
            other => other.map_err(|error| self.unreadable(error.to_string()))?,
        };
        if !metadata.is_file() {
            let problem = self.refused("it is no plain file, and kokctl replaces nothing else");
            return Err(problem.hint("name the file itself, or a name that nothing has yet"));
        }
        if let Some(mode) = mode_if_open(&metadata) {
            let problem = Problem::new("the file with the cluster's keys is open to others").at(&self.file.origin);
            let because = format!("the mode of {} is {mode:04o}", self.path.display());
            return Err(problem.because(because).hint(format!("chmod 600 {}", self.path.display())));
        }
        let text = self.text().map_err(|because| self.unreadable(because))?;
        let escrow = Escrow::parse(&text).map_err(|error| {
            self.refused(&error.to_string()).hint("name another file; what is there is left as it is, for it may be needed")
        })?;
        if escrow.cluster() != self.cluster {
            let because = format!("it holds the keys of the cluster `{}`", escrow.cluster().escape_debug());
            return Err(self.refused(&because).hint("name another file: each cluster has one of its own"));
        }
        Ok(Some(Kept { escrow, text }))
    }

    fn folder_is_there(&self) -> Result<(), Problem> {
        let folder = self.folder();
        if folder.is_dir() {
            return Ok(());
        }
        let problem = self.refused(&format!("the folder {} does not exist", folder.display()));
        Err(problem.hint(format!("mkdir -m 700 {}", folder.display())))
    }

    fn folder(&self) -> &Path {
        self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    fn text(&self) -> Result<SecretText, String> {
        let file = crate::plain_file::open(&self.path).map_err(|error| error.to_string())?;
        let mut text = Zeroizing::new(String::new());
        file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
        let is_short = u64::try_from(text.len()).is_ok_and(|length| length <= MOST_BYTES);
        if is_short { Ok(SecretText::from_zeroizing(text)) } else { Err(format!("it is longer than {MOST_BYTES} bytes")) }
    }

    fn unreadable(&self, because: String) -> Problem {
        let problem = Problem::new("the file with the cluster's keys can't be read").at(&self.file.origin);
        let hint = "let it be readable for you; or name another file, if the cluster runs: its keys are read from its hosts then";
        problem.because(format!("{}: {because}", self.path.display())).hint(hint)
    }

    fn refused(&self, because: &str) -> Problem {
        let problem = Problem::new("the cluster's keys can't be kept in that file").at(&self.file.origin);
        problem.because(format!("{}: {because}", self.path.display()))
    }

    /// Writes `text` in place of what was read from it; where nothing was, only if there is still nothing. Once this returns, the text is
    /// on the disk.
    ///
    /// # Errors
    /// [`Problem`]; what was there before is still there, unless the disk itself failed.
    pub fn write(&self, before: Option<&Kept>, text: &SecretText) -> Result<(), Problem> {
        let unwritable = |error: io::Error| match error.kind() {
            ErrorKind::AlreadyExists => {
                let problem = self.refused("somebody else has made it meanwhile");
                problem.hint("look whose it is; then repeat the run, or name another file")
            }
            ErrorKind::Unsupported => {
                let problem = self.refused("its file system can't give a file a name without replacing another");
                problem.hint("nothing was changed; name a file on another file system")
            }
            _ => self.refused(&error.to_string()).hint("nothing was changed; let its folder be writable, or name another file"),
        };
        let new = self.temporary();
        let written = self.write_new(&new, text).and_then(|()| match before {
            Some(_) => fs::rename(&new, &self.path),
            None => name(&new, &self.path),
        });
        let synced = written.and_then(|()| File::open(self.folder())?.sync_all());
        synced.map_err(|error| {
            let _ = fs::remove_file(&new);
            unwritable(error)
        })
    }

    /// One name, so that the next run removes what a crash has left. The cluster's lock is held: nobody else has it.
    fn temporary(&self) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        self.path.with_file_name(format!(".{name}.kokctl-{}", self.cluster))
    }

    fn write_new(&self, path: &Path, text: &SecretText) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(text.expose().as_bytes())?;
        file.sync_all()
    }
}

/// Gives a file its name, and replaces nothing that has it. Not every file system knows such a rename (ZFS, some of FUSE), and not every one
/// has two names for a file (exFAT, SMB).
fn name(new: &Path, name: &Path) -> io::Result<()> {
    match renameat_with(CWD, new, CWD, name, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => link(new, name),
        renamed => renamed.map_err(io::Error::from),
    }
}

fn link(new: &Path, name: &Path) -> io::Result<()> {
    let linked = fs::hard_link(new, name).map_err(|error| match error.raw_os_error().map(Errno::from_raw_os_error) {
        // Where a file was just made, EPERM says that there are no such names (link(2)).
        Some(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS) => ErrorKind::Unsupported.into(),
        _ => error,
    });
    linked.and_then(|()| fs::remove_file(new))
}

#[cfg(test)]
mod tests;
