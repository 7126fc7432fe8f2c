//! A way through a bastion, as bytes.
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// What a tunnel may hold that nobody has read yet. The session inside stops its peer by its own windows, of 2 MiB for each of its at
/// most 8 channels, so more than that with its packets' frames never comes from a server that keeps the rules.
const HELD_LIMIT: usize = 32 << 20;

/// What arrives is taken off the bastion's session at once, read or not. The session inside does not read while it writes, and its
/// writing may wait for something that the bastion's session has to read behind that: without this, all hosts behind a bastion could
/// stop for good.
pub(super) struct Tunnel<W> {
    arrived: UnboundedReceiver<Vec<u8>>,
    held: Arc<AtomicUsize>,
    current: io::Cursor<Vec<u8>>,
    writer: W,
}

/// The tunnel's other end.
pub(super) struct Filler {
    arrived: UnboundedSender<Vec<u8>>,
    held: Arc<AtomicUsize>,
}

pub(super) fn tunnel<W>(writer: W) -> (Tunnel<W>, Filler) {
    let (sender, arrived) = unbounded_channel();
    let held = Arc::new(AtomicUsize::new(0));
    (Tunnel { arrived, held: Arc::clone(&held), current: io::Cursor::default(), writer }, Filler { arrived: sender, held })
}

impl Filler {
    /// Takes what arrived. `false` if nobody wants it any more, or if it is more than is held.
    pub(super) fn fill(&self, data: Vec<u8>) -> bool {
        let held = self.held.fetch_add(data.len(), Ordering::Relaxed);
        held <= HELD_LIMIT && self.arrived.send(data).is_ok()
    }

    /// Ends when the tunnel is dropped.
    pub(super) async fn abandoned(&self) {
        self.arrived.closed().await;
    }
}

impl<W: Unpin> AsyncRead for Tunnel<W> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            let position = usize::try_from(this.current.position()).unwrap_or(usize::MAX);
            let rest = this.current.get_ref().get(position..).unwrap_or_default();
            if let Some(piece) = rest.get(..rest.len().min(buffer.remaining())).filter(|piece| !piece.is_empty()) {
                buffer.put_slice(piece);
                let read = piece.len();
                this.current.set_position((position + read) as u64);
                this.held.fetch_sub(read, Ordering::Relaxed);
                return Poll::Ready(Ok(()));
            }
            match ready!(this.arrived.poll_recv(context)) {
                Some(data) => this.current = io::Cursor::new(data),
                None => return Poll::Ready(Ok(())),
            }
        }
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Tunnel<W> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.writer).poll_write(context, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(context)
    }
}
