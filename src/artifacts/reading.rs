//! Artifacts as they are sent: read once for all hosts that take the same one at about the same time, and only as they were verified.

use std::collections::VecDeque;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::Mutex;

/// What is read at a time: as much as a connection sends at a time.
const PIECE: usize = 256 << 10;

/// Pieces of one artifact that are kept for those who come after the first: 8 MiB. A host that is further behind reads for itself, from what
/// the system still has in memory: so memory does not grow with a slow host, and nobody waits for it.
const KEPT: usize = 32;

/// What tells a file from what it was: whoever changes its content moves one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity {
    file: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileIdentity {
    pub(super) fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            file: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// An open artifact, shared by those who read it.
#[derive(Debug)]
pub(super) struct OpenArtifact {
    path: PathBuf,
    file: File,
    identity: FileIdentity,
    window: Mutex<Window>,
}

/// The pieces that were read last.
#[derive(Debug, Default)]
struct Window {
    /// The number of the piece that comes next.
    next: u64,
    pieces: VecDeque<Arc<Vec<u8>>>,
}

impl Window {
    fn get(&self, number: u64) -> Option<Arc<Vec<u8>>> {
        let first = self.next - self.pieces.len() as u64;
        self.pieces.get(usize::try_from(number.checked_sub(first)?).ok()?).cloned()
    }

    fn push(&mut self, piece: Arc<Vec<u8>>) {
        self.pieces.push_back(piece);
        self.next += 1;
        if self.pieces.len() > KEPT {
            self.pieces.pop_front();
        }
    }
}

impl OpenArtifact {
    /// Opens a file that was verified when it had this identity.
    pub(super) fn open(path: &Path, identity: FileIdentity) -> io::Result<Arc<Self>> {
        let source = Self { path: path.to_owned(), file: File::open(path)?, identity, window: Mutex::default() };
        source.check()?;
        Ok(Arc::new(source))
    }

    /// Fails if the file is not what it was when it was verified.
    fn check(&self) -> io::Result<()> {
        let is_same = FileIdentity::from_metadata(&self.file.metadata()?) == self.identity;
        if is_same { Ok(()) } else { Err(io::Error::other(format!("{} was changed after it had been verified", self.path.display()))) }
    }

    /// A piece; an empty one at the end, if the file has stayed what it was up to there.
    async fn piece(self: Arc<Self>, number: u64) -> io::Result<Arc<Vec<u8>>> {
        let mut window = self.window.lock().await;
        if let Some(piece) = window.get(number) {
            return Ok(piece);
        }
        if number != window.next {
            drop(window);
            return Arc::clone(&self).read(number).await;
        }
        // Whoever wants the same waits for it meanwhile.
        let piece = Arc::clone(&self).read(number).await?;
        if !piece.is_empty() {
            window.push(Arc::clone(&piece));
        }
        Ok(piece)
    }

    async fn read(self: Arc<Self>, number: u64) -> io::Result<Arc<Vec<u8>>> {
        let reading = tokio::task::spawn_blocking(move || {
            let offset = number * PIECE as u64;
            let length = usize::try_from(self.identity.size.saturating_sub(offset)).unwrap_or(PIECE).min(PIECE);
            let mut piece = vec![0; length];
            self.file.read_exact_at(&mut piece, offset)?;
            if length == 0 {
                self.check()?;
            }
            Ok(Arc::new(piece))
        });
        reading.await.map_err(io::Error::other)?
    }
}

type Fetching = Pin<Box<dyn Future<Output = io::Result<Arc<Vec<u8>>>> + Send>>;

/// The bytes of an artifact for one host.
pub struct Reading {
    source: Arc<OpenArtifact>,
    next: u64,
    piece: Arc<Vec<u8>>,
    position: usize,
    fetching: Option<Fetching>,
}

impl Reading {
    pub(super) fn new(source: Arc<OpenArtifact>) -> Self {
        Self { source, next: 0, piece: Arc::default(), position: 0, fetching: None }
    }
}

impl AsyncRead for Reading {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            let rest = this.piece.get(this.position..).unwrap_or_default();
            if let Some(part) = rest.get(..rest.len().min(buffer.remaining())).filter(|_| !rest.is_empty()) {
                buffer.put_slice(part);
                this.position += part.len();
                return Poll::Ready(Ok(()));
            }
            let (source, next) = (&this.source, this.next);
            let fetching = this.fetching.get_or_insert_with(|| Box::pin(Arc::clone(source).piece(next)));
            let fetched = ready!(fetching.as_mut().poll(context));
            this.fetching = None;
            let piece = fetched?;
            if piece.is_empty() {
                return Poll::Ready(Ok(()));
            }
            (this.piece, this.position, this.next) = (piece, 0, next + 1);
        }
    }
}

#[cfg(test)]
mod tests;
