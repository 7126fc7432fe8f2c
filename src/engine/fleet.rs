//! Bringing hosts that have no Kubernetes to what is declared for them.

use std::path::PathBuf;
use std::sync::Arc;

use kok_crds::model::Cluster;
use kok_tasks::plan::{Plan, Selection};

use super::apply::read_through;
use super::context::{Context, Options};
use super::converge::{Planned, Tolerance, converge_fleet};
use super::driver::{Run, StagedOrder, Work};
use super::error::Error;
use super::store::Lock;
use crate::artifacts::BundleFolder;
use crate::failure::Failure;
use crate::run::{Outcome, Secrets};

/// What is to be brought about.
#[derive(Clone)]
pub struct FleetRequest<'a> {
    /// The hosts, and what is declared for them.
    pub fleet: &'a Cluster,
    /// Which of them.
    pub selection: &'a Selection,
    /// The part in the caller's words; nothing for all.
    pub part: Option<String>,
    /// How many hosts may fail, or not be reached, before nothing new is begun.
    pub most_failed: Option<usize>,
    /// Where digests of files of this machine are kept; nothing to hash them each time.
    pub sums: Option<PathBuf>,
}

/// Makes the plan, whoever holds the hosts. Nothing is changed.
///
/// # Errors
/// [`Failure`]s if there is none.
pub async fn fleet_plan(context: &Context, request: &FleetRequest<'_>) -> Result<Planned, Vec<Failure>> {
    let tolerance = Tolerance { holder: true, unreachable: request.most_failed.unwrap_or_default(), ..Tolerance::default() };
    converge_fleet(request.fleet, request.selection, tolerance, context).await
}

/// Brings the hosts to what is declared. Whoever calls has the fleet's lock, which ends with the run. No outcome, if there was nothing to do.
///
/// # Errors
/// [`Error`] if not all of it is done.
pub async fn fleet(
    context: &Context,
    lock: Lock,
    request: &FleetRequest<'_>,
    options: Options<'_>,
) -> Result<(Plan, Option<Outcome>), Error> {
    let run = Run::begin("converge", request.fleet, request.part.clone(), (context, lock), options);
    let driven = run.drive(&mut Declared { request }).await?;
    Ok((driven.planned.plan, driven.outcome))
}

struct Declared<'a> {
    request: &'a FleetRequest<'a>,
}

impl StagedOrder for Declared<'_> {
    async fn plan(&mut self, run: &Run<'_>) -> Result<Planned, Vec<Failure>> {
        let FleetRequest { fleet, selection, most_failed, .. } = self.request;
        let tolerance = Tolerance { holder: run.options.take_over, unreachable: most_failed.unwrap_or_default(), ..Tolerance::default() };
        converge_fleet(fleet, selection, tolerance, run.context).await
    }

    async fn prepare(&mut self, run: &Run<'_>, planned: &Planned) -> Result<Work, Error> {
        let files = BundleFolder::none().with_sums(self.request.sums.clone());
        read_through(run, &files, &planned.plan)?;
        let secrets = Secrets::given(&planned.cluster, &planned.plan);
        // Hosts that nothing is to be done on are left alone.
        Ok(Work { secrets, bundle: Some(Arc::new(files)), whole: false, most_failed: self.request.most_failed })
    }

    fn is_done_by(&self, _run: &Run<'_>, planned: &Planned) -> bool {
        planned.plan.is_empty()
    }
}
