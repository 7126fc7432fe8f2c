//! Keeping the journal of a run where people of the meta-cluster can read it, while it goes on and at its end.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Client;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::super::attend::Wish;
use super::super::journal::{keep, packed};
use super::super::outputs::{Teller, Told, owner};
use super::super::owned::{Put, taken};
use super::super::status::{ANSWER, OperationStatus};
use super::Life;
use crate::state::StateFolder;

/// A run may be looked at soon, and afterwards costs the API server one write a minute.
const FIRST: Duration = Duration::from_secs(15);
const EVERY: Duration = Duration::from_secs(60);
/// The last word is tried so often, with this pause, and the end of a run waits no longer for it.
const TRIES: usize = 3;
const PAUSE: Duration = Duration::from_secs(5);
const LAST: Duration = Duration::from_secs(30);

/// Keeps the journal of a run until its end.
pub(super) struct Keeping {
    task: JoinHandle<()>,
    end: oneshot::Sender<()>,
}

impl Keeping {
    /// Keeps it a last time, and waits for that a while: not if another replica has the Lease, which keeps journals of its own.
    pub(super) async fn finish(self, mut wish: watch::Receiver<Wish>) {
        let Self { mut task, end } = self;
        let _ = end.send(());
        tokio::select! {
            _ = timeout(LAST, &mut task) => {}
            _ = wish.wait_for(|wish| *wish == Wish::Lost) => {}
        }
        task.abort();
    }
}

struct Kept {
    client: Client,
    state: StateFolder,
    home: String,
    name: String,
    owner: OwnerReference,
    run: String,
    status: Arc<watch::Sender<OperationStatus>>,
    readers: Arc<Semaphore>,
    teller: Teller,
    /// Whether it was said that it can't be kept.
    is_told: bool,
}

impl Life {
    /// Begins to keep the journal of a run.
    pub(super) fn keeps_journal(&self, run: &str) -> Keeping {
        let shared = &self.at.shared;
        let mut kept = Kept {
            client: shared.client.clone(),
            state: shared.state(self.at.key.group),
            home: self.home.clone(),
            name: self.name_of("journal"),
            owner: owner(&self.found.operation, false),
            run: run.to_owned(),
            status: self.writer.sender(),
            readers: Arc::clone(&shared.journals),
            teller: self.teller.clone(),
            is_told: false,
        };
        let (end, mut ended) = oneshot::channel();
        let task = tokio::spawn(async move {
            let mut pause = FIRST;
            while timeout(pause, &mut ended).await.is_err() {
                kept.once().await;
                pause = EVERY;
            }
            for tried in 1..=TRIES {
                if kept.once().await || tried == TRIES {
                    return;
                }
                tokio::time::sleep(PAUSE).await;
            }
        });
        Keeping { task, end }
    }
}

impl Kept {
    /// Whether there is no sense in another try.
    async fn once(&mut self) -> bool {
        let Some(read) = self.read().await else { return true };
        let Some(bytes) = read else {
            self.told("it is too long");
            return true;
        };
        let length = bytes.len();
        let place = (self.home.as_str(), self.name.as_str());
        match timeout(ANSWER, keep(&self.client, place, self.owner.clone(), (&self.run, bytes))).await {
            Ok(Ok(Put::Done)) => {
                let place = format!("{}/{}", self.home, self.name);
                self.status.send_modify(|status| status.journal = Some((place, length)));
                true
            }
            Ok(Ok(Put::Taken)) => {
                self.told(&taken("configmap", &self.home, &self.name).one_line());
                true
            }
            Ok(Err(error)) => {
                self.told(&error.to_string());
                // What it refuses it refuses again.
                matches!(error, kube::Error::Api(status) if status.is_forbidden() || status.is_invalid())
            }
            Err(_) => false,
        }
    }

    /// The journal as it is kept, if it is not too long; nothing where there is none. Whoever renews Leases does not wait for it.
    async fn read(&self) -> Option<Option<Vec<u8>>> {
        let _one = self.readers.acquire().await.ok()?;
        let (state, run) = (self.state.clone(), self.run.clone());
        tokio::task::spawn_blocking(move || state.journal_of(&run).map(|text| packed(&text))).await.ok()?
    }

    fn told(&mut self, because: &str) {
        if !std::mem::replace(&mut self.is_told, true) {
            tracing::warn!(run = self.run, because, "the journal can't be kept in {}/{}", self.home, self.name);
            self.teller.tell(Told::warning("JournalNotKept", format!("of the run {}: {because}", self.run)));
        }
    }
}
