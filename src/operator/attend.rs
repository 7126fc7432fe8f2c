//! One operation from the claim of its cluster's Lease to its end: whoever has the Lease writes about the cluster, and nobody else does.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use kube::Api;
use kube::api::DynamicObject;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::group::ClusterKey;
use super::lease::{Claimed, ClusterLease, Observation};
use super::life::OperationLife;
use super::object;
use super::outputs::owner;
use super::shared::Shared;
use super::status::ANSWER;
use crate::run::Stop;

/// How a run is to end before its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Wish {
    /// It isn't.
    #[default]
    None,
    /// Somebody has cancelled it.
    Cancel,
    /// It has taken too long.
    Deadline,
    /// One of these, and nothing is awaited any more.
    Now {
        /// Whether somebody has cancelled it.
        cancelled: bool,
    },
    /// This process ends, and another one goes on.
    Leave,
    /// Another replica has the Lease.
    Lost,
}

impl Wish {
    /// What the engine hears of it.
    pub(super) const fn stop(self) -> Stop {
        match self {
            Self::None => Stop::No,
            Self::Cancel | Self::Deadline | Self::Leave => Stop::Finish,
            Self::Now { .. } | Self::Lost => Stop::Now,
        }
    }
}

/// What became of an operation.
#[derive(Debug)]
pub(super) enum Attended {
    /// Another replica has its cluster's Lease.
    Elsewhere(Observation),
    /// It has ended, and its status says so; with its UID, unless it is gone.
    Ended(Option<String>),
    /// It has not ended, and somebody goes on.
    Left,
    /// The API did not answer.
    Unanswered,
}

/// An operation with its Cluster, as they were read.
#[derive(Clone)]
pub(super) struct Objects {
    pub(super) cluster: DynamicObject,
    pub(super) operation: DynamicObject,
}

impl Objects {
    /// Whether the operation is over.
    fn is_over(&self) -> bool {
        object::is_over(&self.operation.data)
    }
}

/// Attends to one operation.
#[derive(Clone)]
pub(super) struct Attendant {
    pub(super) shared: Arc<Shared>,
    pub(super) key: ClusterKey,
    pub(super) operation: String,
    /// Tells it from another one of its name.
    pub(super) uid: String,
    pub(super) wish: Arc<watch::Sender<Wish>>,
}

impl Attendant {
    /// From the claim to the end. `before` is what the attempt before this one saw.
    pub(super) async fn attend(self, before: Option<Observation>) -> Attended {
        let found = match self.objects().await {
            Ok(Some(found)) => found,
            Ok(None) => return Attended::Ended(None),
            Err(()) => return Attended::Unanswered,
        };
        // A replica without a free place leaves the Lease to one that has one.
        let Ok(permit) = self.place(&found).await else { return Attended::Left };
        let home = self.shared.home(&found.cluster);
        let (client, identity) = (self.shared.client.clone(), self.shared.identity.as_str());
        let lease = ClusterLease::new(client, &self.shared.own, &self.key, identity, owner(&found.cluster, false));
        match timeout(ANSWER, lease.claim(before.as_ref())).await {
            Ok(Ok(Claimed::Ours)) => {}
            Ok(Ok(Claimed::Elsewhere(observation))) => return Attended::Elsewhere(observation),
            Ok(Err(error)) => {
                tracing::warn!(cluster = %self.key, %error, "the Lease can't be had");
                return Attended::Unanswered;
            }
            Err(_) => return Attended::Unanswered,
        }
        let attended = unless_panicked(self.with_lease(&lease, home, permit)).await;
        if *self.wish.borrow() != Wish::Lost {
            let _ = timeout(ANSWER, lease.release()).await;
        }
        attended.unwrap_or_else(|| {
            tracing::error!(cluster = %self.key, operation = self.operation, "a defect has ended what attends to it; it is gone on with");
            // Nobody listens any more to a run that is under way: it ends, and hosts obey the one that goes on.
            self.wish.send_replace(Wish::Lost);
            Attended::Unanswered
        })
    }

    /// The right to be one of the runs under way, which come in turn. Who has begun long ago, and is to end, needs none for it.
    async fn place(&self, found: &Objects) -> Result<Option<OwnedSemaphorePermit>, ()> {
        let (permits, mut wish) = (Arc::clone(&self.shared.permits), self.wish.subscribe());
        let wished = tokio::select! {
            permit = permits.acquire_owned() => return Ok(permit.ok()),
            wished = wish.wait_for(|wish| *wish != Wish::None) => wished.map_or(Wish::Leave, |wish| *wish),
        };
        let has_begun = object::text(&found.operation.data, "/status/startTime").is_some();
        if has_begun && !matches!(wished, Wish::Leave | Wish::Lost) { Ok(None) } else { Err(()) }
    }

    async fn with_lease(&self, lease: &ClusterLease, home: String, permit: Option<OwnedSemaphorePermit>) -> Attended {
        // What was read before the claim may be what another replica has changed since.
        let found = match self.objects().await {
            Ok(Some(found)) if found.is_over() => return Attended::Ended(found.operation.metadata.uid),
            Ok(Some(found)) => found,
            Ok(None) => return Attended::Ended(None),
            Err(()) => return Attended::Unanswered,
        };
        let (kept, wish, ages) = (lease.clone(), Arc::clone(&self.wish), Arc::clone(&self.shared.metrics.leases));
        let _keeper = OwnedTask(tokio::spawn(async move {
            kept.keep(&ages).await;
            wish.send_replace(Wish::Lost);
        }));
        OperationLife::begin(self.clone(), found, (home, lease.clone()), permit).await.live().await
    }

    /// The operation and its Cluster as they are now; nothing if one of them is gone, also if there is another operation of its name.
    pub(super) async fn objects(&self) -> Result<Option<Objects>, ()> {
        let operation = read(&self.shared.operations(self.key.group), &self.operation).await?;
        let cluster = read(&self.shared.clusters(self.key.group), &self.key.name).await?;
        let operation = operation.filter(|operation| operation.metadata.uid.as_deref() == Some(&self.uid));
        Ok(operation.zip(cluster).map(|(operation, cluster)| Objects { cluster, operation }))
    }

    /// The operation as kubectl is told of it.
    pub(super) fn operation_words(&self) -> String {
        format!("clusteroperations.{} {}", self.key.group.name(), self.operation)
    }
}

/// What a task leads to; nothing if a defect ended it.
async fn unless_panicked<T>(work: impl Future<Output = T>) -> Option<T> {
    AssertUnwindSafe(work).catch_unwind().await.ok()
}

/// A task that ends with whoever began it, also where a defect ends that.
pub(super) struct OwnedTask(pub(super) JoinHandle<()>);

impl Drop for OwnedTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

pub(super) async fn read(api: &Api<DynamicObject>, name: &str) -> Result<Option<DynamicObject>, ()> {
    match timeout(ANSWER, api.get_opt(name)).await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => {
            tracing::warn!(name, %error, "an object can't be read");
            Err(())
        }
        Err(_) => Err(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

    use super::super::fake::{Fake, LEASE, attendant};
    use super::*;

    #[tokio::test]
    async fn without_a_free_place_the_lease_is_left_to_others() {
        let (fake, client) = Fake::start().await;
        let attendant = attendant(&fake, client, 0);
        let wish = Arc::clone(&attendant.wish);
        let attended = tokio::spawn(attendant.attend(None));
        while fake.asked().len() < 2 {
            tokio::task::yield_now().await;
        }
        wish.send_replace(Wish::Cancel);
        assert!(matches!(attended.await.unwrap(), Attended::Left), "what has not begun is called off by whoever decides");
        assert!(fake.get(LEASE).is_none() && fake.asked().iter().all(|asked| !asked.contains("leases")), "{:?}", fake.asked());
    }

    #[tokio::test]
    async fn another_operation_of_the_same_name_is_not_attended_to() {
        let (fake, client) = Fake::start().await;
        let attendant = Attendant { uid: "another".to_owned(), ..attendant(&fake, client, 1) };
        assert!(matches!(attendant.attend(None).await, Attended::Ended(None)));
        assert!(fake.get(LEASE).is_none());
    }

    /// Otherwise the Lease of an operation that a defect has ended would be renewed for ever.
    #[tokio::test]
    async fn what_keeps_the_lease_ends_with_a_panic() {
        let (sender, mut is_kept) = watch::channel(());
        let panicked = unless_panicked(async move {
            let _keeper = OwnedTask(tokio::spawn(async move {
                let _sender = sender;
                std::future::pending::<()>().await;
            }));
            panic!("a defect");
        });
        assert_eq!(panicked.await, None::<()>);
        assert!(is_kept.changed().await.is_err(), "its sender is gone with it");
        assert_eq!(unless_panicked(async { 7 }).await, Some(7));
    }
}
