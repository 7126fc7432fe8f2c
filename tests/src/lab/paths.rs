//! Where the lab keeps its files.

use std::env;
use std::path::PathBuf;

use super::LabError;

/// Machine-wide and emptied by a restart, as the kernel settings are that are recorded there.
pub(crate) const MACHINE_FOLDER: &str = "/run/kok-lab";

/// What can be made again: the hosts' root.
pub(crate) fn cache() -> Result<PathBuf, LabError> {
    Ok(base("XDG_CACHE_HOME", ".cache")?.join("kok/lab"))
}

/// What belongs to labs that are up, one folder each, with the hosts' disks.
pub(crate) fn state() -> Result<PathBuf, LabError> {
    Ok(base("XDG_STATE_HOME", ".local/state")?.join("kok/lab"))
}

/// Journals of failed tests.
pub(crate) fn failures() -> Result<PathBuf, LabError> {
    Ok(cache()?.join("failures"))
}

/// A folder of the XDG Base Directory Specification; relative values are to be ignored, says the specification.
fn base(variable: &str, default: &str) -> Result<PathBuf, LabError> {
    let given = env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || env::var_os("HOME").map(PathBuf::from).filter(|path| path.is_absolute()).map(|home| home.join(default));
    given.or_else(home).ok_or_else(|| LabError::Missing(vec![format!("neither {variable} nor HOME names a folder: set HOME")]))
}
