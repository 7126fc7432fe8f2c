//! `kokctl run show`

use clap::{Args, Subcommand};
use serde::Serialize;

use super::process;
#[cfg(feature = "operator")]
use super::run_of_operation::OfOperation;
use super::run_text::{By, run_text, timeline_text};
use crate::failure::Failure;
use crate::state::{Record, Story, Timeline};
use crate::ui::{json_line, line, status_line};

/// Look at one run
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show what a run did: its steps, its failures, and what is in doubt
    Show(Show),
}

#[derive(Debug, Args)]
struct Show {
    /// Name of the run, its beginning or end, or `latest`; of an operation the last one by default
    #[cfg_attr(feature = "operator", arg(required_unless_present = "operation"))]
    #[cfg_attr(not(feature = "operator"), arg(required = true))]
    run: Option<String>,
    #[cfg(feature = "operator")]
    #[command(flatten)]
    operation: OfOperation,
    /// Show where the time went: per host, and the chain of steps that made the run as long as it was
    #[arg(long)]
    timeline: bool,
    /// Print all of it as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    record: &'a Record,
    timeline: Timeline,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let Verb::Show(show) = &arguments.verb;
    let one = |failure: Failure| vec![failure];
    let (story, others, by) = story(show).await.map_err(one)?;
    let record = Record::from_story(&story);
    if show.json {
        return json_line(&Document { record: &record, timeline: Timeline::from_record(&record) });
    }
    if show.timeline {
        line(&timeline_text(&record, &Timeline::from_record(&record)));
    } else {
        line(&run_text(&record, by));
    }
    if story.unknown > 0 {
        status_line(&format!("{} events are of kinds that this kokctl does not know", story.unknown));
    }
    if !others.is_empty() {
        status_line(&format!("other runs of the operation: {}", others.join(", ")));
    }
    Ok(())
}

/// The run that is meant, the names of others of the same operation, and who began it.
async fn story(show: &Show) -> Result<(Story, Vec<String>, By), Failure> {
    #[cfg(feature = "operator")]
    if let Some((story, others)) = show.operation.story(show.run.as_deref()).await? {
        return Ok((story, others, By::Operation));
    }
    let state = process::state()?;
    let wanted = show.run.as_deref().unwrap_or("latest");
    Ok((state.read_run(&state.find_run(wanted)?)?, Vec::new(), By::Command))
}
