//! What a caller of the engine brings along.

use std::path::Path;

use kok_tasks::plan::Plan;
use tokio::sync::watch;

use super::error::PlanChanged;
use crate::event::Events;
use crate::failure::Failure;
use crate::pools::Pools;
use crate::remote::Transport;
use crate::run::Stop;
use crate::state::Controller;

/// Who calls, whom it tells, by what it reaches hosts, and what it wishes meanwhile. Whatever a run learns of secrets is in here, and ends
/// with it.
#[derive(Clone)]
pub struct Context {
    /// Whose run it is, as it stands in the holder records of hosts.
    pub controller: Controller,
    /// Where it is told what happens.
    pub events: Events,
    /// By what hosts are reached.
    pub transport: Transport,
    /// What the caller wishes of the run. Of a verb that changes nothing it is not heard: whoever calls drops it.
    pub stop: watch::Receiver<Stop>,
    /// How much this run may have under way at the same time. Runs beside each other have pools of their own: nobody wakes one that waits for
    /// what another one gives back.
    pub pools: Pools,
}

impl Context {
    /// One whose caller wishes nothing, with pools of its own.
    #[must_use]
    pub fn new(controller: Controller, events: Events, transport: Transport) -> Self {
        let (_, stop) = watch::channel(Stop::No);
        Self { controller, events, transport, stop, pools: Pools::default() }
    }

    /// Where `~/` is.
    pub(super) fn home(&self) -> Option<&Path> {
        self.transport.surroundings().home.as_deref()
    }
}

/// What becomes of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is carried out.
    Go,
    /// Somebody has to approve it first: nothing is begun, and nothing is wrong.
    Wait,
    /// It is not the one that was approved.
    Changed(Box<PlanChanged>),
}

/// Asked of each plan before anything is changed, also of an empty one. A plan that is made anew is asked for again.
pub type Approve<'a> = &'a (dyn Fn(&Plan) -> Verdict + Sync);

/// Called once, before the first thing that leaves something to tidy up.
pub type Begins<'a> = &'a (dyn Fn() -> Result<(), Failure> + Sync);

/// How a changing verb behaves.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Name of the run.
    pub run: &'a str,
    /// Whether an earlier run that still holds hosts is ended first.
    pub take_over: bool,
    /// What becomes of a plan.
    pub approve: Approve<'a>,
    /// Hears that changes begin.
    pub begins: Begins<'a>,
}

impl<'a> Options<'a> {
    /// Carries out whatever plan is made, and takes hosts from nobody.
    #[must_use]
    pub fn unattended(run: &'a str) -> Self {
        Self { run, take_over: false, approve: &|_| Verdict::Go, begins: &|| Ok(()) }
    }
}
