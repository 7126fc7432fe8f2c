//! The dispatcher: one task that owns the truth about a run. It starts what can begin, hears how it ended, and decides what is next.
//!
//! Hosts don't wait for each other: a step begins as soon as the steps that it needs are done. On one host scripts run one after the other,
//! bulk data streams beside them on a connection of its own, and all conditions that are waited for are looked at together.

mod waits;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kok_tasks::artifact::Artifact;
use kok_tasks::change::Verdict;
use kok_tasks::observe::{Nonce, Observations};
use kok_tasks::plan::{Plan, Step, StepId};
use kok_tasks::resources::Act;
use tokio::task::JoinSet;

use super::batch::{Acted, Batch};
use super::clock::random_bytes;
use super::event::{EventKind, Events, elapsed};
use super::link::{Link, Links};
use super::outcome::{Outcome, StepFailure};
use super::progress::Counted;
use super::schedule::{Lane, Schedule, Status};
use super::secrets::Secrets;
use crate::artifacts::BundleFolder;
use crate::remote::{Output, Script};
use crate::ui::{Failure, Kind};
use waits::Wait;

/// Streams at once: one sends as fast as one connection can take it (some 500 MB/s), and the hosts behind one link share it.
const STREAMS: usize = 4;

/// An answer of a batch holds at the most what its steps printed and what a probe says.
const ANSWER_LIMIT: usize = 16 << 20;

/// Runs a plan.
pub struct Dispatcher<'a> {
    plan: &'a Plan,
    links: &'a Links,
    secrets: Arc<Secrets>,
    bundle: Option<Arc<BundleFolder>>,
    events: Events,
    schedule: Schedule<'a>,
    working: JoinSet<Message>,
    busy: BTreeSet<(String, Lane)>,
    streams: usize,
    began: BTreeMap<StepId, Instant>,
    waits: BTreeMap<String, Wait>,
    outcome: Outcome,
}

/// What a worker says when it is done.
enum Message {
    Batch { lane: Lane, batch: Batch, result: Result<Output, WorkError> },
    Looked { host: String, result: Result<Observations, Failure> },
}

struct WorkError {
    text: String,
    unknown: bool,
}

impl<'a> Dispatcher<'a> {
    /// A dispatcher for this plan. `bundle` may be left out where the plan streams no artifact.
    #[must_use]
    pub fn new(plan: &'a Plan, links: &'a Links, secrets: Secrets, bundle: Option<BundleFolder>, events: Events) -> Self {
        Self {
            plan,
            links,
            secrets: Arc::new(secrets),
            bundle: bundle.map(Arc::new),
            events,
            schedule: Schedule::new(plan),
            working: JoinSet::new(),
            busy: BTreeSet::new(),
            streams: 0,
            began: BTreeMap::new(),
            waits: BTreeMap::new(),
            outcome: Outcome::default(),
        }
    }

    /// Runs the plan until nothing is left that could be done.
    pub async fn run(mut self) -> Outcome {
        let began = Instant::now();
        loop {
            self.start_everything();
            match self.working.join_next().await {
                None => break,
                Some(Ok(message)) => self.take(message),
                Some(Err(error)) => {
                    // A worker can't end otherwise than by a message; if one does, what it did is unknown and the run must not go on.
                    let running = self.began.keys().filter(|id| self.schedule.status(id) == Status::Running).cloned().collect::<Vec<_>>();
                    running.iter().for_each(|id| self.fail(id, &format!("a worker stopped: {error}"), true));
                    break;
                }
            }
        }
        self.outcome.blocked += self.schedule.pending();
        let Outcome { done, failed, blocked } = &self.outcome;
        self.events.send(EventKind::RunFinished {
            done: *done,
            failed: failed.len(),
            blocked: *blocked,
            took_milliseconds: elapsed(began),
        });
        self.outcome
    }

    fn start_everything(&mut self) {
        let hosts: Vec<(String, Arc<Link>)> = self.links.iter().map(|(host, link)| (host.clone(), Arc::clone(link))).collect();
        for (host, link) in &hosts {
            if !self.busy.contains(&(host.clone(), Lane::Scripts)) {
                self.start_scripts(host, link);
            }
        }
        self.start_streams();
        self.begin_waits();
        for (host, link) in &hosts {
            if !self.busy.contains(&(host.clone(), Lane::Waits)) {
                self.start_look(host, link);
            }
        }
    }

    fn started(&mut self, step: &Step) {
        self.schedule.set(&step.id, Status::Running);
        self.began.insert(step.id.clone(), Instant::now());
        let summary = self.plan.change(&step.id).map(|change| change.summary.clone()).unwrap_or_default();
        self.events.send(EventKind::StepStarted { step: step.id.to_string(), host: step.host.clone(), title: step.title(), summary });
    }

    fn batch(&mut self, steps: Vec<Step>) -> Option<(Batch, Script)> {
        let nonce = match random_bytes() {
            Ok(bytes) => Nonce::new(bytes),
            Err(failure) => {
                steps.iter().for_each(|step| self.fail(&step.id, &failure.what, false));
                return None;
            }
        };
        let acts: Vec<(StepId, Act)> =
            steps.iter().filter_map(|step| Some((step.id.clone(), self.schedule.act(&step.id)?.clone()))).collect();
        let batch = Batch::new(steps, nonce);
        let script = Script::new(batch.script(&acts, &self.secrets)).stdout_limit(ANSWER_LIMIT);
        Some((batch, script))
    }

    fn start_scripts(&mut self, host: &str, link: &Arc<Link>) {
        let steps = self.schedule.next_batch(host);
        if steps.is_empty() {
            return;
        }
        steps.iter().for_each(|step| self.started(step));
        let deadline = steps.iter().map(|step| step.deadline).max().unwrap_or_default();
        let Some((batch, script)) = self.batch(steps) else { return };
        self.busy.insert((host.to_owned(), Lane::Scripts));
        let link = Arc::clone(link);
        self.working.spawn(async move {
            let result = match link.scripts().await {
                Ok(connection) => {
                    let result = connection.run(script, deadline).await;
                    result.map_err(|error| WorkError { unknown: error.may_have_run(), text: Failure::from(error).one_line() })
                }
                Err(error) => Err(WorkError { unknown: false, text: Failure::from(error).one_line() }),
            };
            Message::Batch { lane: Lane::Scripts, batch, result }
        });
    }

    /// What most others wait for comes first: on one host the programs and images of a control plane before those of pods, and among
    /// hosts the control plane before workers.
    fn start_streams(&mut self) {
        for step in self.schedule.ready(Lane::Streams) {
            let lane = (step.host.clone(), Lane::Streams);
            if self.streams >= STREAMS || self.busy.contains(&lane) {
                continue;
            }
            let (Some(link), Some(bundle)) = (self.links.get(&step.host).cloned(), self.bundle.clone()) else { continue };
            let Some(Act::Stream { artifact, .. }) = self.schedule.act(&step.id).cloned() else { continue };
            self.started(step);
            let Some((batch, script)) = self.batch(vec![step.clone()]) else { continue };
            self.busy.insert(lane);
            self.streams += 1;
            let (events, id, deadline) = (self.events.clone(), step.id.to_string(), step.deadline);
            self.working.spawn(async move {
                let path = bundle.file(&artifact);
                let result = stream(&link, script, &path, (events, id, &artifact), deadline).await;
                Message::Batch { lane: Lane::Streams, batch, result }
            });
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Batch { lane, batch, result } => self.take_batch(lane, &batch, result),
            Message::Looked { host, result } => self.take_look(&host, result),
        }
    }

    fn take_batch(&mut self, lane: Lane, batch: &Batch, result: Result<Output, WorkError>) {
        if let Some(step) = batch.steps.first() {
            self.busy.remove(&(step.host.clone(), lane));
        }
        if lane == Lane::Streams {
            self.streams -= 1;
        }
        let output = match result {
            Ok(output) => output,
            Err(error) => return batch.steps.iter().for_each(|step| self.fail(&step.id, &error.text, error.unknown)),
        };
        let (acted, seen) = match batch.read(&output, &self.secrets) {
            Ok(read) => read,
            Err(error) => {
                let reason = output.reason().map(|reason| format!("{error}; it said: {reason}")).unwrap_or_else(|| error.to_string());
                return batch.steps.iter().for_each(|step| self.fail(&step.id, &reason, true));
            }
        };
        for (step, acted) in batch.steps.iter().zip(acted) {
            match (acted, step.diff(&seen)) {
                (Acted::Ended, Verdict::Same) => self.done(&step.id),
                (Acted::Ended, Verdict::Differs(change)) => {
                    self.fail(
                        &step.id,
                        &format!("it was done, but the second look says that it is still to do: {}", change.because),
                        false,
                    );
                }
                (Acted::Ended, Verdict::Unseen) => self.fail(&step.id, "it was done, but nobody looked whether it is", false),
                (Acted::Failed(said), _) => self.fail(&step.id, &said, false),
                // Another step of the script failed first. It is not this one's fault: it may begin in the next script.
                (Acted::NotBegun, _) => self.schedule.set(&step.id, Status::Pending),
            }
        }
    }

    fn done(&mut self, id: &StepId) {
        self.schedule.set(id, Status::Done);
        self.outcome.done += 1;
        let took_milliseconds = self.began.get(id).map(|began| elapsed(*began)).unwrap_or_default();
        let host = self.plan.step(id).map(|step| step.host.clone()).unwrap_or_default();
        self.events.send(EventKind::StepDone { step: id.to_string(), host, took_milliseconds });
    }

    fn fail(&mut self, id: &StepId, error: &str, unknown: bool) {
        let (host, title) = self.plan.step(id).map(|step| (step.host.clone(), step.title())).unwrap_or_default();
        self.events.send(EventKind::StepFailed { step: id.to_string(), host: host.clone(), error: error.to_owned(), unknown });
        for blocked in self.schedule.stop_behind(id) {
            self.outcome.blocked += 1;
            self.events.send(EventKind::StepBlocked { step: blocked.to_string(), by: id.to_string() });
        }
        self.outcome.failed.push(StepFailure { step: id.clone(), host, title, error: error.to_owned(), unknown });
    }
}

async fn stream(
    link: &Link,
    script: Script,
    path: &std::path::Path,
    (events, step, artifact): (Events, String, &Artifact),
    deadline: Duration,
) -> Result<Output, WorkError> {
    let known = |failure: Failure| WorkError { text: failure.one_line(), unknown: false };
    let file = tokio::fs::File::open(path).await;
    let file = file.map_err(|error| known(Failure::new(Kind::Input, format!("{}: {error}", path.display()))))?;
    let connection = link.bulk().await.map_err(|error| known(Failure::from(error)))?;
    let streamed = connection.stream(script, Counted::new(file, events, step, artifact.size), deadline).await;
    let streamed = streamed.map_err(|error| WorkError { unknown: error.may_have_run(), text: Failure::from(error).one_line() })?;
    // The file was verified before the run; what was sent is what counts.
    let other = streamed.sent.filter(|sent| hex::encode(sent.sha256) != artifact.sha256);
    match other {
        Some(_) => Err(known(Failure::new(Kind::Input, format!("{} changed while it was sent", path.display())))),
        None => Ok(streamed.output),
    }
}
