//! The catalog of a bundle that was built from source: the built-in one, with the versions that the bundle holds and without upstream's digests.

use kok_tasks::bundle::{Bundle, KubernetesRelease};
use kok_tasks::catalog::{Catalog, CatalogError, Minor};

const ETCD: &str = "etcd";

/// The catalog of a bundle.
///
/// # Errors
/// If the built-in catalog can't be read.
pub fn catalog_of(bundle: &Bundle) -> Result<Catalog, CatalogError> {
    let mut catalog = Catalog::built_in()?.clone();
    catalog.digests.clear();
    // The tag of etcd's image has the number of its build behind the version; that of the file has not.
    for image in catalog.images.iter_mut().filter(|image| image.name != ETCD) {
        if let Some(held) = bundle.images.iter().find(|held| held.name == image.name) {
            image.reference = held.reference.replace(&held.version, "${version}");
        }
    }
    catalog.kubernetes.retain_mut(|minor| {
        let releases: Vec<&KubernetesRelease> = bundle.kubernetes.iter().filter(|release| is_of(release, minor)).collect();
        minor.releases = releases.iter().map(|release| release.version.clone()).collect();
        releases.last().is_some_and(|release| {
            take_versions(minor, bundle, release);
            true
        })
    });
    Ok(catalog)
}

fn is_of(release: &KubernetesRelease, minor: &Minor) -> bool {
    release.version.starts_with(&format!("{}.", minor.minor))
}

/// What the release names goes before what is newest.
fn take_versions(minor: &mut Minor, bundle: &Bundle, release: &KubernetesRelease) {
    let architectures: Vec<&str> = bundle.files.iter().map(|file| file.architecture.as_str()).collect();
    let Some(architecture) = architectures.first() else { return };
    for (name, version) in &mut minor.components {
        let named = release.images.get(name).and_then(|reference| bundle.images.iter().find(|image| image.reference == *reference));
        if name == ETCD {
            let tag = named.and_then(|image| image.version.split('-').next());
            tag.iter().for_each(|tag| (*tag).clone_into(version));
            continue;
        }
        let image = named.or_else(|| bundle.newest_image(name, architecture)).map(|image| &image.version);
        let file = bundle.newest_file(name, architecture).map(|file| &file.version);
        if let Some(held) = named.map(|image| &image.version).or(file).or(image) {
            version.clone_from(held);
        }
    }
}
