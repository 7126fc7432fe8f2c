//! What was seen of one host.

use std::collections::BTreeMap;

use kok_crds::model::{Cluster, Host, Roles};
use kok_tasks::drain::{Cordon, Cordoner};
use kok_tasks::observe::KubernetesState;
use kok_tasks::plan::Seen;
use kok_tasks::versions::Versions;
use serde::Serialize;

use super::health::{ApiServerHealth, EtcdHealth};
use super::versions::{self, ProgramVersions};

pub(super) const UNITS: [&str; 2] = ["containerd.service", "kubelet.service"];
pub(super) const ETCD_UNIT: &str = "etcd.service";

/// A host, and what the cluster says of its node.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostStatus {
    /// Its name.
    pub host: String,
    /// Its address within the cluster.
    pub address: String,
    /// Its roles, with `+` between them.
    pub role: &'static str,
    /// Whether the host could be asked; otherwise nothing but its node is known of it.
    pub reached: bool,
    /// The distribution and its version; empty if it was not reached.
    pub os: String,
    /// The state of the unit, as systemd has it; `-` where there is none.
    pub containerd: String,
    /// The same.
    pub kubelet: String,
    /// Of a control plane.
    pub api_server: Option<ApiServerHealth>,
    /// Of a host that etcd runs on.
    pub etcd: Option<EtcdHealth>,
    /// `Ready`, `NotReady`, `none`, `unknown`; `-` where there is to be none.
    pub node: String,
    /// Who keeps new pods away from its node, if anybody does.
    pub cordoned: Option<Cordoned>,
    /// As its node says.
    pub kubelet_version: Option<String>,
    /// By the names of programs.
    pub versions: BTreeMap<String, ProgramVersions>,
}

impl HostStatus {
    /// What was seen of a host, and what the cluster says of its node; `without_node` is said where it has none.
    pub(super) fn new(
        cluster: &Cluster,
        seen: &Seen,
        host: &Host,
        (kubernetes, without_node): (Option<&KubernetesState>, &str),
        versions: &Versions,
    ) -> Self {
        let observations = seen.observations(&host.name);
        let unit = |name: &str| {
            // What runs etcd alone has neither.
            if !host.roles.is_node() {
                return "-".to_owned();
            }
            observations
                .units
                .get(name)
                .map_or_else(|| "unknown".to_owned(), |unit| if unit.load == "loaded" { unit.active.clone() } else { unit.load.clone() })
        };
        let node = kubernetes.and_then(|state| state.node(&host.name));
        let roles = host.roles;
        Self {
            host: host.name.clone(),
            address: host.address.to_string(),
            role: role(roles, cluster.has_etcd_units()),
            reached: seen.facts(&host.name).is_some(),
            os: seen.facts(&host.name).map(|facts| format!("{} {}", facts.os_id, facts.os_version)).unwrap_or_default(),
            containerd: unit(UNITS[0]),
            kubelet: unit(UNITS[1]),
            api_server: roles.control_plane.then(|| ApiServerHealth::from_seen(cluster, seen, &host.name)),
            etcd: roles.etcd.then(|| EtcdHealth::from_seen(cluster, seen, &host.name)),
            node: node
                .map_or(if roles.is_node() { without_node } else { "-" }, |node| if node.ready { "Ready" } else { "NotReady" })
                .to_owned(),
            cordoned: node.and_then(|node| cordoned(node.cordon)),
            kubelet_version: node.map(|node| node.kubelet_version.clone()),
            versions: versions::of_host(versions, &host.name),
        }
    }
}

/// Who keeps new pods away from a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Cordoned {
    /// Somebody, by `kokctl cordon` or `kokctl drain`.
    ByWord,
    /// A run, which is at work there or did not come to its end.
    ByRun,
    /// Somebody else.
    ByOthers,
}

fn cordoned(cordon: Cordon) -> Option<Cordoned> {
    match cordon {
        Cordon::None => None,
        Cordon::Others => Some(Cordoned::ByOthers),
        Cordon::Ours(Cordoner::Word) => Some(Cordoned::ByWord),
        Cordon::Ours(Cordoner::Run) => Some(Cordoned::ByRun),
    }
}

/// etcd is told where it is more than a part of a control plane.
fn role(roles: Roles, etcd_units: bool) -> &'static str {
    match (roles.control_plane, roles.worker, roles.etcd && etcd_units) {
        (true, true, true) => "control-plane+worker+etcd",
        (true, true, false) => "control-plane+worker",
        (true, false, true) => "control-plane+etcd",
        (true, false, false) => "control-plane",
        (false, true, true) => "worker+etcd",
        (false, true, false) => "worker",
        (false, false, _) => "etcd",
    }
}
