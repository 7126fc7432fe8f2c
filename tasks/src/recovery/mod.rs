//! Recovery of an etcd that has lost its quorum: what was ordered, as it stands on every host that takes part until it has come to its end.
//!
//! The data of every member that answers are put aside as they are, and never written to again. From one of them, or from a snapshot, an etcd of one
//! member is made, with ids of its own and revisions far beyond those that anybody has seen; the other members join that by `apply`.

mod choice;
mod course;

use std::collections::BTreeSet;

use kok_crds::model::{Cluster, Host};

pub use choice::{Candidate, best, candidates};
pub use course::Course;

/// Says on a host that a recovery has begun, and which.
pub const MARKER: &str = "/var/lib/kokctl/recover";

/// What a recovery keeps on a host besides: the manifests of its control plane, and how far it has come.
pub const FOLDER: &str = "/var/lib/kokctl/recovery";

/// Says of which recovery the rest of that is: what an earlier one has left is none of it.
pub const OF: &str = "/var/lib/kokctl/recovery/of";

/// Says that the kubelet was started anew when all manifests were aside; with the recovery's name.
pub const KUBELET: &str = "/var/lib/kokctl/recovery/kubelet";

/// Manifests that are aside.
pub const MANIFESTS: &str = "/var/lib/kokctl/recovery/manifests";

/// Says that the member's data are aside.
pub const ASIDE: &str = "/var/lib/kokctl/recovery/aside";

/// Says that the data of the new etcd are in their place, whole and on the disk. Data without it are none of its.
pub const MADE: &str = "/var/lib/kokctl/recovery/made";

/// Says that the new etcd was started: from then on it may have been written to.
pub const STARTED: &str = "/var/lib/kokctl/recovery/started";

/// Says that the host's member is a unit of systemd, which is switched off.
pub const UNIT_ASIDE: &str = "/var/lib/kokctl/recovery/etcd-unit";

/// What says that a unit's member had data ([`crate::preconditions::ETCD_STARTED`]), while these are aside.
pub const UNIT_STARTED: &str = "/var/lib/kokctl/recovery/etcd-started";

/// Recoveries that have come to their end on a host, a line each. One that was taken back is none of them.
pub const ENDED: &str = "/var/lib/kokctl/recovered";

/// No host's word is longer.
const MOST_BYTES: usize = 4096;

/// What a new etcd is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The data that the host has.
    Member,
    /// A snapshot that is sent to the host, for want of a quorum.
    Snapshot {
        /// Sha256 of the whole file.
        sha256: String,
    },
    /// The snapshot of a backup that is sent to the host. Whoever ordered it has given up all that was written since, whether etcd works or not.
    Backup {
        /// Sha256 of the whole snapshot.
        sha256: String,
        /// Whether the cluster is on other hosts now: what the backup has of hosts and of where the API is asked is of those that are gone, and goes.
        is_elsewhere: bool,
    },
}

impl Origin {
    /// The sha256 of the snapshot that it is made from, if it is made from one.
    #[must_use]
    pub fn snapshot(&self) -> Option<&str> {
        match self {
            Self::Member => None,
            Self::Snapshot { sha256 } | Self::Backup { sha256, .. } => Some(sha256),
        }
    }

    /// Whether an etcd that works is given up for it.
    #[must_use]
    pub fn replaces(&self) -> bool {
        matches!(self, Self::Backup { .. })
    }
}

/// A recovery that was ordered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// Its name, by which what is put aside is called: the run that began it.
    pub id: String,
    /// The host of the new etcd's first member.
    pub host: String,
    /// What that is made from.
    pub origin: Origin,
    /// The revision that the data of a member have at least, as they were shown to whoever agreed; 0 where nobody could tell.
    pub least: u64,
    /// The last revision that any member was seen to have: the new etcd begins far beyond it; 0 where nobody could tell.
    pub newest: u64,
    /// Hosts that are given up.
    pub lost: BTreeSet<String>,
}

impl Recovery {
    /// As it stands on hosts.
    #[must_use]
    pub fn text(&self) -> String {
        let from = match &self.origin {
            Origin::Member => "member".to_owned(),
            Origin::Snapshot { sha256 } => format!("snapshot {sha256}"),
            Origin::Backup { sha256, is_elsewhere: false } => format!("backup {sha256}"),
            Origin::Backup { sha256, is_elsewhere: true } => format!("backup-of-other-hosts {sha256}"),
        };
        let lost: String = self.lost.iter().map(|name| format!("lost {name}\n")).collect();
        let newest = if self.newest > 0 { format!("newest {}\n", self.newest) } else { String::new() };
        format!("id {}\nhost {}\nfrom {from}\nrevision {}\n{newest}{lost}", self.id, self.host, self.least)
    }

    /// What a host says; nothing where that is no order of ours.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > MOST_BYTES {
            return None;
        }
        let values = |wanted: &str| -> Vec<&str> {
            let pairs = text.lines().filter_map(|line| line.split_once(' '));
            pairs.filter(|(key, _)| *key == wanted).map(|(_, value)| value).collect()
        };
        let one = |wanted: &str| if let [value] = values(wanted).as_slice() { Some(*value) } else { None };
        let is_name = |text: &&str| !text.is_empty() && text.len() <= 253 && text.bytes().all(is_of_name);
        let origin = match one("from")?.split_once(' ') {
            None if one("from") == Some("member") => Origin::Member,
            Some(("snapshot", sha256)) if is_sha256(sha256) => Origin::Snapshot { sha256: sha256.to_owned() },
            Some(("backup", sha256)) if is_sha256(sha256) => Origin::Backup { sha256: sha256.to_owned(), is_elsewhere: false },
            Some(("backup-of-other-hosts", sha256)) if is_sha256(sha256) => {
                Origin::Backup { sha256: sha256.to_owned(), is_elsewhere: true }
            }
            _ => return None,
        };
        let (id, host) = (one("id").filter(is_name)?.to_owned(), one("host").filter(is_name)?.to_owned());
        let least = one("revision")?.parse().ok()?;
        let newest = if values("newest").is_empty() { 0 } else { one("newest")?.parse().ok()? };
        let lost = values("lost");
        lost.iter().all(is_name).then(|| Self { id, host, origin, least, newest, lost: lost.into_iter().map(str::to_owned).collect() })
    }

    /// Where the host's data of before are, beside those of the new etcd: on one file system with them, whatever is mounted there.
    #[must_use]
    pub fn kept(&self) -> String {
        format!("/var/lib/etcd/before-{}", self.id)
    }

    /// What is there of the host's member, if it had one.
    #[must_use]
    pub fn kept_log(&self) -> String {
        format!("{}/member/wal", self.kept())
    }

    /// Where a snapshot is that was sent.
    #[must_use]
    pub fn sent(&self) -> String {
        format!("{}/snapshot.db", self.kept())
    }
}

/// The hosts that take part in a recovery: those that have a member, and those whose API servers write to it.
pub fn parties(cluster: &Cluster) -> impl DoubleEndedIterator<Item = &Host> {
    cluster.hosts.iter().filter(|host| takes_part(host))
}

/// Whether a host takes part in a recovery.
#[must_use]
pub fn takes_part(host: &Host) -> bool {
    host.roles.etcd || host.roles.control_plane
}

/// Names of hosts and runs.
fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
