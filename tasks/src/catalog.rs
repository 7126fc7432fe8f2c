//! The catalog: which version of each component goes with which Kubernetes, where upstream publishes it, and how it is verified.
//!
//! The built-in one is `tasks/catalog.yaml`, which says the source of each of its lines. Nothing here fetches anything: [`Catalog::items`] says what
//! is to be fetched, and [`Expected`] what has to come of it.

mod check;
mod error;
mod items;
mod needs;
mod packages;
mod sums;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use semver::Version;
use serde::{Deserialize, Serialize};

pub use error::CatalogError;
pub use items::{Expected, FileItem, ImageItem, Item, Request};
pub use needs::Needs;
pub use packages::{ArchiveSource, DistributionSource, PackagesItem};
pub use sums::published_digest;

/// The newest form of a catalog that this code reads.
pub const FORMAT: u32 = 1;

static BUILT_IN: LazyLock<Result<Catalog, CatalogError>> = LazyLock::new(|| Catalog::parse(include_str!("../catalog.yaml")));

/// A catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Catalog {
    /// Layout of this document; a reader refuses a newer one.
    pub format: u32,
    /// Minors of Kubernetes, the newest first.
    pub kubernetes: Vec<Minor>,
    /// Pairs of versions that do not go together.
    #[serde(default)]
    pub known_bad: Vec<BadPair>,
    /// Where files are.
    pub files: Vec<FileSource>,
    /// Where images are.
    pub images: Vec<ImageSource>,
    /// Distributions whose packages can be brought along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distributions: Vec<DistributionSource>,
    /// Pinned sha256 by name of the file, version and architecture.
    #[serde(default)]
    pub digests: BTreeMap<String, BTreeMap<String, BTreeMap<String, String>>>,
}

/// A minor version of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Minor {
    /// Such as `1.37`.
    pub minor: String,
    /// The day from which on upstream mends nothing of it, `YYYY-MM-DD`.
    pub end_of_life: String,
    /// Its releases that this catalog knows, the newest first.
    pub releases: Vec<String>,
    /// The version of each component that goes with it.
    pub components: BTreeMap<String, String>,
}

/// A pair of versions that do not go together: one component with its version, and whatever else stands beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadPair {
    /// With what.
    pub with: String,
    /// Why.
    pub because: String,
    /// Who says so.
    pub source: String,
    /// The component and its version.
    #[serde(flatten)]
    pub component: BTreeMap<String, String>,
}

/// Where a file is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FileSource {
    /// As the bundle calls it.
    pub name: String,
    /// Whose version it has; its own if nothing is said. `kubernetes` stands for the release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
    /// Its address, with `${version}`, `${core}` (the version without what follows a `-`) and `${architecture}`.
    pub address: String,
    /// Where upstream publishes its sha256.
    pub checksum: Checksum,
    /// The licence's identifier in SPDX.
    pub licence: String,
    /// Who says that it is there.
    pub source: String,
}

/// Where the sha256 of a file is published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Checksum {
    /// An address, with `${address}` for the file's, and `${folder}` for that without its last part.
    pub address: String,
    /// How it is written there.
    pub form: ChecksumForm,
}

/// How sha256 are written in a file of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChecksumForm {
    /// 64 hexadecimal digits, and nothing else.
    Bare,
    /// Lines of `DIGITS  NAME`, as sha256sum writes them.
    List,
}

/// Where an image is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ImageSource {
    /// As the bundle calls it.
    pub name: String,
    /// Whose version it has; its own if nothing is said. `kubernetes` stands for the release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
    /// Whether the release names it: kubeadm asks for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub release: bool,
    /// Whether a bundle without it is whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_be_absent: bool,
    /// Full reference with tag, with `${version}`.
    pub reference: String,
    /// The licence's identifier in SPDX.
    pub licence: String,
    /// Who says that it is there.
    pub source: String,
}

impl Catalog {
    /// The one that this program brings.
    ///
    /// # Errors
    /// A defect of the program.
    pub fn built_in() -> Result<&'static Self, CatalogError> {
        BUILT_IN.as_ref().map_err(Clone::clone)
    }

    /// Reads a catalog and checks it.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Self, CatalogError> {
        check::parse(text)
    }

    /// The minor that a release is of.
    ///
    /// # Errors
    /// [`CatalogError::NoMinor`], which says which minors there are.
    pub fn minor(&self, release: &Version) -> Result<&Minor, CatalogError> {
        let name = format!("{}.{}", release.major, release.minor);
        self.kubernetes.iter().find(|minor| minor.minor == name).ok_or_else(|| CatalogError::NoMinor {
            release: release.to_string(),
            held: self.kubernetes.iter().map(|minor| minor.minor.clone()).collect(),
        })
    }

    /// The newest release that this catalog knows.
    #[must_use]
    pub fn newest(&self) -> Option<&str> {
        self.kubernetes.first()?.releases.first().map(String::as_str)
    }

    /// Licences, as SPDX identifiers, by the names of files and images.
    #[must_use]
    pub fn licences(&self) -> BTreeMap<String, String> {
        let files = self.files.iter().map(|file| (file.name.clone(), file.licence.clone()));
        files.chain(self.images.iter().map(|image| (image.name.clone(), image.licence.clone()))).collect()
    }

    /// What is to be fetched.
    ///
    /// # Errors
    /// What the catalog does not have.
    pub fn items(&self, request: &Request) -> Result<Vec<Item>, CatalogError> {
        items::items(self, request)
    }
}
