//! From whoever has something to tell to whoever wants to hear it.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::{Event, EventKind};

/// A consumer of events.
pub trait Sink: Send {
    /// Takes one event. Must not block for long, and must not fail: what it can't do it leaves.
    fn take(&mut self, event: &Event);

    /// Makes what it took last: returns when a crash of the machine can't undo it. Nothing to do for those that keep nothing.
    fn flush(&mut self) {}
}

/// Where events are sent. Cheap to clone; numbers and times are given here.
#[derive(Clone)]
pub struct Events {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    next: u64,
    began: Instant,
    sinks: Vec<Box<dyn Sink>>,
}

impl Events {
    /// A stream into these consumers.
    #[must_use]
    pub fn new(sinks: Vec<Box<dyn Sink>>) -> Self {
        Self { inner: Arc::new(Mutex::new(Inner { next: 0, began: Instant::now(), sinks })) }
    }

    /// Sends an event to every consumer.
    pub fn send(&self, kind: EventKind) {
        // A consumer that panicked must not silence the others.
        let mut inner = self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let event = Event { sequence: inner.next, milliseconds: elapsed(inner.began), kind };
        inner.next += 1;
        for sink in &mut inner.sinks {
            sink.take(&event);
        }
    }

    /// Returns when what was sent so far outlasts a crash, as far as a consumer keeps it.
    pub fn flush(&self) {
        let mut inner = self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        inner.sinks.iter_mut().for_each(|sink| sink.flush());
    }

    /// Milliseconds since the stream was opened.
    #[must_use]
    pub fn milliseconds(&self) -> u64 {
        elapsed(self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner).began)
    }
}

/// Milliseconds since `since`.
#[must_use]
pub fn elapsed(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
