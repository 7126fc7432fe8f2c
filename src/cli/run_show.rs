//! `kokctl run show`

use clap::{Args, Subcommand};
use serde::Serialize;

use super::process;
use super::run_text::{run_text, timeline_text};
use crate::failure::Failure;
use crate::state::{Record, Timeline};
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
    /// Name of the run, its beginning or end, or `latest`
    run: String,
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

pub(super) fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let Verb::Show(show) = &arguments.verb;
    let one = |failure: Failure| vec![failure];
    let state = process::state().map_err(one)?;
    let story = state.read_run(&state.find_run(&show.run).map_err(one)?).map_err(one)?;
    let record = Record::of(&story);
    if show.json {
        return json_line(&Document { record: &record, timeline: Timeline::of(&record) });
    }
    if show.timeline {
        line(&timeline_text(&record, &Timeline::of(&record)));
    } else {
        line(&run_text(&record));
    }
    if story.unknown > 0 {
        status_line(&format!("{} events are of kinds that this kokctl does not know", story.unknown));
    }
    Ok(())
}
