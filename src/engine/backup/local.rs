//! A backup where it can be read: what lies in a bucket is fetched first.

use std::path::{Path, PathBuf};

use crate::backup::{Bucket, Spool};
use crate::failure::Failure;

/// A backup that can be read as often as one likes.
pub struct LocalBackup {
    path: PathBuf,
    /// What was fetched is gone with this.
    _fetched: Option<Spool>,
}

impl LocalBackup {
    /// A file of this machine.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self { path, _fetched: None }
    }

    /// One of a bucket, by its address there. `folder` has room for it.
    ///
    /// # Errors
    /// [`Failure`] where it can't be fetched.
    pub async fn fetched(bucket: &Bucket, address: &str, folder: &Path) -> Result<Self, Failure> {
        let name = bucket.named(address)?;
        let spool = Spool::create(folder)?;
        bucket.fetch(&name, spool.file()?).await?;
        Ok(Self { path: spool.path().to_owned(), _fetched: Some(spool) })
    }

    /// By which it is read.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}
