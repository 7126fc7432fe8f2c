//! A backup of a cluster: what its one file is made of, how it is called, and which of several stay.
//!
//! The file is a tar, or an age stream of one. Its last part is the manifest: whoever finds that finds everything before it.

use kok_crds::model::Host;

use crate::observe::Look;

mod database;
mod due;
mod fit;
mod keep;
mod manifest;
mod name;
mod rehearsal;
mod timer;

pub use database::{BEGINNING, snapshot_bytes};
pub use due::{Due, due};
pub use fit::{Runs, Trusts, fits_file, fits_host, fits_member, fits_new_hosts, fits_plugins, image_version};
pub use keep::surplus;
pub use manifest::{BackupVersions, Manifest, PartSum, WrongParts};
pub use name::{BackupName, moment};
pub use rehearsal::{Rehearsed, RehearsedKind, Rehearsing};
pub use timer::{TimerUnits, WRITTEN};

/// Keys of authorities and service accounts, and the one that is encrypted with, as an escrow has them.
pub const KEYS: &str = "keys.yaml";

/// The API servers' configuration of encryption. It is missing where they don't encrypt.
pub const ENCRYPTION: &str = "encryption.yaml";

/// The cluster's files, without what looks like a secret.
pub const CLUSTER: &str = "cluster.yaml";

/// The snapshot of etcd, as etcd gives it out.
pub const SNAPSHOT: &str = "etcd.db";

/// What all of it is.
pub const MANIFEST: &str = "manifest.json";

/// What has to be seen of a host to make one: who can give a snapshot, and who has the keys.
#[must_use]
pub fn looks(host: &Host) -> Vec<Look> {
    crate::snapshot::looks(host).into_iter().chain(crate::preconditions::etcd_authority_looks(host)).collect()
}
