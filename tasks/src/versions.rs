//! Which versions run in a cluster, host by host: what an upgrade goes by, whoever began it.
//!
//! A host says it itself; of one that nobody asked, its node says what its kubelet is. A kubelet may never be newer than an API server, and is
//! at most three minor versions older; API servers are at most one apart (Kubernetes, "Version Skew Policy").

use std::collections::BTreeSet;
use std::fmt::Write as _;

use kok_crds::model::{Cluster, Host};
use semver::Version;

use crate::observe::{API_SERVER, CONTAINERD, ETCD, EtcdState, Installed, KUBELET, ProgramVersions, STATIC_PODS, version_of};
use crate::plan::Seen;
use crate::speaker::speaker;

/// What runs on one host of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostVersions {
    /// Its name.
    pub host: String,
    /// Whether it is a control plane by the file.
    pub is_control_plane: bool,
    /// Whether the host itself was asked; otherwise nothing but its node is known of it.
    pub is_asked: bool,
    /// Versions by the names of programs; none of what the host has no part in.
    pub programs: ProgramVersions,
}

/// What runs on all hosts, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Versions(pub Vec<HostVersions>);

/// The programs of Kubernetes itself, as tables name them.
const COLUMNS: [(&str, &str); 5] = [
    (API_SERVER, "API server"),
    ("kube-controller-manager", "controller manager"),
    ("kube-scheduler", "scheduler"),
    (ETCD, "etcd"),
    (KUBELET, "kubelet"),
];

impl HostVersions {
    /// Versions of one program.
    #[must_use]
    pub fn of_program(&self, program: &str) -> Option<&Installed> {
        self.programs.get(program)
    }

    /// Versions of the API server, the controller manager and the scheduler: what runs, and what would.
    pub fn of_control_plane(&self) -> impl Iterator<Item = &Version> {
        STATIC_PODS.iter().filter(|name| **name != ETCD).filter_map(|name| self.of_program(name)).flat_map(Installed::all)
    }

    /// Versions of the kubelet: what runs, and what would.
    pub fn of_kubelet(&self) -> impl Iterator<Item = &Version> {
        self.of_program(KUBELET).into_iter().flat_map(Installed::all)
    }

    fn new(cluster: &Cluster, seen: &Seen, host: &Host) -> Self {
        let observed = seen.observations(&host.name);
        let facts = seen.facts(&host.name);
        let is_ours = facts.is_none_or(|facts| facts.cluster.as_ref() == Some(&cluster.name));
        let mut programs = observed.versions.clone().filter(|_| is_ours).unwrap_or_default();
        // A host that was made anew may still have the node of its former life.
        let state = speaker(cluster, seen).and_then(|speaker| seen.observations(&speaker.name).kubernetes.as_ref());
        let node = state.and_then(|state| state.node(&host.name)).filter(|_| is_ours);
        let by_node = [
            (KUBELET, node.and_then(|node| version_of(&node.kubelet_version))),
            (CONTAINERD, node.and_then(|node| version_of(node.container_runtime.strip_prefix("containerd://")?))),
        ];
        for (program, version) in by_node.into_iter().filter(|(_, version)| version.is_some()) {
            let installed = programs.entry(program.to_owned()).or_default();
            installed.running = installed.running.take().or(version);
        }
        // A kubelet that never ran is of no cluster yet: its file is written anew before it does. Beside a control plane it rests, as in the turn of that.
        let rests = programs.contains_key(API_SERVER);
        programs.retain(|program, installed| program != KUBELET || installed.running.is_some() || rests);
        if let Some(EtcdState::Ready(member)) = observed.etcd.as_ref().filter(|_| is_ours)
            && let Some(version) = version_of(&member.version)
        {
            programs.entry(ETCD.to_owned()).or_default().running = Some(version);
        }
        let is_control_plane = host.roles.control_plane;
        Self { host: host.name.clone(), is_control_plane, is_asked: facts.is_some(), programs }
    }

    fn cells(&self) -> [String; 5] {
        let is_unknown = self.is_control_plane && !self.is_asked;
        COLUMNS.map(|(program, _)| match self.of_program(program) {
            Some(Installed { running: Some(running), next: Some(next), .. }) if running != next => format!("{running} (then {next})"),
            Some(Installed { running, next, emulates: Some((major, minor)) }) => {
                let version = running.as_ref().or(next.as_ref());
                version.map_or_else(|| "-".to_owned(), |version| format!("{version} as {major}.{minor}"))
            }
            Some(installed) => installed.version().map_or_else(|| "-".to_owned(), ToString::to_string),
            None => if is_unknown && program != KUBELET { "not asked" } else { "-" }.to_owned(),
        })
    }
}

impl Versions {
    /// What was seen of all hosts of the file.
    #[must_use]
    pub fn from_seen(cluster: &Cluster, seen: &Seen) -> Self {
        Self(cluster.hosts.iter().map(|host| HostVersions::new(cluster, seen, host)).collect())
    }

    /// Every version of Kubernetes that runs or would run somewhere, oldest first.
    #[must_use]
    pub fn of_kubernetes(&self) -> BTreeSet<&Version> {
        self.0.iter().flat_map(|host| host.of_control_plane().chain(host.of_kubelet())).collect()
    }

    /// The newest version of a control plane's programs.
    #[must_use]
    pub fn newest_of_control_planes(&self) -> Option<&Version> {
        self.0.iter().flat_map(HostVersions::of_control_plane).max()
    }

    /// A table of versions by host, without an end of line. Hosts of which the same is known share a line.
    #[must_use]
    pub fn table(&self) -> String {
        let mut rows: Vec<(Vec<&str>, [String; 5])> = Vec::new();
        for host in self.0.iter().filter(|host| !host.programs.is_empty()) {
            let cells = host.cells();
            match rows.iter_mut().find(|(_, known)| *known == cells) {
                Some((hosts, _)) => hosts.push(&host.host),
                None => rows.push((vec![&host.host], cells)),
            }
        }
        let shown = (0..COLUMNS.len()).filter(|column| rows.iter().any(|(_, cells)| cells.get(*column).is_some_and(|cell| cell != "-")));
        let shown: Vec<usize> = shown.collect();
        let title = COLUMNS.map(|(_, title)| title.to_owned());
        let rows = rows.iter().map(|(hosts, cells)| (named(hosts), cells));
        let lines: Vec<Vec<String>> = std::iter::once(("host".to_owned(), &title))
            .chain(rows)
            .map(|(hosts, cells)| [hosts].into_iter().chain(shown.iter().filter_map(|column| cells.get(*column).cloned())).collect())
            .collect();
        aligned(&lines)
    }
}

/// So many hosts are named where there are more than one more.
const NAMED: usize = 5;

/// Names of hosts in one cell, or in a sentence.
#[must_use]
pub fn named(hosts: &[&str]) -> String {
    match hosts.split_at_checked(NAMED) {
        Some((first, more)) if more.len() > 1 => format!("{} and {} more", first.join(", "), more.len()),
        _ => hosts.join(", "),
    }
}

/// Columns as wide as their longest cell.
fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let mut written = String::new();
        for (cell, width) in line.iter().zip(&widths) {
            let _ = write!(written, "{cell:<width$}  ");
        }
        text.push_str(written.trim_end());
        text.push('\n');
    }
    text.trim_end().to_owned()
}
