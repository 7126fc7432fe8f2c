//! Where things are, unless the command line says otherwise.

use std::env;
use std::path::{Path, PathBuf};

use super::error::{ReleaseError, Result};

/// `${XDG_CACHE_HOME:-$HOME/.cache}/kok`, the folder of all caches of this project.
///
/// # Errors
/// [`ReleaseError::NoCache`] when neither variable holds an absolute path.
pub fn cache_root() -> Result<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|base| base.join("kok"))
        .ok_or(ReleaseError::NoCache)
}

/// The folder of the built components when `--cache` is not given.
///
/// # Errors
/// As [`cache_root`].
pub fn default_cache() -> Result<PathBuf> {
    Ok(cache_root()?.join("release"))
}

/// The folder of Go's compiled packages. It grows to about 10 GB and is shared by all caches of built components.
///
/// # Errors
/// As [`cache_root`].
pub fn build_cache() -> Result<PathBuf> {
    Ok(cache_root()?.join("go-build"))
}

/// The bundle's folder when `--output` is not given.
#[must_use]
pub fn default_output(cache: &Path) -> PathBuf {
    cache.join("bundle")
}

/// `tests/release` of the source tree from which this program was compiled.
#[must_use]
pub fn default_recipes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("release")
}
