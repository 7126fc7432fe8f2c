//! Packages of a distribution in a bundle.

use serde::{Deserialize, Serialize};

use super::Bundle;

/// Packages of one release of a distribution for one architecture: a tar with the signed lists and the `.deb` files, each below the address of its
/// archive without the scheme.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct BundlePackages {
    /// `ID` and `VERSION_ID` of `/etc/os-release`: `debian-12`.
    pub distribution: String,
    /// Architecture as Go and Debian spell it: `amd64`, `arm64`.
    pub architecture: String,
    /// Path of the tar inside the bundle.
    pub path: String,
    /// Length of the tar in bytes.
    pub size: u64,
    /// Lower-case hexadecimal sha256 of the tar.
    pub sha256: String,
    /// The packages that hosts are given; the others are what these need.
    pub names: Vec<String>,
    /// The suites whose lists are in the tar.
    pub suites: Vec<PackageSuite>,
    /// The `.deb` files in the tar, sorted by name and version.
    pub packages: Vec<BundlePackage>,
}

/// A suite of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PackageSuite {
    /// The folder of the archive inside the tar: `deb.debian.org/debian`.
    pub archive: String,
    /// Its name: `bookworm`.
    pub suite: String,
    /// Components whose lists are there.
    pub components: Vec<String>,
    /// Lower-case hexadecimal sha256 of its `InRelease`, by which the lists are told from newer ones.
    pub sha256: String,
}

/// A `.deb` file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct BundlePackage {
    /// Its name.
    pub name: String,
    /// With epoch and revision.
    pub version: String,
    /// Path inside the tar.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// Lower-case hexadecimal sha256, as the signed list has it.
    pub sha256: String,
}

impl BundlePackages {
    /// Where the tar of a distribution stands in a bundle.
    #[must_use]
    pub fn path_of(distribution: &str, architecture: &str) -> String {
        format!("packages/{distribution}-{architecture}.tar")
    }
}

impl Bundle {
    /// The packages of a distribution for an architecture.
    #[must_use]
    pub fn packages_of(&self, distribution: &str, architecture: &str) -> Option<&BundlePackages> {
        self.packages.iter().find(|held| held.distribution == distribution && held.architecture == architecture)
    }
}
