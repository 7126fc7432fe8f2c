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
use super::super::outputs::{ObjectEvent, Teller, owner};
use super::super::owned::{Put, taken};
use super::super::status::{ANSWER, OperationStatus};
use super::OperationLife;
use crate::state::StateFolder;

/// A run may be looked at soon, and afterwards costs the API server one write a minute.
const FIRST: Duration = Duration::from_secs(15);
const EVERY: Duration = Duration::from_secs(60);
/// The last word is tried so often, with this pause, and the end of a run waits no longer for it.
const TRIES: usize = 3;
const PAUSE: Duration = Duration::from_secs(5);
const LAST: Duration = Duration::from_secs(30);

/// Keeps the journal of a run until its end.
pub(super) struct JournalKeeper {
    task: JoinHandle<()>,
    end: oneshot::Sender<()>,
}

impl JournalKeeper {
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

impl OperationLife {
    /// Begins to keep the journal of a run.
    pub(super) fn keeps_journal(&self, run: &str) -> JournalKeeper {
        let shared = &self.at.shared;
        let kept = Kept {
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
        let (end, ended) = oneshot::channel();
        let task = tokio::spawn(kept.keep_until(ended));
        JournalKeeper { task, end }
    }
}

/// Why the journal is not kept.
enum Missed {
    /// It may be kept at another try.
    Now(String),
    /// It is refused, as it will be again.
    Always(String),
}

impl Kept {
    /// Until the end is told, and a last time after that.
    async fn keep_until(mut self, mut ended: oneshot::Receiver<()>) {
        let mut pause = FIRST;
        while timeout(pause, &mut ended).await.is_err() {
            if let Err(Missed::Always(because)) = self.once().await {
                self.warn_once(&because);
            }
            pause = EVERY;
        }
        for left in (0..TRIES).rev() {
            match self.once().await {
                Ok(()) => return,
                Err(Missed::Now(_)) if left > 0 => tokio::time::sleep(PAUSE).await,
                Err(Missed::Now(because) | Missed::Always(because)) => return self.warn_once(&because),
            }
        }
    }

    async fn once(&self) -> Result<(), Missed> {
        // Where there is none, somebody was told when it could not be written.
        let Some(read) = self.read().await else { return Ok(()) };
        let bytes = read.ok_or_else(|| Missed::Always("it is too long".to_owned()))?;
        let (length, place) = (bytes.len(), (self.home.as_str(), self.name.as_str()));
        match timeout(ANSWER, keep(&self.client, place, self.owner.clone(), (&self.run, bytes))).await {
            Ok(Ok(Put::Done)) => {
                let place = format!("{}/{}", self.home, self.name);
                self.status.send_modify(|status| status.journal = Some((place, length)));
                Ok(())
            }
            Ok(Ok(Put::Taken)) => Err(Missed::Always(taken("configmap", &self.home, &self.name).one_line())),
            Ok(Err(kube::Error::Api(status))) if status.is_forbidden() || status.is_invalid() => Err(Missed::Always(status.message)),
            Ok(Err(error)) => Err(Missed::Now(error.to_string())),
            Err(_) => Err(Missed::Now("the API server does not answer".to_owned())),
        }
    }

    /// The journal as it is kept, if it is not too long; nothing where there is none. Whoever renews Leases does not wait for it.
    async fn read(&self) -> Option<Option<Vec<u8>>> {
        let _one = self.readers.acquire().await.ok()?;
        let (state, run) = (self.state.clone(), self.run.clone());
        tokio::task::spawn_blocking(move || state.journal_of(&run).map(|text| packed(&text))).await.ok()?
    }

    /// Says why it is not kept, once of each run.
    fn warn_once(&mut self, because: &str) {
        if !std::mem::replace(&mut self.is_told, true) {
            tracing::warn!(run = self.run, because, "the journal can't be kept in {}/{}", self.home, self.name);
            self.teller.tell(ObjectEvent::warning("JournalNotKept", format!("of the run {}: {because}", self.run)));
        }
    }
}
