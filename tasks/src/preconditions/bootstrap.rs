//! The founding of etcd, all members at once: what can't be begun or gone on with. `docs/bootstrap.md` has the table of states.

use std::collections::{BTreeMap, BTreeSet};

use kok_crds::model::{Cluster, Host};
use kok_pki::AuthorityKind;

use super::own_authorities::kept_certificate;
use super::owner::keeper;
use super::{Findings, control_planes, etcd_authority, moved};
use crate::list::founding;
use crate::list::kubeadm_configuration::initial_cluster;
use crate::membership::peer_url;
use crate::observe::{EtcdMember, EtcdPeer, EtcdState, Look, Observations, PathState};
use crate::operations::{FINALIZED, FOUNDED, MEMBER_DATA as DATA};
use crate::plan::{Refusal, Seen};

/// What a control plane was set up with, on the host itself. No secrets.
pub const CONFIGURATIONS: [&str; 2] = ["/etc/kubernetes/kokctl/bootstrap.yaml", "/etc/kubernetes/kokctl/cluster.yaml"];

/// What a member was set up with that is a unit.
pub const ETCD_CONFIGURATION: &str = "/etc/etcd/etcd.yaml";

/// Says on a host that its member, which is a unit, was part of a cluster once.
pub const ETCD_STARTED: &str = "/var/lib/kokctl/made/etcd-started";

/// What is looked at on a host besides what its steps look at.
pub(super) fn looks(cluster: &Cluster, host: &Host) -> Vec<Look> {
    let configuration = founding::configuration(cluster).to_owned();
    let of_member = [Look::Path(DATA.to_owned()), Look::Path(ETCD_STARTED.to_owned()), Look::Etcd, Look::Content(configuration)];
    let of_control_plane = [Look::Content(FOUNDED.to_owned())];
    let of_member = of_member.into_iter().filter(|_| host.roles.etcd);
    let of_control_plane = of_control_plane.into_iter().filter(|_| host.roles.control_plane);
    of_member.chain(of_control_plane).chain(etcd_authority::looks(host)).collect()
}

/// Checks what there is of etcd on all hosts together.
pub(super) fn check(cluster: &Cluster, seen: &Seen, found: &mut Findings) {
    let state = State::new(cluster, seen);
    of_hosts(cluster, seen).into_iter().for_each(|(_, refusal)| found.refuse(refusal));
    let roles = control_planes::changed(cluster, seen);
    // Where each control plane has a member, the lists of these would say the same again, and so they would of one that has moved.
    let is_changed = !roles.is_empty() || !moved::all(cluster, seen).is_empty();
    let is_said = is_changed && !cluster.has_etcd_units();
    let members = || state.other_members().or_else(|| state.edited_list()).filter(|_| !is_said);
    let together = apart(cluster, seen).or_else(members);
    together.into_iter().chain(roles.into_iter().map(|(_, refusal)| refusal)).for_each(|refusal| found.refuse(refusal));
}

/// What is said of single members, with their hosts.
pub(super) fn of_hosts(cluster: &Cluster, seen: &Seen) -> Vec<(String, Refusal)> {
    let state = State::new(cluster, seen);
    let of_one = |host: &Host| {
        let refusal = state.foreign_data(host).or_else(|| state.lost_authority(host));
        let refusal = refusal.or_else(|| state.lost_data(host)).or_else(|| state.left_data(host))?;
        Some((host.name.clone(), refusal.at(format!("host {} ({})", host.name, host.address))))
    };
    cluster.etcd_hosts().filter_map(of_one).collect()
}

/// Members that are not of one cluster.
pub(super) fn apart(cluster: &Cluster, seen: &Seen) -> Option<Refusal> {
    let authority = cluster.has_etcd_units().then(|| etcd_authority::check(cluster, seen)).flatten();
    authority.or_else(|| State::new(cluster, seen).two_clusters())
}

/// Whether etcd counts a host as one of its members, by the first that answers.
pub(super) fn is_member(cluster: &Cluster, seen: &Seen, host: &str) -> bool {
    let state = State::new(cluster, seen);
    state.members.values().next().is_some_and(|member| member.members.iter().any(|peer| peer.name == host))
}

/// Whether a member has data, as far as its host was looked at.
pub(crate) fn has_data(seen: &Seen, host: &str) -> bool {
    matches!(seen.observations(host).paths.get(DATA), Some(PathState::Present(_)))
}

/// What was seen of etcd.
struct State<'a> {
    cluster: &'a Cluster,
    seen: &'a Seen,
    /// Members that answer, by host.
    members: BTreeMap<&'a str, &'a EtcdMember>,
    /// Whether the cluster was set up once.
    founded: bool,
}

impl<'a> State<'a> {
    fn new(cluster: &'a Cluster, seen: &'a Seen) -> Self {
        let member = |host: &'a Host| match &seen.observations(&host.name).etcd {
            // Who only learns knows nothing of the others.
            Some(EtcdState::Ready(member)) if !member.is_learner => Some((host.name.as_str(), member)),
            _ => None,
        };
        // One control plane alone says that it was founded, and may have been lost since: no other one is finished without that.
        let signs = [FOUNDED, FINALIZED];
        let says = |host: &Host| signs.iter().any(|sign| seen.observations(&host.name).contents.contains_key(*sign));
        let founded = cluster.control_planes().any(says);
        Self { cluster, seen, members: cluster.etcd_hosts().filter_map(member).collect(), founded }
    }

    fn observed(&self, host: &Host) -> &'a Observations {
        self.seen.observations(&host.name)
    }

    /// Whether something is at a path of a host; nothing before it was looked at.
    fn has(&self, host: &Host, path: &str) -> Option<bool> {
        self.observed(host).paths.get(path).map(|state| *state != PathState::Missing)
    }

    fn is_claimed(&self, host: &Host) -> Option<bool> {
        self.seen.facts(&host.name).map(|facts| facts.cluster.as_ref() == Some(&self.cluster.name))
    }

    /// etcd would go on with data that it finds, as a member of the cluster that they are of.
    fn foreign_data(&self, host: &Host) -> Option<Refusal> {
        let is_nobodys = self.seen.facts(&host.name).is_some_and(|facts| facts.cluster.is_none());
        let is_foreign = is_nobodys && self.has(host, DATA) == Some(true);
        is_foreign.then(|| {
            Refusal::new("it has data of an etcd that kokctl did not start")
                .because(format!("{DATA} is there; a new cluster is never founded over existing data"))
                .hint("correct the address; or, if nobody needs them, move them away: `mv /var/lib/etcd /var/lib/etcd.old`")
        })
    }

    /// New authorities would make everything that is there worthless. Only when all control planes were asked it is known that none has them.
    fn lost_authority(&self, host: &Host) -> Option<Refusal> {
        let all_asked = self.cluster.control_planes().all(|host| self.seen.facts(&host.name).is_some());
        // As a unit, etcd may have been started before a control plane had its authorities.
        let had_them = !self.cluster.has_etcd_units() || self.founded;
        let is_ours = self.is_claimed(host) == Some(true) && self.has(host, DATA) == Some(true) && had_them;
        let is_known = || keeper(self.cluster, self.seen).is_some() || kept_certificate(self.cluster, AuthorityKind::Kubernetes).is_some();
        (all_asked && is_ours && !is_known()).then(|| {
            Refusal::new("the cluster has lost its certificate authorities")
                .because(format!("{DATA} is there, and no control plane has /etc/kubernetes/pki/ca.crt"))
                .hint("bring them back out of a backup of kokctl's: `kokctl restore BACKUP --only-pki`, or by hand onto one control plane; or, if the cluster can go, take it down with `kokctl reset`")
        })
    }

    /// A member without its data would be another one under the same name; etcd refuses that, and so do we.
    fn lost_data(&self, host: &Host) -> Option<Refusal> {
        if self.has(host, DATA) != Some(false) {
            return None;
        }
        if self.has(host, ETCD_STARTED) == Some(true) {
            return Some(self.has_lost(host, &format!("{ETCD_STARTED} says that it had data")));
        }
        // The others know whether it was ever started; while none of them answers, nobody does.
        let listed = self.members.values().flat_map(|member| &member.members).find(|peer| peer.name == host.name);
        let is_alone = self.cluster.etcd_hosts().nth(1).is_none();
        match listed {
            // Its path was looked at before etcd was asked: a member that has just begun, while the cluster is founded, answers by its data.
            Some(_) if !self.founded && self.members.contains_key(host.name.as_str()) => None,
            Some(peer) if peer.is_started => Some(self.has_lost(host, "the other members still count it as one of them")),
            None if self.founded && is_alone => {
                Some(self.has_lost(host, "the cluster was set up with it").hint(
                    "give it a snapshot back, `kokctl recover --from`; or, if the cluster can go, take it down with `kokctl reset` and make it anew",
                ))
            }
            // Of a part of the hosts, those that may answer are asked before anything is planned.
            None if self.has_begun() && self.members.is_empty() && self.all_asked() => Some(
                Refusal::new("it is not known whether its member of etcd was started before")
                    .because(format!(
                        "{DATA} is not there, the cluster was set up, and no other member answers; an empty one could undo what was stored"
                    ))
                    .hint(format!(
                        "start the other members first (`journalctl -u {}` on their hosts), and apply again; if more than half of them are gone for good, \
                         `kokctl recover` makes etcd anew from what is left",
                        self.unit()
                    ))
                    .passing(),
            ),
            _ => None,
        }
    }

    fn has_lost(&self, host: &Host, because: &str) -> Refusal {
        let hint = format!(
            "`kokctl replace -f FILE {}` takes the member out and lets the host join anew; or restore /var/lib/etcd of this host from a backup",
            host.name
        );
        Refusal::new("its member of etcd has lost its data").because(format!("{DATA} is not there, and {because}")).hint(hint)
    }

    /// A member that was taken out and comes back with its data would never be let in again (etcd, `TestRestartRemoved`).
    fn left_data(&self, host: &Host) -> Option<Refusal> {
        let list = self.members.iter().find(|(name, member)| **name != host.name && member.has_leader).map(|(_, member)| member)?;
        let is_listed = list.members.iter().any(|peer| peer.peer_url == peer_url(host) || peer.name == host.name);
        let has_left = !is_listed && self.has(host, DATA) == Some(true) && self.is_claimed(host) == Some(true);
        has_left.then(|| {
            Refusal::new("its member of etcd was taken out of the cluster, and it has the data of that one still")
                .because(format!("{DATA} is there, and the other members don't count it as one of them"))
                .hint(format!(
                    "`kokctl replace -f FILE {}` cleans the host and lets it join anew; or, if it is not to come back: `kokctl remove`",
                    host.name
                ))
        })
    }

    fn two_clusters(&self) -> Option<Refusal> {
        let mut by_id: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        self.members.iter().for_each(|(host, member)| by_id.entry(&member.cluster_id).or_default().push(host));
        (by_id.len() > 1).then(|| {
            let groups: Vec<String> = by_id.iter().map(|(id, hosts)| format!("{} of {id}", hosts.join(", "))).collect();
            Refusal::new(format!("the members of etcd belong to {} clusters", by_id.len()))
                .at(format!("host {}", self.members.keys().copied().collect::<Vec<_>>().join(", ")))
                .because(groups.join("; "))
                .hint("correct the addresses; or, if the hosts of one were given up when etcd was recovered: `kokctl replace` makes them afresh; or, if one of these clusters can go, take it down with `kokctl reset` and its own file")
        })
    }

    /// What starts a member.
    fn unit(&self) -> &'static str {
        if self.cluster.has_etcd_units() { "etcd" } else { "kubelet" }
    }

    /// What the file calls hosts with a member.
    fn role(&self) -> (&'static str, &'static str) {
        if self.cluster.has_etcd_units() { ("members of etcd", "etcd") } else { ("control planes", "control-plane") }
    }

    /// To remove a member is an operation of its own; to add one is not.
    fn other_members(&self) -> Option<Refusal> {
        let member = self.members.values().next()?;
        let is: BTreeSet<String> = member.members.iter().map(EtcdPeer::listed).collect();
        let wanted = members_of(&initial_cluster(self.cluster.etcd_hosts()));
        // One that was announced and never started has no name yet.
        let joins = |peer: &&EtcdPeer| peer.name.is_empty() && self.cluster.etcd_hosts().any(|host| peer.peer_url == peer_url(host));
        // Who is to be gone leaves when the API answers again, which this may bring about; until then its member counts.
        let leaves = |peer: &&EtcdPeer| self.cluster.removed.contains(&peer.name);
        let stay = || member.members.iter().filter(|peer| !joins(peer) && !leaves(peer));
        let stays = || stay().map(EtcdPeer::listed).all(|listed| wanted.contains(&listed));
        (is != wanted && !stays()).then(|| {
            let place = self.cluster.position_of("spec.hosts").map_or_else(|| "spec.hosts".to_owned(), ToString::to_string);
            let (hosts, role) = self.role();
            Refusal::new(format!("etcd has the members {}, and the file the {hosts} {}", listed(&is), listed(&wanted)))
                .at(place)
                .because(Self::needed(&is, &wanted))
                .hint(format!(
                    "give the role `{role}` to the hosts that have it now, with their addresses{}",
                    Self::or_remove(&is, &wanted)
                ))
        })
    }

    /// Why the one list of members does not become the other one by `apply`.
    fn needed(is: &BTreeSet<String>, wanted: &BTreeSet<String>) -> &'static str {
        match names(is).is_subset(&names(wanted)) {
            true => "a member has one address, by which all others know it",
            false => "a member does not leave etcd because a line of the file is lost",
        }
    }

    /// Whom to take out so that the lists are the same.
    fn or_remove(is: &BTreeSet<String>, wanted: &BTreeSet<String>) -> String {
        let gone: Vec<&str> = is.difference(wanted).filter_map(|it| it.split('=').next()).filter(|name| !name.starts_with('(')).collect();
        let then = if names(is).is_subset(&names(wanted)) { ", and apply with the new address, by which it joins anew" } else { "" };
        if gone.is_empty() {
            return "; or put the host of the one that was never started back, which `apply` then goes on with".to_owned();
        }
        let dead = "with --dead if it is gone for good";
        format!("; or, if they are to leave: `kokctl remove -f FILE {}` with the file as it was, {dead}{then}", gone.join(" "))
    }

    /// Whether every host with a member was asked, or can't be.
    fn all_asked(&self) -> bool {
        self.cluster.etcd_hosts().all(|host| self.seen.facts(&host.name).is_some() || self.seen.is_unreachable(&host.name))
    }

    /// Whether members have been a cluster once, by what hosts say.
    fn has_begun(&self) -> bool {
        self.founded || self.cluster.etcd_hosts().any(|host| self.has(host, ETCD_STARTED) == Some(true))
    }

    /// Members that were started with one list find none of the others by another one. Without data there is nothing to be at odds with; and a unit keeps the
    /// list of then, which says nothing once its member has been part of the cluster.
    fn edited_list(&self) -> Option<Refusal> {
        if !self.members.is_empty() {
            return None;
        }
        let wanted = initial_cluster(self.cluster.etcd_hosts());
        let path = founding::configuration(self.cluster);
        let counts = |host: &&Host| self.has(host, DATA) == Some(true) && self.has(host, ETCD_STARTED) != Some(true);
        self.cluster.etcd_hosts().filter(counts).find_map(|host| {
            // The list by which one joined is that of then, and those that founded the cluster say the same.
            let text = self.observed(host).contents.get(path).filter(|text| !founding::has_joined(self.cluster, text))?;
            // One that founded a cluster alone has none.
            let founded_with = founding::option(self.cluster, text, "initial-cluster");
            let at = |refusal: Refusal| refusal.at(format!("host {} ({})", host.name, host.address));
            let is = match founded_with {
                Ok(list) => list.unwrap_or_else(|| own_address(&wanted, &host.name)),
                Err(because) => return Some(at(unreadable(path, &because))),
            };
            (members_of(&is) != members_of(&wanted)).then(|| {
                at(Refusal::new(format!("the {} are others than those with which the cluster was begun", self.role().0)))
                    .because(format!("its etcd was started with {is}; the file now says {wanted}"))
                    .hint("write the list as it was and apply; or begin anew: `kokctl reset` with the list as it was, then apply with the new one")
            })
        })
    }
}

fn unreadable(path: &str, because: &str) -> Refusal {
    Refusal::new("it can't be read with which members its etcd was started")
        .because(format!("{path}: {because}"))
        .hint("put the file back as it was; or start the other members, which know the list (`kokctl status` shows them)")
}

/// The names of a list of members.
fn names(list: &BTreeSet<String>) -> BTreeSet<&str> {
    list.iter().filter_map(|it| it.split('=').next()).collect()
}

fn own_address(list: &str, host: &str) -> String {
    list.split(',').find(|member| member.split('=').next() == Some(host)).unwrap_or(host).to_owned()
}

/// The order in which they stand says nothing.
fn members_of(list: &str) -> BTreeSet<String> {
    list.split(',').map(str::to_owned).collect()
}

fn listed(members: &BTreeSet<String>) -> String {
    members.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}
