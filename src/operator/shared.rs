//! What all operations under way have in common.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest;
use kok_tasks::holder::Manager;
use kube::api::DynamicObject;
use kube::runtime::events::Recorder;
use kube::{Api, Client};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};

use super::group::Group;
use super::metrics::Metrics;
use super::object::{self, DECLARATIVE};
use super::page::ClusterBoard;
use crate::artifacts::BundleFolder;
use crate::remote::{Limits, Passphrases, Surroundings, Transport, Variables};
use crate::state::{Controller, StateFolder};

/// How the operator behaves.
pub struct OperatorSettings {
    /// The kubeconfig of the meta-cluster; in a pod of it none is needed.
    pub kubeconfig: Option<PathBuf>,
    /// Its context; the current one if none is given.
    pub context: Option<String>,
    /// Namespaces of which objects are read; the operator's own if there is none.
    pub namespaces: Vec<String>,
    /// The operator's own namespace, for Leases and what it remembers; the first of the others if none is given.
    pub own_namespace: Option<String>,
    /// The groups that are served.
    pub groups: Vec<Group>,
    /// Where artifacts come from; without it nothing is installed.
    pub bundle: Option<Arc<BundleFolder>>,
    /// Where journals, snapshots of etcd and host keys are kept.
    pub state: StateFolder,
    /// So many operations are under way at the same time.
    pub runs: usize,
    /// How long an operation may take that says nothing of it.
    pub run_deadline: Duration,
    /// So many operations are kept that have ended.
    pub history: usize,
    /// Where `/metrics` is served, if anywhere.
    pub metrics: Option<SocketAddr>,
    /// Where `/livez` and `/readyz` are served, if anywhere.
    pub health: Option<SocketAddr>,
    /// Where the page is served, if anywhere: an address of loopback.
    pub web: Option<SocketAddr>,
    /// What this replica is called.
    pub identity: String,
    /// Whether a host key that is not known is trusted at the first look.
    pub accept_new_host_keys: bool,
    /// Says `true` when the operator is to end.
    pub stop: watch::Receiver<bool>,
}

/// So many looks for drift are under way at the same time: each waits for hosts most of its time.
pub(super) const LOOKS: usize = 8;

/// What all operations under way have in common.
pub(super) struct Shared {
    pub(super) client: Client,
    pub(super) settings: OperatorSettings,
    /// Namespaces of which objects are read.
    pub(super) namespaces: Vec<String>,
    /// The operator's own namespace: nothing that it relies on stands where those of clusters may write.
    pub(super) own: String,
    /// Why what the state folder keeps may be lost, if something tells so.
    pub(super) fleeting: Option<&'static str>,
    /// Tells this process from every other one, also from the one before it.
    pub(super) identity: String,
    /// The same for all replicas of this meta-cluster.
    pub(super) meta: String,
    /// Where runs are at work; deciding goes on beside it whatever they do.
    pub(super) engine: Handle,
    pub(super) permits: Arc<Semaphore>,
    /// Looks for drift that are under way at the same time.
    pub(super) looks: Arc<Semaphore>,
    pub(super) limits: Arc<Limits>,
    pub(super) recorder: Recorder,
    pub(super) metrics: Arc<Metrics>,
    /// What the page shows.
    pub(super) board: ClusterBoard,
    /// Journals are read, packed and unpacked by one at a time: of a thousand hosts one has tens of megabytes.
    pub(super) journals: Arc<Semaphore>,
}

impl Shared {
    /// The Clusters of a group.
    pub(super) fn clusters(&self, group: Group) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &group.clusters())
    }

    /// The operations of a group.
    pub(super) fn operations(&self, group: Group) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &group.operations())
    }

    /// The namespace in which everything of a cluster is.
    pub(super) fn home(&self, cluster: &DynamicObject) -> String {
        let spec = cluster.data.get("spec").cloned().unwrap_or_default();
        object::home(&spec).unwrap_or_else(|| self.namespaces.first().cloned().unwrap_or_default())
    }

    /// Who a Cluster's runs are, on its hosts: the same whichever replica is at work, and another one for each Cluster.
    pub(super) fn controller(&self, cluster: &DynamicObject) -> Controller {
        let uid = cluster.metadata.uid.clone().unwrap_or_default();
        let sum = digest::digest(&digest::SHA256, format!("{}\n{uid}", self.meta).as_bytes());
        let id = hex::encode(sum.as_ref().get(..16).unwrap_or_default());
        let is_declared = object::text(&cluster.data, "/spec/operator/mode") == Some(DECLARATIVE);
        let by = || format!("{}@{}", cluster.metadata.name.as_deref().unwrap_or_default(), self.own);
        let manages = is_declared.then(|| Manager { controller: id.clone(), by: by() });
        Controller { id, name: format!("{}@{}", self.settings.identity, self.own), manages }
    }

    /// A transport that has nothing of this machine: no agent, no configuration of ssh, no home.
    pub(super) fn transport(&self) -> Transport {
        let surroundings = Surroundings {
            home: None,
            local_user: None,
            agent_socket: None,
            passphrases: Passphrases::Nobody,
            system_config: None,
            variables: Variables::new(|_| None),
        };
        Transport::new(surroundings, Arc::clone(&self.limits))
    }

    /// The folder of a group's state.
    pub(super) fn state(&self, group: Group) -> StateFolder {
        state_of(self.settings.state.path(), group)
    }
}

/// Where the command line finds it that has the folder of the group as `XDG_STATE_HOME`.
fn state_of(folder: &Path, group: Group) -> StateFolder {
    StateFolder::at(folder.join(group.label()).join("kokctl"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_finds_the_runs_of_a_group() {
        let folders = Group::ALL.map(|group| state_of(Path::new("/state"), group).path().display().to_string());
        assert_eq!(folders, ["/state/kubeonkube/kokctl", "/state/kubean/kokctl"]);
    }
}
