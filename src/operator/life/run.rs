//! The runs of an operation: each has a thread of its own, for what decides must never wait for what plans.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use kok_tasks::plan::{Plan, PlanDocument};
use kok_tasks::renewal::{CertificatePart, Renewal};
use kok_tasks::shell::quote;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use super::super::approval::{ApprovalGate, Mode};
use super::super::attend::Wish;
use super::super::carry_out::{Means, RecoveryNames, carry_out};
use super::super::cluster_status::StatusPatch;
use super::super::inputs::{OperationTask, Snapshot};
use super::super::made::{Made, Why};
use super::super::object::{Condition, HELD, MANAGER, TAKE_OVER};
use super::super::outputs::{EventsSink, ObjectEvent, fetch_kubeconfig, keep_kubeconfig, kubeconfig_name, owner};
use super::super::owned::{Put, taken};
use super::super::retry::{Class, Next, RETRIES, Tries};
use super::super::sink::StatusSink;
use super::super::status::{ANSWER, OperationStatus};
use super::begun::{Boots, Keeper};
use super::wording::{in_operation, of_outcome};
use super::{End, Failure, Kind, OperationLife, Phase, Verb, first};
use crate::clock::Clock;
use crate::engine::{Context, Error, FolderStore, Given, Options, Store as _, certificates};
use crate::event::{Events, Sink, Trace};
use crate::randomness::random_bytes;
use crate::run::{Stop, Token};

/// Of a run: what plans is deep, and an unoptimized program more so. What is not used of it costs nothing.
pub(in super::super) const STACK: usize = 32 << 20;
/// How often the kubeconfig is asked for.
const KUBECONFIG_TRIES: usize = 3;
/// How long hosts may take to say when their certificates end: of those that are away nothing is said.
const CERTIFICATES: Duration = Duration::from_secs(60);
/// The pause before it is asked for again.
const KUBECONFIG_PAUSE: Duration = Duration::from_secs(5);

/// What came of a task so far.
struct Attempts {
    mode: Mode,
    retries: u32,
    tries: Tries,
    take_over: bool,
    /// The boot ids of hosts that the task starts anew, if it was begun before.
    boots: Boots,
    /// By which it knows its recovery, if it is one.
    recovery: Arc<RecoveryNames>,
    approved: Option<String>,
    shown: Option<PlanDocument>,
}

impl Attempts {
    fn new(operation: &Value) -> Self {
        let retries = operation.pointer("/spec/operator/retries").and_then(Value::as_u64);
        let retries = retries.and_then(|retries| u32::try_from(retries).ok()).unwrap_or(RETRIES);
        let (mode, tries) = (Mode::from_operation(operation), Tries::default());
        Self { mode, retries, tries, take_over: false, boots: Boots::new(), recovery: Arc::default(), approved: None, shown: None }
    }
}

impl OperationLife {
    /// Carries out a task, again and again where that may help.
    pub(super) async fn carry_out(&mut self, task: &Arc<OperationTask>, snapshot: &Snapshot) -> Result<(), End> {
        let mut attempts = Attempts::new(&self.found.operation.data);
        if task.verb.changes_cluster() && attempts.mode != Mode::DryRun {
            let phase = if self.is_of_deletion() { "Deleting" } else { "Provisioning" };
            self.say(|patch| patch.field("phase", json!(phase))).await;
        }
        if task.verb == Verb::Reset && attempts.mode != Mode::DryRun {
            self.told_fleeting();
        }
        loop {
            if *self.wish.borrow() != Wish::None {
                return Err(End::Stopped);
            }
            if task.verb == Verb::Reboot {
                attempts.boots = self.boots(task).await?;
            }
            if matches!(task.verb, Verb::Recover | Verb::Restore) {
                attempts.recovery = Arc::new(self.recovery(task).await?);
            }
            let began = Instant::now();
            let gate = Arc::new(ApprovalGate::new(attempts.mode, attempts.approved.clone()));
            let done = self.run(task, snapshot, &attempts, &gate).await;
            let ending = if done.is_ok() { "succeeded" } else { "failed" };
            self.at.shared.metrics.run(task.verb.as_str(), ending, began.elapsed());
            match (done, gate.take()) {
                (Ok(()), _) => return Ok(()),
                (Err(Error::NotApproved), Some(plan)) if attempts.mode == Mode::DryRun => return self.show(&plan).await,
                (Err(Error::NotApproved), Some(plan)) => {
                    attempts.approved = Some(self.approved(&plan, attempts.shown.as_ref()).await?);
                    attempts.shown = Some(plan);
                }
                (Err(error), _) => self.failed(error, task.verb, &mut attempts).await?,
            }
        }
    }

    /// What is taken down is left in a snapshot, which is to outlast the operator.
    fn told_fleeting(&self) {
        let Some(why) = self.at.shared.fleeting else { return };
        let folder = self.at.shared.state(self.at.key.group).path().display().to_string();
        let message = format!("copy the snapshot of etcd out of {folder} before the operator ends: the folder {why}");
        self.teller.tell(ObjectEvent::warning("StateNotKept", message.clone()));
        self.writer.change(|status| status.set(Condition { kind: "StateKept", is: false, reason: "StateNotKept", message }));
    }

    /// Returns when it is to be tried again.
    async fn failed(&mut self, error: Error, verb: Verb, attempts: &mut Attempts) -> Result<(), End> {
        // Who was to end has ended; and who has lost the Lease says nothing about it.
        if *self.wish.borrow() != Wish::None {
            return Err(End::Stopped);
        }
        let class = Class::from_error(&error);
        let holder = if let Error::Held { by, .. } = &error { Some(by.clone()) } else { None };
        let failure = in_operation(first(error.failures(|outcome| of_outcome(outcome, verb))), verb);
        self.writer.change(|status| status.error = Some(failure.clone()));
        self.held_by(holder.as_deref()).await;
        attempts.take_over = self.may_take_over(holder.as_deref()).await;
        match attempts.tries.next(class, attempts.retries) {
            Next::Stopped => Err(End::Stopped),
            Next::Fail(reason) => Err(End::failed(reason, failure)),
            Next::After(_) if attempts.take_over => Ok(()),
            Next::After(pause) => {
                self.teller.tell(ObjectEvent::warning("Retrying", format!("again in {} s: {}", pause.as_secs(), failure.one_line())));
                self.permit = None;
                self.pause(pause).await?;
                self.take_permit().await
            }
        }
    }

    /// Whether somebody wants the hosts taken from exactly this run. That is a word for once, and is taken back before it is followed: two that name
    /// each other would take the hosts from each other for ever.
    async fn may_take_over(&self, holder: Option<&str>) -> bool {
        let Some(holder) = holder else { return false };
        let Ok(Some(objects)) = self.at.objects().await else { return false };
        let meta = objects.operation.metadata;
        if meta.annotations.as_ref().and_then(|all| all.get(TAKE_OVER)).is_none_or(|named| named != holder) {
            return false;
        }
        let used = Patch::Merge(
            json!({"metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version, "annotations": {TAKE_OVER: null}}}),
        );
        let (api, params) = (self.at.shared.operations(self.at.key.group), PatchParams::apply(MANAGER));
        match timeout(ANSWER, api.patch(&self.at.operation, &params, &used)).await {
            Ok(Ok(_)) => {
                self.teller.tell(ObjectEvent::normal("TakesOver", format!("the hosts from {holder}")));
                true
            }
            // It is seen again at the next try.
            Ok(Err(_)) | Err(_) => false,
        }
    }

    /// Says whether another run holds the hosts, if that is news.
    pub(super) async fn held_by(&mut self, holder: Option<&str>) {
        if holder.is_none() && !self.is_held {
            return;
        }
        let operation = self.at.operation_words();
        let is_said = self.say(|patch| held_by(patch, holder, &operation)).await;
        self.is_held = holder.is_some() || !is_said;
    }

    async fn run(
        &mut self,
        task: &Arc<OperationTask>,
        snapshot: &Snapshot,
        attempts: &Attempts,
        gate: &Arc<ApprovalGate>,
    ) -> Result<(), Error> {
        self.writer.change(|status| status.phase = begins(status.phase));
        let name = format!("{}-{}", Clock::compact(), hex::encode(random_bytes::<2>()?));
        let given = given(snapshot)?;
        let shared = &self.at.shared;
        let store = FolderStore::new(shared.state(self.at.key.group));
        let (stop, stopping) = watch::channel(Stop::No);
        let context = Context { stop: stopping, ..self.context(&name, &store)? };
        let (bundle, engine) = (shared.settings.bundle.clone(), shared.engine.clone());
        let (take_over, boots) = (attempts.take_over, attempts.boots.clone());
        let gives_up = Made::from_operation(&self.found.operation).is_some_and(|made| made.why == Why::Deletion && made.note.gives_up);
        let (recovery, is_dry) = (Arc::clone(&attempts.recovery), attempts.mode == Mode::DryRun);
        let (keeper, noted) = Keeper::new(Arc::clone(gate), &boots, Arc::clone(&recovery));
        let keeping = self.keeps_journal(&name);
        let listener = tokio::spawn(pass_on(self.wish.clone(), stop, self.writer.sender()));
        self.writer.change(|status| (status.run, status.error) = (Some(name.clone()), None));
        tracing::info!(cluster = %self.at.key, operation = self.at.operation, run = name, verb = task.verb.as_str(), "begins");
        let (sender, done) = oneshot::channel();
        let (operation_task, gate) = (Arc::clone(task), Arc::clone(gate));
        let work = move || {
            let approve = |plan: &Plan| gate.judge(plan, &operation_task.cluster, &given);
            let begins = || keeper.begins();
            let options = Options { take_over, approve: &approve, begins: &begins, ..Options::unattended(&name) };
            let (boots, recovery) = (&boots, &*recovery);
            let means = Means { context: &context, store: &store, bundle, given: &given, options, boots, gives_up, recovery, is_dry };
            let _ = sender.send(engine.block_on(carry_out(&operation_task, &means)));
        };
        let thread = thread::Builder::new().name("run".to_owned()).stack_size(STACK).spawn(work);
        let defect = |because: &str| Error::from(Failure::new(Kind::Internal, "the run has no end").because(because));
        thread.map_err(|error| defect(&error.to_string()))?;
        let ended = self.ended(task, done, noted).await.unwrap_or_else(|| Err(defect("its thread has ended before it")));
        listener.abort();
        keeping.finish(self.wish.clone()).await;
        ended
    }

    /// What a run brings along, which nobody stops yet.
    fn context(&self, name: &str, store: &FolderStore) -> Result<Context, Error> {
        let shared = &self.at.shared;
        let cluster = self.at.key.to_string();
        let journal = store.journal(name, Box::new(move |text| tracing::warn!(cluster, "{text}")))?;
        let status: Box<dyn Sink> = Box::new(StatusSink::new(self.writer.sender(), Arc::clone(&shared.metrics)));
        let sinks: Vec<Box<dyn Sink>> = vec![status, Box::new(EventsSink::new(self.teller.clone())), journal, Box::new(Trace::default())];
        Ok(Context::new(shared.controller(&self.found.cluster), Events::new(sinks), shared.transport()))
    }

    /// When the first certificate ends of control planes and members of etcd, as they have them; of workers too where somebody else issues theirs. Kubelets
    /// renew their own, so that a worker that is away keeps nobody from knowing. Where a host that is asked does not answer nothing is said.
    async fn first_end(&self, task: &OperationTask) -> Option<String> {
        let shared = &self.at.shared;
        let context = Context::new(shared.controller(&self.found.cluster), Events::new(Vec::new()), shared.transport());
        let (cluster, parts) = (&task.cluster, BTreeSet::from([CertificatePart::ApiServer]));
        let renewal = Renewal { hosts: &[], parts: &parts, all: false, successor: None };
        let hosts = cluster.hosts.iter().filter(|host| renewal.concerns(cluster, host)).map(|host| host.name.clone());
        let looked = timeout(CERTIFICATES, Box::pin(certificates(&context, cluster, &hosts.collect::<Vec<_>>()))).await;
        let (held, failures) = looked.ok()?.ok()?;
        let ends = held.into_iter().filter_map(|held| Some((held.end?, held.not_after?)));
        ends.min().map(|(_, text)| text).filter(|_| failures.is_empty())
    }

    /// What others want of a cluster after something has changed it: its kubeconfig, and when its certificates end.
    pub(super) async fn outputs(&mut self, task: &OperationTask) -> Result<(), End> {
        self.certificates_end = self.first_end(task).await;
        let shared = Arc::clone(&self.at.shared);
        let mut failed = None;
        for _ in 0..KUBECONFIG_TRIES {
            let context = Context::new(shared.controller(&self.found.cluster), Events::new(Vec::new()), shared.transport());
            match fetch_kubeconfig(&context, &task.cluster).await {
                Ok(bytes) => {
                    let (client, owner) = (shared.client.clone(), owner(&self.found.cluster, false));
                    let (key, home) = (self.at.key.clone(), self.home.clone());
                    let keep = || async { keep_kubeconfig(&client, (&key, &home), owner.clone(), bytes.clone()).await };
                    match self.answered(keep).await? {
                        Put::Done => return self.kept_kubeconfig().await,
                        Put::Taken => failed = Some(taken("secret", &home, &kubeconfig_name(&key))),
                    }
                    break;
                }
                Err(failures) => failed = Some(first(failures)),
            }
            self.pause(KUBECONFIG_PAUSE).await?;
        }
        match failed {
            Some(failure) if task.verb == Verb::Kubeconfig => Err(End::failed("NoKubeconfig", failure)),
            // The cluster is what it is to be.
            Some(failure) => {
                // What can be run comes first: a long message is cut off at its end.
                let message = failure.hint.iter().cloned().chain([failure.one_line()]).collect::<Vec<_>>().join("; ");
                self.teller.tell(ObjectEvent::warning("NoKubeconfig", message.clone()));
                self.say(|patch| patch.condition("KubeconfigKept", false, "NoKubeconfig", message)).await;
                Ok(())
            }
            None => Ok(()),
        }
    }

    async fn kept_kubeconfig(&mut self) -> Result<(), End> {
        self.has_kubeconfig = true;
        self.say(|patch| patch.condition("KubeconfigKept", true, "Kept", "")).await;
        Ok(())
    }
}

/// Whether another run holds the hosts.
fn held_by(patch: StatusPatch, holder: Option<&str>, operation: &str) -> StatusPatch {
    match holder {
        Some(by) => {
            let annotation = quote(&format!("{TAKE_OVER}={by}"));
            patch.condition(
                HELD,
                true,
                "Held",
                format!("`kubectl annotate {operation} --overwrite {annotation}` takes the hosts; they are held by {by}"),
            )
        }
        None => patch.condition(HELD, false, "Free", ""),
    }
}

/// The phase in which a run begins; who was at work, and tries again, is not at work yet.
const fn begins(phase: Phase) -> Phase {
    if matches!(phase, Phase::Running) { Phase::Planning } else { phase }
}

/// What the operation's wish means for a run.
async fn pass_on(mut wish: watch::Receiver<Wish>, stop: watch::Sender<Stop>, status: Arc<watch::Sender<OperationStatus>>) {
    loop {
        let wished = *wish.borrow_and_update();
        stop.send_replace(wished.stop());
        if matches!(wished, Wish::Cancel | Wish::Now { cancelled: true }) {
            status.send_modify(|status| status.phase = Phase::Cancelling);
        }
        if wish.changed().await.is_err() {
            return;
        }
    }
}

/// What is random, as it was when the operation began; the token has a new secret.
fn given(snapshot: &Snapshot) -> Result<Given, Error> {
    let token = Token::with_id(&snapshot.token_id)?;
    let token = token.map_or_else(Token::generate, Ok)?;
    Ok(Given { token, new_cluster_id: snapshot.new_cluster_id.clone(), prune: false })
}
