//! `kokctl bundle prune`

use std::path::PathBuf;

use clap::Args;
use kok_crds::count;
use semver::Version;

use super::release;
use crate::artifacts::prune::prune;
use crate::cli::fetching::{FetchArguments, cache};
use crate::failure::Failure;
use crate::ui::line;

/// Remove from a bundle what nobody needs any more
///
/// What the index does not name is removed, such as files of older fetches. With --keep, releases go that are not named there: their kubeadm, kubelet and
/// kubectl, and images and etcd that only they need. All else stays in all its versions. Don't run it beside an `apply` from the same folder.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder of the bundle; without it the user's cache, into which `apply` fetches
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Releases of Kubernetes that stay, with commas between them; without it all
    #[arg(long, value_name = "VERSION", value_delimiter = ',', value_parser = release)]
    keep: Vec<Version>,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let one = |failure: Failure| vec![failure];
    let folder = arguments.folder.clone().map_or_else(cache, Ok).map_err(one)?;
    let keep: Vec<String> = arguments.keep.iter().map(ToString::to_string).collect();
    let licences = FetchArguments::default().catalog().map_err(one)?.licences();
    let removed = prune(&folder, &keep, &licences, arguments.dry_run).map_err(one)?;
    removed.iter().for_each(|file| line(&file.path.display().to_string()));
    let megabytes = removed.iter().map(|file| file.size).sum::<u64>() / 1_000_000;
    let outcome = if arguments.dry_run { "would be removed" } else { "removed" };
    line(&format!("{}, {megabytes} MB {outcome}", count(removed.len(), "file")));
    Ok(())
}
