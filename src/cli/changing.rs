//! What the verbs share that change hosts: a run from its lock to its end.

use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::Args;
use kok_crds::listed;
use kok_crds::model::Cluster;
use kok_tasks::holder::taken_over;
use tokio::sync::watch;

use super::process;
use super::report;
use super::signals::listen;
use super::who::who;
use crate::artifacts::BundleFolder;
use crate::clock::Clock;
use crate::engine::{Context, Planned};
use crate::event::{EventKind, Events, FORMAT, Sink};
use crate::failure::{Failure, Kind};
use crate::randomness::random_bytes;
use crate::run::{Carried, Means, Outcome, Secrets, Stop, Taking, carry_out, forget, unless_wished};
use crate::state::{ClusterLock, Journal, StateFolder};
use crate::ui::{Json, Terminal, Trace, line, status_line};

/// How such a run behaves.
#[derive(Debug, Args)]
pub(super) struct ChangingArguments {
    /// End what another run that holds the hosts has at work there, and take its place
    #[arg(long)]
    pub(super) take_over: bool,
    /// Print every event as a line of JSON on standard output
    #[arg(long)]
    json: bool,
}

/// A run that has the cluster's lock on this machine, and a journal.
pub(super) struct Run<'a> {
    verb: &'static str,
    arguments: &'a ChangingArguments,
    name: String,
    pub(super) context: Context,
    /// What the user wishes, from the first attempt to change something on: before, a signal ends the process.
    stop: OnceLock<watch::Receiver<Stop>>,
    pub(super) state: StateFolder,
    _lock: ClusterLock,
}

/// How many plans a run makes at the most: a plan is dropped where another run had the hosts meanwhile.
pub(super) const MOST_PLANS: usize = 5;

/// Often enough for whoever says that something takes long.
const TICK: Duration = Duration::from_secs(1);

/// What carrying out a plan needs that its verb knows.
pub(super) struct Work {
    pub(super) secrets: Secrets,
    pub(super) bundle: Option<Arc<BundleFolder>>,
    pub(super) whole: bool,
    pub(super) most_failed: Option<usize>,
}

impl<'a> Run<'a> {
    /// Takes the lock, opens the journal, and says that the run begins.
    pub(super) fn begin(
        verb: &'static str,
        cluster: &Cluster,
        part: Option<String>,
        arguments: &'a ChangingArguments,
    ) -> Result<Self, Vec<Failure>> {
        let one = |failure: Failure| vec![failure];
        let state = process::state().map_err(one)?;
        let lock = ClusterLock::take(&state, &cluster.name).map_err(one)?;
        let controller = state.controller(who()).map_err(one)?;
        let name = format!("{}-{}", Clock::compact(), hex::encode(random_bytes::<2>().map_err(|failure| vec![failure])?));
        let journal = Journal::create(&state, &name, Box::new(status_line)).map_err(|failure| vec![failure])?;
        let screen: Box<dyn Sink> = if arguments.json {
            Box::new(Json)
        } else {
            Box::new(Terminal::new(std::io::stderr().is_terminal() && !super::log::is_on_terminal()))
        };
        let events = Events::new(vec![screen, Box::new(journal), Box::new(Trace::default())]);
        events.keep_time(TICK);
        events.send(EventKind::RunStarted {
            v: FORMAT,
            run: name.clone(),
            verb: verb.to_owned(),
            cluster: cluster.name.clone(),
            time: Clock::rfc3339(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            who: controller.name.clone(),
            part,
        });
        let context = Context { controller, events, transport: process::transport() };
        Ok(Self { verb, arguments, name, context, stop: OnceLock::new(), state, _lock: lock })
    }

    /// Says in the journal too why nothing was begun.
    pub(super) fn recorded<T>(&self, result: Result<T, Vec<Failure>>) -> Result<T, Vec<Failure>> {
        if let Err(failures) = &result {
            let code = Kind::worst(failures).exit_code();
            let failures = failures.iter().map(Failure::told).collect();
            self.context.events.send(EventKind::RunRefused { code, failures, took_milliseconds: self.context.events.milliseconds() });
        }
        result
    }

    /// Whether an empty plan is not to be believed: another controller holds hosts, may be at work there, and is to lose them.
    pub(super) fn takes_over(&self, planned: &Planned) -> bool {
        self.arguments.take_over && !taken_over(&planned.standing, &self.context.controller.id).is_empty()
    }

    /// Ends a run whose plan is empty.
    pub(super) async fn nothing_to_do(&self, planned: &Planned) {
        forget(&planned.links, &planned.standing, &self.context.controller).await;
        self.context.events.send(Outcome::default().told(self.context.events.milliseconds()));
        self.say("nothing to do");
    }

    /// Waits for a plan. Where one was dropped before, the run ends in good order when the user wishes so.
    pub(super) async fn plan<T>(&self, planning: impl Future<Output = Result<T, Vec<Failure>>>) -> Result<T, Vec<Failure>> {
        if self.stop.get().is_none() { self.recorded(planning.await) } else { self.unless_stopped(planning).await }
    }

    /// Waits for what comes before the first change and leaves something to tidy up: from now on the user ends the run in good order.
    pub(super) async fn unless_stopped<T>(&self, work: impl Future<Output = Result<T, Vec<Failure>>>) -> Result<T, Vec<Failure>> {
        if let Some(result) = unless_wished(&mut self.stop()?, Stop::Finish, work).await {
            return self.recorded(result);
        }
        let outcome = Outcome { stopped: Some(Stop::BECAUSE.to_owned()), ..Outcome::default() };
        self.context.events.send(outcome.told(self.context.events.milliseconds()));
        Err(self.failures(&outcome))
    }

    fn failures(&self, outcome: &Outcome) -> Vec<Failure> {
        report::failures(outcome, &format!("`kokctl {}`", self.verb))
    }

    /// Why a run ends whose plans were all dropped.
    pub(super) fn never_held(&self) -> Vec<Failure> {
        let changing = Failure::new(Kind::Host, "the holder of the hosts changes all the time").hint("find out who else is at work");
        self.recorded::<()>(Err(vec![changing])).err().unwrap_or_default()
    }

    fn stop(&self) -> Result<watch::Receiver<Stop>, Vec<Failure>> {
        let stop = match self.stop.get() {
            Some(stop) => stop.clone(),
            None => listen().map_err(|failure| vec![failure])?,
        };
        Ok(self.stop.get_or_init(|| stop).clone())
    }

    /// Carries out a plan; what is not complete is a failure. Nothing if the plan was too old and has to be made anew.
    pub(super) async fn carry_out(&self, planned: &Planned, work: Work) -> Result<Option<Outcome>, Vec<Failure>> {
        let Work { secrets, bundle, whole, most_failed } = work;
        let controller = self.context.controller.clone();
        let taking = Taking { run: self.name.clone(), controller, take_over: self.arguments.take_over, boots: planned.boots.clone() };
        let (links, standing, left_out) = (&planned.links, &planned.standing, &planned.left_out);
        if taking.take_over {
            for run in taken_over(standing, &self.context.controller.id) {
                status_line(&format!("takes over from the run {run}: what it left at work is ended first"));
            }
        }
        let means =
            Means { cluster: &planned.cluster, links, standing, taking, secrets, bundle, whole, left_out, most_failed, stop: self.stop()? };
        match self.recorded(carry_out(&planned.plan, means, &self.context.events).await)? {
            Carried::Out(outcome) if outcome.is_complete() => Ok(Some(outcome)),
            Carried::Out(outcome) => Err(self.failures(&outcome)),
            Carried::NotBegun(hosts) => {
                let hosts = listed(hosts.iter().map(String::as_str));
                self.context.events.send(EventKind::PlanDropped { because: format!("another run was at work on {hosts} until now") });
                Ok(None)
            }
        }
    }

    /// Seconds since the run began.
    pub(super) fn seconds(&self) -> f64 {
        self.context.events.milliseconds() as f64 / 1000.0
    }

    /// Where `~/` is.
    pub(super) fn home(&self) -> Option<&Path> {
        self.context.transport.surroundings().home.as_deref()
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Says something beside the events, where these leave room for it.
    pub(super) fn say(&self, text: &str) {
        if self.arguments.json { status_line(text) } else { line(text) }
    }
}
