//! One image of upstream's: its manifest for one architecture, its blobs, and the archive that is made of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt as _;
use kok_tasks::bundle::BundleImage;
use kok_tasks::catalog::ImageItem;
use kok_tasks::digest::sha256;
use oci_client::Reference;
use oci_client::client::{BlobResponse, SizedStream};
use oci_client::manifest::{ImageIndexEntry, OciDescriptor, OciImageManifest, OciManifest};

use super::client::{Client, with_tries};
use super::layout::{self, Parts};
use super::partial::Partial;
use super::trouble::Trouble;
use super::{Progress, folder_of, mirrored, part};

/// Kinds of manifests that are understood: those of OCI, and Docker's that came before.
pub(in crate::artifacts) const ACCEPTED: [&str; 4] = [
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
];

/// Where blobs are while images are put together, below the bundle's folder.
const BLOBS: &str = ".blobs";

/// An image's manifest for one architecture.
pub(super) struct ResolvedImage {
    reference: Reference,
    bytes: Vec<u8>,
    media_type: String,
    digest: String,
    manifest: OciImageManifest,
}

impl ResolvedImage {
    /// How many bytes its blobs have.
    pub(super) fn bytes(&self) -> u64 {
        self.blobs().map(|blob| u64::try_from(blob.size).unwrap_or_default()).sum()
    }

    /// Its blobs, each once.
    fn blobs(&self) -> impl Iterator<Item = &OciDescriptor> {
        let all = std::iter::once(&self.manifest.config).chain(&self.manifest.layers);
        let unique: BTreeMap<&str, &OciDescriptor> = all.map(|blob| (blob.digest.as_str(), blob)).collect();
        unique.into_values()
    }
}

/// Blobs that are being fetched: whoever wants the same one waits for it.
#[derive(Default)]
pub(super) struct Blobs(Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<()>>>>);

impl Blobs {
    pub(super) fn turn(&self, digest: &str) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(digest.to_owned()).or_default())
    }
}

/// Asks the registry for the image's manifest.
pub(super) async fn resolve(client: &Client, image: &ImageItem) -> Result<ResolvedImage, Trouble> {
    let title = format!("{} for {}", image.reference, image.architecture);
    let reference: Reference = image
        .reference
        .parse()
        .map_err(|_| Trouble::of_content(&image.reference, "it is no reference of an image").while_fetching(&title))?;
    let reference = mirrored(&client.mirrors, &reference);
    resolve_at(client, &reference, &image.architecture).await.map_err(|trouble| trouble.while_fetching(&title))
}

async fn resolve_at(client: &Client, reference: &Reference, architecture: &str) -> Result<ResolvedImage, Trouble> {
    let (bytes, digest) = manifest(client, reference, None).await?;
    let wrong = |because: String| Trouble::of_content(&reference.whole(), because);
    match serde_json::from_slice(&bytes).map_err(|error| wrong(format!("its manifest can't be read: {error}")))? {
        OciManifest::Image(manifest) => check(resolved(reference, bytes, digest, manifest), &wrong),
        OciManifest::ImageIndex(index) => {
            let entry = index.manifests.iter().find(|entry| is_for(entry, architecture)).ok_or_else(|| {
                let held: Vec<String> = index.manifests.iter().filter_map(platform).collect();
                wrong(format!("it is not there for linux/{architecture}, but for {}", held.join(", ")))
            })?;
            let (bytes, digest) = manifest(client, reference, Some(&entry.digest)).await?;
            let manifest = serde_json::from_slice(&bytes).map_err(|error| wrong(format!("its manifest can't be read: {error}")))?;
            check(resolved(reference, bytes, digest, manifest), &wrong)
        }
    }
}

fn resolved(reference: &Reference, bytes: Vec<u8>, digest: String, manifest: OciImageManifest) -> ResolvedImage {
    let media_type = manifest.media_type.clone().unwrap_or_else(|| "application/vnd.oci.image.manifest.v1+json".to_owned());
    ResolvedImage { reference: reference.clone(), bytes, media_type, digest, manifest }
}

/// A digest becomes a file's name, so it is one and nothing else.
fn check(resolved: ResolvedImage, wrong: &impl Fn(String) -> Trouble) -> Result<ResolvedImage, Trouble> {
    let is_digest = |digest: &str| {
        let digits = digest.strip_prefix("sha256:").unwrap_or_default();
        digits.len() == 64 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_wrong = |blob: &&OciDescriptor| !is_digest(&blob.digest) || blob.size < 0;
    if let Some(blob) = resolved.blobs().find(is_wrong) {
        return Err(wrong(format!("its manifest names a blob by {:?}, which is no sha256", blob.digest)));
    }
    Ok(resolved)
}

fn platform(entry: &ImageIndexEntry) -> Option<String> {
    let platform = entry.platform.as_ref()?;
    Some(format!("{}/{}", platform.os, platform.architecture))
}

fn is_for(entry: &ImageIndexEntry, architecture: &str) -> bool {
    platform(entry).is_some_and(|platform| platform == format!("linux/{architecture}"))
}

/// A manifest as its bytes, by its tag, or by a digest that it has to have.
async fn manifest(client: &Client, reference: &Reference, by: Option<&str>) -> Result<(Vec<u8>, String), Trouble> {
    let named = by.map_or_else(|| reference.clone(), |digest| reference.clone_with_digest(digest.to_owned()));
    let at = named.whole();
    let login = client.login(reference.resolve_registry());
    let pulled = with_tries(
        || async {
            let answer = client.registry.pull_manifest_raw(&named, &login, &ACCEPTED).await;
            answer.map_err(|error| Trouble::of_registry(&at, &error))
        },
        || 0,
    );
    let (bytes, _) = pulled.await?;
    let found = format!("sha256:{}", sha256(&bytes));
    match by {
        Some(expected) if expected != found => Err(Trouble::of_digest(&at, expected, &found)),
        _ => Ok((bytes.to_vec(), found)),
    }
}

/// Fetches an image, and makes its archive once all blobs are right.
pub(super) async fn fetch(
    client: &Client,
    folder: &Path,
    (image, resolved): (&ImageItem, &ResolvedImage),
    blobs: &Blobs,
    progress: &dyn Progress,
) -> Result<BundleImage, Trouble> {
    let title = format!("{} for {}", image.reference, image.architecture);
    // All of an image at a time: images have one large layer, or many small ones whose answers take longer than their bytes.
    let fetches = resolved.blobs().map(|blob| fetch_blob(client, folder, (&resolved.reference, blob), blobs, progress));
    futures_util::future::try_join_all(fetches).await.map_err(|trouble| trouble.while_fetching(&title))?;
    let path = folder.join(image.path());
    folder_of(&path)?;
    let parts = Parts {
        reference: image.reference.clone(),
        architecture: image.architecture.clone(),
        manifest: resolved.bytes.clone(),
        media_type: resolved.media_type.clone(),
        digest: resolved.digest.clone(),
        blobs: resolved.blobs().map(|blob| (blob.digest.clone(), blob_path(folder, &blob.digest))).collect(),
    };
    let written = {
        let path = path.clone();
        tokio::task::spawn_blocking(move || layout::write(&parts, &path)).await
    };
    let (size, sum) = written.map_err(|error| Trouble::of_program(&error.to_string()))?.map_err(|error| Trouble::of_disk(&path, &error))?;
    Ok(BundleImage {
        name: image.name.clone(),
        version: image.version.clone(),
        architecture: image.architecture.clone(),
        path: image.path(),
        size,
        sha256: sum,
        reference: image.reference.clone(),
        manifest_digest: resolved.digest.clone(),
        lacks: Vec::new(),
    })
}

pub(super) fn blob_path(folder: &Path, digest: &str) -> PathBuf {
    folder.join(BLOBS).join(digest.replacen(':', "-", 1))
}

/// Removes the blobs; the archives have them.
pub(super) fn forget_blobs(folder: &Path) {
    let _ = std::fs::remove_dir_all(folder.join(BLOBS));
}

async fn fetch_blob(
    client: &Client,
    folder: &Path,
    (reference, blob): (&Reference, &OciDescriptor),
    blobs: &Blobs,
    progress: &dyn Progress,
) -> Result<(), Trouble> {
    let turn = blobs.turn(&blob.digest);
    let _turn = turn.lock().await;
    let path = blob_path(folder, &blob.digest);
    let size = u64::try_from(blob.size).unwrap_or_default();
    if path.exists() {
        progress.came(size);
        return Ok(());
    }
    folder_of(&path)?;
    let reached = AtomicU64::new(0);
    with_tries(|| go_on(client, (reference, blob), &path, (&reached, progress)), || reached.load(Ordering::Relaxed)).await
}

/// Asks for what is missing of a blob, and gives it its name once its digest is right.
async fn go_on(
    client: &Client,
    (reference, blob): (&Reference, &OciDescriptor),
    path: &Path,
    (reached, progress): (&AtomicU64, &dyn Progress),
) -> Result<(), Trouble> {
    let at = format!("{}@{}", reference.whole(), blob.digest);
    let part = part(path);
    let mut partial = Partial::open(part.clone()).await?;
    let size = u64::try_from(blob.size).unwrap_or_default();
    let had = partial.length();
    if had < size {
        let mut stream = match client.registry.pull_blob_stream_partial(reference, blob, had, None).await {
            Ok(BlobResponse::Partial(stream)) => stream,
            Ok(BlobResponse::Full(stream)) => {
                partial.begin_anew().await?;
                stream
            }
            Err(error) => return Err(Trouble::of_registry(&at, &error)),
        };
        let taken = take(&mut partial, (&mut stream, size), &at, (reached, progress)).await;
        if taken.is_err() {
            // The next try goes on with what came before a cut.
            let _ = partial.flush().await;
        }
        taken?;
    }
    let length = partial.length();
    if length < size {
        return Err(Trouble::of_length(&at, size, length));
    }
    let found = format!("sha256:{}", partial.digest().await?);
    if length == size && found == blob.digest {
        return std::fs::rename(&part, path).map_err(|error| Trouble::of_disk(path, &error));
    }
    let _ = std::fs::remove_file(&part);
    match had {
        0 if length > size => Err(Trouble::of_length(&at, size, length)),
        0 => Err(Trouble::of_digest(&at, &blob.digest, &found)),
        // What was there before may have been wrong.
        _ => Err(Trouble::of_length(&at, size, 0)),
    }
}

/// Takes what comes, and no more of it than there may be.
async fn take(
    partial: &mut Partial,
    (stream, size): (&mut SizedStream, u64),
    at: &str,
    (reached, progress): (&AtomicU64, &dyn Progress),
) -> Result<(), Trouble> {
    while let Some(chunk) = next(stream, at).await? {
        partial.push(&chunk).await?;
        reached.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        progress.came(chunk.len() as u64);
        if partial.length() > size {
            break;
        }
    }
    Ok(())
}

async fn next(stream: &mut SizedStream, at: &str) -> Result<Option<bytes::Bytes>, Trouble> {
    let next = stream.stream.next().await.transpose();
    next.map_err(|error| Trouble::of_registry(at, &oci_client::errors::OciDistributionError::IoError(error)))
}
