//! A backup that is named on the command line.

use std::path::Path;

use kok_crds::model::Cluster;

use crate::cli::process;
use crate::engine::{self, LocalBackup, Store as _};
use crate::failure::{Failure, Kind};
use crate::ui::status_line;

/// One that is named by its path, or by its address in the bucket of the cluster's file (`s3://BUCKET/PREFIX/NAME`).
///
/// # Errors
/// [`Failure`] where it can't be fetched.
pub(in crate::cli) async fn local(named: &Path, cluster: Option<&Cluster>) -> Result<LocalBackup, Failure> {
    let Some(address) = named.to_str().filter(|text| text.starts_with("s3://")) else {
        return Ok(LocalBackup::at(named.to_owned()));
    };
    let wrong = |because: &str| {
        let failure = Failure::new(Kind::Input, "the backup can't be fetched").at(address.escape_debug().to_string());
        failure.because(because.to_owned()).hint("give with -f the file of the cluster that has it, with `spec.backup.to.s3`")
    };
    let cluster = cluster.ok_or_else(|| wrong("no file says how the bucket is reached"))?;
    let bucket = engine::bucket_of(cluster, process::home().as_deref())?.ok_or_else(|| wrong("the cluster's file names no bucket"))?;
    status_line(&format!("fetching {address}"));
    LocalBackup::fetched(&bucket, address, &engine::FolderStore::new(process::state()?).snapshots_of(&cluster.name)).await
}
