//! `kokctl bundle import`

use std::path::PathBuf;

use clap::Args;
use kok_crds::count;

use crate::artifacts::archive::import;
use crate::failure::Failure;
use crate::ui::line;

/// Put what an archive of `bundle export` or `bundle create` holds into the folder of a bundle
///
/// Each file is compared with its digest before it has its name. What the folder holds already stays.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The archive
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The folder of the bundle
    #[arg(long, short, value_name = "FOLDER")]
    output: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let carried = import(&arguments.file, &arguments.output).map_err(|failure| vec![failure])?;
    line(&format!("{}: {}, {} MB", arguments.output.display(), count(carried.files, "file"), carried.bytes / 1_000_000));
    Ok(())
}
