//! A reader that tells how far it is.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

use crate::event::{EventKind, Events};

/// Events are for eyes: 8 MB at 100 MB/s is a dozen a second.
const EVERY_BYTES: u64 = 8_000_000;

/// Reads from `inner` and sends an event for every [`EVERY_BYTES`].
pub(super) struct Counted<R> {
    inner: R,
    events: Events,
    step: String,
    total: u64,
    bytes: u64,
    reported: u64,
}

impl<R> Counted<R> {
    pub(super) fn new(inner: R, events: Events, step: String, total: u64) -> Self {
        Self { inner, events, step, total, bytes: 0, reported: 0 }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Counted<R> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(context, buffer);
        self.bytes += (buffer.filled().len() - before) as u64;
        if self.bytes >= self.reported + EVERY_BYTES {
            self.reported = self.bytes;
            self.events.send(EventKind::StepProgress { step: self.step.clone(), bytes: self.bytes, total: self.total });
        }
        polled
    }
}
