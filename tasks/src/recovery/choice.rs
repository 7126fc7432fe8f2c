//! What each member has, and which has most.

use kok_crds::model::{Cluster, Host};

use crate::observe::{EtcdData, EtcdState};
use crate::plan::Seen;

/// A host that answers and may have data of a member.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Candidate {
    /// The host.
    pub host: String,
    /// Whether its member runs.
    pub runs: bool,
    /// The revision of its data, as far as it can be told.
    pub revision: Option<u64>,
    /// The term of raft that it has seen; only one that runs says it.
    pub term: Option<u64>,
    /// The last entry that it has applied; only one that runs says it.
    pub index: Option<u64>,
    /// The version of its etcd, without a leading `v`; only one that runs says it.
    pub version: Option<String>,
    /// The id of the etcd that it is of; only one that runs says it.
    pub cluster_id: Option<String>,
    /// When something was written last, in seconds since 1970 by the host's clock.
    pub last_write: Option<i64>,
    /// Bytes of its data; nothing where there are none.
    pub bytes: Option<u64>,
    /// Bytes that are free beside them.
    pub free: u64,
}

impl Candidate {
    /// Whether it has data of which something can be made. One that has never been written to is what a member begins with whose data were wiped.
    #[must_use]
    pub fn has_data(&self) -> bool {
        self.bytes.is_some() && self.revision.is_none_or(|revision| revision > 1)
    }
}

/// The hosts that belong to the cluster and are to have a member, in the order of the file, as far as they were looked at.
#[must_use]
pub fn candidates(cluster: &Cluster, seen: &Seen) -> Vec<Candidate> {
    let is_ours = |host: &&Host| seen.facts(&host.name).is_some_and(|facts| facts.cluster.as_ref() == Some(&cluster.name));
    cluster.etcd_hosts().filter(is_ours).map(|host| candidate(host, seen)).collect()
}

fn candidate(host: &Host, seen: &Seen) -> Candidate {
    let observed = seen.observations(&host.name);
    let data = observed.etcd_data.clone().unwrap_or_default();
    let EtcdData { bytes, free, last_write, revision } = data;
    let member = if let Some(EtcdState::Ready(member)) = &observed.etcd { Some(member) } else { None };
    Candidate {
        host: host.name.clone(),
        runs: member.is_some(),
        revision: member.map(|member| member.revision).or(revision),
        term: member.map(|member| member.term),
        index: member.map(|member| member.applied_index),
        version: member.map(|member| member.version.clone()),
        cluster_id: member.map(|member| member.cluster_id.clone()),
        last_write,
        bytes,
        free,
    }
}

/// The one whose data are to be taken: of one etcd's members, the one with the higher revision has all that the other one has. Of those with the same
/// revision the one that has applied more, and then the one that was written to last. None where nobody knows what a member has that may have more.
#[must_use]
pub fn best(candidates: &[Candidate]) -> Option<&Candidate> {
    let with_data = || candidates.iter().filter(|candidate| candidate.has_data());
    let ids = || with_data().filter_map(|candidate| candidate.cluster_id.as_deref());
    let is_one_etcd = ids().all(|id| Some(id) == ids().next());
    let is_known = with_data().count() == 1 || with_data().all(|candidate| candidate.revision.is_some());
    if !is_one_etcd || !is_known {
        return None;
    }
    // Of several that are the same, the first of the file.
    with_data().rev().max_by_key(|candidate| (candidate.revision, candidate.index, candidate.last_write))
}
