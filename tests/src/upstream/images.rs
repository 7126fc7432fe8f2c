//! Images by the distribution protocol of OCI, out of the archives of a bundle.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use kok_tasks::bundle::Bundle;
use serde_json::json;
use tar::Archive;

use super::content::{Body, Content};
use crate::release::digest::sha256;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// Where blobs lie, and what tags stand for.
#[derive(Default)]
pub(super) struct Images {
    /// By digest: archive, offset and length.
    blobs: BTreeMap<String, (PathBuf, u64, u64)>,
    /// Manifests by digest.
    manifests: BTreeMap<String, Vec<u8>>,
    /// Indices by `HOST/REPOSITORY:TAG`.
    tags: BTreeMap<String, Vec<u8>>,
}

impl Images {
    pub(super) fn read(folder: &Path, bundle: &Bundle) -> io::Result<Self> {
        let mut images = Self::default();
        for image in &bundle.images {
            images.read_archive(&folder.join(&image.path), &image.manifest_digest)?;
        }
        for image in &bundle.images {
            let all = bundle.images.iter().filter(|other| other.reference == image.reference);
            let entries: Vec<_> = all
                .map(|image| {
                    let size = images.manifests.get(&image.manifest_digest).map_or(0, Vec::len);
                    let platform = json!({"architecture": image.architecture, "os": "linux"});
                    json!({"mediaType": MANIFEST, "digest": image.manifest_digest, "size": size, "platform": platform})
                })
                .collect();
            let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries});
            images.tags.insert(image.reference.clone(), serde_json::to_vec(&index)?);
        }
        Ok(images)
    }

    fn read_archive(&mut self, path: &Path, manifest: &str) -> io::Result<()> {
        let mut archive = Archive::new(File::open(path)?);
        for entry in archive.entries_with_seek()? {
            let mut entry = entry?;
            let inside = entry.path()?.display().to_string();
            let Some(digest) = inside.strip_prefix("blobs/").map(|rest| rest.replacen('/', ":", 1)) else { continue };
            if digest == manifest {
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes)?;
                self.manifests.insert(digest, bytes);
            } else {
                self.blobs.insert(digest, (path.to_owned(), entry.raw_file_position(), entry.size()));
            }
        }
        Ok(())
    }

    /// `path` is what follows `/v2/`.
    pub(super) fn find(&self, host: &str, path: &str) -> Option<Content> {
        if path.is_empty() {
            return Some(Content { body: Body::Text(b"{}".to_vec()), kind: "application/json", digest: None });
        }
        if let Some((_, digest)) = path.split_once("/blobs/") {
            let (path, offset, length) = self.blobs.get(digest)?.clone();
            let body = Body::File { path, offset, length };
            return Some(Content { body, kind: "application/octet-stream", digest: Some(digest.to_owned()) });
        }
        let (repository, reference) = path.split_once("/manifests/")?;
        let (bytes, kind) = match self.manifests.get(reference) {
            Some(manifest) => (manifest, MANIFEST),
            // Docker Hub's registry has a name of its own.
            None => {
                (self.tags.get(&format!("{}/{repository}:{reference}", if host == "index.docker.io" { "docker.io" } else { host }))?, INDEX)
            }
        };
        Some(Content { body: Body::Text(bytes.clone()), kind, digest: Some(format!("sha256:{}", sha256(bytes))) })
    }
}
