//! What is kept in memory of all that hosts say at once.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What each answer may keep in any case: many times what a worker says, whatever others say meanwhile.
const OWN: usize = 512 << 10;

/// What all answers together may keep beyond that. Sixty-four hosts that say as much as they may leave more than half of 256 MB for all else.
const SHARED: usize = 64 << 20;

/// Bytes that answers share.
#[derive(Debug)]
pub(super) struct Budget {
    taken: AtomicUsize,
    most: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(SHARED)
    }
}

impl Budget {
    pub(super) const fn new(most: usize) -> Self {
        Self { taken: AtomicUsize::new(0), most }
    }

    /// What is taken of it.
    #[cfg(test)]
    pub(super) fn taken(&self) -> usize {
        self.taken.load(Ordering::SeqCst)
    }

    fn take(&self, bytes: usize) -> bool {
        let room = |taken: usize| taken.checked_add(bytes).filter(|sum| *sum <= self.most);
        self.taken.fetch_update(Ordering::SeqCst, Ordering::SeqCst, room).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.taken.fetch_sub(bytes, Ordering::SeqCst);
    }
}

/// What one answer has of a budget; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<Budget>,
    taken: usize,
}

impl Share {
    pub(super) fn new(budget: Arc<Budget>) -> Self {
        Self { budget, taken: 0 }
    }

    /// Makes it enough for so many bytes. Whether it is.
    pub(super) fn covers(&mut self, bytes: usize) -> bool {
        let missing = bytes.saturating_sub(OWN).saturating_sub(self.taken);
        let covers = missing == 0 || self.budget.take(missing);
        self.taken += if covers { missing } else { 0 };
        covers
    }

    /// Nothing is kept any more.
    pub(super) fn give_back(&mut self) {
        self.budget.give_back(std::mem::take(&mut self.taken));
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::{Arc, Budget, OWN, Share};

    #[test]
    fn each_has_its_own_and_all_share_the_rest() {
        let budget = Arc::new(Budget::new(1000));
        let [mut one, mut other] = [Share::new(Arc::clone(&budget)), Share::new(Arc::clone(&budget))];
        assert!(one.covers(OWN) && one.covers(OWN + 600) && one.covers(OWN + 1), "{one:?}");
        assert_eq!(budget.taken(), 600);
        assert!(!other.covers(OWN + 401) && other.covers(OWN) && other.covers(OWN + 400));
        assert_eq!(budget.taken(), 1000);
        drop(one);
        assert!(other.covers(OWN + 1000) && !other.covers(usize::MAX));
        other.give_back();
        assert_eq!(budget.taken(), 0);
    }
}
