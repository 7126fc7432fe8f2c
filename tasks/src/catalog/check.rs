//! Whether a catalog holds together.

use std::collections::BTreeSet;

use semver::Version;
use serde::Deserialize;

use super::items::KUBERNETES;
use super::packages::check_distribution;
use super::{Catalog, CatalogError, FORMAT, FileSource, ImageSource, Minor};

#[derive(Deserialize)]
struct Head {
    format: u32,
}

/// Architectures as Go and the registries spell them.
pub(super) const ARCHITECTURES: [&str; 2] = ["amd64", "arm64"];

pub(super) fn parse(text: &str) -> Result<Catalog, CatalogError> {
    let syntax = |error: serde_saphyr::Error| CatalogError::Syntax { message: error.to_string() };
    // The format first: a newer form may have fields that would hide the real cause.
    let options = || serde_saphyr::options! { emit_comments: false };
    let head: Head = serde_saphyr::from_str_with_options(text, options()).map_err(syntax)?;
    if head.format > FORMAT {
        return Err(CatalogError::NewerFormat { found: head.format });
    }
    let catalog: Catalog = serde_saphyr::from_str_with_options(text, options()).map_err(syntax)?;
    let mut names = BTreeSet::new();
    for file in &catalog.files {
        check_file(file)?;
        once(&mut names, format!("file {}", file.name))?;
    }
    for image in &catalog.images {
        check_image(image)?;
        once(&mut names, format!("image {}", image.name))?;
    }
    for minor in &catalog.kubernetes {
        check_minor(&catalog, minor)?;
        once(&mut names, format!("Kubernetes {}", minor.minor))?;
    }
    for source in &catalog.distributions {
        check_distribution(source)?;
        once(&mut names, format!("distribution {}", source.name))?;
    }
    check_digests(&catalog)?;
    Ok(catalog)
}

pub(super) fn wrong(entry: impl Into<String>, because: impl Into<String>) -> CatalogError {
    CatalogError::Entry { entry: entry.into(), because: because.into() }
}

fn once(names: &mut BTreeSet<String>, name: String) -> Result<(), CatalogError> {
    if names.insert(name.clone()) { Ok(()) } else { Err(wrong(name, "it stands there twice")) }
}

/// What is fetched is verified by its digest; how it comes here is nobody else's business all the same.
fn check_file(file: &FileSource) -> Result<(), CatalogError> {
    let entry = format!("file {}", file.name);
    if !file.address.starts_with("https://") {
        return Err(wrong(entry, format!("its address {:?} does not begin with https://", file.address)));
    }
    if !file.address.contains("${version}") {
        return Err(wrong(entry, format!("its address {:?} has no ${{version}}", file.address)));
    }
    Ok(())
}

fn check_image(image: &ImageSource) -> Result<(), CatalogError> {
    let entry = format!("image {}", image.name);
    let has_registry = image.reference.split_once('/').is_some_and(|(registry, _)| registry.contains(['.', ':']));
    if !has_registry || !image.reference.rsplit('/').next().is_some_and(|last| last.contains(':')) {
        return Err(wrong(entry, format!("its reference {:?} has no registry, or no tag", image.reference)));
    }
    Ok(())
}

fn check_minor(catalog: &Catalog, minor: &Minor) -> Result<(), CatalogError> {
    let entry = format!("Kubernetes {}", minor.minor);
    let start = format!("{}.", minor.minor);
    if minor.releases.is_empty() {
        return Err(wrong(entry, "it names no releases"));
    }
    for release in &minor.releases {
        if !release.starts_with(&start) || Version::parse(release).is_err() {
            return Err(wrong(entry, format!("{release:?} is no release of it")));
        }
    }
    let of_files = catalog.files.iter().map(|file| file.follows.as_ref().unwrap_or(&file.name));
    let of_images = catalog.images.iter().map(|image| image.follows.as_ref().unwrap_or(&image.name));
    for component in of_files.chain(of_images).filter(|name| *name != KUBERNETES) {
        if !minor.components.contains_key(component) {
            return Err(CatalogError::NoComponent { component: component.clone(), minor: minor.minor.clone() });
        }
    }
    Ok(())
}

fn check_digests(catalog: &Catalog) -> Result<(), CatalogError> {
    for (name, versions) in &catalog.digests {
        if !catalog.files.iter().any(|file| file.name == *name) {
            return Err(wrong(format!("digests of {name}"), "there is no file of this name"));
        }
        for (version, digests) in versions {
            for (architecture, digest) in digests {
                let entry = || format!("digests of {name} {version} for {architecture}");
                if !ARCHITECTURES.contains(&architecture.as_str()) {
                    return Err(wrong(entry(), format!("{architecture:?} is none of {}", ARCHITECTURES.join(", "))));
                }
                if digest.len() != 64 || !digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
                    return Err(wrong(entry(), format!("{digest:?} is no sha256 of 64 lower-case hexadecimal digits")));
                }
            }
        }
    }
    Ok(())
}
