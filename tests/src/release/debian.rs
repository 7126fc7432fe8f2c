//! Packages of the distribution that are taken apart for images: asked for and fetched by apt, which checks them against the
//! signed lists of the machine's sources. Nothing is installed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::digest::sha256_file;
use super::error::{ReleaseError, Result};
use super::source::Component;

/// A package as apt's lists describe the version that apt would install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deb {
    /// Its name.
    pub package: String,
    /// Its version with epoch and revision.
    pub version: String,
    /// SHA-256 of the `.deb`.
    pub sha256: String,
}

/// What the machine's sources offer of the packages that components name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Archive(BTreeMap<String, Deb>);

impl Archive {
    /// Asks apt; it reads its lists and no network.
    ///
    /// # Errors
    /// When apt can't be run: this is neither Debian nor one of its relatives.
    pub fn query(components: &[Component]) -> Result<Self> {
        let names: BTreeSet<&String> = components.iter().flat_map(packages).collect();
        if names.is_empty() {
            return Ok(Self::default());
        }
        // It ends with an error when it doesn't know one of them, and still prints the others.
        let output =
            Command::new("apt-cache").env("LC_ALL", "C").args(["--no-all-versions", "show"]).args(&names).output().map_err(|source| {
                ReleaseError::HostProgram {
                    program: "apt-cache".to_owned(),
                    message: format!("{source}. Parts of the release are Debian's packages: build it on Debian or Ubuntu"),
                }
            })?;
        Ok(Self::parse(&String::from_utf8_lossy(&output.stdout)))
    }

    fn parse(text: &str) -> Self {
        let debs = text.split("\n\n").filter_map(|stanza| {
            let field = |name: &str| stanza.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).map(str::to_owned);
            Some(Deb { package: field("Package")?, version: field("Version")?, sha256: field("SHA256")? })
        });
        Self(debs.map(|deb| (deb.package.clone(), deb)).collect())
    }

    /// The packages of a component that the distribution has.
    ///
    /// # Errors
    /// When it doesn't have the first of them.
    pub fn select(&self, component: &Component) -> Result<Vec<Deb>> {
        if let Some(first) = packages(component).next().filter(|first| !self.0.contains_key(*first)) {
            return Err(ReleaseError::HostProgram {
                program: component.label(),
                message: format!("apt knows no package {first}: its lists are empty, or its sources lack it. Run: apt-get update"),
            });
        }
        Ok(packages(component).filter_map(|name| self.0.get(name)).cloned().collect())
    }

    /// The version of a component that consists of packages: upstream's of the first. `None` for any other component.
    ///
    /// # Errors
    /// As [`Archive::select`].
    pub fn version(&self, component: &Component) -> Result<Option<String>> {
        Ok(self.select(component)?.first().map(|deb| upstream_version(&deb.version).to_owned()))
    }
}

fn packages(component: &Component) -> impl Iterator<Item = &String> {
    component.recipe.debian.iter().flat_map(|debian| &debian.packages)
}

/// Without epoch, revision and what Debian adds about how it repacked the sources (`1:1.2.13.dfsg-1`, `1.5.4+dfsg2-5`).
fn upstream_version(version: &str) -> &str {
    let version = version.split_once(':').map_or(version, |(_, rest)| rest);
    let version = version.rsplit_once('-').map_or(version, |(upstream, _)| upstream);
    version.split(['+', '~']).next().unwrap_or(version)
}

/// Fetches the packages into a new folder and returns their files.
///
/// # Errors
/// When apt fails, or fetched something else than its lists said before.
pub fn download(debs: &[Deb], folder: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir(folder).map_err(ReleaseError::io("create", folder))?;
    let names: Vec<String> = debs.iter().map(|deb| format!("{}={}", deb.package, deb.version)).collect();
    let output = Command::new("apt-get")
        .env("LC_ALL", "C")
        .current_dir(folder)
        // Three tries, as an archive behind a name of many addresses now and then has a bad one.
        .args(["--quiet", "-o", "Acquire::Retries=3", "download"])
        .args(&names)
        .output()
        .map_err(ReleaseError::io("run apt-get in", folder))?;
    let failed = |text: &str| ReleaseError::Command {
        what: format!("apt-get download {}", names.join(" ")),
        status: output.status.to_string(),
        output: format!("{text}\nIf the archive has other versions by now, apt-get update brings the lists up to date"),
    };
    if !output.status.success() {
        return Err(failed(&String::from_utf8_lossy(&output.stderr)));
    }
    let files =
        fs::read_dir(folder).and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>());
    let files = files.map_err(ReleaseError::io("list", folder))?;
    let found: BTreeSet<String> = files.iter().map(|file| sha256_file(file).map(|(_, sha256)| sha256)).collect::<Result<_>>()?;
    if found != debs.iter().map(|deb| deb.sha256.clone()).collect() {
        return Err(failed("the files that came are not those of the lists"));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upstream_versions_have_neither_epoch_nor_revision() {
        for (version, upstream) in [
            ("2.6.12-1+deb12u4", "2.6.12"),
            ("3.0.22-1~deb12u2", "3.0.22"),
            ("1:4.4.33-2", "4.4.33"),
            ("1.5.4+dfsg2-5", "1.5.4"),
            ("12.4+deb12u15", "12.4"),
            ("11.6", "11.6"),
        ] {
            assert_eq!(upstream_version(version), upstream);
        }
    }

    #[test]
    fn the_lists_are_read_by_stanza() {
        let text = "Package: a\nVersion: 1-1\nDescription: x\n Package: c\nSHA256: 12\n\nPackage: b\nVersion: 2\nSHA256: 34\n\n";
        let deb = |package: &str, version: &str, sha256: &str| {
            let deb = Deb { package: package.to_owned(), version: version.to_owned(), sha256: sha256.to_owned() };
            (package.to_owned(), deb)
        };
        assert_eq!(Archive::parse(text), Archive([deb("a", "1-1", "12"), deb("b", "2", "34")].into()));
        assert_eq!(Archive::parse("N: Unable to locate package x\n"), Archive::default());
    }
}
