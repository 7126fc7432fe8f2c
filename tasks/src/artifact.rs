//! Artifacts: what a host gets out of a bundle.

use crate::bundle::{ArchiveEntry, BundleFile, BundleImage};

/// A file of the bundle that is streamed to a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// What it is, for people: `kubelet 1.37.1`.
    pub title: String,
    /// Path inside the bundle.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// The sha256 that the bundle promises; compared while it is read and, for files, on the host before they are put in place.
    pub sha256: String,
}

impl From<&BundleFile> for Artifact {
    fn from(file: &BundleFile) -> Self {
        Self { title: format!("{} {}", file.name, file.version), path: file.path.clone(), size: file.size, sha256: file.sha256.clone() }
    }
}

impl From<&BundleImage> for Artifact {
    fn from(image: &BundleImage) -> Self {
        Self { title: image.reference.clone(), path: image.path.clone(), size: image.size, sha256: image.sha256.clone() }
    }
}

/// Where a file of an archive ends up on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The archive's own record of it.
    pub entry: ArchiveEntry,
    /// Absolute path on the host.
    pub path: String,
}
