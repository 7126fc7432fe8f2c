//! The life of an operation whose cluster's Lease this replica has: inputs, host keys, runs, outputs, and its end.

mod approved;
mod begin;
mod begun;
mod end;
mod kept;
mod prepared;
mod run;
mod standing;
mod trusted;
mod wait;
mod wording;

use std::sync::Arc;
use std::time::Duration;

use kok_crds::operation::Verb;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::approval::Mode;
use super::attend::{Attendant, Attended, Objects, Wish};
use super::carry_out::is_part;
use super::inputs::{OperationTask, Snapshot};
use super::lease::ClusterLease;
use super::made::Why;
use super::outputs::Teller;
use super::status::Phase;
use super::writer::StatusWriter;
use crate::failure::{Failure, Kind};
use end::keeps_kubeconfig;
pub(super) use run::STACK;
use standing::Changed;

/// How long something may be missing that an operation names.
const MISSING: Duration = Duration::from_secs(600);

/// Why an operation comes to an end before its end.
pub(super) enum End {
    /// It has failed, for this reason.
    Failed(&'static str, Box<Failure>),
    /// It was wished.
    Stopped,
    /// What it is done by has changed before anything was done: it is read anew.
    Anew,
}

impl End {
    fn failed(reason: &'static str, failure: Failure) -> Self {
        Self::Failed(reason, Box::new(failure))
    }
}

/// One operation under way.
pub(super) struct OperationLife {
    at: Attendant,
    found: Objects,
    home: String,
    lease: ClusterLease,
    writer: StatusWriter,
    teller: Teller,
    wish: watch::Receiver<Wish>,
    /// What it has done so far about what the cluster is.
    changed: Option<Changed>,
    /// Whether the kubeconfig of the cluster was kept.
    has_kubeconfig: bool,
    /// When the first of its certificates ends, if somebody has looked since something was changed.
    certificates_end: Option<String>,
    /// Whether nothing was begun, so that what it is done by may still be changed.
    is_open: bool,
    /// Whether the Cluster's status says that another run holds the hosts.
    is_held: bool,
    /// The right to be one of the runs under way. Who waits for something else lets others have it.
    permit: Option<OwnedSemaphorePermit>,
}

impl OperationLife {
    /// To its end.
    pub(super) async fn live(mut self) -> Attended {
        let end = loop {
            match self.all().await {
                Err(End::Anew) => {}
                end => break end,
            }
        };
        self.end(end).await
    }

    async fn all(&mut self) -> Result<(), End> {
        self.is_no_crash_loop()?;
        if !self.at.shared.namespaces.contains(&self.home) {
            let failure = Failure::new(Kind::Input, format!("the operator does not read the namespace {}", self.home));
            let failure = failure.because(format!("it reads {}", self.at.shared.namespaces.join(", ")));
            return Err(End::failed("NamespaceNotAllowed", failure.hint("start `kokctl operator` with --namespaces")));
        }
        let (snapshot, tasks) = self.prepared().await?;
        self.says_when_backups_are_made(&tasks).await;
        self.take_permit().await?;
        self.carry_out_all(&tasks, &snapshot).await
    }

    /// Everything in its order, and after the last one that changes something what others want of the cluster: hooks may come after it.
    async fn carry_out_all(&mut self, tasks: &[Arc<OperationTask>], snapshot: &Snapshot) -> Result<(), End> {
        let mode = Mode::from_operation(&self.found.operation.data);
        let is_dry = mode == Mode::DryRun;
        let verbs: Vec<Verb> = tasks.iter().map(|task| task.verb).collect();
        let done = self.writer.now().invocations_done;
        for (place, task) in tasks.iter().enumerate() {
            let changes = !is_dry && task.verb.changes_cluster();
            let is_done = task.place < done || !mode.concerns(task.is_main);
            let (before, begun) = (self.changed, Changed { verb: task.verb, is_part: is_part(task), is_done: false });
            if changes {
                self.changed = Some(if is_done { begun.done(before) } else { begun });
            }
            if is_done {
                continue;
            }
            let carried = self.carry_out(task, snapshot).await;
            if matches!(carried, Err(End::Stopped)) && !self.has_touched_hosts() {
                // It waited for another run, or had only looked: the cluster is as it was.
                self.changed = before;
            }
            carried?;
            if changes {
                self.changed = Some(begun.done(before));
            }
            if !is_dry && keeps_kubeconfig(&verbs, place) {
                self.outputs(task).await?;
                self.say(|patch| self.of_standing(patch, "Succeeded", String::new())).await;
            }
            self.is_done(task, place + 1 < tasks.len()).await;
        }
        Ok(())
    }

    /// Whether a step was begun, by this attempt or perhaps by one before it.
    fn has_touched_hosts(&self) -> bool {
        let status = self.writer.now();
        status.progress.has_begun || status.attempt > 1
    }

    /// Why the operator has made the operation, if it has.
    fn made_because(&self) -> Option<Why> {
        Why::from_operation(&self.found.operation)
    }

    /// The Cluster names variables, which nobody reads but for an operation: by this its schedule is followed in between.
    async fn says_when_backups_are_made(&self, tasks: &[Arc<OperationTask>]) {
        let Some(task) = tasks.first() else { return };
        let schedule = task.cluster.settings.backup.schedule.as_ref().map_or(Value::Null, |schedule| schedule.to_string().into());
        if self.found.cluster.data.pointer("/status/backupSchedule").unwrap_or(&Value::Null) != &schedule {
            self.say(|patch| patch.field("backupSchedule", schedule)).await;
        }
    }

    /// Whether it takes down what is being deleted.
    fn is_of_deletion(&self) -> bool {
        self.made_because() == Some(Why::Deletion)
    }

    /// Notes that a task is done, for whoever goes on with the operation. Before another task is begun the note has to be there.
    async fn is_done(&mut self, task: &OperationTask, is_followed: bool) {
        let done = task.place + 1;
        self.writer.change(|status| (status.invocations_done, status.fruitless) = (done, 0));
        if is_followed {
            tokio::select! {
                () = self.writer.written(|status| status.invocations_done >= done) => {}
                _ = self.wish.wait_for(|wish| *wish != Wish::None) => {}
            }
        }
    }
}

/// The first of several, which says how many more there are.
pub(super) fn first(failures: Vec<Failure>) -> Failure {
    let more = failures.len().saturating_sub(1);
    let mut all = failures.into_iter();
    let first = all.next().unwrap_or_else(|| Failure::new(Kind::Internal, "nothing is said of what failed"));
    if more == 0 {
        return first;
    }
    let others: Vec<String> = all.take(3).map(|failure| failure.one_line()).collect();
    let because = first.because.clone().unwrap_or_default();
    first.because(format!("{because}; and {more} more: {}", others.join("; ")))
}
