//! Which hosts are control planes: a cluster that was founded loses one by an operation of its own, and no host becomes one that is something else.
//!
//! A host is one if it has an API server's manifest or an administrator's kubeconfig, or if its node says so. None of these alone is enough:
//! a manifest or a label that somebody removed is put back by `apply`, and a founding that is under way has hosts with nothing yet.

use std::collections::BTreeSet;

use kok_crds::model::{Cluster, Host};

use super::owner::is_recorded;
use super::running::MANIFEST;
use crate::observe::{ApiServerState, KubernetesState, Look, NodeState, Observations, PathState};
use crate::operations::{CLIENT_CERTIFICATE, CONTROL_PLANES_ANNOTATION, FOUNDED, founded, names};
use crate::plan::{Refusal, Seen};
use crate::speaker::speaker;

/// Only control planes have it, also where somebody else keeps the keys of the authorities.
pub(crate) const SERVICE_ACCOUNT_KEY: &str = "/etc/kubernetes/pki/sa.key";

/// Says of a node that it is a control plane (kubeadm's `mark-control-plane`).
const LABEL: &str = "node-role.kubernetes.io/control-plane";

/// What is looked at on a host besides what its steps look at.
pub(super) fn looks(host: &Host) -> [Look; 2] {
    let paths = if host.roles.control_plane { [MANIFEST, CLIENT_CERTIFICATE] } else { [MANIFEST, SERVICE_ACCOUNT_KEY] };
    paths.map(|path| Look::Path(path.to_owned()))
}

/// Whether a node is a control plane by its label.
pub(crate) fn is_marked(node: &NodeState) -> bool {
    node.labels.contains_key(LABEL)
}

/// Compares the control planes of the file with those that there are, and says of each host that is to have another role what there is to say. Who is no
/// longer in the file at all is seen by its node.
pub(super) fn changed(cluster: &Cluster, seen: &Seen) -> Vec<(String, Refusal)> {
    let state = State::new(cluster, seen);
    let changed = |host: &Host| if host.roles.control_plane { state.added(host) } else { state.removed(host) };
    cluster.hosts.iter().filter_map(|host| Some((host.name.clone(), changed(host)?))).collect()
}

/// Where a field of a host stands.
fn place(cluster: &Cluster, host: &Host, field: &str) -> String {
    cluster.host_position(&host.name, field).map_or_else(|| "spec.hosts".to_owned(), ToString::to_string)
}

/// The control planes by the newest record of a host, if that has them.
fn recorded<'a>(cluster: &Cluster, seen: &'a Seen) -> Option<BTreeSet<&'a str>> {
    let records = cluster.control_planes().filter_map(|host| seen.observations(&host.name).contents.get(FOUNDED));
    records.map(|content| founded(content)).max_by_key(|(seconds, _)| *seconds)?.1
}

/// It may be one that was made anew, and belongs to the cluster: to take it out of the file would be wrong then.
fn unknown(name: &str) -> Refusal {
    Refusal::new(format!("it is not known whether the cluster was set up with the control plane {name}"))
        .because(format!("{name} has nothing of one, no API server answers, and {FOUNDED} says no names: an earlier kokctl has written it"))
        .hint("start an API server first (`kokctl status` shows them), then apply")
        .passing()
}

/// Why a control plane with a member of etcd beside it can't be something else by an edit.
const BOTH: &str = "etcd counts its member, and all hosts know its API server";

/// What was seen of control planes.
struct State<'a> {
    cluster: &'a Cluster,
    seen: &'a Seen,
    kubernetes: Option<&'a KubernetesState>,
    /// The control planes of the file by which the cluster's configuration was uploaded last: some of them may have to be begun yet. The cluster
    /// says it, and while it is silent, a host.
    uploaded: Option<BTreeSet<&'a str>>,
}

impl<'a> State<'a> {
    fn new(cluster: &'a Cluster, seen: &'a Seen) -> Self {
        let kubernetes = speaker(cluster, seen).and_then(|host| seen.observations(&host.name).kubernetes.as_ref());
        let uploaded = kubernetes.and_then(|state| state.object("ConfigMap", "kube-system", "kubeadm-config"));
        let uploaded = uploaded.and_then(|map| map.text(CONTROL_PLANES_ANNOTATION)).map(names).or_else(|| recorded(cluster, seen));
        Self { cluster, seen, kubernetes, uploaded }
    }

    fn observed(&self, host: &Host) -> &'a Observations {
        self.seen.observations(&host.name)
    }

    fn has(&self, host: &Host, path: &str) -> Option<bool> {
        self.observed(host).paths.get(path).map(|state| *state != PathState::Missing)
    }

    fn node(&self, host: &Host) -> Option<&'a NodeState> {
        self.kubernetes?.node(&host.name)
    }

    fn is_marked(&self, host: &Host) -> bool {
        self.node(host).is_some_and(is_marked)
    }

    fn is_founded(&self) -> bool {
        let is_recorded = |host: &Host| self.observed(host).contents.contains_key(FOUNDED);
        self.uploaded.is_some() || self.cluster.control_planes().any(is_recorded)
    }

    fn is_uploaded(&self, host: &Host) -> bool {
        self.uploaded.as_ref().is_some_and(|names| names.contains(host.name.as_str()))
    }

    /// Whether nothing says that a host is a control plane.
    fn has_nothing(&self, host: &Host) -> bool {
        let has_nothing = self.has(host, MANIFEST) == Some(false) && self.observed(host).api_server == Some(ApiServerState::Absent);
        has_nothing && !self.is_marked(host)
    }

    /// Whether a control plane of the file is a worker: the kubelet of a control plane is not started before there are manifests.
    fn is_worker(&self, host: &Host) -> bool {
        self.has_nothing(host) && (self.node(host).is_some() || self.has(host, CLIENT_CERTIFICATE) == Some(true))
    }

    /// A control plane of the file that is none, or another one.
    fn added(&self, host: &Host) -> Option<Refusal> {
        if !self.has_nothing(host) {
            return self.moved(host);
        }
        let name = &host.name;
        if self.is_worker(host) {
            return Some(
                Refusal::new(format!("{name} is a worker of the cluster, and the file makes it a control plane"))
                    .at(place(self.cluster, host, "roles"))
                    .because("what it has as a worker has to go first")
                    .hint(self.anew(name, &format!("take the role `control-plane` from {name} again"))),
            );
        }
        // Where each has a member of etcd, the list of these says more.
        let is_new = self.cluster.has_etcd_units() && self.is_founded() && !self.is_uploaded(host);
        // What it says is looked at when it is known that it answers.
        let answers = self.cluster.control_planes().any(|host| self.observed(host).api_server == Some(ApiServerState::Ready));
        (is_new && !answers).then(|| match &self.uploaded {
            None => unknown(name).at(place(self.cluster, host, "roles")),
            Some(_) => Refusal::new(format!("{name} can't become a control plane now"))
                .at(place(self.cluster, host, "roles"))
                .because("the cluster was set up without it, and no API server answers that could say what there is")
                .hint("start an API server first (`kokctl status` shows them), then apply")
                .passing(),
        })
    }

    /// The list of etcd's members has the addresses of those that have one.
    fn moved(&self, host: &Host) -> Option<Refusal> {
        let addresses = &self.node(host)?.addresses;
        let is = addresses.first().filter(|_| self.cluster.has_etcd_units() && !addresses.contains(&host.address))?;
        Some(
            Refusal::new(format!("the control plane {} has the address {is} in the cluster, and {} in the file", host.name, host.address))
                .at(place(self.cluster, host, "address"))
                .because("all know it by that address")
                .hint(format!(
                    "set the address of {0} back to {is}; or, for it to join anew: `kokctl remove -f FILE {0}` with that address, with --dead if it is gone \
                     for good, then apply with the new one",
                    host.name
                )),
        )
    }

    /// How it gets the new role, or keeps the old one. Whoever is to have another one is named: only together they lead to what the file says.
    fn anew(&self, name: &str, back: &str) -> String {
        if self.cluster.has_etcd_units() {
            return format!(
                "{back}; or, for it to join anew: `kokctl remove -f FILE {name}` with the roles as they were, then apply with the new ones"
            );
        }
        let has_other_role =
            |host: &&Host| if host.roles.control_plane { self.is_worker(host) } else { self.was_control_plane(host).is_some() };
        let names: Vec<&str> = self.cluster.hosts.iter().filter(has_other_role).map(|host| host.name.as_str()).collect();
        let (names, one) = (names.join(" "), names.len() == 1);
        let (it, lets) = if one { ("it", "it joins") } else { ("them", "they join") };
        format!(
            "`kokctl replace -f FILE {names}` drains {it}, takes {it} out of the cluster and cleans {it}, and {lets} anew as what the file says; or {back}"
        )
    }

    /// What says of a host with other roles in the file that it is a control plane, or half of one; a label alone, which anybody may set, makes none.
    fn was_control_plane(&self, host: &Host) -> Option<String> {
        // Of another cluster it would be refused for that.
        let is_ours = is_recorded(self.cluster, host, self.seen);
        let path = [MANIFEST, SERVICE_ACCOUNT_KEY].into_iter().find(|path| is_ours && self.has(host, path) == Some(true));
        let is_unseen = self.has(host, MANIFEST).is_none() && self.is_marked(host) && self.is_uploaded(host);
        path.map(|path| format!("it has {path}; ")).or_else(|| is_unseen.then(String::new))
    }

    /// A control plane that has other roles in the file.
    fn removed(&self, host: &Host) -> Option<Refusal> {
        let found = self.was_control_plane(host)?;
        let back = format!("give {} the role `control-plane` again", host.name);
        let begin = "; or begin anew: `kokctl reset` with the roles as they were, then apply with the new ones";
        Some(
            Refusal::new(format!("{} was set up as a control plane, and the file gives it other roles", host.name))
                .at(place(self.cluster, host, "roles"))
                .because(format!("{found}{}", if self.cluster.has_etcd_units() { "all hosts know its API server" } else { BOTH }))
                .hint(if self.is_founded() { self.anew(&host.name, &back) } else { back + begin }),
        )
    }
}
