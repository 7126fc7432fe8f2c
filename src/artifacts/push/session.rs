//! What is known of the registry while images are pushed into it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kok_tasks::bundle::BundleImage;
use kok_tasks::pushed::{PushedTag, Registry, index, names_all};
use oci_client::errors::OciDistributionError;
use oci_client::manifest::OCI_IMAGE_INDEX_MEDIA_TYPE;
use oci_client::{Reference, RegistryOperation};
use reqwest::header::HeaderValue;

use super::archive::Image;
use crate::artifacts::fetch::{ACCEPTED, Client, Progress, Remedy, Trouble, with_tries};

/// So long nothing may be taken or answered. Registries whose store is elsewhere carry a blob there before they say that they have it.
const SILENCE: Duration = Duration::from_secs(120);

/// A tag that does not name all that it is to name.
pub(super) struct Lack {
    pub(super) place: PushedTag,
    /// Images whose manifests the registry does not have.
    pub(super) missing: Vec<BundleImage>,
    /// What the tag names.
    pub(super) held: Option<Vec<u8>>,
}

/// The same with its archives.
pub(super) struct Opened {
    pub(super) place: PushedTag,
    /// Each with whether the registry does not have it.
    pub(super) images: Vec<(Image, bool)>,
    pub(super) held: Option<Vec<u8>>,
}

impl Opened {
    /// How many bytes the blobs have of the images that the registry does not have.
    pub(super) fn bytes(&self) -> u64 {
        self.images.iter().filter(|(_, is_missing)| *is_missing).flat_map(|(image, _)| &image.blobs).map(|blob| blob.size).sum()
    }
}

pub(super) struct PushSession {
    pub(super) client: Client,
    registry: Registry,
    pub(super) progress: Arc<dyn Progress>,
    /// By digest: whoever wants the same blob waits; then the repository is known that has it.
    pub(super) blobs: Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<Option<Reference>>>>>,
    /// Whether the registry takes a blob of another repository for this one.
    pub(super) mounts: AtomicBool,
    pub(super) sent: AtomicU64,
    /// Somebody has to do something: nothing else begins.
    is_over: AtomicBool,
}

impl PushSession {
    pub(super) fn new(client: Client, registry: Registry, progress: Arc<dyn Progress>) -> Self {
        let (mounts, sent, is_over) = (AtomicBool::new(true), AtomicU64::new(0), AtomicBool::new(false));
        Self { client, registry, progress, blobs: Mutex::default(), mounts, sent, is_over }
    }

    /// How many bytes of blobs were sent.
    pub(super) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    fn reference(&self, place: &PushedTag, tag: &str) -> Reference {
        Reference::with_tag(self.registry.host.clone(), place.repository.clone(), tag.to_owned())
    }

    /// Asks what a tag lacks; nothing, if it names all that it is to name.
    pub(super) async fn ask(self: Arc<Self>, place: PushedTag) -> Result<Option<Lack>, Trouble> {
        let pushing = |trouble: Trouble| trouble.of_push(&place.upstream);
        let tag = self.reference(&place, &place.tag);
        self.log_in(&tag).await.map_err(pushing)?;
        let held = self.manifest(&tag).await.map_err(pushing)?;
        let mut missing = Vec::new();
        for image in &place.images {
            if self.manifest(&self.reference(&place, &image.manifest_digest)).await.map_err(pushing)?.is_none() {
                missing.push(image.clone());
            }
        }
        let is_whole = missing.is_empty() && held.as_deref().is_some_and(|held| names_all(held, &place.images));
        Ok((!is_whole).then_some(Lack { place, missing, held }))
    }

    /// One login counts for reading and writing: a registry that is read by everyone is not asked as nobody.
    async fn log_in(&self, tag: &Reference) -> Result<(), Trouble> {
        let login = self.client.login(tag.resolve_registry());
        self.tried(&tag.whole(), || self.client.registry.auth(tag, &login, RegistryOperation::Push)).await.map(|_| ())
    }

    /// A manifest that the registry has.
    async fn manifest(&self, reference: &Reference) -> Result<Option<Vec<u8>>, Trouble> {
        let login = self.client.login(reference.resolve_registry());
        match self.tried(&reference.whole(), || self.client.registry.pull_manifest_raw(reference, &login, &ACCEPTED)).await {
            Ok((bytes, _)) => Ok(Some(bytes.to_vec())),
            Err(trouble) if trouble.is_absent() => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    /// Sends what a tag lacks, and moves it then.
    pub(super) async fn push(self: Arc<Self>, opened: Opened) -> Result<(), Trouble> {
        if self.is_over.load(Ordering::Relaxed) {
            return Ok(());
        }
        let pushed = self.push_to(&opened).await.map_err(|trouble| trouble.of_push(&opened.place.upstream));
        if pushed.as_ref().is_err_and(|trouble| !matches!(trouble.remedy, Remedy::Time(_))) {
            self.is_over.store(true, Ordering::Relaxed);
        }
        pushed
    }

    async fn push_to(&self, Opened { place, images, held }: &Opened) -> Result<(), Trouble> {
        for (image, _) in images.iter().filter(|(_, is_missing)| *is_missing) {
            // The digest stands where tags stand in the address.
            let reference = self.reference(place, &image.manifest.digest);
            let sends = image.blobs.iter().map(|blob| self.send(&reference, blob));
            futures_util::future::try_join_all(sends).await?;
            self.put(&reference, &image.bytes, &image.manifest.media_type).await?;
        }
        let tag = self.reference(place, &place.tag);
        let manifests: Vec<_> = images.iter().map(|(image, _)| image.manifest.clone()).collect();
        let (index, is_lost) = index(held.as_deref(), &manifests);
        self.put(&tag, &index, OCI_IMAGE_INDEX_MEDIA_TYPE).await?;
        if is_lost {
            self.progress.notice(&format!("{tag} named another image before"));
        }
        self.progress.done(&format!("{tag} for {}", manifests.iter().map(|one| one.architecture.as_str()).collect::<Vec<_>>().join(", ")));
        Ok(())
    }

    async fn put(&self, reference: &Reference, document: &[u8], media_type: &str) -> Result<(), Trouble> {
        let kind = HeaderValue::from_str(media_type).map_err(|error| Trouble::of_program(&error.to_string()))?;
        self.tried(&reference.whole(), || self.client.registry.push_manifest_raw(reference, document.to_vec(), kind.clone()))
            .await
            .map(|_| ())
    }

    /// A request without a large body, with tries.
    async fn tried<T, F>(&self, at: &str, work: impl Fn() -> F) -> Result<T, Trouble>
    where
        F: Future<Output = Result<T, OciDistributionError>>,
    {
        with_tries(|| watched(at, || 0, work()), || 0).await
    }

    /// What is known of a blob; whoever holds it is the one who sends it.
    pub(super) fn blob(&self, digest: &str) -> Arc<tokio::sync::Mutex<Option<Reference>>> {
        Arc::clone(self.blobs.lock().unwrap_or_else(PoisonError::into_inner).entry(digest.to_owned()).or_default())
    }
}

/// Waits for an answer as long as something is taken meanwhile, which `reached` tells.
pub(super) async fn watched<T>(
    at: &str,
    reached: impl Fn() -> u64,
    work: impl Future<Output = Result<T, OciDistributionError>>,
) -> Result<T, Trouble> {
    let mut work = std::pin::pin!(work);
    let mut last = reached();
    loop {
        match tokio::time::timeout(SILENCE, &mut work).await {
            Ok(answer) => return answer.map_err(|error| Trouble::of_registry(at, &error)),
            Err(_) if reached() == last => return Err(Trouble::of_silence(at, SILENCE)),
            Err(_) => last = reached(),
        }
    }
}
