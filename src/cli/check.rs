//! `kokctl check`

mod text;

use clap::Args;
use kok_crds::count;

use super::common::print_json;
use super::files::{ClusterFiles, ExtraVars};
use super::limit::LimitArgument;
use super::process;
use super::wanted::hosts_of_apply;
use crate::engine;
use crate::failure::{Failure, Kind};
use crate::ui::line;

/// Check whether the hosts can become the cluster of the file, without changing anything
///
/// Needs no bundle. A host that can't be reached is shown as such, and the others are checked all the same. Ends with exit code 0 if apply
/// would begin, and 3 if it would refuse. Where an operation of the files chooses hosts, as it does for apply, only these are checked.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    limit: LimitArgument,
    /// Print the outcome of every check as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (cluster, chosen) = hosts_of_apply(&arguments.cluster, &arguments.extra, &arguments.limit)?;
    let context = process::context(process::controller().map_err(|failure| vec![failure])?);
    let report = engine::check(&context, &cluster, &chosen).await?;
    if arguments.json {
        print_json(&report)?;
    } else {
        text::lines(&report).iter().for_each(|text| line(text));
    }
    if report.ok {
        return Ok(());
    }
    let failure = Failure::new(Kind::Host, format!("{} failed: apply would refuse these hosts", count(report.failed(), "check")));
    Err(vec![failure.hint("mend what is shown above, and check again")])
}

#[cfg(test)]
mod tests;
