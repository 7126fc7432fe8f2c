//! Hosts that an operation starts anew are started once: the boot ids that they had are kept before the first one is touched, beside the operation's
//! inputs, so that whoever goes on sees by them who was.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{Patch, PatchParams};
use tokio::sync::{mpsc, oneshot};

use super::super::approval::Gate;
use super::super::inputs::Task;
use super::super::object::MANAGER;
use super::{End, Failure, Kind, Life, Phase};
use crate::engine::Error;

/// The boot ids of hosts, by their names.
pub(super) type Boots = BTreeMap<String, String>;

/// What a run has kept for it before it begins, and where it hears that it is.
type Note = (Boots, std::sync::mpsc::Sender<Result<(), Failure>>);

/// How the thread of a run has something kept.
pub(super) struct Keeper {
    gate: Arc<Gate>,
    notes: mpsc::UnboundedSender<Note>,
    is_kept: bool,
}

impl Keeper {
    /// For a run whose plans this gate sees. Nothing is kept where it was before.
    pub(super) fn new(gate: Arc<Gate>, before: &Boots) -> (Self, mpsc::UnboundedReceiver<Note>) {
        let (notes, noted) = mpsc::unbounded_channel();
        (Self { gate, notes, is_kept: !before.is_empty() }, noted)
    }

    /// Returns when what has to be known of the hosts afterwards is kept. It is the run's own thread that waits.
    ///
    /// # Errors
    /// [`Failure`] if it can't be kept.
    pub(super) fn begins(&self) -> Result<(), Failure> {
        let boots = self.gate.boots();
        if self.is_kept || boots.is_empty() {
            return Ok(());
        }
        let (answer, kept) = std::sync::mpsc::channel();
        let _ = self.notes.send((boots, answer));
        kept.recv().unwrap_or_else(|_| Err(ended()))
    }
}

fn ended() -> Failure {
    let failure = Failure::new(Kind::Incomplete, "the run ended before it began");
    failure.because("what the hosts are known by could not be kept until then").hint("make another operation")
}

impl Life {
    fn boots_key(&self, task: &Task) -> String {
        format!("boots-{}-{}", task.place, self.found.operation.metadata.uid.as_deref().unwrap_or_default())
    }

    /// The Secret with the operation's inputs.
    pub(super) fn inputs(&self) -> (Api<Secret>, String) {
        (Api::namespaced(self.at.shared.client.clone(), &self.home), self.name_of("inputs"))
    }

    /// The boot ids that hosts had when this task was begun; none if it was not.
    pub(super) async fn boots(&mut self, task: &Task) -> Result<Boots, End> {
        let ((api, name), key) = (self.inputs(), self.boots_key(task));
        let secret = self.answered(|| async { api.get_opt(&name).await }).await?;
        let Some(ByteString(bytes)) = secret.and_then(|secret| secret.data?.remove(&key)) else { return Ok(Boots::new()) };
        serde_json::from_slice(&bytes).map_err(|error| {
            let failure = Failure::new(Kind::Input, format!("{key} of the Secret {}/{name} can't be read", self.home));
            let failure =
                failure.because(error.to_string()).hint("make another operation, for those hosts that are still to be started anew");
            End::failed("InputRefused", failure)
        })
    }

    async fn keep(&mut self, task: &Task, boots: &Boots) -> Result<(), End> {
        let ((api, name), key) = (self.inputs(), self.boots_key(task));
        let text = serde_json::to_vec(boots).unwrap_or_default();
        let patch = Patch::Merge(Secret { data: Some([(key, ByteString(text))].into()), ..Secret::default() });
        self.answered(|| async { api.patch(&name, &PatchParams::apply(MANAGER), &patch).await }).await.map(drop)
    }

    /// Returns how a run ended, and keeps what it wants kept until then.
    pub(super) async fn ended(
        &mut self,
        task: &Task,
        mut done: oneshot::Receiver<Result<(), Error>>,
        mut noted: mpsc::UnboundedReceiver<Note>,
    ) -> Option<Result<(), Error>> {
        let (mut status, mut is_told) = (self.writer.sender().subscribe(), false);
        loop {
            tokio::select! {
                ended = &mut done => return ended.ok(),
                Some((boots, answer)) = noted.recv() => {
                    let kept = self.keep(task, &boots).await;
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
