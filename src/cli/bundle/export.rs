//! `kokctl bundle export`

use std::path::PathBuf;

use clap::Args;
use kok_crds::count;

use super::signing_key;
use crate::artifacts::BundleFolder;
use crate::artifacts::archive::export;
use crate::failure::Failure;
use crate::ui::line;

/// Write a bundle into one file, to be carried to a site without a network
///
/// Each file is compared with its digest on the way. With --since only what that bundle does not hold is written; whoever imports it needs both.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder of the bundle
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// The file to write, by custom with a name that ends in .tar.zst
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// The folder of a bundle that the other side has already, or one with its bundle.json alone
    #[arg(long, value_name = "FOLDER")]
    since: Option<PathBuf>,
    /// Sign the archive's index with this SSH key, so that `apply --bundle-signers` knows who has made it
    #[arg(long, value_name = "KEY")]
    sign: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let one = |failure: Failure| vec![failure];
    let key = arguments.sign.as_ref().map(|path| signing_key(path)).transpose().map_err(one)?;
    let folder = BundleFolder::open(&arguments.folder).map_err(one)?;
    let since = arguments.since.as_ref().map(|since| BundleFolder::open(since)).transpose().map_err(one)?;
    let carried = export(&folder, since.as_ref().map(BundleFolder::bundle), key.as_ref(), &arguments.output).map_err(one)?;
    line(&format!("{}: {}, {} MB", arguments.output.display(), count(carried.files, "file"), carried.bytes / 1_000_000));
    Ok(())
}
