//! A backup that is named on the command line, where it can be read: what lies in a bucket is fetched first.

use std::path::{Path, PathBuf};

use kok_crds::model::Cluster;

use crate::backup::Spool;
use crate::cli::process;
use crate::engine::{self, Store as _};
use crate::failure::{Failure, Kind};
use crate::ui::status_line;

/// A backup that can be read as often as one likes.
pub(in crate::cli) struct Local {
    path: PathBuf,
    /// What was fetched is gone with this.
    _fetched: Option<Spool>,
}

impl Local {
    /// One that is named by its path, or by its address in the bucket of the cluster's file (`s3://BUCKET/PREFIX/NAME`).
    ///
    /// # Errors
    /// [`Failure`] where it can't be fetched.
    pub(in crate::cli) async fn of(named: &Path, cluster: Option<&Cluster>) -> Result<Self, Failure> {
        let Some(address) = named.to_str().filter(|text| text.starts_with("s3://")) else {
            return Ok(Self { path: named.to_owned(), _fetched: None });
        };
        let wrong = |because: &str| {
            let failure = Failure::new(Kind::Input, "the backup can't be fetched").at(address.escape_debug().to_string());
            failure.because(because.to_owned()).hint("give with -f the file of the cluster that has it, with `spec.backup.to.s3`")
        };
        let cluster = cluster.ok_or_else(|| wrong("no file says how the bucket is reached"))?;
        let bucket = engine::bucket_of(cluster, process::home().as_deref())?.ok_or_else(|| wrong("the cluster's file names no bucket"))?;
        let name = bucket.named(address)?;
        let spool = Spool::create(&engine::FolderStore::new(process::state()?).snapshots_of(&cluster.name))?;
        status_line(&format!("fetching {address}"));
        bucket.fetch(&name, spool.file()?).await?;
        Ok(Self { path: spool.path().to_owned(), _fetched: Some(spool) })
    }

    /// By which it is read.
    pub(in crate::cli) fn path(&self) -> &Path {
        &self.path
    }
}
