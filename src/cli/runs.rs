//! `kokctl runs`

use clap::Args;

use super::process;
use super::run_text::{ending_text, when};
use crate::failure::Failure;
use crate::state::Record;
use crate::ui::{duration, json_line, line, status_line};

/// List earlier runs, the last one first
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Only runs of this cluster
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// How many at the most
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    last: usize,
    /// Print each run as a line of JSON, with its steps
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let state = process::state().map_err(|failure| vec![failure])?;
    let names = state.run_names().map_err(|failure| vec![failure])?;
    let (mut records, mut unread) = (Vec::new(), Vec::new());
    for name in names.iter().rev() {
        if records.len() >= arguments.last {
            break;
        }
        match state.read_run(name) {
            Ok(story) => {
                let record = Record::from_story(&story);
                if arguments.cluster.as_ref().is_none_or(|cluster| *cluster == record.cluster) {
                    records.push(record);
                }
            }
            Err(failure) => unread.push(failure),
        }
    }
    if arguments.json {
        records.iter().try_for_each(json_line)?;
    } else if records.is_empty() {
        line("no runs");
    } else {
        print(&records);
    }
    // Other versions write other journals, and are no reason to hide the rest.
    unread
        .iter()
        .for_each(|failure| status_line(&format!("left out: {}: {}", failure.at.as_deref().unwrap_or_default(), failure.one_line())));
    Ok(())
}

fn print(records: &[Record]) {
    line(&format!("{:<22} {:<8} {:<16} {:<20} {:>11}  {:<18} RESULT", "RUN", "VERB", "CLUSTER", "BEGAN (UTC)", "TOOK", "WHO"));
    for record in records {
        line(&format!(
            "{:<22} {:<8} {:<16} {:<20} {:>11}  {:<18} {}",
            record.run,
            record.verb,
            record.cluster,
            when(&record.time),
            duration(record.took_milliseconds),
            record.who,
            ending_text(record)
        ));
    }
}
