//! What of a bundle goes where in a registry of one's own, and what its tags name then.

mod error;
mod index;
mod registry;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::bundle::{Bundle, BundleImage};
pub use error::PushError;
pub use index::{ImageManifest, index, names_all};
pub use registry::Registry;

/// A tag of a registry, and the images of a bundle that it is to name: one for each architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushedTag {
    /// Inside the registry, with its folder.
    pub repository: String,
    /// As upstream has it.
    pub tag: String,
    /// Upstream's reference.
    pub upstream: String,
    /// What is pushed.
    pub images: Vec<BundleImage>,
}

impl PushedTag {
    /// How many bytes the archives have.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.images.iter().map(|image| image.size).sum()
    }
}

/// Where each image of a bundle goes: below the registry's folder, under its repository without upstream's host, so that the registry can stand in for
/// upstream's (`--mirror`, Kubespray's `kube_image_repo`); with `keeps_host` that host is a folder.
///
/// # Errors
/// [`PushError::Collision`] if two hosts have an image of the same name and tag, [`PushError::Name`] for a name that no registry takes.
pub fn places(bundle: &Bundle, registry: &Registry, keeps_host: bool) -> Result<Vec<PushedTag>, PushError> {
    let mut places: BTreeMap<(String, String), PushedTag> = BTreeMap::new();
    for image in &bundle.images {
        let (host, repository, tag) = parts(&image.reference).ok_or_else(|| PushError::Name { reference: image.reference.clone() })?;
        let repository = registry.inside(&if keeps_host { format!("{host}/{repository}") } else { repository.to_owned() });
        if !registry::is_path(&repository) {
            return Err(PushError::Name { reference: image.reference.clone() });
        }
        let place = places.entry((repository.clone(), tag.to_owned())).or_insert_with(|| PushedTag {
            repository,
            tag: tag.to_owned(),
            upstream: image.reference.clone(),
            images: Vec::new(),
        });
        if place.upstream != image.reference {
            let to = format!("{}:{}", place.repository, place.tag);
            return Err(PushError::Collision { one: place.upstream.clone(), other: image.reference.clone(), to });
        }
        place.images.push(image.clone());
    }
    Ok(places.into_values().collect())
}

/// Which of upstream's hosts the registry stands in for after that, as `--mirror` takes it.
#[must_use]
pub fn mirrors(places: &[PushedTag], registry: &Registry, keeps_host: bool) -> Vec<String> {
    let hosts: BTreeSet<&str> = places.iter().filter_map(|place| parts(&place.upstream)).map(|(host, ..)| host).collect();
    let address = |host: &str| registry.address(if keeps_host { host } else { "" });
    hosts.into_iter().map(|host| format!("{host}={}", address(host))).collect()
}

/// Host, repository and tag of a reference.
fn parts(reference: &str) -> Option<(&str, &str, &str)> {
    let (name, tag) = reference.rsplit_once(':').filter(|(_, tag)| !tag.is_empty() && !tag.contains('/'))?;
    let (host, repository) = name.split_once('/')?;
    Some((host, repository, tag))
}
