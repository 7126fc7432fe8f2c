//! `kokctl backup create`

use clap::Args;
use kok_crds::model::Backup;
use kok_crds::operation::Verb;
use kok_crds::{Intent, count};

use super::{FolderArgument, shown};
use crate::backup::{BackupPlace, KeptBackup, Seal};
use crate::cli::files::{ClusterFiles, ExtraVars};
use crate::cli::process;
use crate::cli::table::size;
use crate::cli::wanted::{problems, tasks};
use crate::clock::Clock;
use crate::engine::{self, BackupRequest};
use crate::failure::{Failure, Kind};
use crate::ui::line;

/// Write a backup: a snapshot of etcd from a member that is well, the keys of the cluster, its files without logins
///
/// Nothing is changed on any host. The file is under its name when it is whole and on the disk, or not at all. Then those older backups of this cluster
/// go that `spec.backup.keep` does not speak for.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    folder: FolderArgument,
    /// Whom it is encrypted to: a public key (`age1…`) as `age-keygen` makes it, in place of those of the file; several may be given
    #[arg(long, value_name = "RECIPIENT")]
    recipient: Vec<String>,
    /// Don't encrypt it: whoever gets the file has every secret of the cluster, and the keys of its authorities
    #[arg(long, conflicts_with = "recipient")]
    no_encryption: bool,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (input, cluster, description) = arguments.cluster.described(&arguments.extra)?;
    input.asked(Intent { verb: Verb::Backup, dry: false }, &tasks()).map_err(problems)?;
    let one = |failure: Failure| vec![failure];
    let backup = &cluster.settings.backup;
    let seal = arguments.seal(backup).map_err(one)?;
    let place = arguments.folder.place(Some(&cluster)).map_err(one)?;
    let context = process::context(process::controller().map_err(one)?);
    let request = BackupRequest { cluster: &cluster, description: &description, place: &place, seal: &seal };
    let kept = engine::back_up(&context, &request).await?;
    line(&told(&kept, &seal));
    prune(&place, &cluster.name, backup).map_err(one)
}

/// What there is now.
fn told(kept: &KeptBackup, seal: &Seal) -> String {
    let manifest = &kept.manifest;
    let revision = manifest.revision.map(|revision| format!(", revision {revision} at least")).unwrap_or_default();
    let readers = if seal.is_encrypted() { "encrypted" } else { "NOT ENCRYPTED: whoever gets it has all of the cluster" };
    let (path, bytes) = (shown(&kept.path), size(kept.bytes));
    format!("{path}: {bytes}, the etcd of {}{revision}, Kubernetes {}, {readers}", manifest.member, manifest.versions.kubernetes)
}

/// The new one is there, whatever becomes of older ones.
fn prune(place: &BackupPlace, cluster: &str, backup: &Backup) -> Result<(), Failure> {
    let removed = place.surplus(cluster, &backup.keep, Clock::seconds()).and_then(|surplus| place.remove(&surplus).map(|()| surplus));
    let surplus = removed.map_err(|failure| Failure { kind: Kind::Incomplete, ..failure })?;
    if !surplus.is_empty() {
        line(&format!("{} removed, for which `keep` does not speak", count(surplus.len(), "older backup")));
    }
    Ok(())
}

impl Arguments {
    /// Who can read it, by the command line or by the file.
    fn seal(&self, backup: &Backup) -> Result<Seal, Failure> {
        if self.no_encryption {
            return Ok(Seal::Open);
        }
        match (self.recipient.as_slice(), backup.recipients.as_slice(), backup.encrypt) {
            ([], [], false) => Ok(Seal::Open),
            ([], [], true) => Err(Failure::new(Kind::Input, "it is not said who can read the backup")
                .because("a backup holds every secret of the cluster and the keys of its authorities")
                .hint(
                    "add `--recipient age1…` (`age-keygen -o backup.key` makes a key and prints it), or `backup: {recipients: [age1…]}` to the spec of the \
                     Cluster; or, if whoever gets the file may have all of it, --no-encryption",
                )),
            ([], of_file, _) => Seal::to(of_file),
            (given, ..) => Seal::to(given),
        }
    }
}
