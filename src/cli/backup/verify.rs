//! `kokctl backup verify`

use std::path::PathBuf;

use clap::Args;
use kok_tasks::backup::Manifest;

use super::list::age;
use super::shown;
use crate::backup::{Identities, check};
use crate::cli::table::{size, table};
use crate::clock::{Clock, moment};
use crate::failure::Failure;
use crate::ui::line;

/// Read all of a backup: whether it can be opened, whether each part is what it says, and what is in it
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The backup
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    identity: IdentityArgument,
}

/// The key to an encrypted backup.
#[derive(Debug, Args)]
pub(in crate::cli) struct IdentityArgument {
    /// The file with a private key that the backup was written for, as `age-keygen -o FILE` writes it; it may be readable by its owner only
    #[arg(long, short = 'i', value_name = "FILE")]
    identity: Option<PathBuf>,
}

impl IdentityArgument {
    pub(in crate::cli) fn read(&self) -> Result<Option<Identities>, Failure> {
        self.identity.as_deref().map(Identities::read).transpose()
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let one = |failure| vec![failure];
    let identities = arguments.identity.read().map_err(one)?;
    let contents = tokio::task::block_in_place(|| check(&arguments.file, identities.as_ref())).map_err(one)?;
    told(&contents.manifest, Clock::seconds()).iter().for_each(|text| line(text));
    line(&format!("{} is whole", shown(&arguments.file)));
    Ok(())
}

/// What a backup is, and what is in it.
pub(in crate::cli) fn told(manifest: &Manifest, now: i64) -> Vec<String> {
    let (made, ago) = (moment(manifest.seconds, "%Y-%m-%d %H:%M:%S UTC"), age(now - manifest.seconds));
    let revision = manifest.revision.map(|revision| format!(", revision {revision} at least")).unwrap_or_default();
    let encrypted = if manifest.is_of_encrypted() { "; Secrets in etcd are encrypted, and the key is in it" } else { "" };
    let versions = &manifest.versions;
    let mut words = vec![
        format!("a backup of {}, made {made} ({ago} ago) by kokctl {}", manifest.cluster, versions.kokctl),
        format!("Kubernetes {}, etcd {}, the data of {}{revision}{encrypted}", versions.kubernetes, versions.etcd, manifest.member),
    ];
    let rows: Vec<[String; 3]> = manifest.parts.iter().map(|part| [part.name.clone(), size(part.bytes), part.sha256.clone()]).collect();
    words.extend(table(&["PART", "SIZE", "SHA256"], &rows));
    words
}
