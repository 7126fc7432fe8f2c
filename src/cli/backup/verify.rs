//! `kokctl backup verify`

use std::path::PathBuf;

use clap::Args;

use super::list::age;
use super::{local, shown};
use crate::backup::{BackupContents, Identities, check};
use crate::cli::files::{ClusterFiles, ExtraVars};
use crate::cli::table::{size, table};
use crate::clock::{Clock, moment};
use crate::failure::Failure;
use crate::ui::line;

/// Read all of a backup: whether it can be opened, whether each part is what it says, and what is in it
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The backup: a file; or `s3://BUCKET/PREFIX/NAME` in the bucket of the cluster's file, which -f gives then
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The file with the Cluster whose bucket has the backup
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    identity: IdentityArgument,
}

/// The key to an encrypted backup.
#[derive(Debug, Args)]
pub(in crate::cli) struct IdentityArgument {
    /// The file with a private key that the backup was written for, as `age-keygen -o FILE` writes it; it may be readable by its owner only
    #[arg(long, short = 'i', value_name = "FILE")]
    identity: Option<PathBuf>,
    /// The file whose first line is the passphrase that the backup was written with
    #[arg(long, value_name = "FILE", conflicts_with = "identity")]
    passphrase_file: Option<PathBuf>,
}

impl IdentityArgument {
    pub(in crate::cli) fn read(&self) -> Result<Option<Identities>, Failure> {
        match &self.passphrase_file {
            Some(path) => Identities::passphrase_of(path).map(Some),
            None => self.identity.as_deref().map(Identities::read).transpose(),
        }
    }
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let one = |failure| vec![failure];
    let identities = arguments.identity.read().map_err(one)?;
    let cluster = match arguments.files.as_slice() {
        [] => None,
        files => Some(ClusterFiles::of_paths(files.to_vec()).without_manifests(&arguments.extra)?.1),
    };
    let local = local(&arguments.file, cluster.as_ref()).await.map_err(one)?;
    let named = |failure: Failure| vec![failure.at(shown(&arguments.file))];
    let contents = tokio::task::block_in_place(|| check(local.path(), identities.as_ref())).map_err(named)?;
    contents_lines(&contents, Clock::seconds()).iter().for_each(|text| line(text));
    line(&format!("{} is whole", shown(&arguments.file)));
    Ok(())
}

/// What a backup is, and what is in it.
pub(in crate::cli) fn contents_lines(contents: &BackupContents, now: i64) -> Vec<String> {
    let manifest = &contents.manifest;
    let (made, ago) = (moment(manifest.seconds, "%Y-%m-%d %H:%M:%S UTC"), age(now - manifest.seconds));
    let revision = manifest.revision.map(|revision| format!(", revision {revision} at least")).unwrap_or_default();
    let plugins = contents.kms_plugins();
    let (plugins, has_keys) = (kok_crds::listed(plugins.iter().map(String::as_str)), !contents.keys.encryption_keys().is_empty());
    let encrypted = match (manifest.is_of_encrypted(), plugins.as_str(), has_keys) {
        (false, ..) => String::new(),
        (true, "", _) => "; Secrets in etcd are encrypted, and the key is in it".to_owned(),
        (true, _, false) => format!("; Secrets in etcd are encrypted by the KMS plugin {plugins}, whose key is not in it"),
        (true, _, true) => {
            format!("; Secrets in etcd are encrypted by a key that is in it, and by the KMS plugin {plugins}, whose key is not")
        }
    };
    let versions = &manifest.versions;
    let mut words = vec![
        format!("a backup of {}, made {made} ({ago} ago) by kokctl {}", manifest.cluster, versions.kokctl),
        format!("Kubernetes {}, etcd {}, the data of {}{revision}{encrypted}", versions.kubernetes, versions.etcd, manifest.member),
    ];
    let rows: Vec<[String; 3]> = manifest.parts.iter().map(|part| [part.name.clone(), size(part.bytes), part.sha256.clone()]).collect();
    words.extend(table(&["PART", "SIZE", "SHA256"], &rows));
    words
}
