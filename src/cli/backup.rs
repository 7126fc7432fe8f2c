//! `kokctl backup`

mod create;
mod list;
mod prune;
mod verify;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use kok_crds::model::Cluster;

use super::process;
use crate::backup::BackupPlace;
use crate::failure::{Failure, Kind};
use crate::state::beside;
pub(super) use verify::{IdentityArgument, told};

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
    Verify(verify::Arguments),
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    match &arguments.verb {
        Verb::Create(arguments) => create::run(arguments).await,
        Verb::List(arguments) => list::run(arguments),
        Verb::Prune(arguments) => prune::run(arguments),
        Verb::Verify(arguments) => verify::run(arguments),
    }
}

/// The folder of backups.
#[derive(Debug, Args)]
struct FolderArgument {
    /// The folder that backups lie in; by default what the cluster's file says as `spec.backup.to.folder`
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

impl FolderArgument {
    fn place(&self, cluster: Option<&Cluster>) -> Result<BackupPlace, Failure> {
        let of_file = || {
            let folder = cluster?.settings.backup.folder.as_ref()?;
            Some(beside(&folder.origin, &folder.path, process::home().as_deref()))
        };
        match self.to.clone().or_else(of_file) {
            Some(path) => BackupPlace::at(&path),
            None => Err(Failure::new(Kind::Input, "it is not said where backups lie")
                .because("there is no --to, and no `spec.backup.to.folder` in the cluster's file")
                .hint("add `--to FOLDER`, or `backup: {to: {folder: /srv/backups}}` to the spec of the Cluster")),
        }
    }
}

/// A file of a backup as it is named on the command line.
fn shown(path: &Path) -> String {
    path.display().to_string()
}
