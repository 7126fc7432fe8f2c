//! `kokctl bundle verify`

use std::path::PathBuf;

use clap::Args;
use kok_crds::count;
use kok_tasks::artifact::Artifact;

use crate::cli::common::open_signed;
use crate::failure::Failure;
use crate::ui::line;

/// Read every file of a bundle, and compare it with the digest of the index
///
/// `apply` does the same with what it needs, before it changes the first host. Ends with exit code 2 if something is missing or not what it was.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder of the bundle
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Ask for a signature of one of these too: an allowed-signers file, as ssh-keygen(1) has it
    #[arg(long, value_name = "FILE")]
    bundle_signers: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let folder = open_signed(&arguments.folder, arguments.bundle_signers.as_deref()).map_err(|failure| vec![failure])?;
    let bundle = folder.bundle();
    let artifacts: Vec<Artifact> = bundle.artifacts().collect();
    let bytes = folder.verify(artifacts.iter())?;
    line(&format!("{} are as the index says, {} MB", count(artifacts.len(), "file"), bytes / 1_000_000));
    Ok(())
}
