//! The cluster as it is: what its hosts are now, and where the others know them, whatever the file is going to make of them.
//!
//! Who takes a host out of its cluster has to go by that: a member of etcd counts although the file calls its host a worker by now, and it counts at the
//! address by which it was let in.

use std::net::IpAddr;

use kok_crds::model::{Cluster, Host, Roles};

use crate::membership::peer_url;
use crate::observe::{ApiServerState, EtcdMember, EtcdPeer, EtcdState, KubernetesState, Look, Looks, NodeState, PathState};
use crate::operations::{API_SERVER_MANIFEST, CONTROL_PLANES_ANNOTATION, MEMBER_DATA, names};
use crate::plan::Seen;
use crate::preconditions::{ETCD_STARTED, SERVICE_ACCOUNT_KEY, is_marked};
use crate::snapshot;

/// What has to be seen of a host that is to leave, whatever its roles in the file.
#[must_use]
pub fn looks_at_leaving(host: &Host) -> Looks {
    let paths = [API_SERVER_MANIFEST, SERVICE_ACCOUNT_KEY, MEMBER_DATA].map(|path| Look::Path(path.to_owned()));
    let as_control_plane = Host { roles: Roles { control_plane: true, etcd: true, ..host.roles }, ..host.clone() };
    paths.into_iter().chain([Look::ApiServer, Look::Etcd]).chain(snapshot::looks(&as_control_plane)).collect()
}

/// The cluster as it is, as far as it was seen: hosts that leave have the roles that they have now, whoever is a member of etcd is a control plane, and hosts
/// that leave have the address by which the others know them.
#[must_use]
pub fn present(cluster: &Cluster, leaving: &[String], seen: &Seen) -> Cluster {
    let present = Present { cluster, seen, list: list(cluster, seen), kubernetes: kubernetes(cluster, seen) };
    let present_host = |host: &Host| {
        let leaves = leaving.contains(&host.name);
        let roles = present.roles(host, leaves);
        let address = if leaves { present.address(host) } else { host.address };
        Host { roles, address, ..host.clone() }
    };
    Cluster { hosts: cluster.hosts.iter().map(present_host).collect(), ..cluster.clone() }
}

/// The address by which the cluster knows the node of a host, if it is none of those that the file gives it.
#[must_use]
pub(crate) fn moved_from(host: &Host, node: &NodeState) -> Option<IpAddr> {
    let first = node.addresses.iter().find(|address| address.is_ipv4() == host.address.is_ipv4());
    first.or(node.addresses.first()).copied().filter(|_| !node.addresses.contains(&host.address))
}

/// Who takes part in etcd, by a member that answers: one that knows a leader knows more.
fn list<'a>(cluster: &Cluster, seen: &'a Seen) -> Option<&'a EtcdMember> {
    let answers = |host: &Host| match &seen.observations(&host.name).etcd {
        Some(EtcdState::Ready(member)) if !member.is_learner && !member.members.is_empty() => Some(member),
        _ => None,
    };
    let all = || cluster.hosts.iter().filter_map(answers);
    all().find(|member| member.has_leader).or_else(|| all().next())
}

fn kubernetes<'a>(cluster: &Cluster, seen: &'a Seen) -> Option<&'a KubernetesState> {
    let states = cluster.hosts.iter().filter_map(|host| seen.observations(&host.name).kubernetes.as_ref());
    states.into_iter().find(|state| matches!(state, KubernetesState::Ready { .. }))
}

struct Present<'a> {
    cluster: &'a Cluster,
    seen: &'a Seen,
    list: Option<&'a EtcdMember>,
    kubernetes: Option<&'a KubernetesState>,
}

impl<'a> Present<'a> {
    fn peer(&self, host: &Host) -> Option<&'a EtcdPeer> {
        let peers = || self.list.into_iter().flat_map(|list| &list.members);
        peers().find(|peer| peer.peer_url == peer_url(host)).or_else(|| peers().find(|peer| peer.name == host.name))
    }

    fn node(&self, host: &Host) -> Option<&'a NodeState> {
        self.kubernetes?.node(&host.name)
    }

    fn has(&self, host: &Host, path: &str) -> Option<bool> {
        self.seen.observations(&host.name).paths.get(path).map(|state| *state != PathState::Missing)
    }

    fn is_ours(&self, host: &Host) -> bool {
        self.seen.facts(&host.name).is_some_and(|facts| facts.cluster.as_ref() == Some(&self.cluster.name))
    }

    fn roles(&self, host: &Host, leaves: bool) -> Roles {
        if self.cluster.has_etcd_units() {
            return self.roles_beside_units(host, leaves);
        }
        let is_plane = match leaves {
            _ if self.peer(host).is_some() => true,
            true => self.is_control_plane(host).unwrap_or(host.roles.control_plane),
            // One that is to become a control plane is none that could be missed.
            false => return host.roles,
        };
        let worker = host.roles.worker || !is_plane;
        Roles { control_plane: is_plane, etcd: is_plane, worker }
    }

    /// The same where members are units: any host may have one, whatever else it is. What the file says besides does no harm: who has nothing loses nothing.
    /// Data of etcd that kokctl has not started there are somebody else's, and stay.
    fn roles_beside_units(&self, host: &Host, leaves: bool) -> Roles {
        let had_member = || self.is_ours(host) && self.has(host, MEMBER_DATA) == Some(true) && self.has(host, ETCD_STARTED) == Some(true);
        let etcd = host.roles.etcd || self.peer(host).is_some() || (leaves && had_member());
        if !leaves {
            return Roles { etcd, ..host.roles };
        }
        let control_plane = self.is_control_plane(host).unwrap_or(host.roles.control_plane);
        Roles { etcd, control_plane, worker: host.roles.worker || (self.node(host).is_some() && !control_plane) }
    }

    /// Whether a host that leaves is a control plane, or half of one, whose member has left; nothing if nobody can say.
    fn is_control_plane(&self, host: &Host) -> Option<bool> {
        let marked = self.node(host).map(is_marked);
        let Some(has_manifest) = self.has(host, API_SERVER_MANIFEST) else { return marked };
        let has = |path| self.has(host, path) == Some(true);
        let runs = self.seen.observations(&host.name).api_server == Some(ApiServerState::Ready);
        // A label is anybody's to set. With it, or with what the file says, the data that are left are those of its member.
        let had_member =
            !self.cluster.has_etcd_units() && has(MEMBER_DATA) && (host.roles.etcd || marked == Some(true) || self.is_uploaded(host));
        Some(self.is_ours(host) && (has_manifest || runs || has(SERVICE_ACCOUNT_KEY) || had_member))
    }

    /// Whether it was a control plane when the cluster's configuration was uploaded last.
    fn is_uploaded(&self, host: &Host) -> bool {
        let map = self.kubernetes.and_then(|state| state.object("ConfigMap", "kube-system", "kubeadm-config"));
        map.and_then(|map| map.text(CONTROL_PLANES_ANNOTATION)).map(names).is_some_and(|names| names.contains(host.name.as_str()))
    }

    fn address(&self, host: &Host) -> IpAddr {
        if let Some(peer) = self.peer(host) {
            return address_of(peer).unwrap_or(host.address);
        }
        self.node(host).and_then(|node| moved_from(host, node)).unwrap_or(host.address)
    }
}

/// The address in the URL of a member, if it is one that kokctl gives.
fn address_of(peer: &EtcdPeer) -> Option<IpAddr> {
    let authority = peer.peer_url.strip_prefix("https://")?;
    authority.parse::<std::net::SocketAddr>().ok().map(|address| address.ip())
}
