//! `kokctl backup create`

use std::path::PathBuf;

use clap::Args;
use kok_crds::model::Backup;
use kok_crds::operation::Verb;
use kok_crds::{Intent, count};

use super::{FolderArgument, Places};
use crate::backup::{BackupPlace, Seal};
use crate::cli::files::{ClusterFiles, ExtraVars};
use crate::cli::process;
use crate::cli::table::size;
use crate::cli::wanted::{problems, tasks};
use crate::clock::Clock;
use crate::engine::{self, BackedUp, BackupRequest, Store as _};
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
    /// Encrypt it with the passphrase that is the first line of this file, in place of public keys; nobody but its owner may be able to read it
    #[arg(long, value_name = "FILE", conflicts_with = "recipient")]
    passphrase_file: Option<PathBuf>,
    /// Don't encrypt it: whoever gets the file has every secret of the cluster, and the keys of its authorities
    #[arg(long, conflicts_with_all = ["recipient", "passphrase_file"])]
    no_encryption: bool,
    /// Remove no older backup, whatever `keep` says: the one that is to be restored may be among those that this one takes the place of
    #[arg(long)]
    no_prune: bool,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (input, cluster, description) = arguments.cluster.described(&arguments.extra)?;
    input.asked(Intent { verb: Verb::Backup, dry: false }, &tasks()).map_err(problems)?;
    let one = |failure: Failure| vec![failure];
    let backup = &cluster.settings.backup;
    let seal = arguments.seal(backup).map_err(one)?;
    let places = arguments.folder.places(Some(&cluster)).map_err(one)?;
    // What goes into a bucket alone lies in a folder of kokctl's own until it is there.
    let place = places.folder.clone().map_or_else(|| own(&cluster.name), Ok).map_err(one)?;
    let context = process::context(process::controller().map_err(one)?);
    let request = BackupRequest {
        cluster: &cluster,
        description: &description,
        place: &place,
        bucket: places.bucket.as_ref(),
        stays: places.folder.is_some(),
        seal: &seal,
    };
    let made = engine::back_up(&context, &request).await?;
    line(&backup_message(&made, &seal));
    if arguments.no_prune { Ok(()) } else { prune(&places, &cluster.name, backup).await.map_err(one) }
}

fn own(cluster: &str) -> Result<BackupPlace, Failure> {
    BackupPlace::own(&engine::FolderStore::new(process::state()?).backups_of(cluster))
}

/// What there is now.
fn backup_message(made: &BackedUp, seal: &Seal) -> String {
    let manifest = &made.manifest;
    let revision = manifest.revision.map(|revision| format!(", revision {revision} at least")).unwrap_or_default();
    let readers = if seal.is_encrypted() { "encrypted" } else { "NOT ENCRYPTED: whoever gets it has all of the cluster" };
    let bytes = size(made.bytes);
    format!(
        "{}: {bytes}, the etcd of {}{revision}, Kubernetes {}, {readers}",
        made.places.join(", "),
        manifest.member,
        manifest.versions.kubernetes
    )
}

/// The new one is there, whatever becomes of older ones.
async fn prune(places: &Places, cluster: &str, backup: &Backup) -> Result<(), Failure> {
    let incomplete = |failure: Failure| Failure { kind: Kind::Incomplete, ..failure };
    let mut removed = 0;
    if let Some(place) = &places.folder {
        let surplus = place.surplus(cluster, &backup.keep, Clock::seconds()).map_err(incomplete)?;
        place.remove(&surplus).map_err(incomplete)?;
        removed += surplus.len();
    }
    if let Some(bucket) = &places.bucket {
        let surplus = bucket.surplus(cluster, &backup.keep, Clock::seconds()).await.map_err(incomplete)?;
        bucket.remove(&surplus).await.map_err(incomplete)?;
        removed += surplus.len();
    }
    if removed > 0 {
        line(&format!("{} removed, for which `keep` does not speak", count(removed, "older backup")));
    }
    Ok(())
}

impl Arguments {
    /// Who can read it, by the command line or by the file.
    fn seal(&self, backup: &Backup) -> Result<Seal, Failure> {
        if self.no_encryption {
            return Ok(Seal::Open);
        }
        if let Some(path) = &self.passphrase_file {
            return Seal::with_passphrase_of(path);
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::Arguments;
    use crate::cli::test_files::{parse, read_line};
    use crate::failure::Failure;

    const KEY: &str = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p";

    /// Whether what is written is encrypted.
    fn is_encrypted(vars: &str, line: &[&str]) -> Result<bool, Failure> {
        let file = format!(
            "apiVersion: kubean.io/v1alpha1\nkind: Cluster\nmetadata: {{name: c}}\nspec:\n  kubernetesVersion: 1.37.1\n  hosts:\n\
             {}- {{name: cp1, address: 10.0.0.11, roles: [control-plane]}}\n  vars: {{{vars}}}\n",
            "  "
        );
        read_line(&file, ("backup-create", ""), line, |arguments: &Arguments| {
            let (_, cluster, _) = arguments.cluster.described(&arguments.extra)?;
            arguments.seal(&cluster.settings.backup).map(|seal| seal.is_encrypted()).map_err(|failure| vec![failure])
        })
    }

    #[test]
    fn it_has_to_be_said_who_can_read_it() {
        let of_file = format!("backup_recipients: [{KEY}]");
        let failure = is_encrypted("", &[]).unwrap_err();
        assert!(failure.hint.unwrap().contains("--recipient"));
        assert!(is_encrypted("etcd_backup_prefix: /srv", &[]).is_err(), "a folder says nothing of that");
        assert_eq!(is_encrypted(&of_file, &[]), Ok(true));
        assert_eq!(is_encrypted("", &["--recipient", KEY]), Ok(true));
        assert_eq!(is_encrypted("backup_encrypt: false", &["--recipient", KEY]), Ok(true));
        assert_eq!(is_encrypted("backup_encrypt: false", &[]), Ok(false));
        assert_eq!(is_encrypted(&of_file, &["--no-encryption"]), Ok(false));
        assert!(is_encrypted("", &["--recipient", "age1nobody"]).is_err());
        assert!(parse::<Arguments>(["create", "-f", "c.yaml", "--recipient", KEY, "--no-encryption"]).is_err());
    }

    #[test]
    fn no_login_is_written() {
        let file = "apiVersion: kubean.io/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec:\n  kubernetesVersion: 1.37.1\n  \
                    ssh: {user: ops, password: c4n4ry-of-a-login, sudoPassword: c4n4ry-of-sudo}\n  \
                    hosts:\n  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}\n";
        let described = |arguments: &Arguments| arguments.cluster.described(&arguments.extra);
        let (_, _, text) = read_line(file, ("backup-create", ""), &[], described).unwrap();
        assert!(text.contains("10.0.0.11") && text.contains("user: ops") && !text.contains("c4n4ry"), "{text}");
    }
}
