//! `kokctl backup prune`

use clap::Args;
use kok_crds::count;

use super::{FolderArgument, shown};
use crate::cli::files::{ClusterFiles, ExtraVars};
use crate::clock::Clock;
use crate::failure::{Failure, Kind};
use crate::ui::line;

/// Remove the backups of a cluster that `spec.backup.keep` does not speak for, as `backup create` does
///
/// Only files that are called as backups of this cluster are; never the newest one, never one that is damaged, and never one that is later than this
/// machine's clock.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    folder: FolderArgument,
    /// Only show which these are
    #[arg(long)]
    dry_run: bool,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (_, cluster) = arguments.cluster.without_manifests(&arguments.extra)?;
    let keep = &cluster.settings.backup.keep;
    if keep.is_all() {
        let failure =
            Failure::new(Kind::Input, "it is not said which backups stay").because("there is no `spec.backup.keep` in the cluster's file");
        return Err(vec![failure.hint("add `backup: {keep: {last: 8, daily: 7, weekly: 4, monthly: 6}}` to the spec of the Cluster")]);
    }
    let one = |failure| vec![failure];
    let places = arguments.folder.places(Some(&cluster)).map_err(one)?;
    let (now, mut removed) = (Clock::seconds(), 0);
    if let Some(place) = &places.folder {
        let surplus = place.surplus(&cluster.name, keep, now).map_err(one)?;
        surplus.iter().for_each(|found| line(&shown(&found.path)));
        if !arguments.dry_run {
            place.remove(&surplus).map_err(one)?;
        }
        removed += surplus.len();
    }
    if let Some(bucket) = &places.bucket {
        let surplus = bucket.surplus(&cluster.name, keep, now).await.map_err(one)?;
        surplus.iter().for_each(|name| line(&bucket.address_of(name)));
        if !arguments.dry_run {
            bucket.remove(&surplus).await.map_err(one)?;
        }
        removed += surplus.len();
    }
    let done = if arguments.dry_run { "would be removed" } else { "removed" };
    line(&format!("{} {done}", count(removed, "backup")));
    Ok(())
}
