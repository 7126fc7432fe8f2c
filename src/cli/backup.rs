//! `kokctl backup`

mod create;
mod list;
mod local;
mod prune;
mod rehearse;
mod timer;
mod verify;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use kok_crds::model::Cluster;

use super::process;
use crate::backup::{BackupPlace, Bucket};
use crate::engine;
use crate::failure::{Failure, Kind};
use crate::state::beside;
pub(super) use list::age;
pub(super) use local::local;
pub(super) use verify::{IdentityArgument, contents_lines};

/// Write backups of a cluster, see which there are, check one, and remove those that nobody wants any more
///
/// A backup is one file with all that the cluster stores and the keys of its authorities, encrypted for those who are named. `kokctl restore` brings one back.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Create(create::Arguments),
    List(list::Arguments),
    Prune(prune::Arguments),
    Rehearse(rehearse::Arguments),
    Timer(timer::Arguments),
    Verify(verify::Arguments),
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    match &arguments.verb {
        Verb::Create(arguments) => create::run(arguments).await,
        Verb::List(arguments) => list::run(arguments).await,
        Verb::Prune(arguments) => prune::run(arguments).await,
        Verb::Rehearse(arguments) => rehearse::run(arguments).await,
        Verb::Timer(arguments) => timer::run(arguments),
        Verb::Verify(arguments) => verify::run(arguments).await,
    }
}

/// Where backups lie: in a folder, in a bucket, or in both.
struct Places {
    folder: Option<BackupPlace>,
    bucket: Option<Bucket>,
}

/// The folder of backups.
#[derive(Debug, Args)]
struct FolderArgument {
    /// The folder that backups lie in, and no bucket; by default what the cluster's file says as `spec.backup.to`
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

impl FolderArgument {
    fn places(&self, cluster: Option<&Cluster>) -> Result<Places, Failure> {
        if let Some(path) = &self.to {
            return Ok(Places { folder: Some(BackupPlace::at(path)?), bucket: None });
        }
        let home = process::home();
        let folder = cluster.and_then(|cluster| cluster.settings.backup.folder.as_ref());
        let folder = folder.map(|folder| BackupPlace::at(&beside(&folder.origin, &folder.path, home.as_deref()))).transpose()?;
        let bucket = cluster.map(|cluster| engine::bucket_of(cluster, home.as_deref())).transpose()?.flatten();
        if folder.is_none() && bucket.is_none() {
            return Err(Failure::new(Kind::Input, "it is not said where backups lie")
                .because("there is no --to, and no `spec.backup.to` in the cluster's file")
                .hint("add `--to FOLDER`, or `backup: {to: {folder: /srv/backups}}` to the spec of the Cluster"));
        }
        Ok(Places { folder, bucket })
    }
}

/// A file of a backup as it is named on the command line.
fn shown(path: &Path) -> String {
    path.display().to_string()
}
