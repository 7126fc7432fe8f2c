//! The typed content of `bundle.json`: what a bundle holds, at which path, with which digest.
//!
//! A *bundle* is a folder:
//!
//! ```text
//! bundle.json
//! files/dl.k8s.io/release/v1.37.1/bin/linux/amd64/kubeadm      upstream's address without the scheme
//! files/github.com/opencontainers/runc/releases/download/v1.5.2/runc.amd64
//! images/registry.k8s.io/kube-apiserver/v1.37.1-linux-amd64.tar   one OCI archive an image and architecture
//! packages/debian-12-amd64.tar      packages of a distribution with their signed lists
//! ```
//!
//! Paths follow upstream's, so the same folder can come from a builder, from upstream or from a mirror. Nothing in it is
//! trusted by name: whoever installs from it compares the sha256 of what it read with the one that stands here.

mod check;
mod error;
mod keep;
mod packages;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use semver::Version;
use serde::{Deserialize, Serialize};

pub use error::BundleError;
pub use packages::{BundlePackage, BundlePackages, PackageSuite};

/// The newest layout of `bundle.json` that this code reads and the one it writes.
pub const FORMAT: u32 = 1;

/// The name of the index inside the bundle's folder.
pub const INDEX: &str = "bundle.json";

/// What `bundle.json` says: every file and image, and what each Kubernetes release needs of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Bundle {
    /// Layout of this document; a reader refuses a newer one.
    pub format: u32,
    /// Kubernetes releases that can be installed from this bundle, each with the images that its own kubeadm names.
    pub kubernetes: Vec<KubernetesRelease>,
    /// Binaries and archives, sorted by name, version and architecture.
    pub files: Vec<BundleFile>,
    /// Container images, sorted by reference and architecture.
    pub images: Vec<BundleImage>,
    /// Packages of distributions, sorted by distribution and architecture. Without any the field is left out, so that programs read it which do not
    /// know it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<BundlePackages>,
}

/// One Kubernetes release of the bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct KubernetesRelease {
    /// Version without a leading `v`, such as `1.37.1`.
    pub version: String,
    /// Image references by component (`kube-apiserver`, `etcd`, `coredns`, `pause` …), as `kubeadm config images list` of this
    /// very release prints them. Every reference stands in [`Bundle::images`] too.
    pub images: BTreeMap<String, String>,
}

/// One file of the bundle: a binary, or an archive of binaries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct BundleFile {
    /// What it is: `kubeadm`, `kubelet`, `kubectl`, `containerd`, `runc`, `cni-plugins`, `flannel-cni-plugin`, `etcd` …
    pub name: String,
    /// Version without a leading `v`.
    pub version: String,
    /// Architecture as Go and the registries spell it: `amd64`, `arm64`.
    pub architecture: String,
    /// Path inside the bundle, `/` between its parts, never absolute and without `..`.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// Lower-case hexadecimal sha256 of the file.
    pub sha256: String,
    /// For an archive (`.tar.gz`, `.tgz`): the regular files inside, sorted by path. Empty for a plain file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contents: Vec<ArchiveEntry>,
}

/// One regular file inside an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ArchiveEntry {
    /// Path inside the archive, without a leading `./`.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// Lower-case hexadecimal sha256 of the file.
    pub sha256: String,
}

/// One container image of the bundle, as an OCI archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct BundleImage {
    /// What it is: `kube-apiserver`, `etcd`, `coredns`, `pause`, `flannel`, `echo` …
    pub name: String,
    /// Version without a leading `v`; for an image that follows another numbering, its tag.
    pub version: String,
    /// Architecture as Go and the registries spell it.
    pub architecture: String,
    /// Path of the OCI archive inside the bundle.
    pub path: String,
    /// Length of the archive in bytes.
    pub size: u64,
    /// Lower-case hexadecimal sha256 of the archive.
    pub sha256: String,
    /// Full reference with tag, such as `registry.k8s.io/kube-apiserver:v1.37.1`.
    pub reference: String,
    /// Digest of the image manifest inside the archive, `sha256:` and 64 hexadecimal digits.
    pub manifest_digest: String,
    /// What upstream's image of that name has and this one has not, such as `bird`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
}

impl Bundle {
    /// Reads a `bundle.json` and checks it as [`Bundle::check`] does.
    ///
    /// # Errors
    /// [`BundleError::NewerFormat`] for a layout that this code doesn't know, [`BundleError::Syntax`] for anything that isn't
    /// an index, and what [`Bundle::check`] finds.
    pub fn parse(text: &str) -> Result<Self, BundleError> {
        check::parse(text)
    }

    /// Checks that every path stays inside the bundle and stands there once, that digests are digests, that no name, version
    /// and architecture appears twice, and that every image which a release names is there for each architecture that has a
    /// kubeadm of that release.
    ///
    /// # Errors
    /// The first thing that is wrong, with the entry's name and what to do.
    pub fn check(&self) -> Result<(), BundleError> {
        check::check(self)
    }

    /// Puts everything into the order that this document promises.
    pub fn sort(&mut self) {
        self.kubernetes.sort_by(|a, b| order(&a.version, &b.version));
        self.files.sort_by(|a, b| {
            a.name.cmp(&b.name).then_with(|| order(&a.version, &b.version)).then_with(|| a.architecture.cmp(&b.architecture))
        });
        self.images.sort_by(|a, b| (&a.reference, &a.architecture).cmp(&(&b.reference, &b.architecture)));
        self.packages.sort_by(|a, b| (&a.distribution, &a.architecture).cmp(&(&b.distribution, &b.architecture)));
    }

    /// The file of this name, version (without a leading `v`) and architecture.
    ///
    /// # Errors
    /// [`BundleError::NoFile`], which says which versions there are.
    pub fn file(&self, name: &str, version: &str, architecture: &str) -> Result<&BundleFile, BundleError> {
        let wanted = |file: &&BundleFile| file.name == name && file.version == version && file.architecture == architecture;
        self.files.iter().find(wanted).ok_or_else(|| {
            let same = self.files.iter().filter(|file| file.name == name);
            BundleError::NoFile {
                name: name.to_owned(),
                version: version.to_owned(),
                architecture: architecture.to_owned(),
                held: error::held(same.map(|file| format!("{} for {}", file.version, file.architecture))),
            }
        })
    }

    /// The image with this full reference, for this architecture.
    ///
    /// # Errors
    /// [`BundleError::NoImage`], which says which tags of the same repository there are.
    pub fn image(&self, reference: &str, architecture: &str) -> Result<&BundleImage, BundleError> {
        let wanted = |image: &&BundleImage| image.reference == reference && image.architecture == architecture;
        self.images.iter().find(wanted).ok_or_else(|| {
            let repository = repository(reference);
            let same = self.images.iter().filter(|image| self::repository(&image.reference) == repository);
            BundleError::NoImage {
                reference: reference.to_owned(),
                architecture: architecture.to_owned(),
                held: error::held(same.map(|image| format!("{} for {}", image.reference, image.architecture))),
            }
        })
    }

    /// The Kubernetes release of this version, without a leading `v`.
    ///
    /// # Errors
    /// [`BundleError::NoRelease`], which says which releases there are.
    pub fn release(&self, version: &str) -> Result<&KubernetesRelease, BundleError> {
        self.kubernetes.iter().find(|release| release.version == version).ok_or_else(|| BundleError::NoRelease {
            version: version.to_owned(),
            held: error::held(self.kubernetes.iter().map(|release| release.version.clone())),
        })
    }

    /// The file of this name with the newest version that there is for this architecture.
    #[must_use]
    pub fn newest_file(&self, name: &str, architecture: &str) -> Option<&BundleFile> {
        let files = self.files.iter().filter(|file| file.name == name && file.architecture == architecture);
        files.max_by(|a, b| order(&a.version, &b.version))
    }

    /// The versions of a file that there are, one for each architecture.
    pub fn versions(&self, name: &str) -> impl Iterator<Item = &str> {
        self.files.iter().filter(move |file| file.name == name).map(|file| file.version.as_str())
    }

    /// The image of this name with the newest version that there is for this architecture.
    #[must_use]
    pub fn newest_image(&self, name: &str, architecture: &str) -> Option<&BundleImage> {
        let images = self.images.iter().filter(|image| image.name == name && image.architecture == architecture);
        images.max_by(|a, b| order(&a.version, &b.version))
    }
}

/// By semantic version; what isn't one comes after, by its text.
fn order(a: &str, b: &str) -> std::cmp::Ordering {
    match (Version::parse(a), Version::parse(b)) {
        (Ok(left), Ok(right)) => left.cmp(&right).then_with(|| a.cmp(b)),
        (Ok(_), Err(_)) => std::cmp::Ordering::Less,
        (Err(_), Ok(_)) => std::cmp::Ordering::Greater,
        (Err(_), Err(_)) => a.cmp(b),
    }
}

fn repository(reference: &str) -> &str {
    reference.rsplit_once(':').map_or(reference, |(repository, _)| repository)
}
