//! `kokctl converge`

use clap::Args;
use kok_crds::count;
use kok_crds::model::Cluster;
use kok_tasks::plan::{Choice, Plan, Selection};

use super::changing::{ChangingArguments, Session, failures};
use super::common::MaxFail;
use super::files::{ClusterFiles, ExtraVars};
use super::limit::LimitArgument;
use super::process;
use super::report::{self, plan_text};
use crate::engine::{self, FleetRequest, Verdict};
use crate::failure::{Failure, Kind};
use crate::run::Outcome;
use crate::ui::{line, status_line};

/// Bring hosts without Kubernetes to what is declared for them
///
/// The file is a Fleet: hosts, and under `hostResources` what is to be on them. What is as it should be is left alone, so a second run changes
/// nothing. The hosts of a Cluster are brought there by apply, with everything else.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    files: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    limit: LimitArgument,
    /// Show what would be changed, and why, without changing anything
    #[arg(long)]
    check: bool,
    /// How many hosts may fail, as a number or as a percentage of all; above that nothing new is begun. Up to so many hosts that can't
    /// be reached are left out
    #[arg(long, value_name = "N|N%")]
    max_fail: Option<MaxFail>,
    #[command(flatten)]
    changing: ChangingArguments,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (input, fleet) = arguments.files.fleet(&arguments.extra)?;
    let limit = arguments.limit.hosts(&input)?;
    let choice = Choice { limit: &limit, ..Choice::default() };
    let refused = |refusals: Vec<_>| refusals.into_iter().map(|refusal| Failure::refusal(Kind::Input, refusal)).collect::<Vec<_>>();
    let selection = Selection::new(choice, &fleet).map_err(refused)?;
    let part = arguments.limit.is_given().then(|| format!("--limit {}", arguments.limit.written()));
    let most_failed = arguments.max_fail.map(|most| most.count_of(fleet.hosts.len()));
    let request = FleetRequest { fleet: &fleet, selection: &selection, part, most_failed, sums: process::sums() };
    let transport = process::transport();
    if arguments.check {
        let context = process::context_by(process::controller().map_err(|failure| vec![failure])?, transport);
        return show(&engine::fleet_plan(&context, &request).await?.plan, &selection);
    }
    let (session, lock) = Session::open(&fleet, &arguments.changing, transport).map_err(|failure| vec![failure])?;
    let approve = |_: &Plan| Verdict::Go;
    let converged = session.with_options(approve, async |options| engine::fleet(&session.context, lock, &request, options).await).await;
    let (plan, outcome) = converged.map_err(|error| failures(error, "converge"))?;
    match outcome {
        Some(outcome) => say_done(&session, &fleet, &plan, &outcome),
        None => session.say("nothing to do"),
    }
    report::part(&selection, &plan).iter().for_each(|text| status_line(text));
    Ok(())
}

fn show(plan: &Plan, selection: &Selection) -> Result<(), Vec<Failure>> {
    if plan.is_empty() {
        line("nothing to do");
    } else {
        line(&plan_text(plan));
        line(&format!("\n{} of {} would change something", plan.changes().count(), count(plan.steps().count(), "step")));
    }
    report::part(selection, plan).iter().for_each(|text| status_line(text));
    Ok(())
}

fn say_done(session: &Session<'_>, fleet: &Cluster, plan: &Plan, outcome: &Outcome) {
    let (done, hosts) = (count(outcome.done, "change"), count(report::changed_hosts(plan), "host"));
    session.say(&format!("{done} on {hosts} of {}, {:.1} s", fleet.name, session.seconds()));
}
