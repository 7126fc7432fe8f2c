//! The user's own kubeconfig as a file: found, locked, read, and replaced as a whole or not at all.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use kok_pki::SecretText;

use crate::failure::{Failure, Kind};
use crate::randomness::random_bytes;

/// It holds keys.
const MODE: u32 = 0o600;
/// As kubectl makes `~/.kube`, but closed to others.
const FOLDER_MODE: u32 = 0o700;
/// As many as Linux follows.
const MOST_LINKS: usize = 40;

/// Where kubectl of this user keeps its configuration: the first file of `$KUBECONFIG`, or `~/.kube/config`.
pub(super) fn usual(kubeconfig: Option<&OsString>, home: Option<PathBuf>) -> Option<PathBuf> {
    let first = kubeconfig.and_then(|files| std::env::split_paths(files).find(|file| !file.as_os_str().is_empty()));
    first.or_else(|| Some(home.filter(|home| home.is_absolute())?.join(".kube/config")))
}

/// A kubeconfig that is being changed. kubectl's lock is held for as long.
pub(super) struct Own {
    /// As the user calls it.
    pub(super) name: PathBuf,
    /// The file itself, behind all links.
    file: PathBuf,
    metadata: Option<Metadata>,
    /// What stands in it; nothing if it is missing.
    pub(super) text: SecretText,
    _lock: Lock,
}

impl Own {
    /// # Errors
    /// [`Failure`] if it can't be read, is no text, or is being changed by kubectl.
    pub(super) fn open(name: &Path) -> Result<Self, Failure> {
        let read = |error: io::Error| failed("can't be read", name, &error);
        let file = behind_links(name).map_err(read)?;
        for folder in [&file, name].into_iter().filter_map(|path| path.parent()).filter(|folder| !folder.as_os_str().is_empty()) {
            let made = DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder);
            made.map_err(|error| failed("can't be made", folder, &error))?;
        }
        let lock = Lock::take(name)?;
        let metadata = match fs::metadata(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            found => Some(found.map_err(read)?),
        };
        if metadata.as_ref().is_some_and(|metadata| !metadata.is_file()) {
            return Err(Failure::new(Kind::Input, format!("{} is no file that could be replaced", name.display()))
                .hint("name another one with --into"));
        }
        let bytes = metadata.as_ref().map_or_else(|| Ok(Vec::new()), |_| fs::read(&file)).map_err(read)?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let before = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            let column = String::from_utf8_lossy(before).chars().rev().take_while(|character| *character != '\n').count() + 1;
            Failure::new(Kind::Input, format!("{} is no kubeconfig", name.display()))
                .at(format!("{}:{line}:{column}", name.display()))
                .because("it is no text in UTF-8")
                .hint("mend it, or name another file with --into")
        })?;
        Ok(Self { name: name.to_owned(), file, metadata, text: SecretText::new(text), _lock: lock })
    }

    /// The mode of a file that others can read or write.
    pub(super) fn open_mode(&self) -> Option<u32> {
        self.metadata.as_ref().map(|metadata| metadata.mode() & 0o7777).filter(|mode| mode & 0o077 != 0)
    }

    /// Replaces it as a whole, for its owner only.
    ///
    /// # Errors
    /// [`Failure`]; then the file is what it was.
    pub(super) fn replace(&self, text: &SecretText) -> Result<(), Failure> {
        let folder = self.file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut hidden = OsString::from(".");
        hidden.push(self.file.file_name().unwrap_or_default());
        hidden.push(format!(".{}", hex::encode(random_bytes::<8>()?)));
        let temporary = folder.join(hidden);
        let written = self.write(&temporary, text).and_then(|()| fs::rename(&temporary, &self.file));
        if let Err(error) = written {
            let _ = fs::remove_file(&temporary);
            return Err(failed("can't be written", &self.name, &error).hint("nothing was changed; another file can be named with --into"));
        }
        // It is there in any case; this is for a machine that loses its power now, and not every file system can do it.
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
        Ok(())
    }

    fn write(&self, path: &Path, text: &SecretText) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(path)?;
        let now = file.metadata()?;
        if let Some(before) = &self.metadata {
            if before.uid() != now.uid() {
                fchown(&file, Some(before.uid()), None)?;
            }
            // Only root may give it to any group, and with this mode the group can do nothing with it.
            let _ = (before.gid() == now.gid()) || fchown(&file, None, Some(before.gid())).is_ok();
        }
        file.set_permissions(Permissions::from_mode(MODE))?;
        file.write_all(text.expose().as_bytes())?;
        file.sync_all()
    }
}

fn failed(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(Kind::Input, format!("{} {what}", path.display()))
        .because(error.to_string())
        .hint("let it be a file that you may read and write, or name another one with --into")
}

/// The file itself, which need not be there: renaming over a link would replace the link.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound) => return Ok(path),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("its symbolic links lead to each other"))
}

/// kubectl's own lock of a kubeconfig: a file beside it (`lockFile` of client-go's `tools/clientcmd/loader.go`).
struct Lock(PathBuf);

impl Lock {
    fn take(path: &Path) -> Result<Self, Failure> {
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let lock = PathBuf::from(name);
        match OpenOptions::new().write(true).create_new(true).mode(0o000).open(&lock) {
            Ok(_) => Ok(Self(lock)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let failure = Failure::new(Kind::Input, format!("{} is being changed by another program", path.display()));
                let because = format!("{}, the lock of kubectl, is there", lock.display());
                Err(failure.because(because).hint("try again; if no kubectl or kokctl is at work, remove that file"))
            }
            Err(error) => Err(failed("can't be written", path, &error).hint("name another file with --into")),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests;
