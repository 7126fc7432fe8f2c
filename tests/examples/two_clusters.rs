//! One process that makes two clusters, as a caller of the engine that is no command line: each has a store, an identity, a sink and a transport of
//! its own, and a network namespace, for labs have the same addresses. It prints nothing; what came of it is in the report.
//!
//! usage: two_clusters REPORT BUNDLE NAMESPACE FILE STATE NAMESPACE FILE STATE
//!
//! Both are applied at once. When the first has done some steps it is cancelled; the other goes on to its end. Then the first goes on, and both are
//! applied ten times more, side by side, when there is nothing to do.
#![allow(missing_docs, reason = "a program of the tests")]

use std::error::Error;
use std::fs::{self, File};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::{env, thread};

use kok_crds::model::Cluster;
use kok_tasks::plan::Selection;
use kokctl::artifacts::BundleFolder;
use kokctl::engine::{self, ApplyRequest, Context, FolderStore, Given, Options, Store as _};
use kokctl::event::{Event, EventKind, Events, Sink};
use kokctl::remote::{Limits, Surroundings, Transport};
use kokctl::run::Stop;
use kokctl::state::StateFolder;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::Serialize;
use tokio::runtime::Runtime;
use tokio::sync::watch;

type Failure = Box<dyn Error + Send + Sync>;

/// How often both are applied when there is nothing to do.
const ROUNDS: usize = 10;

/// After so many steps the first is cancelled: hosts are being prepared then, and nothing of the cluster is there.
const UNTIL_CANCELLED: usize = 20;

/// What came of it all.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    clusters: Vec<OfCluster>,
    /// Memory of the process in kB, after each round.
    memory: Vec<u64>,
}

/// What came of a cluster.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OfCluster {
    controller: String,
    /// How each run ended.
    endings: Vec<Ending>,
    /// Every host that an event was about.
    hosts: Vec<String>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Ending {
    Complete,
    NothingToDo,
    Stopped,
    Failed(String),
}

/// What a cluster's sink hears.
#[derive(Clone)]
struct Heard {
    hosts: Arc<Mutex<Vec<String>>>,
    done: Arc<AtomicUsize>,
    /// Whom to tell when enough is done, and when that is.
    cancel: Option<(watch::Sender<Stop>, usize)>,
}

impl Sink for Heard {
    fn take(&mut self, event: &Event) {
        match &event.kind {
            EventKind::HostsAwaited { hosts } => self.hosts.lock().unwrap_or_else(PoisonError::into_inner).extend(hosts.clone()),
            EventKind::StepDone { host, .. } => {
                self.hosts.lock().unwrap_or_else(PoisonError::into_inner).push(host.clone());
                let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
                if let Some((wish, _)) = self.cancel.as_ref().filter(|(_, until)| done >= *until) {
                    wish.send_replace(Stop::Finish);
                }
            }
            _ => {}
        }
    }
}

/// One of the two, in its own network.
struct Caller {
    runtime: Runtime,
    cluster: Cluster,
    bundle: Arc<BundleFolder>,
    state: StateFolder,
    limits: Arc<Limits>,
    hosts: Arc<Mutex<Vec<String>>>,
    endings: Vec<Ending>,
}

impl Caller {
    /// For the calling thread, which moves into the namespace; the threads of the runtime are born there.
    fn new([namespace, file, state]: [&Path; 3], bundle: &Path, limits: &Arc<Limits>) -> Result<Self, Failure> {
        move_into_link_name_space(File::open(namespace)?.as_fd(), Some(LinkNameSpaceType::Network))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let text = fs::read_to_string(file)?;
        let cluster = kok_crds::read_cluster(&file.display().to_string(), &text).map_err(|problems| format!("{problems:?}"))?;
        let bundle = Arc::new(BundleFolder::open(bundle).map_err(|failure| format!("{failure:?}"))?);
        let (state, limits) = (StateFolder::at(state), Arc::clone(limits));
        Ok(Self { runtime, cluster, bundle, state, limits, hosts: Arc::default(), endings: Vec::new() })
    }

    fn apply(&mut self, name: &str, cancelled_after: Option<usize>) -> Result<(), Failure> {
        let ending = self.run(name, cancelled_after)?;
        self.endings.push(ending);
        Ok(())
    }

    fn run(&self, name: &str, cancelled_after: Option<usize>) -> Result<Ending, Failure> {
        let told = |failure: kokctl::failure::Failure| format!("{failure:?}");
        let store = FolderStore::new(self.state.clone());
        let (wish, stop) = watch::channel(Stop::No);
        let cancel = cancelled_after.map(|until| (wish.clone(), until));
        let heard = Heard { hosts: Arc::clone(&self.hosts), done: Arc::default(), cancel };
        let journal = store.journal(name, Box::new(|_| {})).map_err(told)?;
        let events = Events::new(vec![Box::new(heard), journal]);
        let transport = Transport::new(Surroundings::default(), Arc::clone(&self.limits));
        let controller = self.state.controller(format!("caller of {}", self.cluster.name)).map_err(told)?;
        let context = Context { stop, ..Context::new(controller, events, transport) };
        let (selection, given) = (Selection::whole(), Given::new(false).map_err(|failures| format!("{failures:?}"))?);
        let bundle = Arc::clone(&self.bundle);
        let request = ApplyRequest {
            cluster: &self.cluster,
            selection: &selection,
            part: None,
            bundle,
            given: &given,
            most_failed: None,
            noted: None,
        };
        let lock = store.lock(&self.cluster.name).map_err(told)?;
        let applied = self.runtime.block_on(engine::apply(&context, (&store, lock), &request, Options::unattended(name)));
        drop(wish);
        Ok(match applied {
            Ok(applied) if applied.outcome.is_none() => Ending::NothingToDo,
            Ok(_) => Ending::Complete,
            Err(engine::Error::Stopped(_)) => Ending::Stopped,
            Err(error) => Ending::Failed(format!("{error:?}")),
        })
    }

    fn reported(self) -> Result<OfCluster, Failure> {
        let controller = self.state.controller(String::new()).map_err(|failure| format!("{failure:?}"))?.id;
        let mut hosts = std::mem::take(&mut *self.hosts.lock().unwrap_or_else(PoisonError::into_inner));
        hosts.sort();
        hosts.dedup();
        Ok(OfCluster { controller, endings: self.endings, hosts })
    }
}

/// What the process has in memory by itself, in kB (proc_pid_status(5)).
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}

fn main() -> Result<(), Failure> {
    let paths: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let [report, bundle, rest @ ..] = paths.as_slice() else { return Err("give a report and a bundle".into()) };
    let (limits, rounds, measured) = (Arc::new(Limits::default()), Barrier::new(2), Mutex::new(Vec::new()));
    let of_one = |index: usize, paths: &[PathBuf]| -> Result<OfCluster, Failure> {
        let [namespace, file, state] = paths else { return Err("give a namespace, a file and a state folder".into()) };
        let mut caller = Caller::new([namespace, file, state], bundle, &limits)?;
        caller.apply("run-0", (index == 0).then_some(UNTIL_CANCELLED))?;
        if index == 0 {
            caller.apply("run-1", None)?;
        }
        for round in 0..ROUNDS {
            rounds.wait();
            caller.apply(&format!("round-{round}"), None)?;
            if rounds.wait().is_leader() {
                measured.lock().unwrap_or_else(PoisonError::into_inner).push(memory());
            }
        }
        caller.reported()
    };
    let clusters = thread::scope(|scope| {
        let callers: Vec<_> = rest.chunks(3).enumerate().map(|(index, paths)| scope.spawn(move || of_one(index, paths))).collect();
        callers.into_iter().map(|caller| caller.join().map_err(|_| Failure::from("a caller panicked"))?).collect::<Result<Vec<_>, _>>()
    })?;
    let memory = measured.into_inner().unwrap_or_else(PoisonError::into_inner);
    fs::write(report, serde_json::to_vec_pretty(&Report { clusters, memory })?)?;
    Ok(())
}
