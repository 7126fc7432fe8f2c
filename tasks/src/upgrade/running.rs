//! Which versions run, host by host, as the way of an upgrade needs them.

use std::collections::BTreeMap;

use kok_crds::model::{Cluster, Host};
use semver::Version;

use crate::observe::{API_SERVER, ApiServerState, ETCD, KUBELET};
use crate::plan::{Refusal, Seen};
use crate::preconditions;
use crate::speaker::speaker;
use crate::versions::{HostVersions, Versions};

/// The option by which API server, controller manager and scheduler work as an older version (KEP-4330).
pub(crate) const EMULATED_VERSION: &str = "emulated-version";

/// Versions by host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Running {
    /// Of control planes: the oldest of what runs and of what its next start would run, for such a host is not done yet.
    pub planes: BTreeMap<String, Version>,
    /// Of kubelets, likewise.
    pub kubelets: BTreeMap<String, Version>,
    /// Of members of etcd, likewise.
    pub etcd: BTreeMap<String, Version>,
    /// What the cluster says of itself.
    pub shared: Option<Version>,
    /// The minor version that a control plane works as, by host, where an upgrade has told it that it may be taken back.
    pub emulated: BTreeMap<String, (u64, u64)>,
    /// What a run that did not come to its end may have left, beside versions.
    pub rest: Rest,
}

/// What is still to come where all that was begun has its version.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rest {
    /// Nodes from which a run keeps new pods away.
    pub nodes: Vec<String>,
    /// Control planes whose API server is not ready.
    pub planes: Vec<String>,
}

impl Running {
    /// What was seen of all hosts.
    ///
    /// # Errors
    /// [`Refusal`] for what is not known of a host, without which no way can be told.
    pub fn from_seen(cluster: &Cluster, seen: &Seen) -> Result<Self, Vec<Refusal>> {
        let rest = Rest { nodes: kept(cluster, seen), planes: not_ready(cluster, seen) };
        let mut running = Self { shared: preconditions::uploaded_version(cluster, seen), rest, ..Self::default() };
        let mut unknown = Vec::new();
        let is_the_owners = has_own_emulation(cluster);
        for (host, versions) in cluster.hosts.iter().zip(Versions::from_seen(cluster, seen).0) {
            let name = || host.name.clone();
            if host.roles.control_plane && !is_the_owners {
                running.emulated.extend(emulates(&versions, running.shared.as_ref()).map(|minor| (name(), minor)));
            }
            let oldest = |program: &str| versions.of_program(program).and_then(|installed| installed.all().min().cloned());
            match versions.of_control_plane().min().cloned() {
                Some(version) if host.roles.control_plane => drop(running.planes.insert(name(), version)),
                None if host.roles.control_plane => unknown.push(format!("{}: its control plane", host.name)),
                _ => {}
            }
            // A kubelet that is no node yet joins in the version that the others have.
            if let Some(version) = oldest(KUBELET).filter(|_| host.roles.is_node()) {
                running.kubelets.insert(name(), version);
            }
            match oldest(ETCD) {
                Some(version) if host.roles.etcd => drop(running.etcd.insert(name(), version)),
                None if host.roles.etcd => unknown.push(format!("{}: its member of etcd", host.name)),
                _ => {}
            }
        }
        running.shared = running.shared.take().or_else(|| running.before());
        if unknown.is_empty() { Ok(running) } else { Err(unknown.into_iter().map(|what| unknown_version(&what)).collect()) }
    }

    /// The version of before, where no API server says it because the new one does not come up: of the emulated minor version the one that other control planes
    /// have, or their kubelets, which stay. Where none is emulated and control planes and their kubelets have one version, it is that: a kubelet gets another
    /// one when the cluster has said that of itself, and keeps it when control planes get theirs back.
    fn before(&self) -> Option<Version> {
        let Some(minor) = self.emulated.values().next() else {
            let one = self.planes.values().next()?;
            let is_one = |(host, version): (&String, &Version)| version == one && self.kubelets.get(host) == Some(one);
            return self.planes.iter().all(is_one).then(|| one.clone());
        };
        let others = self.planes.iter().filter(|(host, _)| !self.emulated.contains_key(*host)).map(|(_, version)| version);
        let kubelets = self.planes.keys().filter_map(|host| self.kubelets.get(host)).chain(self.kubelets.values());
        others.chain(kubelets).find(|version| (version.major, version.minor) == *minor).cloned()
    }

    /// The oldest and the newest version of control planes.
    #[must_use]
    pub fn planes(&self) -> Option<(&Version, &Version)> {
        self.planes.values().min().zip(self.planes.values().max())
    }

    /// Names of hosts of which a map has another version.
    pub(super) fn others<'a>(versions: &'a BTreeMap<String, Version>, than: &Version) -> Vec<&'a str> {
        versions.iter().filter(|(_, version)| *version != than).map(|(host, _)| host.as_str()).collect()
    }
}

/// Nodes that a run has cordoned and not let go.
fn kept(cluster: &Cluster, seen: &Seen) -> Vec<String> {
    let state = speaker(cluster, seen).and_then(|speaker| seen.observations(&speaker.name).kubernetes.as_ref());
    let is_kept = |host: &&Host| state.and_then(|state| state.node(&host.name)).is_some_and(|node| node.cordon.is_of_run());
    cluster.nodes().filter(is_kept).map(|host| host.name.clone()).collect()
}

/// Control planes of whose API server nobody has heard that it is ready.
fn not_ready(cluster: &Cluster, seen: &Seen) -> Vec<String> {
    let is_ready = |host: &Host| matches!(seen.observations(&host.name).api_server, Some(ApiServerState::Ready));
    cluster.control_planes().filter(|host| !is_ready(host)).map(|host| host.name.clone()).collect()
}

/// What a control plane's next start works as. One that has the version which the cluster says of itself does so because its owner wants it, as by a patch of
/// kubeadm's: nothing was begun there.
fn emulates(versions: &HostVersions, shared: Option<&Version>) -> Option<(u64, u64)> {
    let api_server = versions.of_program(API_SERVER)?;
    api_server.emulates.filter(|_| shared.is_none() || api_server.next.as_ref() != shared)
}

/// Whether the file itself says what API servers work as: then no upgrade has, and none takes that away.
#[must_use]
pub(crate) fn has_own_emulation(cluster: &Cluster) -> bool {
    cluster.settings.components.api_server.options.contains_key(EMULATED_VERSION)
}

fn unknown_version(what: &str) -> Refusal {
    Refusal::new(format!("{what} says no version"))
        .because("nobody knows then which one may come next")
        .hint("`kokctl status` shows what runs; `kokctl apply` in the version that the cluster has mends what does not")
}
