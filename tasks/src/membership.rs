//! Which hosts of the file are members of etcd, and which are to become some.

use std::net::SocketAddr;

use kok_crds::model::{Cluster, Host};

use crate::ETCD_PEER_PORT;
use crate::observe::{EtcdMember, EtcdPeer, EtcdState};
use crate::plan::Seen;

/// The hosts that the file gives a member of etcd, by what an etcd that runs says of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership<'a> {
    /// Those whose member has a vote, in the order of the file. All of them while no member answers, for an etcd is founded with all at once.
    pub voters: Vec<&'a Host>,
    /// Those that are to get one, each after the one before it: first the one that an earlier run has begun with.
    pub joining: Vec<&'a Host>,
}

/// Where the other members reach the one of a host.
#[must_use]
pub fn peer_url(host: &Host) -> String {
    format!("https://{}", SocketAddr::new(host.address, ETCD_PEER_PORT))
}

/// Members that answer and have a vote, with their hosts: only these know the list (etcd refuses to ask one that learns).
pub(crate) fn answering<'a>(cluster: &'a Cluster, seen: &'a Seen) -> impl Iterator<Item = (&'a Host, &'a EtcdMember)> {
    cluster.etcd_hosts().filter_map(|host| match &seen.observations(&host.name).etcd {
        Some(EtcdState::Ready(member)) if !member.is_learner && !member.members.is_empty() => Some((host, member)),
        _ => None,
    })
}

/// Whether a member counts when etcd decides. One that was announced and never started has no name yet.
pub(crate) fn has_vote(peer: &EtcdPeer) -> bool {
    !peer.is_learner && !peer.name.is_empty()
}

impl<'a> Membership<'a> {
    /// What `seen` says of it.
    #[must_use]
    pub fn from_seen(cluster: &'a Cluster, seen: &Seen) -> Self {
        let list = answering(cluster, seen).next().map(|(_, member)| member.members.clone());
        let Some(list) = list else { return Self { voters: cluster.etcd_hosts().collect(), joining: Vec::new() } };
        let entry = |host: &Host| list.iter().find(|peer| peer.peer_url == peer_url(host));
        let (voters, mut joining): (Vec<&Host>, Vec<&Host>) = cluster.etcd_hosts().partition(|host| entry(host).is_some_and(has_vote));
        joining.sort_by_key(|host| entry(host).is_none());
        Self { voters, joining }
    }

    /// Whether a host is to get a member.
    #[must_use]
    pub fn joins(&self, host: &Host) -> bool {
        self.joining.iter().any(|other| other.name == host.name)
    }

    /// The host that joins before this one, if there is one.
    #[must_use]
    pub fn before(&self, host: &Host) -> Option<&'a Host> {
        let place = self.joining.iter().position(|other| other.name == host.name)?;
        self.joining.get(place.checked_sub(1)?).copied()
    }

    /// The hosts that have a vote once this one has, and those that join after that.
    #[must_use]
    pub fn until(&self, host: &Host) -> (Vec<&'a Host>, Vec<&'a Host>) {
        let joined = self.joining.iter().position(|other| other.name == host.name).map_or(0, |place| place + 1);
        let (joined, later) = self.joining.split_at(joined);
        (self.voters.iter().chain(joined).copied().collect(), later.to_vec())
    }
}
