//! How long ago Leases were renewed.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// When each Lease that this replica keeps was renewed last.
#[derive(Debug, Default)]
pub(in crate::operator) struct LeaseAges(Mutex<BTreeMap<String, Instant>>);

/// A Lease that is kept, until this is dropped.
pub(in crate::operator) struct CountedLease<'a> {
    ages: &'a LeaseAges,
    name: &'a str,
}

impl LeaseAges {
    /// Begins to count for a Lease that was just had.
    pub(in crate::operator) fn keep<'a>(&'a self, name: &'a str) -> CountedLease<'a> {
        let kept = CountedLease { ages: self, name };
        kept.is_renewed();
        kept
    }

    /// The age of the one that was not renewed for the longest time; nothing while none is kept.
    pub(super) fn oldest(&self, now: Instant) -> Duration {
        let first = self.lock().values().min().copied();
        first.map(|renewed| now.saturating_duration_since(renewed)).unwrap_or_default()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CountedLease<'_> {
    /// It was renewed now.
    pub(in crate::operator) fn is_renewed(&self) {
        self.ages.lock().insert(self.name.to_owned(), Instant::now());
    }
}

impl Drop for CountedLease<'_> {
    fn drop(&mut self) {
        self.ages.lock().remove(self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_counts_as_long_as_it_is_kept() {
        let ages = LeaseAges::default();
        assert_eq!(ages.oldest(Instant::now()), Duration::ZERO);
        let first = ages.keep("a");
        let after_first = Instant::now();
        let second = ages.keep("b");
        let later = after_first + Duration::from_secs(30);
        assert!(ages.oldest(later) >= Duration::from_secs(30));
        first.is_renewed();
        drop(second);
        assert!(ages.oldest(later) <= Duration::from_secs(30));
        drop(first);
        assert_eq!(ages.oldest(later), Duration::ZERO);
    }
}
