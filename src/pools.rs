//! Pools: how much of one kind may be under way at the same time. All capacities of a run stand here.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A named capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pool {
    /// Artifacts that are sent.
    Streams,
    /// Connections that are being opened.
    Handshakes,
}

/// How much a pool holds.
#[must_use]
pub const fn capacity(pool: Pool) -> usize {
    match pool {
        Pool::Streams => 4,
        Pool::Handshakes => 32,
    }
}

/// Every pool: its name, and why it holds what it holds.
pub const POOLS: &[(Pool, &str, &str)] = &[
    (Pool::Streams, "streams", "one sends as fast as one connection can take it (some 500 MB/s), and the hosts behind one link share it"),
    (
        Pool::Handshakes,
        "handshakes",
        "each costs both sides a public-key operation; more of them only make each one later, until LoginGraceTime cuts them off",
    ),
];

/// The pools of one run.
#[derive(Debug, Clone)]
pub struct Pools {
    pools: Vec<(Pool, Arc<Semaphore>)>,
}

impl Default for Pools {
    fn default() -> Self {
        Self { pools: POOLS.iter().map(|(pool, ..)| (*pool, Arc::new(Semaphore::new(capacity(*pool))))).collect() }
    }
}

impl Pools {
    fn semaphore(&self, pool: Pool) -> Option<&Arc<Semaphore>> {
        self.pools.iter().find(|(name, _)| *name == pool).map(|(_, semaphore)| semaphore)
    }

    /// A share of a pool if one is free. It is given back when it is dropped.
    #[must_use]
    pub fn try_take(&self, pool: Pool) -> Option<OwnedSemaphorePermit> {
        Arc::clone(self.semaphore(pool)?).try_acquire_owned().ok()
    }

    /// A share of a pool, in the order in which it was asked for.
    pub async fn take(&self, pool: Pool) -> Option<OwnedSemaphorePermit> {
        Arc::clone(self.semaphore(pool)?).acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use tokio::task::JoinSet;
    use tokio::time::Instant;

    use super::*;

    #[test]
    fn every_pool_stands_once_with_a_capacity_and_a_reason() {
        let pools = Pools::default();
        for (pool, name, reason) in POOLS {
            assert_eq!(POOLS.iter().filter(|(other, other_name, _)| other == pool || other_name == name).count(), 1, "{name}");
            assert!(capacity(*pool) > 0 && reason.len() > 20, "{name}");
            let taken: Vec<_> = std::iter::from_fn(|| pools.try_take(*pool)).collect();
            assert_eq!(taken.len(), capacity(*pool), "{name}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn as_many_as_a_pool_holds_are_at_work_and_never_more() {
        for (pool, name, _) in POOLS {
            let capacity = capacity(*pool);
            let (pools, now, most) = (Pools::default(), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let began = Instant::now();
            let mut tasks = JoinSet::new();
            for _ in 0..capacity * 3 {
                let (pools, now, most) = (pools.clone(), Arc::clone(&now), Arc::clone(&most));
                tasks.spawn(async move {
                    let _share = pools.take(*pool).await.unwrap();
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    now.fetch_sub(1, Ordering::SeqCst);
                });
            }
            while let Some(ended) = tasks.join_next().await {
                ended.unwrap();
            }
            assert_eq!(most.load(Ordering::SeqCst), capacity, "{name}");
            assert_eq!(began.elapsed().as_secs(), 3, "{name}: three rounds of one second");
        }
    }
}
