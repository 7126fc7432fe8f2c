//! Reads an index and refuses one that could lead astray.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{Bundle, BundleError, BundleFile, BundleImage, BundlePackages, FORMAT, INDEX};
use crate::debian::{is_plain_path, is_word};

/// The one field that every layout has.
#[derive(Deserialize)]
struct Head {
    format: u32,
}

pub(super) fn parse(text: &str) -> Result<Bundle, BundleError> {
    let syntax = |error: serde_json::Error| BundleError::Syntax { message: error.to_string() };
    // Before the strict reading: a newer layout may have fields that would hide the real cause.
    let head: Head = serde_json::from_str(text).map_err(syntax)?;
    if head.format > FORMAT {
        return Err(BundleError::NewerFormat { found: head.format });
    }
    let bundle: Bundle = serde_json::from_str(text).map_err(syntax)?;
    check(&bundle)?;
    Ok(bundle)
}

pub(super) fn check(bundle: &Bundle) -> Result<(), BundleError> {
    let mut seen = Seen::default();
    for file in &bundle.files {
        check_file(file, &mut seen)?;
    }
    for image in &bundle.images {
        check_image(image, &mut seen)?;
    }
    for packages in &bundle.packages {
        check_packages(packages, &mut seen)?;
    }
    for release in &bundle.kubernetes {
        seen.add(format!("Kubernetes {}", release.version))?;
    }
    check_releases(bundle)
}

fn check_file(file: &BundleFile, seen: &mut Seen) -> Result<(), BundleError> {
    let entry = format!("file {} {} for {}", file.name, file.version, file.architecture);
    check_path(&entry, &file.path)?;
    check_digest(&entry, &file.sha256)?;
    let mut inside = Seen::default();
    for content in &file.contents {
        check_path(&entry, &content.path)?;
        check_digest(&format!("{entry}: {}", content.path), &content.sha256)?;
        inside.add(format!("{} in {entry}", content.path))?;
    }
    seen.add(format!("path {}", file.path))?;
    seen.add(entry)
}

fn check_image(image: &BundleImage, seen: &mut Seen) -> Result<(), BundleError> {
    let entry = format!("image {} for {}", image.reference, image.architecture);
    check_path(&entry, &image.path)?;
    check_digest(&entry, &image.sha256)?;
    check_digest(&entry, image.manifest_digest.strip_prefix("sha256:").unwrap_or(&image.manifest_digest))?;
    if !image.manifest_digest.starts_with("sha256:") {
        return Err(BundleError::Digest { entry, value: image.manifest_digest.clone() });
    }
    seen.add(format!("path {}", image.path))?;
    seen.add(entry)
}

/// What stands here goes into a list of sources and into paths on hosts.
fn check_packages(packages: &BundlePackages, seen: &mut Seen) -> Result<(), BundleError> {
    let entry = format!("packages of {} for {}", packages.distribution, packages.architecture);
    check_path(&entry, &packages.path)?;
    check_digest(&entry, &packages.sha256)?;
    let plain =
        |path: &str| if is_plain_path(path) { Ok(()) } else { Err(BundleError::Path { entry: entry.clone(), path: path.to_owned() }) };
    let word = |word: &str| if is_word(word) { Ok(()) } else { Err(BundleError::Word { entry: entry.clone(), word: word.to_owned() }) };
    [&packages.distribution, &packages.architecture].into_iter().chain(&packages.names).try_for_each(|name| word(name))?;
    for suite in &packages.suites {
        plain(&suite.archive)?;
        plain(&suite.suite)?;
        suite.components.iter().try_for_each(|component| word(component))?;
        check_digest(&entry, &suite.sha256)?;
    }
    let mut inside = Seen::default();
    for package in &packages.packages {
        plain(&package.path)?;
        word(&package.name)?;
        check_digest(&format!("{entry}: {}", package.path), &package.sha256)?;
        inside.add(format!("{} in {entry}", package.path))?;
    }
    seen.add(format!("path {}", packages.path))?;
    seen.add(entry)
}

/// A release must be installable wherever its kubeadm can run, or, without one, for one architecture at least.
fn check_releases(bundle: &Bundle) -> Result<(), BundleError> {
    for release in &bundle.kubernetes {
        let kubeadms = bundle.files.iter().filter(|file| file.name == "kubeadm" && file.version == release.version);
        let architectures: Vec<&str> = kubeadms.map(|file| file.architecture.as_str()).collect();
        for (component, reference) in &release.images {
            let has =
                |architecture: &str| bundle.images.iter().any(|image| image.reference == *reference && image.architecture == architecture);
            let missing = match architectures.as_slice() {
                [] if bundle.images.iter().any(|image| image.reference == *reference) => None,
                [] => Some("any architecture"),
                some => some.iter().copied().find(|architecture| !has(architecture)),
            };
            if let Some(architecture) = missing {
                return Err(BundleError::Dangling {
                    release: release.version.clone(),
                    component: component.clone(),
                    reference: reference.clone(),
                    architecture: architecture.to_owned(),
                });
            }
        }
    }
    Ok(())
}

/// Only parts with a name: such a path can't leave the folder under which it is looked up, on any system.
fn check_path(entry: &str, path: &str) -> Result<(), BundleError> {
    let plain = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains(['\\', '\0']);
    if path != INDEX && path.split('/').all(plain) {
        return Ok(());
    }
    Err(BundleError::Path { entry: entry.to_owned(), path: path.to_owned() })
}

fn check_digest(entry: &str, value: &str) -> Result<(), BundleError> {
    if value.len() == 64 && value.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return Ok(());
    }
    Err(BundleError::Digest { entry: entry.to_owned(), value: value.to_owned() })
}

/// What stood in the index so far.
#[derive(Default)]
struct Seen(BTreeSet<String>);

impl Seen {
    fn add(&mut self, entry: String) -> Result<(), BundleError> {
        if self.0.contains(&entry) {
            return Err(BundleError::Duplicate { entry });
        }
        self.0.insert(entry);
        Ok(())
    }
}
