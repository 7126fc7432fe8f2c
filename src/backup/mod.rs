//! Backups on the machine that kokctl runs on: each is one file, which holds every secret of its cluster.

mod archive;
mod bucket;
mod file;
mod folder;
mod read;
mod seal;
#[cfg(test)]
mod tests;

pub use bucket::{Bucket, BucketKey, Stored};
pub use file::{BackupFile, KeptBackup, Made, WholeBackup};
pub use folder::{BackupPlace, Found};
pub use read::{Contents, Spool, check, manifest_of, read};
pub use seal::{Identities, Seal};
