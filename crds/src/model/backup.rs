//! Where backups of a cluster go, who can read them, and which of them stay.

use super::Schedule;
use crate::Position;

/// How backups are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// The folder that they are written to, unless the command line names another.
    pub folder: Option<BackupFolder>,
    /// The bucket that they are written to besides, or instead.
    pub s3: S3,
    /// Whom they are encrypted to: recipients of age (`age1…`), each once.
    pub recipients: Vec<String>,
    /// Whether they have to be encrypted.
    pub encrypt: bool,
    /// Which of them stay.
    pub keep: Keep,
    /// When they are to be made. The operator makes them; without it `kokctl backup timer` says it to systemd, and `status` sees an overdue one.
    pub schedule: Option<Schedule>,
}

impl Default for Backup {
    /// Nowhere, and nothing that anybody could read.
    fn default() -> Self {
        Self { folder: None, s3: S3::default(), recipients: Vec::new(), encrypt: true, keep: Keep::default(), schedule: None }
    }
}

/// A folder or a file on the machine where kokctl runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupFolder {
    /// Its path, as seen from the folder of the user's file.
    pub path: String,
    /// Where that is said.
    pub origin: Position,
}

/// A place on a server that speaks S3; none without a bucket.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct S3 {
    /// The bucket.
    pub bucket: Option<String>,
    /// Address of the server; Amazon's of the region without it.
    pub endpoint: Option<String>,
    /// The region, unless it is Amazon's first one.
    pub region: Option<String>,
    /// What stands before names, without slashes around it.
    pub prefix: String,
    /// The file with the key, which is there wherever there is a bucket.
    pub credentials: Option<BackupFolder>,
    /// CA certificates besides the system's.
    pub ca: Option<BackupFolder>,
}

/// Which backups stay: one stays for which any of these speaks. Where none says anything, all do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Keep {
    /// The last ones, so many.
    pub last: Option<u32>,
    /// The last one of each of so many days.
    pub daily: Option<u32>,
    /// The last one of each of so many weeks, which begin on Monday.
    pub weekly: Option<u32>,
    /// The last one of each of so many months.
    pub monthly: Option<u32>,
}

impl Keep {
    /// Whether nothing is said, so that all of them stay.
    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }
}
