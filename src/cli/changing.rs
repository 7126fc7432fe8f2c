//! What the verbs share that change hosts: the lock, the journal and the screen of a run, and the words for its end.

use std::io::IsTerminal as _;
use std::time::Duration;

use clap::Args;
use kok_crds::model::Cluster;
use kok_tasks::plan::Plan;
use tokio::sync::watch;

use super::process;
use super::report;
use super::signals::listen;
use super::who::who;
use crate::clock::Clock;
use crate::engine::{Context, Error, FolderStore, Lock, Options, Store as _, Verdict};
use crate::event::{Events, Sink, Trace};
use crate::failure::Failure;
use crate::randomness::random_bytes;
use crate::remote::Transport;
use crate::run::Stop;
use crate::ui::{Json, Terminal, line, status_line};

/// How such a run behaves.
#[derive(Debug, Args)]
pub(super) struct ChangingArguments {
    /// End what another run that holds the hosts has at work there, and take its place
    #[arg(long)]
    take_over: bool,
    /// Print every event as a line of JSON on standard output
    #[arg(long)]
    json: bool,
}

impl ChangingArguments {
    /// Says something before the run begins, where events leave room for it.
    pub(super) fn say(&self, text: &str) {
        if self.json { status_line(text) } else { line(text) }
    }
}

/// Often enough for whoever says that something takes long.
const TICK: Duration = Duration::from_secs(1);

/// A run as the command line sees it: somebody watches, and may end it by signals.
pub(super) struct Session<'a> {
    arguments: &'a ChangingArguments,
    name: String,
    pub(super) context: Context,
    pub(super) store: FolderStore,
    /// What the user wishes; signals come to it once changes begin: before, a signal ends the process.
    wish: watch::Sender<Stop>,
}

impl<'a> Session<'a> {
    /// Takes the cluster's lock, and opens the journal.
    pub(super) fn open(cluster: &Cluster, arguments: &'a ChangingArguments, transport: Transport) -> Result<(Self, Lock), Failure> {
        let state = process::state()?;
        let store = FolderStore::new(state.clone());
        let lock = store.lock(&cluster.name)?;
        let controller = state.controller(who())?;
        let name = format!("{}-{}", Clock::compact(), hex::encode(random_bytes::<2>()?));
        let journal = store.journal(&name, Box::new(status_line))?;
        let screen: Box<dyn Sink> = if arguments.json {
            Box::new(Json)
        } else {
            Box::new(Terminal::new(std::io::stderr().is_terminal() && !super::log::is_on_terminal()))
        };
        let events = Events::new(vec![screen, journal, Box::new(Trace::default())]);
        events.keep_time(TICK);
        let (wish, stop) = watch::channel(Stop::No);
        let context = Context { stop, ..Context::new(controller, events, transport) };
        Ok((Self { arguments, name, context, store, wish }, lock))
    }

    /// Does something with the options of the run, of which `approve` is asked for each plan.
    pub(super) async fn with_options<T>(
        &self,
        approve: impl Fn(&Plan) -> Verdict + Sync,
        work: impl AsyncFnOnce(Options<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let begins = || listen(self.wish.clone());
        work(Options { run: &self.name, take_over: self.arguments.take_over, approve: &approve, begins: &begins }).await
    }

    /// Says something beside the events, where these leave room for it.
    pub(super) fn say(&self, text: &str) {
        if self.arguments.json { status_line(text) } else { line(text) }
    }

    /// Seconds since the run began.
    pub(super) fn seconds(&self) -> f64 {
        self.context.events.milliseconds() as f64 / 1000.0
    }
}

/// What is said of a verb that did not do all it was asked for.
pub(super) fn failures(error: Error, verb: &str) -> Vec<Failure> {
    error.failures(|outcome| report::failures(outcome, if outcome.left_to_apply { "apply" } else { verb }))
}
