//! The index of the bundle that is added to.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use kok_tasks::bundle::{Bundle, FORMAT, INDEX, KubernetesRelease};
use kok_tasks::catalog::{Expected, Item};

use super::{Entry, FetchRequest, disk_failure};
use crate::artifacts::BundleFolder;
use crate::artifacts::signature::SIGNATURE;
use crate::failure::{Failure, Kind};

/// The index that is there, or an empty one.
pub(in crate::artifacts) fn read(folder: &Path) -> Result<Bundle, Failure> {
    if folder.join(INDEX).exists() {
        return BundleFolder::open(folder).map(|folder| folder.bundle().clone());
    }
    Ok(Bundle { format: FORMAT, kubernetes: Vec::new(), files: Vec::new(), images: Vec::new(), packages: Vec::new() })
}

/// Whether the folder has it: by its length, for its digest is compared before it is used anyway. One that is pinned has to be the pinned one. Of
/// packages it is not known before it was asked whether there are newer ones.
pub(super) fn holds(bundle: &Bundle, folder: &Path, item: &Item) -> bool {
    let has = |path: &str, size: u64| folder.join(path).metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() == size);
    match item {
        Item::File(file) => bundle.file(&file.name, &file.version, &file.architecture).is_ok_and(|held| {
            let is_right = if let Expected::Pinned(digest) = &file.expected { *digest == held.sha256 } else { true };
            is_right && has(&held.path, held.size)
        }),
        Item::Image(image) => bundle.image(&image.reference, &image.architecture).is_ok_and(|held| has(&held.path, held.size)),
        Item::Packages(_) => false,
    }
}

/// Puts an entry into the index, instead of one that it replaces.
pub(super) fn add(bundle: &mut Bundle, entry: Entry) {
    match entry {
        Entry::File(file) => {
            let same = |held: &kok_tasks::bundle::BundleFile| {
                (&held.name, &held.version, &held.architecture) == (&file.name, &file.version, &file.architecture) || held.path == file.path
            };
            bundle.files.retain(|held| !same(held));
            bundle.files.push(file);
        }
        Entry::Image(image) => {
            let same = |held: &kok_tasks::bundle::BundleImage| {
                (&held.reference, &held.architecture) == (&image.reference, &image.architecture) || held.path == image.path
            };
            bundle.images.retain(|held| !same(held));
            bundle.images.push(image);
        }
        Entry::Packages(packages) => {
            bundle.packages.retain(|held| {
                (&held.distribution, &held.architecture) != (&packages.distribution, &packages.architecture) && held.path != packages.path
            });
            bundle.packages.push(packages);
        }
    }
}

/// Puts all of another index into this one.
pub(in crate::artifacts) fn join(bundle: &mut Bundle, other: Bundle) {
    other.files.into_iter().for_each(|file| add(bundle, Entry::File(file)));
    other.images.into_iter().for_each(|image| add(bundle, Entry::Image(image)));
    other.packages.into_iter().for_each(|packages| add(bundle, Entry::Packages(packages)));
    for release in other.kubernetes {
        bundle.kubernetes.retain(|held| held.version != release.version);
        bundle.kubernetes.push(release);
    }
}

/// Names the releases with their images; what a release named before stays where nothing else was asked for.
pub(super) fn name_releases(bundle: &mut Bundle, request: &FetchRequest<'_>) {
    for release in &request.releases {
        let images = request.items.iter().filter_map(|item| match item {
            Item::Image(image) if image.releases.contains(release) => Some((image.name.clone(), image.reference.clone())),
            _ => None,
        });
        let images: BTreeMap<String, String> = images.collect();
        match bundle.kubernetes.iter_mut().find(|held| held.version == *release) {
            Some(held) => held.images.extend(images),
            None => bundle.kubernetes.push(KubernetesRelease { version: release.clone(), images }),
        }
    }
}

/// An index as it stands in its file.
pub(in crate::artifacts) fn bytes(bundle: &Bundle) -> std::io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(bundle)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Writes the index whole, or not at all. A signature of another one does not stay.
pub(in crate::artifacts) fn write(folder: &Path, bundle: &Bundle) -> Result<(), Failure> {
    let mut bundle = bundle.clone();
    bundle.sort();
    let path = folder.join(INDEX);
    // What nobody could open any more is not written over what can be.
    bundle.check().map_err(|error| {
        let failure = Failure::new(Kind::Input, "what was fetched does not go with what the folder holds").at(folder.display().to_string());
        failure.because(error.to_string()).hint("give an empty folder; its index was left as it was")
    })?;
    bytes(&bundle).and_then(|bytes| write_bytes(folder, &bytes)).map_err(|error| disk_failure(&path, &error))
}

/// The same for an index that has been looked at, as it is.
pub(in crate::artifacts) fn write_bytes(folder: &Path, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let path = folder.join(INDEX);
    if std::fs::read(&path).is_ok_and(|held| held != bytes) {
        // It is of another index; whoever signs bundles signs this one too.
        match std::fs::remove_file(folder.join(SIGNATURE)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_data()?;
    file.as_file().set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    file.persist(&path)?;
    Ok(())
}

/// What a bundle has of these items, and nothing else of it: what others have fetched into the same folder changes nothing for a cluster.
#[must_use]
pub fn part_of(bundle: &Bundle, items: &[Item], releases: &[String]) -> Bundle {
    let file = |item: &Item| match item {
        Item::File(file) => bundle.file(&file.name, &file.version, &file.architecture).ok().cloned(),
        Item::Image(_) | Item::Packages(_) => None,
    };
    let image = |item: &Item| match item {
        Item::Image(image) => bundle.image(&image.reference, &image.architecture).ok().cloned(),
        Item::File(_) | Item::Packages(_) => None,
    };
    let packages = |item: &Item| match item {
        Item::Packages(item) => bundle.packages_of(&item.distribution, &item.architecture).cloned(),
        Item::File(_) | Item::Image(_) => None,
    };
    let kubernetes = bundle.kubernetes.iter().filter(|release| releases.contains(&release.version)).cloned();
    let mut part = Bundle {
        format: bundle.format,
        kubernetes: kubernetes.collect(),
        files: items.iter().filter_map(file).collect(),
        images: items.iter().filter_map(image).collect(),
        packages: items.iter().filter_map(packages).collect(),
    };
    part.sort();
    part
}
