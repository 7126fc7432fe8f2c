//! An image's OCI archive, as it is read to be pushed: its manifest, and where its blobs lie.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use kok_tasks::artifact::Artifact;
use kok_tasks::bundle::BundleImage;
use kok_tasks::digest::sha256;
use kok_tasks::pushed::ImageManifest;
use oci_client::manifest::{OCI_IMAGE_MEDIA_TYPE, OciDescriptor, OciImageManifest};
use tar::Archive;

use super::session::{Lack, Opened};
use crate::artifacts::BundleFolder;
use crate::failure::{Failure, Kind};

/// Registries take no larger manifest (the distribution protocol of OCI asks for 4 MiB).
const MOST_MANIFEST_BYTES: u64 = 4 << 20;

/// An image that is to be pushed.
pub(super) struct Image {
    pub(super) manifest: ImageManifest,
    /// The bytes of the manifest.
    pub(super) bytes: Vec<u8>,
    pub(super) blobs: Vec<Blob>,
}

/// A piece of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blob {
    pub(super) digest: String,
    pub(super) archive: PathBuf,
    pub(super) offset: u64,
    pub(super) size: u64,
}

/// Reads all archives that are needed, the smallest first.
pub(super) fn open_all(folder: &BundleFolder, lacks: Vec<Lack>) -> Result<Vec<Opened>, Vec<Failure>> {
    let (mut opened, mut failed) = (Vec::new(), Vec::new());
    for Lack { place, missing, held } in lacks {
        // The tag names those too that the registry has already.
        let open = |image: &BundleImage| {
            let path = folder.file(&Artifact::from(image));
            open(&path, image).map_err(|error| failure(&path, image, &error)).map(|opened| (opened, missing.contains(image)))
        };
        match place.images.iter().map(open).collect::<Result<Vec<_>, _>>() {
            Ok(images) => opened.push(Opened { place, images, held }),
            Err(failure) => failed.push(failure),
        }
    }
    opened.sort_by_key(Opened::bytes);
    if failed.is_empty() { Ok(opened) } else { Err(failed) }
}

fn failure(path: &Path, image: &BundleImage, error: &io::Error) -> Failure {
    Failure::new(Kind::Input, format!("{} for {} can't be pushed", image.reference, image.architecture))
        .at(path.display().to_string())
        .because(error.to_string())
        .hint("build or fetch the bundle again; nothing was pushed")
}

fn open(path: &Path, image: &BundleImage) -> io::Result<Image> {
    let (mut blobs, mut bytes) = (BTreeMap::new(), None);
    let mut archive = Archive::new(File::open(path)?);
    for entry in archive.entries_with_seek()? {
        let mut entry = entry?;
        let inside = entry.path()?.display().to_string();
        let Some(digest) = inside.strip_prefix("blobs/").map(|rest| rest.replacen('/', ":", 1)) else { continue };
        if digest == image.manifest_digest {
            let mut read = Vec::new();
            entry.by_ref().take(MOST_MANIFEST_BYTES).read_to_end(&mut read)?;
            bytes = Some(read);
            continue;
        }
        let blob = Blob { digest: digest.clone(), archive: path.to_owned(), offset: entry.raw_file_position(), size: entry.size() };
        blobs.insert(digest, blob);
    }
    let bytes = bytes.ok_or_else(|| io::Error::other(format!("its manifest {} is not in the archive", image.manifest_digest)))?;
    let found = format!("sha256:{}", sha256(&bytes));
    if found != image.manifest_digest {
        return Err(io::Error::other(format!("its manifest is {found}; the index says {}", image.manifest_digest)));
    }
    let manifest: OciImageManifest = serde_json::from_slice(&bytes)?;
    let named: BTreeMap<&str, &OciDescriptor> =
        [&manifest.config].into_iter().chain(&manifest.layers).map(|blob| (blob.digest.as_str(), blob)).collect();
    let blobs = named.into_values().map(|named| find(&blobs, named)).collect::<io::Result<_>>()?;
    let media_type = manifest.media_type.unwrap_or_else(|| OCI_IMAGE_MEDIA_TYPE.to_owned());
    let manifest = ImageManifest { architecture: image.architecture.clone(), digest: found, media_type, size: bytes.len() };
    Ok(Image { manifest, bytes, blobs })
}

fn find(blobs: &BTreeMap<String, Blob>, named: &OciDescriptor) -> io::Result<Blob> {
    let blob = blobs.get(&named.digest).filter(|blob| i64::try_from(blob.size) == Ok(named.size));
    blob.cloned().ok_or_else(|| io::Error::other(format!("the blob {} with {} bytes is not in the archive", named.digest, named.size)))
}
