//! `kokctl backup list`

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::{FolderArgument, shown};
use crate::backup::{Bucket, FoundBackup, StoredBackup, manifest_of};
use crate::cli::common::print_json;
use crate::cli::files::{ClusterFiles, ExtraVars};
use crate::cli::table::{size, table};
use crate::clock::{Clock, moment};
use crate::failure::Failure;
use crate::ui::{line, status_line};

/// Show the backups of a cluster, or all that lie in a folder
///
/// What one is stands in its name; of those that are not encrypted the versions are shown too. `kokctl backup verify` looks into one.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The file with the Cluster, as with other verbs; without it the backups of all clusters are shown that lie in the folder
    #[arg(short = 'f', long = "filename", value_name = "FILE", required_unless_present = "to")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    folder: FolderArgument,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A backup, for programs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    cluster: String,
    seconds: i64,
    file: String,
    bytes: u64,
    encrypted: bool,
    looks_whole: bool,
    /// Nothing is known of one that is encrypted.
    kubernetes: Option<String>,
    revision: Option<u64>,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let cluster = match arguments.files.as_slice() {
        [] => None,
        files => Some(ClusterFiles::of_paths(files.to_vec()).without_manifests(&arguments.extra)?.1),
    };
    let places = arguments.folder.places(cluster.as_ref()).map_err(|failure| vec![failure])?;
    let name = cluster.as_ref().map(|cluster| cluster.name.as_str());
    let mut found: Vec<Listed> = Vec::new();
    if let Some(place) = &places.folder {
        found.extend(place.list(name).map_err(|failure| vec![failure])?.into_iter().map(listed));
    }
    if let Some(bucket) = &places.bucket {
        found.extend(bucket.list(name).await.map_err(|failure| vec![failure])?.into_iter().map(|stored| stored_in(bucket, stored)));
    }
    // The newest first; where it is twice, the file before the object.
    found.sort_by_key(|found| std::cmp::Reverse(found.seconds));
    if arguments.json {
        return print_json(&found);
    }
    if found.is_empty() {
        let whose = name.map(|name| format!(" of {name}")).unwrap_or_default();
        let folder = places.folder.iter().map(|place| shown(place.path()));
        let all: Vec<String> = folder.chain(places.bucket.iter().map(Bucket::address)).collect();
        status_line(&format!("there is no backup{whose} in {}", all.join(" and ")));
        return Ok(());
    }
    let now = Clock::seconds();
    let rows: Vec<[String; 6]> = found.iter().map(|found| row(found, now)).collect();
    table(&["CLUSTER", "MADE", "AGE", "SIZE", "KUBERNETES", "FILE"], &rows).iter().for_each(|text| line(text));
    Ok(())
}

fn listed(found: FoundBackup) -> Listed {
    let manifest = (!found.name.is_encrypted && found.looks_whole).then(|| manifest_of(&found.path)).flatten();
    Listed {
        file: shown(&found.path),
        cluster: found.name.cluster,
        seconds: found.name.seconds,
        bytes: found.bytes,
        encrypted: found.name.is_encrypted,
        looks_whole: found.looks_whole,
        kubernetes: manifest.as_ref().map(|manifest| manifest.versions.kubernetes.clone()),
        revision: manifest.and_then(|manifest| manifest.revision),
    }
}

/// What lies in a bucket is whole as long as it has anything, and nobody looks into it.
fn stored_in(bucket: &Bucket, stored: StoredBackup) -> Listed {
    Listed {
        file: bucket.address_of(&stored.name),
        seconds: stored.name.seconds,
        bytes: stored.bytes,
        encrypted: stored.name.is_encrypted,
        looks_whole: stored.bytes > 0,
        cluster: stored.name.cluster,
        kubernetes: None,
        revision: None,
    }
}

fn row(found: &Listed, now: i64) -> [String; 6] {
    let kubernetes = match (&found.kubernetes, found.encrypted) {
        _ if !found.looks_whole => "DAMAGED".to_owned(),
        (Some(version), _) => version.clone(),
        (None, true) => "encrypted".to_owned(),
        (None, false) => "?".to_owned(),
    };
    let made = moment(found.seconds, "%Y-%m-%d %H:%M:%S");
    [found.cluster.clone(), made, age(now - found.seconds), size(found.bytes), kubernetes, found.file.clone()]
}

/// How long ago something was, in its largest unit.
pub(in crate::cli) fn age(seconds: i64) -> String {
    match seconds {
        ..0 => "in the future".to_owned(),
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::age;

    #[test]
    fn an_age_is_short() {
        let ages = [-1, 0, 119, 120, 7_199, 7_200, 172_799, 172_800, 8_640_000].map(age);
        assert_eq!(ages, ["in the future", "0 s", "119 s", "2 min", "119 min", "2 h", "47 h", "2 d", "100 d"]);
    }
}
