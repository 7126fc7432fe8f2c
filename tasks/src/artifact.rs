//! Artifacts: what a host gets out of a bundle.

use crate::bundle::{ArchiveEntry, Bundle, BundleFile, BundleImage, BundlePackages};

/// A file of the bundle that comes to a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// What it is, for people: `kubelet 1.37.1`.
    pub title: String,
    /// Path inside the bundle; that of a file of the user's is absolute, and one of the machine that sends it.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// The sha256 that the bundle promises; compared while it is read and, for files, on the host before they are put in place.
    pub sha256: String,
    /// How it comes there.
    pub supply: Supply,
}

/// How an artifact comes to a host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Supply {
    /// kokctl sends it.
    #[default]
    Sent,
    /// kokctl sends it, although the host fetches what it can, for this reason.
    SentBecause(&'static str),
    /// The host fetches it.
    Fetched(Source),
}

/// Where a host fetches an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The URL of a file; of an image its repository with the digest of its manifest.
    pub address: String,
    /// Whether a registry is spoken with without TLS.
    pub is_plain: bool,
    /// Variables of the proxy.
    pub environment: Vec<(&'static str, String)>,
}

impl Artifact {
    /// Whether it is a file of the user's, and none of the bundle.
    #[must_use]
    pub fn is_users(&self) -> bool {
        self.path.starts_with('/')
    }

    /// Behind its title, for people: nothing where kokctl sends it, as it does without anybody's word.
    pub(crate) fn supply_words(&self) -> String {
        match &self.supply {
            Supply::Sent => String::new(),
            Supply::SentBecause(because) => format!(", sent by kokctl: {because}"),
            Supply::Fetched(source) => format!(", fetched by the host from {}", source.address),
        }
    }
}

impl From<&BundleFile> for Artifact {
    fn from(file: &BundleFile) -> Self {
        let title = format!("{} {}", file.name, file.version);
        Self { title, path: file.path.clone(), size: file.size, sha256: file.sha256.clone(), supply: Supply::Sent }
    }
}

impl From<&BundleImage> for Artifact {
    fn from(image: &BundleImage) -> Self {
        let title = image.reference.clone();
        Self { title, path: image.path.clone(), size: image.size, sha256: image.sha256.clone(), supply: Supply::Sent }
    }
}

impl From<&BundlePackages> for Artifact {
    fn from(packages: &BundlePackages) -> Self {
        let title = format!("packages of {} for {}", packages.distribution, packages.architecture);
        Self { title, path: packages.path.clone(), size: packages.size, sha256: packages.sha256.clone(), supply: Supply::Sent }
    }
}

impl Bundle {
    /// Everything that the bundle holds.
    pub fn artifacts(&self) -> impl Iterator<Item = Artifact> {
        let (files, images) = (self.files.iter().map(Artifact::from), self.images.iter().map(Artifact::from));
        files.chain(images).chain(self.packages.iter().map(Artifact::from))
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
