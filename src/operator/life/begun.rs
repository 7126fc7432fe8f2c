//! What is kept before a run touches a host, beside the operation's inputs, so that whoever goes on with the operation knows what was begun: the boot ids of
//! hosts that are started anew, each of which is started once, and the name of a recovery.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{Patch, PatchParams};
use tokio::sync::{mpsc, oneshot};

use super::super::approval::ApprovalGate;
use super::super::carry_out::RecoveryNames;
use super::super::inputs::OperationTask;
use super::super::object::MANAGER;
use super::{End, Failure, Kind, OperationLife, Phase};
use crate::engine::Error;

/// Letters of an operation's name in that of its recovery, which is part of names of files.
const MOST_NAME: usize = 63;

/// The boot ids of hosts, by their names.
pub(super) type Boots = BTreeMap<String, String>;

/// What is kept of a run, by the names of these.
type Kept = Vec<(&'static str, Vec<u8>)>;

/// What a run has kept for it before it begins, and where it hears that it is.
type Note = (Kept, std::sync::mpsc::Sender<Result<(), Failure>>);

const BOOTS: &str = "boots";
const RECOVERY: &str = "recovery";

/// How the thread of a run has something kept.
pub(super) struct Keeper {
    gate: Arc<ApprovalGate>,
    notes: mpsc::UnboundedSender<Note>,
    recovery: Arc<RecoveryNames>,
    is_kept: bool,
}

impl Keeper {
    /// For a run whose plans this gate sees. Nothing is kept where it was before.
    pub(super) fn new(gate: Arc<ApprovalGate>, before: &Boots, recovery: Arc<RecoveryNames>) -> (Self, mpsc::UnboundedReceiver<Note>) {
        let (notes, noted) = mpsc::unbounded_channel();
        (Self { gate, notes, recovery, is_kept: !before.is_empty() }, noted)
    }

    /// Returns when what has to be known of the hosts afterwards is kept. It is the run's own thread that waits.
    ///
    /// # Errors
    /// [`Failure`] if it can't be kept.
    pub(super) fn begins(&self) -> Result<(), Failure> {
        let boots = Some(self.gate.boots()).filter(|boots| !self.is_kept && !boots.is_empty());
        let recovery = self.recovery.next.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let recovery = recovery.filter(|name| Some(name) != self.recovery.begun.as_ref());
        let boots = boots.map(|boots| (BOOTS, serde_json::to_vec(&boots).unwrap_or_default()));
        let notes: Kept = boots.into_iter().chain(recovery.map(|name| (RECOVERY, name.into_bytes()))).collect();
        if notes.is_empty() {
            return Ok(());
        }
        let (answer, kept) = std::sync::mpsc::channel();
        let _ = self.notes.send((notes, answer));
        kept.recv().unwrap_or_else(|_| Err(ended()))
    }
}

fn ended() -> Failure {
    let failure = Failure::new(Kind::Incomplete, "the run ended before it began");
    failure.because("what the hosts are known by could not be kept until then").hint("make another operation")
}

impl OperationLife {
    fn key_of(&self, what: &str, task: &OperationTask) -> String {
        format!("{what}-{}-{}", task.place, self.found.operation.metadata.uid.as_deref().unwrap_or_default())
    }

    async fn kept(&mut self, key: &str) -> Result<Option<Vec<u8>>, End> {
        let (api, name) = self.inputs();
        let secret = self.answered(|| async { api.get_opt(&name).await }).await?;
        Ok(secret.and_then(|secret| secret.data?.remove(key)).map(|bytes| bytes.0))
    }

    /// The Secret with the operation's inputs.
    pub(super) fn inputs(&self) -> (Api<Secret>, String) {
        (Api::namespaced(self.at.shared.client.clone(), &self.home), self.name_of("inputs"))
    }

    /// The boot ids that hosts had when this task was begun; none if it was not.
    pub(super) async fn boots(&mut self, task: &OperationTask) -> Result<Boots, End> {
        let key = self.key_of(BOOTS, task);
        let Some(bytes) = self.kept(&key).await? else { return Ok(Boots::new()) };
        serde_json::from_slice(&bytes).map_err(|error| {
            let name = self.name_of("inputs");
            let failure = Failure::new(Kind::Input, format!("{key} of the Secret {}/{name} can't be read", self.home));
            let failure =
                failure.because(error.to_string()).hint("make another operation, for those hosts that are still to be started anew");
            End::failed("InputRefused", failure)
        })
    }

    /// By what this task knows its recovery. Of the operation's name and uid: an operation of the same name that is made later is another one.
    pub(super) async fn recovery(&mut self, task: &OperationTask) -> Result<RecoveryNames, End> {
        let name: String = self.at.operation.chars().take(MOST_NAME).collect();
        let uid = self.found.operation.metadata.uid.as_deref().unwrap_or_default();
        let own = format!("{name}-{}-{}", task.place, uid.split('-').next().unwrap_or_default());
        let key = self.key_of(RECOVERY, task);
        let begun = self.kept(&key).await?.and_then(|bytes| String::from_utf8(bytes).ok());
        Ok(RecoveryNames { own, begun, ..RecoveryNames::default() })
    }

    async fn keep(&mut self, task: &OperationTask, kept: Kept) -> Result<(), End> {
        let (api, name) = self.inputs();
        let data = kept.into_iter().map(|(what, bytes)| (self.key_of(what, task), ByteString(bytes))).collect();
        let patch = Patch::Merge(Secret { data: Some(data), ..Secret::default() });
        self.answered(|| async { api.patch(&name, &PatchParams::apply(MANAGER), &patch).await }).await.map(drop)
    }

    /// Returns how a run ended, and keeps what it wants kept until then.
    pub(super) async fn ended(
        &mut self,
        task: &OperationTask,
        mut done: oneshot::Receiver<Result<(), Error>>,
        mut noted: mpsc::UnboundedReceiver<Note>,
    ) -> Option<Result<(), Error>> {
        let (mut status, mut is_told) = (self.writer.sender().subscribe(), false);
        loop {
            tokio::select! {
                ended = &mut done => return ended.ok(),
                Some((kept, answer)) = noted.recv() => {
                    let kept = self.keep(task, kept).await;
                    let _ = answer.send(kept.map_err(|end| if let End::Failed(_, failure) = end { *failure } else { ended() }));
                }
                // Who has begun a step has the hosts.
                true = async { status.wait_for(|status| status.phase == Phase::Running).await.is_ok() }, if self.is_held && !is_told => {
                    is_told = true;
                    self.held_by(None).await;
                }
            }
        }
    }
}
