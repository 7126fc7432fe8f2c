//! One blob: asked for, taken from another repository of the registry, or sent.

use std::io::SeekFrom;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::Stream;
use oci_client::Reference;
use oci_client::errors::OciDistributionError;
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use super::archive::Blob;
use super::session::{PushSession, watched};
use crate::artifacts::fetch::{Progress, Trouble, with_tries};

/// What is read and sent at a time.
const PIECE: u64 = 256 << 10;

/// How far a blob was sent.
struct SentProgress {
    progress: Arc<dyn Progress>,
    /// Of this try.
    now: AtomicU64,
    /// Of all tries: no byte is told twice.
    most: AtomicU64,
}

impl SentProgress {
    fn to(&self, reached: u64) {
        self.now.store(reached, Ordering::Relaxed);
        let before = self.most.fetch_max(reached, Ordering::Relaxed);
        if reached > before {
            self.progress.came(reached - before);
        }
    }
}

impl PushSession {
    /// Sees to it that a repository has a blob.
    pub(super) async fn send(&self, reference: &Reference, blob: &Blob) -> Result<(), Trouble> {
        let known = self.blob(&blob.digest);
        let mut other = known.lock().await;
        let sent_progress =
            Arc::new(SentProgress { progress: Arc::clone(&self.progress), now: AtomicU64::new(0), most: AtomicU64::new(0) });
        let reached = || sent_progress.most.load(Ordering::Relaxed);
        with_tries(|| self.send_once(reference, blob, other.as_ref(), &sent_progress), reached).await?;
        sent_progress.to(blob.size);
        *other = Some(reference.clone());
        Ok(())
    }

    async fn send_once(
        &self,
        reference: &Reference,
        blob: &Blob,
        other: Option<&Reference>,
        sent_progress: &Arc<SentProgress>,
    ) -> Result<(), Trouble> {
        let at = format!("{}/{}@{}", reference.registry(), reference.repository(), blob.digest);
        let registry = &self.client.registry;
        if watched(&at, || 0, registry.blob_exists(reference, &blob.digest)).await? {
            return Ok(());
        }
        if let Some(other) = other.filter(|_| self.mounts.load(Ordering::Relaxed)) {
            match watched(&at, || 0, registry.mount_blob(reference, other, &blob.digest)).await {
                Ok(()) => return Ok(()),
                // Whatever it says, it takes the bytes.
                Err(_) => self.mounts.store(false, Ordering::Relaxed),
            }
        }
        sent_progress.now.store(0, Ordering::Relaxed);
        let stream = pieces(blob, Arc::clone(sent_progress)).await.map_err(|error| Trouble::of_disk(&blob.archive, &error))?;
        let reached = || sent_progress.now.load(Ordering::Relaxed);
        watched(&at, reached, registry.push_blob_stream(reference, stream, &blob.digest, Some(blob.size))).await?;
        self.sent.fetch_add(blob.size, Ordering::Relaxed);
        Ok(())
    }
}

/// The blob out of its archive. The registry compares its digest.
async fn pieces(
    blob: &Blob,
    sent_progress: Arc<SentProgress>,
) -> std::io::Result<impl Stream<Item = Result<Bytes, OciDistributionError>> + Send + 'static> {
    let mut file = File::open(&blob.archive).await?;
    file.seek(SeekFrom::Start(blob.offset)).await?;
    let size = blob.size;
    Ok(futures_util::stream::try_unfold((file, 0), move |(mut file, sent)| {
        let sent_progress = Arc::clone(&sent_progress);
        async move {
            // What was taken before is sent once the next piece is asked for.
            sent_progress.to(sent);
            if sent == size {
                return Ok(None);
            }
            let mut piece = Vec::new();
            (&mut file).take(PIECE.min(size - sent)).read_to_end(&mut piece).await?;
            if piece.is_empty() {
                return Err(std::io::Error::other("the archive has become shorter").into());
            }
            let sent = sent + piece.len() as u64;
            Ok(Some((Bytes::from(piece), (file, sent))))
        }
    }))
}
