//! A look at hosts that may differ from their description: the plan of what would be changed, which is not carried out. Who looks has the Lease of the
//! cluster; and as soon as anything else wants it, it lets go.

use std::sync::Arc;
use std::thread;

use kok_tasks::change::ChangeKind;
use kok_tasks::plan::{Plan, Selection};
use kok_tasks::support::redacted;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use super::attend::{OwnedTask as Keeper, read};
use super::cluster_status::{self, StatusPatch};
use super::group::ClusterKey;
use super::inputs::{self, OperationTask, Sources, Unready, gather, key, named_files};
use super::lease::{Claimed, ClusterLease, Observation};
use super::life::{STACK, first};
use super::object::{self, fitted};
use super::outputs::{ObjectEvent, Teller, owner};
use super::shared::Shared;
use super::status::ANSWER;
use super::trust::ClusterKnownHosts;
use crate::clock::Clock;
use crate::engine::{self, Context, Given, PlanRequest};
use crate::event::Events;
use crate::failure::{Failure, Kind};

/// Condition of a Cluster: its hosts differ from their description.
pub(super) const DRIFTED: &str = "Drifted";
/// Steps that a status names.
const MOST_STEPS: usize = 20;
/// Bytes of the name of one.
const MOST_NAME: usize = 160;
/// Steps that a condition and an Event name.
const MOST_TOLD: usize = 5;

/// A look at the hosts of one cluster.
pub(super) struct Check {
    pub(super) shared: Arc<Shared>,
    pub(super) key: ClusterKey,
    /// Says `true` when something else wants the cluster.
    pub(super) called_off: watch::Receiver<bool>,
}

/// What became of it.
#[derive(Debug)]
pub(super) enum Checked {
    /// The status says what was found.
    Done,
    /// Something else wants the cluster.
    CalledOff,
    /// As many looks are under way as may be.
    Busy,
    /// Another replica has the Lease.
    Elsewhere(Observation),
    /// The API did not answer.
    Unanswered,
}

/// What was found: the steps that would change something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundDrift {
    changes: usize,
    steps: Vec<String>,
}

impl Check {
    /// Looks, and says what it has found. `before` is what the attempt before this one saw of the Lease.
    pub(super) async fn run(mut self, before: Option<Observation>) -> Checked {
        let Ok(_permit) = Arc::clone(&self.shared.looks).try_acquire_owned() else { return Checked::Busy };
        let Ok(found) = read(&self.shared.clusters(self.key.group), &self.key.name).await else { return Checked::Unanswered };
        let Some(cluster) = found else { return Checked::Done };
        let (client, identity) = (self.shared.client.clone(), self.shared.identity.as_str());
        let lease = ClusterLease::new(client, &self.shared.own, &self.key, identity, owner(&cluster, false));
        match timeout(ANSWER, lease.claim(before.as_ref())).await {
            Ok(Ok(Claimed::Ours)) => {}
            Ok(Ok(Claimed::Elsewhere(observation))) => return Checked::Elsewhere(observation),
            Ok(Err(_)) | Err(_) => return Checked::Unanswered,
        }
        let checked = self.with_lease(&cluster, &lease).await;
        let _ = timeout(ANSWER, lease.release()).await;
        checked
    }

    async fn with_lease(&mut self, cluster: &DynamicObject, lease: &ClusterLease) -> Checked {
        let (kept, ages) = (lease.clone(), Arc::clone(&self.shared.metrics.leases));
        let (lost, mut is_lost) = watch::channel(false);
        let _keeper = Keeper(tokio::spawn(async move {
            kept.keep(&ages).await;
            lost.send_replace(true);
        }));
        let mut called_off = self.called_off.clone();
        let found = tokio::select! {
            found = self.look(cluster) => found,
            _ = called_off.wait_for(|is| *is) => return Checked::CalledOff,
            _ = is_lost.wait_for(|is| *is) => return Checked::CalledOff,
        };
        if !matches!(timeout(ANSWER, lease.is_ours()).await, Ok(Ok(true))) {
            return Checked::Unanswered;
        }
        self.tell(cluster, found).await
    }

    async fn look(&self, cluster: &DynamicObject) -> Result<FoundDrift, Failure> {
        let task = self.task(cluster).await?;
        let shared = &self.shared;
        let missing = || {
            Failure::new(Kind::Input, "the operator has no bundle")
                .because("what is to be on the hosts is known from a bundle")
                .hint("start `kokctl operator` with --bundle FOLDER")
        };
        let bundle = shared.settings.bundle.clone().ok_or_else(missing)?;
        let context = Context::new(shared.controller(cluster), Events::new(Vec::new()), shared.transport());
        let engine = shared.engine.clone();
        let (mut sender, done) = oneshot::channel();
        let work = move || {
            engine.block_on(async {
                let planned = tokio::select! {
                    planned = plan(&context, &task, &bundle) => planned,
                    // Nobody waits for it any more.
                    () = sender.closed() => return,
                };
                let _ = sender.send(planned);
            });
        };
        let defect = |because: String| Failure::new(Kind::Internal, "the look at the hosts has no end").because(because);
        let thread = thread::Builder::new().name("drift".to_owned()).stack_size(STACK).spawn(work);
        thread.map_err(|error| defect(error.to_string()))?;
        done.await.map_err(|error| defect(error.to_string()))?.map_err(first)
    }

    /// What an operation would do that makes the cluster as it is described.
    async fn task(&self, cluster: &DynamicObject) -> Result<OperationTask, Failure> {
        let (shared, home) = (&self.shared, self.shared.home(cluster));
        let client = &shared.client;
        if !shared.namespaces.contains(&home) {
            let failure = Failure::new(Kind::Input, format!("the operator does not read the namespace {home}"));
            return Err(failure.hint("start `kokctl operator` with --namespaces"));
        }
        let operation = operation(cluster, &self.key);
        let files = answered(named_files(client, cluster, &home)).await?;
        let snapshot = answered(gather(client, cluster, &operation, &home)).await?;
        let spec = operation.data.get("spec").cloned().unwrap_or_default();
        let document = inputs::document(&self.key.group.api_version(), "ClusterOperation", "drift", &spec);
        let key = answered(key(client, &snapshot, &document, &home)).await?;
        let folder = shared.state(self.key.group).path().join("hosts");
        let known = ClusterKnownHosts::from_cluster(client.clone(), cluster, &self.key, &home, &folder)?;
        let unread = |because: String| Failure::new(Kind::Internal, "the known host keys can't be read").because(because);
        let fetched = timeout(ANSWER, known.fetch()).await;
        fetched.map_err(|_| unread(slow())).and_then(|fetched| fetched.map_err(unread))?;
        let sources = Sources { snapshot: &snapshot, operation: &document, key: key.as_ref(), files: &files, known_hosts: &known.path };
        let tasks = inputs::tasks(sources).map_err(first)?;
        tasks.into_iter().next().ok_or_else(|| Failure::new(Kind::Internal, "nothing was read of the cluster"))
    }

    async fn tell(&self, cluster: &DynamicObject, found: Result<FoundDrift, Failure>) -> Checked {
        let patch = match &found {
            Ok(found) => found.to_status(&Clock::rfc3339()),
            Err(failure) => unknown(failure, &Clock::rfc3339()),
        };
        let (clusters, operations) = (self.shared.clusters(self.key.group), self.shared.operations(self.key.group));
        let written = timeout(ANSWER, cluster_status::write((&clusters, &operations), cluster, None, patch)).await;
        if !matches!(written, Ok(Ok(()))) {
            tracing::warn!(cluster = %self.key, "what was found on the hosts can't be written");
            return Checked::Unanswered;
        }
        match found {
            Ok(found) if found.is_news(&cluster.data) => {
                Teller::new(self.shared.recorder.clone(), cluster).tell(ObjectEvent::warning("DriftFound", found.message()));
            }
            Ok(_) => {}
            Err(failure) => tracing::warn!(cluster = %self.key, because = failure.one_line(), "it is not known whether hosts differ"),
        }
        Checked::Done
    }
}

/// The operation that would be made.
fn operation(cluster: &DynamicObject, key: &ClusterKey) -> DynamicObject {
    let spec = json!({"cluster": key.name, "actionType": "playbook", "action": "cluster.yml"});
    DynamicObject { types: cluster.types.clone(), metadata: Default::default(), data: json!({"spec": spec}) }
}

/// What the API says, without a second try: the next look is one.
async fn answered<T>(asked: impl Future<Output = Result<T, Unready>>) -> Result<T, Failure> {
    let unread = |because: String| Failure::new(Kind::Internal, "what the Cluster names can't be read").because(because);
    match timeout(ANSWER, asked).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(Unready::Wrong(failure))) => Err(failure),
        Ok(Err(Unready::Missing(what))) => Err(Failure::new(Kind::Input, format!("{what} is not there")).hint("make it")),
        Ok(Err(Unready::Api(error))) => Err(unread(error.to_string())),
        Ok(Err(Unready::Unanswered)) | Err(_) => Err(unread(slow())),
    }
}

fn slow() -> String {
    format!("the API server has not answered within {} s", ANSWER.as_secs())
}

async fn plan(context: &Context, task: &OperationTask, bundle: &crate::artifacts::BundleFolder) -> Result<FoundDrift, Vec<Failure>> {
    let given = Given::new(false)?;
    let request = PlanRequest { cluster: &task.cluster, selection: &Selection::whole(), bundle, given: &given };
    Ok(FoundDrift::from_plan(&engine::plan(context, request).await?.plan))
}

impl FoundDrift {
    fn from_plan(plan: &Plan) -> Self {
        let changes = plan.changes().filter(|(_, change)| change.kind != ChangeKind::LookAgain);
        Self::named(changes.map(|(step, _)| step.id.to_string()))
    }

    /// Names are what the user has named things, and more people read a status than what those are made by.
    fn named(names: impl Iterator<Item = String>) -> Self {
        let all: Vec<String> = names.collect();
        let steps = all.iter().take(MOST_STEPS).map(|name| fitted(&redacted(name), MOST_NAME)).collect();
        Self { changes: all.len(), steps }
    }

    /// Whether there is something that the Cluster's status does not say yet.
    fn is_news(&self, cluster: &Value) -> bool {
        let condition = object::condition(cluster, "clusterConditions", DRIFTED);
        self.changes > 0 && condition.is_none_or(|condition| condition.get("status").is_none_or(|status| status != "True"))
    }

    fn message(&self) -> String {
        let named = self.steps.iter().take(MOST_TOLD).cloned().collect::<Vec<_>>().join(", ");
        let more = self.changes.saturating_sub(MOST_TOLD);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("{}: {named}{more}", kok_crds::count(self.changes, "change"))
    }

    fn to_status(&self, now: &str) -> StatusPatch {
        let patch = StatusPatch::default().field("drift", json!({"checkedAt": now, "changes": self.changes, "steps": self.steps}));
        match self.changes {
            0 => patch.condition(DRIFTED, false, "AsDescribed", ""),
            _ => patch.condition(DRIFTED, true, "HostsDiffer", self.message()),
        }
    }
}

/// What is said of hosts that a run has just made as they are to be.
pub(super) fn none(patch: StatusPatch) -> StatusPatch {
    let drift = json!({"checkedAt": Clock::rfc3339(), "changes": 0, "steps": []});
    patch.condition(DRIFTED, false, "Applied", "").field("drift", drift)
}

fn unknown(failure: &Failure, now: &str) -> StatusPatch {
    let drift = json!({"checkedAt": now, "changes": Value::Null, "steps": Value::Null});
    StatusPatch::default().unknown(DRIFTED, "CheckFailed", failure.one_line()).field("drift", drift)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use super::super::fake::{CLUSTER, Fake, LEASE, attendant};
    use super::*;

    fn check(fake: &Fake, client: kube::Client) -> (Check, watch::Sender<bool>) {
        let attendant = attendant(fake, client, 1);
        let (call_off, called_off) = watch::channel(false);
        (Check { shared: attendant.shared, key: attendant.key, called_off }, call_off)
    }

    fn found(count: usize) -> FoundDrift {
        FoundDrift::named((0..count).map(|number| format!("w1/containerd/step-{number}")))
    }

    async fn status_after(check: &Check, fake: &Fake, found: Result<FoundDrift, Failure>) -> Value {
        let cluster = serde_json::from_value(fake.get(CLUSTER).unwrap()).unwrap();
        assert!(matches!(check.tell(&cluster, found).await, Checked::Done));
        fake.get(CLUSTER).unwrap()["status"].clone()
    }

    fn drifted(status: &Value) -> (Value, Value) {
        let condition = status["clusterConditions"].as_array().unwrap().iter().find(|it| it["type"] == DRIFTED).unwrap();
        (condition["status"].clone(), condition["reason"].clone())
    }

    #[tokio::test]
    async fn a_status_tells_what_differs_and_that_it_could_not_be_found_out() {
        let (fake, client) = Fake::start().await;
        let (check, _call_off) = check(&fake, client);
        let status = status_after(&check, &fake, Ok(found(30))).await;
        assert_eq!(drifted(&status), (json!("True"), json!("HostsDiffer")));
        assert_eq!((&status["drift"]["changes"], status["drift"]["steps"].as_array().unwrap().len()), (&json!(30), MOST_STEPS));
        assert!(status["drift"]["checkedAt"].is_string() && status.get("conditions").is_none(), "{status}");
        let status = status_after(&check, &fake, Err(Failure::new(Kind::Host, "no host answers"))).await;
        assert_eq!(drifted(&status), (json!("Unknown"), json!("CheckFailed")));
        assert!(status["drift"].get("changes").is_none() && status["drift"].get("steps").is_none(), "{status}");
        let status = status_after(&check, &fake, Ok(found(0))).await;
        assert_eq!((drifted(&status), &status["drift"]["changes"]), ((json!("False"), json!("AsDescribed")), &json!(0)));
    }

    #[tokio::test]
    async fn people_are_told_once_of_what_differs() {
        let (fake, client) = Fake::start().await;
        let (check, _call_off) = check(&fake, client);
        let is_news = |fake: &Fake, count| found(count).is_news(&fake.get(CLUSTER).unwrap());
        assert_eq!((is_news(&fake, 2), is_news(&fake, 0)), (true, false));
        status_after(&check, &fake, Ok(found(2))).await;
        assert!(!is_news(&fake, 3));
        status_after(&check, &fake, Ok(found(0))).await;
        assert!(is_news(&fake, 1));
        while !fake.asked().iter().any(|asked| asked.starts_with("POST") && asked.ends_with("/events")) {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn names_of_steps_are_short_and_tell_no_secret() {
        let found = FoundDrift::named(["w1/host-resources/token=hush-hush-hush".to_owned(), "é".repeat(500)].into_iter());
        assert!(!found.message().contains("hush"), "{found:?}");
        assert!(found.steps.iter().all(|step| step.len() <= MOST_NAME));
    }

    /// What cannot be read is said, and the Lease is free for whoever wants it.
    #[tokio::test]
    async fn a_look_that_fails_lets_go_of_the_lease() {
        let (fake, client) = Fake::start().await;
        let (check, _call_off) = check(&fake, client);
        assert!(matches!(check.run(None).await, Checked::Done));
        assert_eq!(drifted(&fake.get(CLUSTER).unwrap()["status"]), (json!("Unknown"), json!("CheckFailed")));
        assert!(fake.get(LEASE).unwrap()["spec"].get("holderIdentity").is_none());
    }

    /// Otherwise it would delay what somebody wants.
    #[tokio::test]
    async fn a_look_that_is_called_off_says_nothing_and_lets_go_of_the_lease() {
        let (fake, client) = Fake::start().await;
        let (check, call_off) = check(&fake, client);
        call_off.send_replace(true);
        assert!(matches!(check.run(None).await, Checked::CalledOff | Checked::Done));
        assert!(fake.get(LEASE).unwrap()["spec"].get("holderIdentity").is_none());
    }

    #[tokio::test]
    async fn what_another_replica_works_on_is_not_looked_at_nor_more_at_once_than_may_be() {
        let (fake, client) = Fake::start().await;
        let (check, _call_off) = check(&fake, client.clone());
        fake.put(LEASE, json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"holderIdentity": "b"}}));
        let shared = Arc::clone(&check.shared);
        assert!(matches!(check.run(None).await, Checked::Elsewhere(_)));
        assert!(fake.get(CLUSTER).unwrap().get("status").is_none());
        let _all = shared.looks.try_acquire().unwrap();
        let (_call_off, called_off) = watch::channel(false);
        let key = ClusterKey { group: super::super::group::Group::KubeOnKube, name: "c".to_owned() };
        assert!(matches!(Check { shared: Arc::clone(&shared), key, called_off }.run(None).await, Checked::Busy));
    }
}
