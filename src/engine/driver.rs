//! The loop of every changing verb: look and plan, prepare, carry out, and look again for the next stage.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kok_crds::listed;
use kok_crds::model::Cluster;
use kok_tasks::holder::{OtherManager, taken_over};

use super::context::{Context, Options, Verdict};
use super::converge::Planned;
use super::error::Error;
use super::store::Lock;
use crate::artifacts::BundleFolder;
use crate::clock::Clock;
use crate::event::{EventKind, FORMAT};
use crate::failure::{Cause, Failure, Kind};
use crate::run::{Carried, Held, Outcome, PlanMeans, Secrets, Stop, Taking, carry_out, forget, unless_wished};

/// How many plans a stage makes at the most: a plan is dropped where another run had the hosts meanwhile.
const MOST_PLANS: usize = 5;

/// How many stages an order has at the most: an order that needs more does not come to its end.
pub(super) const MOST_STAGES: usize = 32;

/// What was ordered: it leads to its end by stages, each of which is an ordinary plan.
pub(super) trait StagedOrder {
    /// Looks at the hosts, and makes the plan of the stage that is next.
    async fn plan(&mut self, run: &Run<'_>) -> Result<Planned, Vec<Failure>>;

    /// Prepares what carrying out the plan needs, before the first host is changed. Asked of an empty plan too.
    async fn prepare(&mut self, run: &Run<'_>, planned: &Planned) -> Result<Work, Error>;

    /// Whether the stage is done with this plan, for it changes nothing.
    fn is_done_by(&self, run: &Run<'_>, planned: &Planned) -> bool;

    /// Goes on to the stage after the one that is done. Whether there is one.
    fn goes_on(&mut self) -> bool {
        false
    }
}

/// What carrying out a plan needs that its verb knows.
pub(super) struct Work {
    pub(super) secrets: Secrets,
    pub(super) bundle: Option<Arc<BundleFolder>>,
    pub(super) whole: bool,
    pub(super) most_failed: Option<usize>,
}

/// How an order ended.
pub(super) struct Driven {
    /// The plan of the last stage.
    pub(super) planned: Planned,
    /// What all stages together have done; nothing, if there was nothing to do in any.
    pub(super) outcome: Option<Outcome>,
}

/// A run that has the cluster's lock.
pub(super) struct Run<'a> {
    pub(super) context: &'a Context,
    pub(super) options: Options<'a>,
    has_begun: AtomicBool,
    /// Whether a stage was carried out.
    has_done: AtomicBool,
    _lock: Lock,
}

impl<'a> Run<'a> {
    /// Says that the run begins.
    pub(super) fn begin(
        verb: &str,
        cluster: &Cluster,
        part: Option<String>,
        (context, lock): (&'a Context, Lock),
        options: Options<'a>,
    ) -> Self {
        context.events.send(EventKind::RunStarted {
            v: FORMAT,
            run: options.run.to_owned(),
            verb: verb.to_owned(),
            cluster: cluster.name.clone(),
            time: Clock::rfc3339(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            who: context.controller.name.clone(),
            part,
        });
        Self { context, options, has_begun: AtomicBool::new(false), has_done: AtomicBool::new(false), _lock: lock }
    }

    /// Carries out an order, stage by stage. Hosts are held from the stage that first needs them until the run ends, however it does.
    ///
    /// # Errors
    /// [`Error`] of the stage that did not come to its end.
    pub(super) async fn drive(&self, order: &mut impl StagedOrder) -> Result<Driven, Error> {
        let mut held = Held::default();
        let driven = self.stages(order, &mut held).await;
        held.let_go(&mut self.context.stop.clone(), &self.context.events).await;
        driven
    }

    async fn stages(&self, order: &mut impl StagedOrder, held: &mut Held) -> Result<Driven, Error> {
        let mut before: Option<Outcome> = None;
        for _ in 0..MOST_STAGES {
            let mut driven = self.stage(order, held).await?;
            self.has_done.fetch_or(driven.outcome.is_some(), Ordering::SeqCst);
            before = match (before, driven.outcome.take()) {
                (Some(before), Some(outcome)) => Some(Outcome { done: before.done + outcome.done, ..outcome }),
                (before, outcome) => outcome.or(before),
            };
            if !order.goes_on() {
                return Ok(Driven { outcome: before, ..driven });
            }
        }
        self.recorded(Err(vec![Failure::new(Kind::Internal, format!("after {MOST_STAGES} stages there was still something to do"))]))
    }

    async fn stage(&self, order: &mut impl StagedOrder, held: &mut Held) -> Result<Driven, Error> {
        for _ in 0..MOST_PLANS {
            let planned = self.unless_stopped(order.plan(self)).await?;
            self.approved(&planned)?;
            let is_done = order.is_done_by(self, &planned);
            let work = order.prepare(self, &planned).await?;
            if is_done {
                self.nothing_to_do(&planned, held).await;
                return Ok(Driven { planned, outcome: None });
            }
            if let Some(outcome) = self.carry_out(&planned, work, held).await? {
                return Ok(Driven { planned, outcome: Some(outcome) });
            }
        }
        let changing = Failure::new(Kind::Host, "the holder of the hosts changes all the time").due(Cause::Passing);
        self.recorded(Err(vec![changing.hint("find out who else is at work")]))
    }

    /// Says in the journal too why nothing was begun.
    pub(super) fn recorded<T>(&self, result: Result<T, Vec<Failure>>) -> Result<T, Error> {
        result.map_err(|mut failures| {
            if self.has_done.load(Ordering::SeqCst) {
                // Then it is not so that nothing was changed.
                failures.iter_mut().for_each(|failure| failure.kind = Kind::Incomplete);
            }
            self.refuse(&failures);
            Error::from(failures)
        })
    }

    fn refuse(&self, failures: &[Failure]) {
        let (code, took_milliseconds) = (Kind::worst(failures).exit_code(), self.context.events.milliseconds());
        let failures = failures.iter().map(Failure::to_record).collect();
        self.context.events.send(EventKind::RunRefused { code, failures, took_milliseconds });
    }

    /// Waits for work that changes nothing, and ends the run in good order if that is wished meanwhile.
    pub(super) async fn unless_stopped<T>(&self, work: impl Future<Output = Result<T, Vec<Failure>>>) -> Result<T, Error> {
        if let Some(result) = unless_wished(&mut self.context.stop.clone(), Stop::Finish, work).await {
            return self.recorded(result);
        }
        let outcome = Outcome { stopped: Some(Stop::BECAUSE.to_owned()), ..Outcome::default() };
        self.context.events.send(outcome.to_event(self.context.events.milliseconds()));
        Err(Error::from(outcome))
    }

    /// From now on there is something to tidy up, so whoever wishes the run to end has to be heard.
    pub(super) fn begins(&self) -> Result<(), Error> {
        if self.has_begun.swap(true, Ordering::SeqCst) { Ok(()) } else { (self.options.begins)().map_err(Error::from) }
    }

    /// Whether another controller holds hosts, and may be at work there, or keeps them as they are described, and is to lose them.
    pub(super) fn takes_over(&self, planned: &Planned) -> bool {
        let (standing, own) = (&planned.standing, &self.context.controller.id);
        self.options.take_over && !(taken_over(standing, own).is_empty() && OtherManager::all(standing, own).is_empty())
    }

    fn approved(&self, planned: &Planned) -> Result<(), Error> {
        match (self.options.approve)(&planned.plan) {
            Verdict::Go => Ok(()),
            Verdict::Changed(changed) => {
                self.refuse(std::slice::from_ref(&changed.failure));
                Err(Error::PlanChanged(changed))
            }
            Verdict::Wait => {
                self.refuse(&[Failure::new(Kind::Declined, "the plan waits for an approval")]);
                Err(Error::NotApproved)
            }
        }
    }

    /// Carries out a plan. Nothing if it was too old and has to be made anew.
    async fn carry_out(&self, planned: &Planned, work: Work, held: &mut Held) -> Result<Option<Outcome>, Error> {
        let Context { controller, events, stop, pools, .. } = self.context;
        let Work { secrets, bundle, whole, most_failed } = work;
        let Options { run, take_over, .. } = self.options;
        let Planned { links, standing, left_out, cluster, .. } = planned;
        let taking = Taking { run: run.to_owned(), controller: controller.clone(), take_over, boots: planned.boots.clone() };
        if take_over {
            taken_over(standing, &controller.id).into_iter().for_each(|from| events.send(EventKind::RunTakesOver { from }));
            let managers = OtherManager::all(standing, &controller.id).into_iter();
            managers
                .for_each(|OtherManager { by, hosts }| events.send(EventKind::ManagerReplaced { by, hosts: hosts.into_iter().collect() }));
        }
        self.begins()?;
        let (stop, pools) = (stop.clone(), pools.clone());
        let means = PlanMeans { cluster, links, standing, taking, secrets, bundle, whole, left_out, most_failed, stop, pools };
        match self.recorded(carry_out(&planned.plan, means, held, events).await)? {
            Carried::Out(outcome) if outcome.is_complete() => Ok(Some(outcome)),
            Carried::Out(outcome) => Err(Error::from(outcome)),
            Carried::NotBegun(hosts) => {
                let hosts = listed(hosts.iter().map(String::as_str));
                events.send(EventKind::PlanDropped { because: format!("another run was at work on {hosts} until now") });
                Ok(None)
            }
        }
    }

    async fn nothing_to_do(&self, planned: &Planned, held: &Held) {
        forget(&planned.links, &planned.standing, &self.context.controller, held).await;
        self.context.events.send(Outcome::default().to_event(self.context.events.milliseconds()));
    }
}
