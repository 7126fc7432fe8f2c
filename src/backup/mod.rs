//! Backups on the machine that kokctl runs on: each is one file, which holds every secret of its cluster.

mod archive;
mod bucket;
mod file;
mod folder;
mod read;
mod seal;
#[cfg(test)]
mod tests;

pub use bucket::{Bucket, BucketKey, StoredBackup};
pub use file::{BackupFile, BackupSource, KeptBackup, WholeBackup};
pub use folder::{BackupPlace, FoundBackup};
pub use read::{BackupContents, Spool, check, manifest_of, read};
pub use seal::{Identities, Seal};
