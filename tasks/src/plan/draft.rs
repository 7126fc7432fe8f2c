//! How a task says what it wants.

use std::time::Duration;

use kok_crds::model::{Cluster, Host, Settings};

use super::graph::{Action, Step};
use super::id::{NewName, StepId, StepName};
use super::make::{Inputs, Seen};
use super::reason::Reason;
use super::refusal::Refusal;
use crate::bundle::{BundleFile, BundleImage};
use crate::facts::HostFacts;
use crate::gate::{Disruption, Need};
use crate::given::Given;
use crate::list::kubeadm_configuration::Configurations;
use crate::list::resources::Templates;
use crate::membership::Membership;
use crate::observe::{ApiServerState, KubernetesState, Observations};
use crate::resources::Resource;
use crate::speaker::speaker;

/// Long enough for any single change of a file or unit on a busy host.
const DEADLINE: Duration = Duration::from_secs(120);

/// What an artifact may take on its way: four at once share a line of some 10 Mbit/s, and so may hosts that fetch for themselves.
fn transfer(action: &Action) -> Duration {
    const BYTES_PER_SECOND: u64 = 300_000;
    let size = match action {
        Action::Resource(Resource::Binary(it)) => it.artifact.size,
        Action::Resource(Resource::Archive(it)) => it.artifact.size,
        Action::Resource(Resource::Image(it)) => it.artifact.size,
        Action::Resource(Resource::PackageArchive(it)) => it.artifact.size,
        _ => 0,
    };
    Duration::from_secs(size / BYTES_PER_SECOND)
}

/// What a task may look at when it decides: the cluster as its owner wants it, the bundle, and what was seen of the host.
#[derive(Debug, Clone, Copy)]
pub struct HostView<'a> {
    /// What the plan is made from.
    pub inputs: &'a Inputs<'a>,
    /// The host that the task plans for.
    pub host: &'a Host,
    /// What was seen of all hosts.
    pub seen: &'a Seen,
    /// The facts of the host, or what we expect before we have seen any.
    pub facts: &'a HostFacts,
    /// The cluster's id: what stands on a host that belongs to it, or a new one. Nothing while some of its hosts were not asked, for one of
    /// them may have it.
    pub cluster_id: Option<&'a str>,
    /// What was made for the host that several tasks ask for.
    pub configurations: &'a Configurations,
    /// Templates of the user's, parsed once for all hosts.
    pub(crate) templates: &'a Templates<'a>,
}

impl<'a> HostView<'a> {
    /// The cluster as its owner wants it.
    #[must_use]
    pub fn cluster(&self) -> &'a Cluster {
        self.inputs.cluster
    }

    /// The settings of the host: with what it has for itself.
    #[must_use]
    pub fn settings(&self) -> &'a Settings {
        self.inputs.cluster.settings_of(self.host)
    }

    /// What was seen of the host, nothing before it was probed.
    #[must_use]
    pub fn observations(&self) -> &'a Observations {
        self.seen.observations(&self.host.name)
    }

    /// The control plane that steps of the whole cluster run on ([`speaker`]).
    ///
    /// # Errors
    /// [`Refusal`] if there is none; the reader of the file has made sure that there is one.
    pub fn speaker(&self) -> Result<&'a Host, Refusal> {
        speaker(self.cluster(), self.seen)
            .ok_or_else(|| Refusal::new("the cluster has no control plane").hint("give a host `roles: [control-plane]`"))
    }

    /// Whether this host is that one.
    #[must_use]
    pub fn is_speaker(&self) -> bool {
        speaker(self.cluster(), self.seen).is_some_and(|speaker| speaker.name == self.host.name)
    }

    /// Who has a member of etcd, and who is to get one.
    #[must_use]
    pub fn membership(&self) -> Membership<'a> {
        Membership::from_seen(self.cluster(), self.seen)
    }

    /// Whether this host is to become a member of an etcd that runs.
    #[must_use]
    pub fn joins_etcd(&self) -> bool {
        self.host.roles.etcd && self.membership().joins(self.host)
    }

    /// The control planes that are there, before those that the file has new; all of them while a cluster is founded.
    #[must_use]
    pub fn founded_planes(&self) -> Vec<&'a Host> {
        let cluster = self.cluster();
        if !cluster.has_etcd_units() {
            return self.membership().voters.into_iter().filter(|host| host.roles.control_plane).collect();
        }
        // Their members say nothing of them: who has nothing of an API server beside one that has, is new.
        let has_nothing = |host: &&Host| self.seen.observations(&host.name).api_server == Some(ApiServerState::Absent);
        let there: Vec<&Host> = cluster.control_planes().filter(|host| !has_nothing(host)).collect();
        if there.is_empty() { cluster.control_planes().collect() } else { there }
    }

    /// Whether this host is to become a control plane beside others.
    #[must_use]
    pub fn is_new_plane(&self) -> bool {
        self.host.roles.control_plane && !self.founded_planes().iter().any(|host| host.name == self.host.name)
    }

    /// What the cluster said of itself before the run.
    #[must_use]
    pub fn kubernetes(&self) -> Option<&'a KubernetesState> {
        self.seen.observations(&self.speaker().ok()?.name).kubernetes.as_ref()
    }

    /// What the host's node was given by the file's word before the run.
    #[must_use]
    pub fn given(&self) -> Given {
        self.kubernetes().and_then(|state| state.node(&self.host.name)).map(|node| node.given.clone()).unwrap_or_default()
    }

    /// A file of the bundle by name, for the host's architecture: of the version given, or the newest.
    ///
    /// # Errors
    /// [`Refusal`] naming what the bundle has instead.
    pub fn file(&self, name: &str, version: Option<&str>) -> Result<&'a BundleFile, Refusal> {
        self.inputs.bundle_file(name, version, &self.facts.architecture).map_err(|refusal| refusal.at(format!("host {}", self.host.name)))
    }

    /// An image that the release of Kubernetes names for a component which the host is to have of it.
    ///
    /// # Errors
    /// [`Refusal`] naming what the bundle lacks.
    pub fn release_image(&self, component: &str) -> Result<&'a BundleImage, Refusal> {
        let (cluster, architecture) = (self.cluster(), &self.facts.architecture);
        let image = match component {
            "etcd" => self.inputs.etcd_image(self.host, architecture),
            "kube-proxy" | "coredns" => self.inputs.release_image(component, cluster.shared_version(), architecture),
            "pause" => self.inputs.release_image(component, cluster.kubelet_version(self.host), architecture),
            _ => self.inputs.release_image(component, cluster.plane_version(self.host), architecture),
        };
        image.map_err(|refusal| refusal.at(format!("host {}", self.host.name)))
    }

    /// The reference of etcd's image, where it is another one than a release brings.
    ///
    /// # Errors
    /// [`Refusal`] naming what the bundle lacks.
    pub fn other_etcd(&self, version: &semver::Version) -> Result<Option<&'a str>, Refusal> {
        let is = &self.release_image("etcd")?.reference;
        let of_release = self.inputs.release_image("etcd", version, &self.facts.architecture)?;
        Ok((of_release.reference != *is).then_some(is.as_str()))
    }

    /// The newest image of that name which belongs to no release of Kubernetes.
    ///
    /// # Errors
    /// [`Refusal`] if the bundle has none.
    pub fn image(&self, name: &str) -> Result<&'a BundleImage, Refusal> {
        self.inputs.newest_image(name, &self.facts.architecture).map_err(|refusal| refusal.at(format!("host {}", self.host.name)))
    }

    /// Whether the bundle has an image of that name for this host.
    #[must_use]
    pub fn has_image(&self, name: &str) -> bool {
        self.image(name).is_ok()
    }

    /// The step of that name for this host.
    #[must_use]
    pub fn id(&self, name: StepName<'_>) -> StepId {
        name.on(&self.host.name)
    }
}

/// That one step comes after another.
#[derive(Debug, Clone)]
pub(super) struct Edge {
    pub(super) later: StepId,
    pub(super) earlier: StepId,
    pub(super) reason: Reason,
}

/// The steps of one task on one host, as they are being written down.
#[derive(Debug)]
pub struct Draft<'a> {
    host: &'a str,
    task: &'static str,
    steps: Vec<Step>,
    edges: Vec<Edge>,
}

impl<'a> Draft<'a> {
    /// A draft of a task on a host.
    #[must_use]
    pub fn new(host: &'a str, task: &'static str) -> Self {
        Self { host, task, steps: Vec::new(), edges: Vec::new() }
    }

    /// Adds a step and returns its name.
    pub fn add<'n>(&mut self, name: impl Into<NewName<'n>>, action: impl Into<Action>) -> StepId {
        self.add_on(self.host, name, action)
    }

    /// Adds a step that acts on another host, such as a control plane that is asked about this host's node.
    pub fn add_on<'n>(&mut self, host: &str, name: impl Into<NewName<'n>>, action: impl Into<Action>) -> StepId {
        let name = name.into();
        let id = StepId::new(self.host, name.task.unwrap_or(self.task), name.name);
        let action = action.into();
        self.steps.push(Step {
            id: id.clone(),
            host: host.to_owned(),
            task: self.task,
            deadline: DEADLINE + transfer(&action),
            action,
            triggers: Vec::new(),
            gate: None,
        });
        id
    }

    /// Gives the step that was added last another deadline.
    pub fn within(&mut self, deadline: Duration) {
        if let Some(step) = self.steps.last_mut() {
            step.deadline = deadline;
        }
    }

    /// Says that `later` needs `earlier`, and why.
    pub fn needs(&mut self, later: &StepId, earlier: &StepId, reason: Reason) {
        self.edges.push(Edge { later: later.clone(), earlier: earlier.clone(), reason });
    }

    /// Says that `later` needs `earlier`, and has to be done again whenever `earlier` changes.
    pub fn follows(&mut self, later: &StepId, earlier: &StepId, reason: Reason) {
        self.needs(later, earlier, reason);
        if let Some(step) = self.steps.iter_mut().find(|step| step.id == *later) {
            step.triggers.push(earlier.clone());
        }
    }

    /// Says what a step disturbs, and whether it mends what does not work: it begins only when the gate lets it.
    pub fn gated(&mut self, step: &StepId, disturbs: Disruption, need: Need) {
        if let Some(step) = self.steps.iter_mut().find(|other| other.id == *step) {
            step.gate = Some((disturbs, need));
        }
    }

    /// Its steps.
    #[must_use]
    pub fn ids(&self) -> Vec<StepId> {
        self.steps.iter().map(|step| step.id.clone()).collect()
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    pub(super) fn into_parts(self) -> (Vec<Step>, Vec<Edge>) {
        (self.steps, self.edges)
    }
}
