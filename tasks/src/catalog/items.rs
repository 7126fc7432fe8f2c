//! What is to be fetched for a release, and what has to come of it.

use std::collections::BTreeSet;

use semver::Version;

use super::{Catalog, CatalogError, ChecksumForm, FileSource, ImageSource, Minor, Needs, PackagesItem};
use crate::upgrade::etcd_gate;

/// Whose version the release itself stands for.
pub(super) const KUBERNETES: &str = "kubernetes";

const ETCD: &str = "etcd";

/// What is asked of a catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Releases of Kubernetes, at least one.
    pub kubernetes: Vec<Version>,
    /// Architectures, at least one.
    pub architectures: BTreeSet<String>,
    /// Which components; all without it.
    pub needs: Option<Needs>,
}

/// Something to fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A file.
    File(FileItem),
    /// An image.
    Image(ImageItem),
    /// Packages of a distribution.
    Packages(PackagesItem),
}

/// A file to fetch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileItem {
    /// As the bundle calls it.
    pub name: String,
    /// Version without a leading `v`.
    pub version: String,
    /// Architecture as Go spells it.
    pub architecture: String,
    /// Where it is.
    pub address: String,
    /// What its sha256 has to be.
    pub expected: Expected,
    /// The licence's identifier in SPDX.
    pub licence: String,
}

/// What the sha256 of a file has to be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Expected {
    /// This one.
    Pinned(String),
    /// The one that is published at this address.
    Published {
        /// Where.
        address: String,
        /// Whether other files stand there too, by their names.
        is_list: bool,
    },
}

/// An image to fetch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageItem {
    /// As the bundle calls it.
    pub name: String,
    /// Version without a leading `v`.
    pub version: String,
    /// Architecture as Go spells it.
    pub architecture: String,
    /// Full reference with tag.
    pub reference: String,
    /// The releases that name it.
    pub releases: BTreeSet<String>,
    /// Whether a bundle without it is whole.
    pub may_be_absent: bool,
    /// The licence's identifier in SPDX.
    pub licence: String,
}

impl FileItem {
    /// Where it stands in a bundle: its address without the scheme.
    #[must_use]
    pub fn path(&self) -> String {
        format!("files/{}", self.address.trim_start_matches("https://"))
    }
}

impl ImageItem {
    /// Where it stands in a bundle.
    #[must_use]
    pub fn path(&self) -> String {
        let (repository, tag) = self.reference.rsplit_once(':').unwrap_or((&self.reference, "latest"));
        format!("images/{}/{tag}-linux-{}.tar", repository.replace(':', "_"), self.architecture)
    }
}

pub(super) fn items(catalog: &Catalog, request: &Request) -> Result<Vec<Item>, CatalogError> {
    check_names(catalog, request.needs.as_ref())?;
    let mut files = BTreeSet::new();
    let mut images: Vec<ImageItem> = Vec::new();
    for release in &request.kubernetes {
        let minor = catalog.minor(release)?;
        let wanted = |name: &str| request.needs.as_ref().is_none_or(|needs| needs.components.contains(name));
        for architecture in &request.architectures {
            for source in catalog.files.iter().filter(|source| wanted(&source.name)) {
                files.insert(file_item(catalog, source, (release, minor), architecture, request.needs.as_ref())?);
            }
            for source in catalog.images.iter().filter(|source| wanted(&source.name)) {
                add(&mut images, image_item(source, (release, minor), architecture)?);
            }
        }
    }
    for (release, minor) in etcd_between(catalog, &request.kubernetes)? {
        for architecture in &request.architectures {
            for source in catalog.files.iter().filter(|source| source.name == ETCD && wanted_of(request, ETCD)) {
                files.insert(file_item(catalog, source, (&release, &minor), architecture, None)?);
            }
            for source in catalog.images.iter().filter(|source| source.name == ETCD && wanted_of(request, ETCD)) {
                // No release names it.
                add(&mut images, ImageItem { releases: BTreeSet::new(), ..image_item(source, (&release, &minor), architecture)? });
            }
        }
    }
    Ok(files.into_iter().map(Item::File).chain(images.into_iter().map(Item::Image)).collect())
}

fn wanted_of(request: &Request, name: &str) -> bool {
    request.needs.as_ref().is_none_or(|needs| needs.components.contains(name))
}

/// Of several minor versions: the patches of etcd through which a cluster has to go between two of them, each as what a release of its minor would have.
fn etcd_between(catalog: &Catalog, releases: &[Version]) -> Result<Vec<(Version, Minor)>, CatalogError> {
    let mut sorted: Vec<&Version> = releases.iter().collect();
    sorted.sort();
    let mut found = Vec::new();
    for (before, after) in sorted.iter().zip(sorted.iter().skip(1)) {
        let (minor, next) = (catalog.minor(before)?, catalog.minor(after)?);
        let etcd_version = |minor: &Minor| minor.components.get(ETCD).and_then(|version| version.parse::<Version>().ok());
        let Some((is, comes)) = etcd_version(minor).zip(etcd_version(next)) else { continue };
        let Some(least) = etcd_gate(&comes).filter(|least| is < **least && is.minor < comes.minor) else { continue };
        let pinned = catalog.digests.get(ETCD).into_iter().flat_map(|versions| versions.keys()).filter_map(|version| version.parse().ok());
        let through = pinned.filter(|version: &Version| version >= least && (version.major, version.minor) == (is.major, is.minor)).max();
        let Some(through) = through else { continue };
        let mut minor = minor.clone();
        minor.components.insert(ETCD.to_owned(), through.to_string());
        found.push(((*before).clone(), minor));
    }
    Ok(found)
}

/// A name that the cluster needs and nobody knows is told, not left out.
fn check_names(catalog: &Catalog, needs: Option<&Needs>) -> Result<(), CatalogError> {
    let names = || catalog.files.iter().map(|file| &file.name).chain(catalog.images.iter().map(|image| &image.name));
    match needs.and_then(|needs| needs.components.iter().find(|wanted| !names().any(|name| name == *wanted))) {
        None => Ok(()),
        Some(name) => Err(CatalogError::NoName { name: name.clone(), held: names().cloned().collect() }),
    }
}

/// One image for all releases that name it.
fn add(images: &mut Vec<ImageItem>, item: ImageItem) {
    match images.iter_mut().find(|other| other.reference == item.reference && other.architecture == item.architecture) {
        Some(other) => other.releases.extend(item.releases),
        None => images.push(item),
    }
}

fn version<'a>(name: &'a str, follows: Option<&'a String>, (release, minor): (&Version, &Minor)) -> Result<String, CatalogError> {
    match follows.map_or(name, String::as_str) {
        KUBERNETES => Ok(release.to_string()),
        component => minor
            .components
            .get(component)
            .cloned()
            .ok_or_else(|| CatalogError::NoComponent { component: component.to_owned(), minor: minor.minor.clone() }),
    }
}

/// The versions that somebody asks for by name count before that of the minor.
fn file_item(
    catalog: &Catalog,
    source: &FileSource,
    release: (&Version, &Minor),
    architecture: &str,
    needs: Option<&Needs>,
) -> Result<FileItem, CatalogError> {
    let asked = needs.and_then(|needs| needs.versions.get(&source.name)).cloned();
    let version = asked.map_or_else(|| version(&source.name, source.follows.as_ref(), release), Ok)?;
    let core = version.split('-').next().unwrap_or(&version);
    let address = source.address.replace("${version}", &version).replace("${core}", core).replace("${architecture}", architecture);
    let pinned = catalog.digests.get(&source.name).and_then(|versions| versions.get(&version)).and_then(|all| all.get(architecture));
    let folder = address.rsplit_once('/').map_or("", |(folder, _)| folder);
    let published = || Expected::Published {
        address: source.checksum.address.replace("${address}", &address).replace("${folder}", folder),
        is_list: source.checksum.form == ChecksumForm::List,
    };
    let expected = pinned.map_or_else(published, |digest| Expected::Pinned(digest.clone()));
    let (name, licence) = (source.name.clone(), source.licence.clone());
    Ok(FileItem { name, version, architecture: architecture.to_owned(), address, expected, licence })
}

fn image_item(source: &ImageSource, release: (&Version, &Minor), architecture: &str) -> Result<ImageItem, CatalogError> {
    let version = version(&source.name, source.follows.as_ref(), release)?;
    let releases = source.release.then(|| release.0.to_string()).into_iter().collect();
    Ok(ImageItem {
        name: source.name.clone(),
        reference: source.reference.replace("${version}", &version),
        version,
        architecture: architecture.to_owned(),
        releases,
        may_be_absent: source.may_be_absent,
        licence: source.licence.clone(),
    })
}
