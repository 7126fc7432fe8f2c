//! Writes the status of an operation. Every write is about the object and the version of it that this replica has seen last, so that neither what
//! another replica has written meanwhile nor another object of the same name is written over.

use std::sync::Arc;
use std::time::Duration;

use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::object::{self, MANAGER};
use super::status::{ANSWER, OperationStatus};
use crate::clock::Clock;

/// A status is written no more often.
const PAUSE: Duration = Duration::from_secs(1);

/// Writes the status of an operation whenever it changes, once a second at the most, and the last one always.
pub(super) struct StatusWriter {
    sender: Arc<watch::Sender<OperationStatus>>,
    written: watch::Receiver<Option<OperationStatus>>,
    task: JoinHandle<()>,
    end: watch::Sender<bool>,
}

impl StatusWriter {
    /// Writes to this operation, of which `before` was the object when the run began. Calls `lost` when another replica writes to it; then, and when
    /// the operation is gone, nothing is written any more.
    pub(super) fn start(
        api: Api<DynamicObject>,
        before: &DynamicObject,
        status: OperationStatus,
        lost: impl FnOnce() + Send + 'static,
    ) -> Self {
        let (taken, written) = watch::channel(None);
        let (end, ending) = watch::channel(false);
        let writing = Writing { api, ours: status.replica.clone(), before: before.clone(), taken };
        let (sender, mut receiver) = watch::channel(status);
        receiver.mark_changed();
        let task = tokio::spawn(async move {
            if writing.write(receiver, ending).await == Last::Lost {
                lost();
            }
        });
        Self { sender: Arc::new(sender), written, task, end }
    }

    /// Changes what is written.
    pub(super) fn change(&self, change: impl FnOnce(&mut OperationStatus)) {
        self.sender.send_modify(change);
    }

    /// What is written last.
    pub(super) fn now(&self) -> OperationStatus {
        self.sender.borrow().clone()
    }

    /// For a consumer of events.
    pub(super) fn sender(&self) -> Arc<watch::Sender<OperationStatus>> {
        Arc::clone(&self.sender)
    }

    /// Returns when the API server has taken a status of which this is true, or nothing is written any more.
    pub(super) async fn written(&self, is: impl Fn(&OperationStatus) -> bool) {
        let mut written = self.written.clone();
        let _ = written.wait_for(|status| status.as_ref().is_some_and(&is)).await;
    }

    /// Returns when the last state is written, or nobody may write it any more.
    pub(super) async fn finish(self) {
        let _ = self.end.send(true);
        let _ = self.task.await;
    }

    /// Writes no more: another replica does.
    pub(super) fn abandon(self) {
        self.task.abort();
    }
}

/// Why nothing is written any more.
#[derive(Debug, PartialEq, Eq)]
enum Last {
    /// What was last is written.
    Written,
    /// The operation is gone.
    Gone,
    /// Another replica writes.
    Lost,
}

/// What came of a write.
#[derive(Debug, PartialEq, Eq)]
enum Put {
    Taken,
    /// To be tried again.
    Again,
    /// The API server refuses it, and would again.
    Refused,
    Never(Last),
}

struct Writing {
    api: Api<DynamicObject>,
    /// What this replica is called in what it writes.
    ours: String,
    /// The operation as it was seen last.
    before: DynamicObject,
    taken: watch::Sender<Option<OperationStatus>>,
}

impl Writing {
    async fn write(mut self, mut receiver: watch::Receiver<OperationStatus>, mut ending: watch::Receiver<bool>) -> Last {
        loop {
            tokio::select! {
                changed = receiver.changed() => if changed.is_err() { return Last::Written },
                _ = ending.wait_for(|ended| *ended) => if !receiver.has_changed().unwrap_or_default() { return Last::Written },
            }
            let status = receiver.borrow_and_update().clone();
            match self.put(&status).await {
                Put::Taken => drop(self.taken.send_replace(Some(status))),
                Put::Again => receiver.mark_changed(),
                Put::Refused => {}
                Put::Never(last) => return last,
            }
            // Not a wait for something to happen: so often it may be written.
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn put(&mut self, status: &OperationStatus) -> Put {
        let mut patch = status.patch(&self.before.data, &Clock::rfc3339());
        if let Some(patch) = patch.as_object_mut() {
            patch.insert("metadata".to_owned(), object::only_this(&self.before.metadata));
        }
        let (params, patch) = (PatchParams::apply(MANAGER), Patch::Merge(patch));
        let name = self.before.metadata.name.clone().unwrap_or_default();
        match timeout(ANSWER, self.api.patch_status(&name, &params, &patch)).await {
            Ok(Ok(object)) => {
                self.before = object;
                Put::Taken
            }
            // It was deleted: nobody reads it any more.
            Ok(Err(kube::Error::Api(status))) if status.is_not_found() => Put::Never(Last::Gone),
            Ok(Err(kube::Error::Api(status))) if status.is_conflict() => self.look(&name, status_of(&self.before)).await,
            Ok(Err(kube::Error::Api(status))) if status.is_invalid() => {
                tracing::error!(operation = name, because = status.message, "the API server refuses the status");
                Put::Refused
            }
            Ok(Err(error)) => {
                tracing::warn!(operation = name, %error, "the status can't be written");
                Put::Again
            }
            Err(_) => Put::Again,
        }
    }

    /// Who has changed it. To whom it was last seen to belong may have been the replica before this one.
    async fn look(&mut self, name: &str, (replica, was_over): (Option<String>, bool)) -> Put {
        let Ok(Ok(found)) = timeout(ANSWER, self.api.get_opt(name)).await else { return Put::Again };
        let Some(found) = found.filter(|found| found.metadata.uid == self.before.metadata.uid) else { return Put::Never(Last::Gone) };
        let (now, is_over) = status_of(&found);
        if now.as_ref() != Some(&self.ours) && (now != replica || is_over != was_over) {
            return Put::Never(Last::Lost);
        }
        self.before = found;
        Put::Again
    }
}

/// Which replica has written it, and whether it says that the operation is over.
fn status_of(operation: &DynamicObject) -> (Option<String>, bool) {
    let replica = object::text(&operation.data, "/status/replica").map(str::to_owned);
    (replica, object::is_over(&operation.data))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use serde_json::{Value, json};

    use super::super::fake::{Fake, OPERATION as PATH};
    use super::super::group::Group;
    use super::super::status::Phase;
    use super::*;

    fn operation(status: Value) -> Value {
        json!({"apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": "ClusterOperation", "spec": {"cluster": "c"}, "status": status})
    }

    /// A writer of the replica `a` that has written once, and what it says when another replica has the operation.
    async fn writer() -> (Arc<Fake>, StatusWriter, watch::Receiver<bool>) {
        let (fake, client) = Fake::start().await;
        let before: DynamicObject = serde_json::from_value(fake.put(PATH, operation(json!({})))).unwrap();
        let (lost, told) = watch::channel(false);
        let status = OperationStatus { replica: "a".to_owned(), phase: Phase::Running, ..OperationStatus::default() };
        let api = Api::all_with(client, &Group::KubeOnKube.operations());
        let writer = StatusWriter::start(api, &before, status, move || {
            lost.send_replace(true);
        });
        writer.written(|_| true).await;
        (fake, writer, told)
    }

    fn end(writer: &StatusWriter) {
        writer.change(|status| status.phase = Phase::Succeeded);
    }

    #[tokio::test]
    async fn what_others_add_is_kept_and_does_not_keep_it_from_writing() {
        let (fake, writer, lost) = writer().await;
        let mut object = fake.get(PATH).unwrap();
        object["metadata"]["annotations"] = json!({"kokctl.io/approved-plan": "x"});
        fake.put(PATH, object);
        end(&writer);
        writer.finish().await;
        let object = fake.get(PATH).unwrap();
        assert_eq!(
            (&object["status"]["phase"], &object["metadata"]["annotations"]["kokctl.io/approved-plan"]),
            (&json!("Succeeded"), &json!("x"))
        );
        assert!(!*lost.borrow());
    }

    #[tokio::test]
    async fn what_another_replica_has_written_is_not_written_over() {
        let (fake, writer, lost) = writer().await;
        let mut object = fake.get(PATH).unwrap();
        object["status"]["replica"] = json!("b");
        object["status"]["phase"] = json!("Resuming");
        fake.put(PATH, object);
        end(&writer);
        writer.finish().await;
        assert_eq!(fake.get(PATH).unwrap()["status"]["phase"], "Resuming");
        assert!(*lost.borrow());
    }

    #[tokio::test]
    async fn another_operation_of_the_same_name_is_not_written_to() {
        let (fake, writer, lost) = writer().await;
        fake.remove(PATH);
        let other = fake.put(PATH, operation(json!({})));
        end(&writer);
        writer.finish().await;
        assert_eq!(fake.get(PATH).unwrap(), other);
        assert!(!*lost.borrow(), "nobody else has the Lease");
    }

    #[tokio::test]
    async fn what_the_api_server_does_not_take_is_written_when_it_does() {
        let (fake, writer, _) = writer().await;
        fake.fail(2);
        end(&writer);
        writer.finish().await;
        assert_eq!(fake.get(PATH).unwrap()["status"]["phase"], "Succeeded");
    }
}
