//! The loop over stages, with orders whose plans are empty.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kok_tasks::plan::Plan;

use super::super::driver::{MOST_STAGES, Run, StagedOrder, Work};
use super::super::store::Lock;
use super::*;
use crate::failure::Failure;
use crate::run::{Links, Secrets};
use crate::state::Controller;

/// An order of so many stages, in each of which nothing is to be done.
#[derive(Default)]
struct Nothing {
    stages: usize,
    planned: usize,
    prepared: usize,
}

impl StagedOrder for Nothing {
    async fn plan(&mut self, _run: &Run<'_>) -> Result<Planned, Vec<Failure>> {
        self.planned += 1;
        Ok(Planned {
            plan: Plan::default(),
            cluster: cluster(22),
            warnings: Vec::new(),
            links: Links::new(),
            now_seconds: 0,
            standing: BTreeMap::new(),
            boots: BTreeMap::new(),
            is_first: false,
            left_out: BTreeMap::new(),
            keeper: None,
            etcd_keeper: None,
            encryption_keeper: None,
        })
    }

    async fn prepare(&mut self, _run: &Run<'_>, _planned: &Planned) -> Result<Work, Error> {
        self.prepared += 1;
        Ok(Work { secrets: Secrets::none(), bundle: None, whole: true, most_failed: None })
    }

    fn is_done_by(&self, _run: &Run<'_>, planned: &Planned) -> bool {
        planned.plan.is_empty()
    }

    fn goes_on(&mut self) -> bool {
        self.prepared < self.stages
    }
}

/// How the order ends, how often it was planned and prepared, how often changes began, and the last event.
async fn driven(stages: usize, verdict: Verdict, wish: Stop) -> (Option<Error>, (usize, usize, usize), EventKind) {
    let (heard, began) = (HeardEvents::default(), AtomicUsize::new(0));
    let transport = Transport::new(Surroundings::default(), Arc::default());
    let (_wish, stop) = watch::channel(wish);
    let context = Context { stop, ..Context::new(Controller::nobody(), Events::new(vec![Box::new(heard.clone())]), transport) };
    let begins = || {
        began.fetch_add(1, Ordering::SeqCst);
        Ok(())
    };
    let options = Options { approve: &|_| verdict.clone(), begins: &begins, ..Options::unattended("run") };
    let run = Run::begin("apply", &cluster(22), None, (&context, Lock::new(())), options);
    let mut order = Nothing { stages, ..Nothing::default() };
    let error = run.drive(&mut order).await.err();
    (error, (order.planned, order.prepared, began.into_inner()), heard.all().1)
}

#[tokio::test]
async fn an_order_is_planned_anew_for_each_stage_and_does_not_go_on_for_ever() {
    let (error, counts, last) = driven(3, Verdict::Go, Stop::No).await;
    assert!(error.is_none() && counts == (3, 3, 0) && matches!(last, EventKind::RunFinished { done: 0, stopped: None, .. }));
    let (error, counts, last) = driven(usize::MAX, Verdict::Go, Stop::No).await;
    assert_eq!((error.unwrap().class(), counts), (Kind::Internal, (MOST_STAGES, MOST_STAGES, 0)));
    assert!(matches!(last, EventKind::RunRefused { code: 1, .. }), "{last:?}");
}

#[tokio::test]
async fn a_plan_that_is_not_approved_is_not_prepared() {
    let (error, counts, last) = driven(1, Verdict::Wait, Stop::No).await;
    let error = error.unwrap();
    assert!(matches!(error, Error::NotApproved) && !error.may_pass() && counts == (1, 0, 0), "{error:?}");
    assert!(matches!(last, EventKind::RunRefused { code: 5, .. }), "{last:?}");

    let changed = PlanChanged { differences: Vec::new(), failure: Failure::new(Kind::Input, "it is another one") };
    let (error, counts, last) = driven(1, Verdict::Changed(Box::new(changed.clone())), Stop::No).await;
    let error = error.unwrap();
    assert!(matches!(&error, Error::PlanChanged(has) if **has == changed) && counts == (1, 0, 0), "{error:?}");
    assert!(error.class() == Kind::Input && !error.may_pass());
    assert!(matches!(last, EventKind::RunRefused { code: 2, .. }), "{last:?}");
}

#[tokio::test]
async fn a_run_whose_caller_has_gone_makes_no_plan() {
    let (error, counts, last) = driven(1, Verdict::Go, Stop::Finish).await;
    assert!(matches!(error, Some(Error::Stopped(outcome)) if outcome.stopped.is_some()) && counts == (0, 0, 0));
    assert!(matches!(last, EventKind::RunFinished { stopped: Some(_), .. }), "{last:?}");
}
