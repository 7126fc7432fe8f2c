//! From whoever has something to tell to whoever wants to hear it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Event, EventKind};

/// A consumer of events.
pub trait Sink: Send {
    /// Takes one event. Must not block for long, and must not fail: what it can't do it leaves.
    fn take(&mut self, event: &Event);

    /// Hears what time it is, when nothing else is told. Nothing to do for those that tell only what happened.
    fn tick(&mut self, _milliseconds: u64) {}

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
        let mut inner = lock(&self.inner);
        let event = Event { sequence: inner.next, milliseconds: elapsed(inner.began), kind };
        inner.next += 1;
        for sink in &mut inner.sinks {
            sink.take(&event);
        }
    }

    /// Returns when what was sent so far outlasts a crash, as far as a consumer keeps it.
    pub fn flush(&self) {
        lock(&self.inner).sinks.iter_mut().for_each(|sink| sink.flush());
    }

    /// Lets every consumer know what time it is, again and again, as long as anybody can still send an event.
    pub fn keep_time(&self, pause: Duration) {
        let inner = Arc::downgrade(&self.inner);
        tokio::spawn(async move {
            loop {
                // Not a wait for something to happen: time itself is what is told.
                tokio::time::sleep(pause).await;
                let Some(inner) = inner.upgrade() else { return };
                let mut inner = lock(&inner);
                let now = elapsed(inner.began);
                inner.sinks.iter_mut().for_each(|sink| sink.tick(now));
            }
        });
    }

    /// Milliseconds since the stream was opened.
    #[must_use]
    pub fn milliseconds(&self) -> u64 {
        elapsed(lock(&self.inner).began)
    }
}

fn lock(inner: &Mutex<Inner>) -> MutexGuard<'_, Inner> {
    // A consumer that panicked must not silence the others.
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Milliseconds since `since`.
#[must_use]
pub fn elapsed(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
