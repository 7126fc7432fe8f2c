//! Images of upstream's, at the registries that stand in for it.

use kok_tasks::mirrors::Mirrors;
use oci_client::Reference;

/// Where an image of upstream's is fetched.
pub(super) fn mirrored(mirrors: &Mirrors, upstream: &Reference) -> Reference {
    let Some(mirror) = mirrors.instead_of(upstream.registry()) else { return upstream.clone() };
    let (registry, folder) = mirror.address.split_once('/').map_or((mirror.address.as_str(), None), |(host, path)| (host, Some(path)));
    let repository = folder.map_or_else(|| upstream.repository().to_owned(), |folder| format!("{folder}/{}", upstream.repository()));
    match (upstream.digest(), upstream.tag()) {
        (Some(digest), _) => Reference::with_digest(registry.to_owned(), repository, digest.to_owned()),
        (None, tag) => Reference::with_tag(registry.to_owned(), repository, tag.unwrap_or("latest").to_owned()),
    }
}
