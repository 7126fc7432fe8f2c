//! `kokctl plan`

use clap::Args;
use serde::Serialize;

use super::common::{BundleArgument, ClusterFile};
use super::converge::converge;
use super::report::plan_text;
use crate::run::{Events, Token};
use crate::ui::{Failure, Kind, line};

/// Show what apply would change, and why, without changing anything
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFile,
    #[command(flatten)]
    bundle: BundleArgument,
    /// Print the plan as JSON
    #[arg(long)]
    json: bool,
    /// Say of one step what it needs and what needs it
    #[arg(long, value_name = "STEP")]
    why: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StepDocument<'a> {
    step: &'a str,
    host: &'a str,
    task: &'a str,
    title: String,
    change: Option<ChangeDocument<'a>>,
    needs: Vec<NeedDocument<'a>>,
}

#[derive(Serialize)]
struct ChangeDocument<'a> {
    summary: &'a str,
    because: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<&'a str>,
}

#[derive(Serialize)]
struct NeedDocument<'a> {
    step: &'a str,
    because: String,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let cluster = arguments.cluster.read()?;
    let bundle = arguments.bundle.open()?;
    let token = Token::generate().map_err(|failure| vec![failure])?;
    let plan = converge(&cluster, bundle.bundle(), &token.id, &Events::new(Vec::new())).await?.plan;
    let steps: Vec<StepDocument<'_>> = plan
        .steps()
        .map(|step| StepDocument {
            step: step.id.as_str(),
            host: &step.host,
            task: step.task,
            title: step.title(),
            change: plan.change(&step.id).map(|change| ChangeDocument {
                summary: &change.summary,
                because: &change.because,
                diff: change.diff.as_deref(),
            }),
            needs: plan
                .needs(&step.id)
                .into_iter()
                .map(|(need, reason)| NeedDocument { step: need.id.as_str(), because: reason.to_string() })
                .collect(),
        })
        .collect();
    if let Some(wanted) = &arguments.why {
        return why(&steps, wanted);
    }
    if arguments.json {
        let text = serde_json::to_string_pretty(&steps).map_err(|error| vec![Failure::new(Kind::Internal, error.to_string())])?;
        line(&text);
    } else if plan.is_empty() {
        line("nothing to do");
    } else {
        line(&plan_text(&plan));
        line(&format!("\n{} of {} steps would change something", plan.changes().count(), steps.len()));
    }
    Ok(())
}

fn why(steps: &[StepDocument<'_>], wanted: &str) -> Result<(), Vec<Failure>> {
    let Some(step) = steps.iter().find(|step| step.step == wanted) else {
        let alike = steps.iter().map(|step| step.step).filter(|name| name.contains(wanted)).take(5).collect::<Vec<_>>().join(", ");
        let failure = Failure::new(Kind::Input, format!("the plan has no step {wanted}"));
        let hint = if alike.is_empty() { "`kokctl plan --json` names all".to_owned() } else { format!("did you mean {alike}?") };
        return Err(vec![failure.hint(hint)]);
    };
    line(&format!("{}: {}", step.step, step.title));
    match &step.change {
        Some(change) => line(&format!("  to do: {}, because {}", change.summary, change.because)),
        None => line("  nothing to do"),
    }
    for need in &step.needs {
        line(&format!("  after {}, because {}", need.step, need.because));
    }
    for (later, need) in steps.iter().flat_map(|later| later.needs.iter().map(move |need| (later, need))) {
        if need.step == wanted {
            line(&format!("  before {}, because {}", later.step, need.because));
        }
    }
    Ok(())
}
