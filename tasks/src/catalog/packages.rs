//! Packages of distributions: what hosts may lack, and where the distribution publishes it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::check::{ARCHITECTURES, wrong};
use super::{Catalog, CatalogError, Item};
use crate::debian::{is_plain_path, is_word};

/// A release of a distribution of Debian's family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DistributionSource {
    /// `ID` and `VERSION_ID` of its `/etc/os-release`: `debian-12`.
    pub name: String,
    /// The packages that hosts may lack; what these need comes along.
    pub packages: Vec<String>,
    /// Where they are.
    pub archives: Vec<ArchiveSource>,
    /// Who says that they are there.
    pub source: String,
}

/// An archive of a distribution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ArchiveSource {
    /// Its address, without a `/` at the end.
    pub address: String,
    /// Architectures that it has; all without it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub architectures: BTreeSet<String>,
    /// Suites that are taken.
    pub suites: Vec<String>,
    /// Components that are taken of each.
    pub components: Vec<String>,
}

/// Packages to fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackagesItem {
    /// Of which distribution.
    pub distribution: String,
    /// Architecture as Go and Debian spell it.
    pub architecture: String,
    /// The packages that hosts may lack.
    pub packages: Vec<String>,
    /// Where they are, for this architecture.
    pub archives: Vec<ArchiveSource>,
}

impl PackagesItem {
    /// As messages call it.
    #[must_use]
    pub fn title(&self) -> String {
        format!("packages of {} for {}", self.distribution, self.architecture)
    }
}

impl ArchiveSource {
    /// The archive's folder where several are kept side by side: its address without the scheme.
    #[must_use]
    pub fn folder(&self) -> &str {
        self.address.trim_start_matches("https://").trim_start_matches("http://")
    }
}

impl Catalog {
    /// Packages of distributions, of each for every architecture.
    ///
    /// # Errors
    /// [`CatalogError::NoDistribution`], which says which distributions there are.
    pub fn packages(&self, distributions: &[String], architectures: &BTreeSet<String>) -> Result<Vec<Item>, CatalogError> {
        let mut items = Vec::new();
        for name in distributions.iter().collect::<BTreeSet<_>>() {
            let source = self.distributions.iter().find(|source| source.name == *name).ok_or_else(|| CatalogError::NoDistribution {
                name: name.clone(),
                held: self.distributions.iter().map(|source| source.name.clone()).collect(),
            })?;
            items.extend(architectures.iter().map(|architecture| Item::Packages(item(source, architecture))));
        }
        Ok(items)
    }
}

fn item(source: &DistributionSource, architecture: &str) -> PackagesItem {
    let has = |archive: &&ArchiveSource| archive.architectures.is_empty() || archive.architectures.contains(architecture);
    PackagesItem {
        distribution: source.name.clone(),
        architecture: architecture.to_owned(),
        packages: source.packages.clone(),
        archives: source.archives.iter().filter(has).cloned().collect(),
    }
}

/// Lists are signed, so that an archive without TLS may stand here: what comes from it is compared along the chain that the signature begins, and
/// that one hosts check.
pub(super) fn check_distribution(source: &DistributionSource) -> Result<(), CatalogError> {
    let entry = format!("distribution {}", source.name);
    let words = || source.packages.iter().chain([&source.name]).chain(source.archives.iter().flat_map(|archive| &archive.components));
    if let Some(word) = words().find(|word| !is_word(word)) {
        return Err(wrong(entry, format!("{word:?} is no name")));
    }
    for archive in &source.archives {
        let has_scheme = ["https://", "http://"].iter().any(|scheme| archive.address.starts_with(scheme));
        if !has_scheme || !is_plain_path(archive.folder()) {
            return Err(wrong(entry, format!("its address {:?} is none such as https://deb.debian.org/debian", archive.address)));
        }
        if let Some(suite) = archive.suites.iter().find(|suite| !is_plain_path(suite)) {
            return Err(wrong(entry, format!("{suite:?} is no suite")));
        }
        if let Some(other) = archive.architectures.iter().find(|architecture| !ARCHITECTURES.contains(&architecture.as_str())) {
            return Err(wrong(entry, format!("{other:?} is none of {}", ARCHITECTURES.join(", "))));
        }
    }
    Ok(())
}
