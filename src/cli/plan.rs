//! `kokctl plan`

use std::path::PathBuf;

use clap::Args;
use kok_crds::count;
use kok_crds::model::Cluster;

use super::common::{BundleArgument, PruneArgument, print_json};
use super::drain_arguments::SerialOption;
use super::files::{ClusterFiles, ExtraVars};
use super::plan_json::WhyDocument;
use super::process;
use super::report::{self, plan_text};
use super::saved_plan::{PlanPlace, document};
use super::wanted::{PartArguments, Wanted};
use super::why::why_text;
use crate::engine::{self, Given, PlanRequest, Planned};
use crate::failure::{Failure, Kind};
use crate::state::Keeping;
use crate::ui::{grouped, line, status_line};

/// Show what apply would change, and why, without changing anything
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    bundle: BundleArgument,
    #[command(flatten)]
    part: PartArguments,
    #[command(flatten)]
    prune: PruneArgument,
    #[command(flatten)]
    serial: SerialOption,
    /// Print the plan as JSON
    #[arg(long)]
    json: bool,
    /// Write the plan into this file, for `apply --plan FILE`
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// List all steps by name, also those with nothing to do
    #[arg(long, conflicts_with = "why")]
    steps: bool,
    /// Say of one step what it changes, what it needs and what needs it; STEP is its name, or a part that no other name has
    #[arg(long, value_name = "STEP")]
    why: Option<String>,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let Wanted { mut cluster, selection, .. } = arguments.part.read(&arguments.cluster, &arguments.extra, true)?;
    arguments.serial.tell(&mut cluster);
    arguments.bundle.tell_hosts(&mut cluster);
    let transport = process::transport();
    let bundle = arguments.bundle.open_or_fetch(&cluster, &transport).await?;
    let place = arguments.save.as_deref().map(PlanPlace::new).transpose()?;
    let given = Given::new(arguments.prune.prune)?;
    let context = process::context_by(process::controller().map_err(|failure| vec![failure])?, transport);
    let request = PlanRequest { cluster: &cluster, selection: &selection, bundle: &bundle, given: &given };
    let Planned { plan, warnings, is_first, .. } = engine::plan(&context, request).await?;
    if is_first && place.is_some() {
        return Err(vec![hosts_leave_first(&cluster)]);
    }
    grouped(warnings).iter().for_each(|warning| status_line(&warning.as_warning()));
    if let Some(place) = &place {
        let document = document(&given, &plan, &cluster, &selection);
        place.write(&document)?;
        status_line(&format!("saved in {}: {}", place.path().display(), document.digest()));
    }
    if let Some(wanted) = &arguments.why {
        let step = plan.find(wanted).map_err(|refusal| vec![Failure::refusal(Kind::Input, refusal)])?;
        let why = plan.why(step);
        return if arguments.json { print_json(&WhyDocument::new(&plan, &why, &cluster.concealed)) } else { print(&why_text(&plan, &why)) };
    }
    if arguments.json {
        return print_json(&document(&given, &plan, &cluster, &selection));
    }
    if arguments.steps {
        return print(&report::steps_text(&plan));
    }
    if plan.is_empty() {
        line("nothing to do");
    } else {
        line(&plan_text(&plan));
        line(&format!("\n{} of {} would change something", plan.changes().count(), count(plan.steps().count(), "step")));
    }
    if is_first {
        line("then the rest of the file is applied: what that changes can be planned when this is done");
    }
    say_kept(&cluster);
    report::assumed(&plan).iter().for_each(|text| status_line(text));
    report::part(&selection, &plan).iter().for_each(|text| status_line(text));
    report::unpruned(arguments.prune.prune, &selection, &plan).iter().for_each(|text| status_line(text));
    Ok(())
}

/// A plan that somebody agrees to is one.
fn hosts_leave_first(cluster: &Cluster) -> Failure {
    let failure = Failure::new(Kind::Input, "a plan in which hosts leave can't be saved").at("--save");
    let failure = failure.because(format!("what follows is planned when {} are gone", cluster.removed.join(", ")));
    failure.hint("save the plan when they are gone: `kokctl apply` takes them out without a saved plan, or `kokctl remove` them by name")
}

/// What `apply` does on this machine.
fn say_kept(cluster: &Cluster) {
    if let Some(file) = cluster.settings.certificates.escrow.as_ref().filter(|file| file.kept.is_none()) {
        let keeping = Keeping::new(&cluster.name, file, process::home().as_deref());
        status_line(&format!("note: apply puts the keys of {} into {} on this machine", cluster.name, keeping.path().display()));
    }
}

fn print(text: &str) -> Result<(), Vec<Failure>> {
    line(text);
    Ok(())
}
