//! `kokctl certs status`

use clap::Args;

use super::text;
use crate::cli::common::print_json;
use crate::cli::files::{ClusterFiles, ExtraVars};
use crate::cli::limit::LimitArgument;
use crate::cli::process;
use crate::engine;
use crate::failure::Failure;
use crate::state::Controller;
use crate::ui::{line, status_line};

/// Show every certificate and kubeconfig of the hosts: until when it is valid, who has signed it, and whether what runs has it
///
/// Ends with exit code 3 if one has ended or ends within 14 days (or a tenth of its time, where that is less), or if a program runs with another one than
/// the file has. Within 60 days (or a third of its time) it is warned of.
#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    limit: LimitArgument,
    /// Print the certificates as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (input, cluster) = arguments.cluster.without_manifests(&arguments.extra)?;
    let chosen = arguments.limit.hosts(&input)?;
    // Who can't write there may look all the same.
    let context = process::context(process::controller().unwrap_or_else(|_| Controller::nobody()));
    let (certificates, mut failures) = engine::certificates(&context, &cluster, &chosen).await?;
    if arguments.json {
        print_json(&certificates)?;
    } else {
        text::lines(&certificates).iter().for_each(|text| line(text));
    }
    text::warnings(&certificates).iter().for_each(|warning| status_line(&warning.as_warning()));
    failures.extend(text::alarms(&certificates));
    if failures.is_empty() { Ok(()) } else { Err(failures) }
}
