//! API server, controller manager and scheduler, and what a new cluster needs first.

use std::collections::BTreeMap;
use std::time::Duration;

use kok_crds::model::Cluster;
use kok_pki::AuthorityKind;

use super::kubeadm_configuration::{self, Configuration, KUBEADM};
use super::{
    Task, api_server, certificates, cluster_wide, container_runtime, etcd, host, images, joining_member, kubelet, kubelet_of_plane, names,
    node_dns, rolling, still_ready, uncordoned,
};
use crate::given::Given;
use crate::identity;
use crate::issued::is_kept_elsewhere;
use crate::operations::{
    ApiServerReady, ClusterAdmins, Component, ControllersRun, CredentialReady, EndpointReady, EtcdAnswers, KubeletFinalize, MarkNode,
    Operation, Preflight, ReadKubeconfigs, StaticPods,
};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};

pub(crate) const NAME: &str = "control-plane";

pub(super) const TASK: Task =
    Task { name: NAME, about: "API server, controller manager, scheduler and what the cluster needs first", plan };

/// Step in which kubeadm checks the host.
pub(super) const PREFLIGHT: StepName<'static> = StepName::new(NAME, "preflight");

/// [`still_ready`]'s steps of this task.
pub(super) const STILL_READY: StepName<'static> = StepName::new(NAME, still_ready::STILL_READY);
pub(super) const GOES_ON: StepName<'static> = StepName::new(NAME, still_ready::GOES_ON);

/// Step after which administrators may ask and change everything.
pub(crate) const ADMINISTRATORS: StepName<'static> = StepName::new(NAME, "administrators");

/// Step after which the cluster knows its own configuration.
pub(super) const UPLOADED: StepName<'static> = StepName::new(NAME, "uploaded");

/// Step after which hosts can join.
pub(super) const TOKEN: StepName<'static> = StepName::new(NAME, "bootstrap-token");

/// Step after which the host's API server answers.
pub(super) const READY: StepName<'static> = StepName::new(NAME, "api-server");

/// Step after which the host's API server shows a certificate with the name that the API has got.
pub(super) const NAMED: StepName<'static> = StepName::new(NAME, "named");

/// Step after which nothing starts static pods until the kubelet is started.
pub(super) const RESTS: StepName<'static> = StepName::new(NAME, "rests");

/// Step that starts the kubelet.
pub(crate) const KUBELET: StepName<'static> = StepName::new(NAME, "kubelet");

/// Step after which the kubelet renews its own certificate.
const FINALIZED: StepName<'static> = StepName::new(NAME, "kubelet-finalized");

/// Step after which controller manager and scheduler know their kubeconfigs.
pub(super) const KUBECONFIGS: StepName<'static> = StepName::new(NAME, "kubeconfigs-read");

/// Step after which both run.
pub(super) const CONTROLLERS: StepName<'static> = StepName::new(NAME, "controllers");

/// Why controller managers and schedulers are started anew on one control plane after the other.
pub(super) const ONE_GOES_ON: &str = "of several controller managers and schedulers one has to go on";

/// Step that puts kube-proxy and CoreDNS into the cluster.
pub(super) const ADDONS: StepName<'static> = StepName::new(NAME, "addons");

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if !view.host.roles.control_plane {
        return Ok(());
    }
    let configuration = kubeadm_configuration::bootstrap(view)?;
    preflight(view, draft, configuration);
    let etcd = etcd_answers(view, draft);
    let manifests = manifests(view, draft, configuration)?;
    if let Some(etcd) = &etcd {
        draft.needs(&manifests, etcd, Reason::Because("an API server gives up without it"));
    }
    let kubelet = kubelet_of_plane::start(view, draft, configuration, &manifests)?;
    // What an upgrade brings has to be what answers, at the host's own address.
    let version = view.cluster().underway.as_ref().map(|_| view.cluster().plane_version(view.host).clone());
    let ready = draft.add(READY, Operation::ApiServerReady(ApiServerReady { version }));
    draft.within(patience(view));
    kubelet_of_plane::and_api_server(view, draft, &kubelet, &ready)?;
    draft.follows(&ready, &manifests, Reason::Because("a changed manifest makes it start again"));
    if !view.cluster().has_etcd_units() {
        draft.follows(&ready, &view.id(etcd::MANIFEST), Reason::Because("it is not ready before etcd is"));
    }
    draft.needs(&ready, &view.id(kubeadm_configuration::KUBECTL), Reason::Runs);
    for made in certificates::of_api_server(view) {
        draft.follows(&ready, &made, Reason::Because("it has to answer with the new one"));
    }
    still_ready::asks_again(view, draft, &ready);
    named(view, draft, &ready);
    controllers(view, draft, &manifests, &kubelet, &ready);
    if view.is_speaker() {
        let administrators = draft.add(ADMINISTRATORS, Operation::ClusterAdmins(ClusterAdmins { host: view.host.name.clone() }));
        draft.needs(&administrators, &ready, Reason::TalksTo);
        uncordoned::plan(view, draft, &administrators);
        cluster_wide::plan(view, draft, &administrators)?;
    }
    mark(view, draft, &ready)?;
    if !is_kept_elsewhere(view.cluster(), AuthorityKind::Kubernetes) {
        finalize(view, draft, configuration, &kubelet, &ready);
    }
    still_ready::plan(view, draft, &[KUBELET, node_step(view.cluster())])
}

/// kubeadm's own limit for a control plane (`controlPlaneComponentHealthCheck`).
const PATIENCE: Duration = Duration::from_secs(240);

/// How long an API server is waited for. Of a cluster that is founded with several, more than half of etcd's members have to be there, and another host may
/// be slower than this one; and one that does not work may have failed again and again.
fn patience(view: &HostView<'_>) -> Duration {
    let is_alone = view.is_new_plane() && !view.cluster().is_highly_available();
    PATIENCE + if is_alone || rolling::is_fully_healthy(view) { Duration::ZERO } else { rolling::LONGEST_BACK_OFF }
}

/// Controller manager and scheduler have to know their present kubeconfigs, and to run; where they get their first ones they have not been started before.
fn controllers(view: &HostView<'_>, draft: &mut Draft<'_>, manifests: &StepId, kubelet: &StepId, ready: &StepId) {
    let step = draft.add(KUBECONFIGS, Operation::ReadKubeconfigs(ReadKubeconfigs));
    draft.needs(&step, kubelet, Reason::Because("it starts them again"));
    draft.needs(&step, ready, Reason::Because("they give back their leases through the API server beside them"));
    for made in certificates::of_controllers(view) {
        draft.follows(&step, &made, Reason::Reads);
    }
    let earlier = view.founded_planes().into_iter().take_while(|host| host.name != view.host.name);
    if let Some(before) = earlier.last().filter(|_| !view.is_new_plane()) {
        draft.needs(&step, &CONTROLLERS.on(&before.name), Reason::While(ONE_GOES_ON));
    }
    let run = draft.add(CONTROLLERS, Operation::ControllersRun(ControllersRun));
    draft.within(PATIENCE + rolling::LONGEST_BACK_OFF);
    draft.follows(&run, &step, Reason::Because("the kubelet starts them again"));
    draft.follows(&run, manifests, Reason::Because("a changed manifest makes them start again"));
}

/// An API server may read a new certificate a minute after it was written (`DynamicCertKeyPairContent`).
fn named(view: &HostView<'_>, draft: &mut Draft<'_>, ready: &StepId) {
    if view.is_new_plane() || !names::is_new(view) {
        return;
    }
    let step = draft.add(NAMED, Operation::EndpointReady(EndpointReady { url: identity::endpoint_url(view.cluster()) }));
    draft.within(Duration::from_secs(150));
    draft.follows(&step, ready, Reason::Because("on its own host the name leads to it"));
    names::needed_by(view, draft, &step);
}

/// Where etcd is not beside the API server, it has to answer first: an API server gives up without it.
fn etcd_answers(view: &HostView<'_>, draft: &mut Draft<'_>) -> Option<StepId> {
    if !view.cluster().has_etcd_units() {
        return None;
    }
    let endpoints = kubeadm_configuration::etcd_endpoints(view.cluster());
    let step = draft.add("etcd", Operation::EtcdAnswers(EtcdAnswers { endpoints }));
    // As long as an API server waits for more than half of several members.
    draft.within(Duration::from_secs(600));
    certificates::needed_by(view, draft, &step);
    draft.needs(&step, &view.id(kubeadm_configuration::KUBECTL), Reason::Runs);
    Some(step)
}

fn preflight(view: &HostView<'_>, draft: &mut Draft<'_>, configuration: &Configuration) {
    let operation = Preflight {
        configuration: configuration.path.clone(),
        source: configuration.source.clone(),
        has_etcd_units: view.cluster().has_etcd_units(),
        ignores_all: view.cluster().settings.ignores_all_preflight_errors(),
    };
    let step = draft.add(PREFLIGHT, Operation::Preflight(operation));
    draft.needs(&step, &view.id(configuration.step), Reason::Reads);
    draft.needs(&step, &view.id(KUBEADM), Reason::Runs);
    draft.needs(&step, &view.id(container_runtime::SERVICE), Reason::TalksTo);
    draft.needs(&step, &view.id(kubelet::PROGRAM), Reason::Because("it asks the kubelet for its version"));
    draft.needs(&step, &view.id(kubelet::UNIT_STEP), Reason::Because("it asks systemd for the kubelet's unit"));
    host::needs_kernel(view, draft, &step);
}

fn manifests(view: &HostView<'_>, draft: &mut Draft<'_>, configuration: &Configuration) -> Result<StepId, Refusal> {
    let operation = StaticPods {
        component: Component::ControlPlane,
        configuration: configuration.path.clone(),
        of_member: None,
        source: configuration.source.clone(),
        source_alone: configuration.source_alone.clone(),
    };
    let step = draft.add("manifests", Operation::StaticPods(operation));
    draft.needs(&step, &view.id(PREFLIGHT), Reason::Because("kubeadm checks a host before it changes it"));
    draft.needs(&step, &view.id(configuration.step), Reason::Reads);
    draft.needs(&step, &view.id(KUBEADM), Reason::Runs);
    for member in joining_member::awaited_by_api_server(view) {
        draft.needs(&step, &member, Reason::Because("no API server is ready by a member without a vote"));
    }
    certificates::needed_by(view, draft, &step);
    kubeadm_configuration::patched_by(view, draft, &step);
    api_server::needed_by(view, draft, &step)?;
    rolling::needed_by(view, draft, &step);
    rolling::restarts_api_server(view, draft, &step);
    if rolling::is_fully_healthy(view) {
        images::needed_by(view, draft, &step, &images::CONTROL_PLANE);
    }
    kubelet_of_plane::rests_before(view, draft, &step)?;
    // Where the pods of a control plane are made anew, its API server may be away for a moment.
    node_dns::needed_by(view, draft, &step);
    Ok(step)
}

/// The labels and the taint that kubeadm's `mark-control-plane` gives, and what the owner asks for.
fn mark(view: &HostView<'_>, draft: &mut Draft<'_>, ready: &StepId) -> Result<(), Refusal> {
    let own = ["node-role.kubernetes.io/control-plane", "node.kubernetes.io/exclude-from-external-load-balancers"];
    let mut labels: BTreeMap<String, String> = own.map(|label| (label.to_owned(), String::new())).into_iter().collect();
    labels.extend(view.host.labels.clone());
    let mark = MarkNode {
        node: view.host.name.clone(),
        labels,
        annotations: view.host.annotations.clone(),
        taints: crate::documents::taints(view.host).iter().map(ToString::to_string).collect(),
        given: Given::by(view.host),
        back: view.given().taken_back(view.host),
    };
    let speaker = &view.speaker()?.name;
    let step = draft.add_on(speaker, "marked", Operation::MarkNode(mark));
    draft.needs(&step, &ADMINISTRATORS.on(speaker), Reason::Because("only administrators may"));
    draft.needs(&step, ready, Reason::Because("the kubelet makes the node through the API server beside it"));
    still_ready::registers(view, draft, Some(&step));
    Ok(())
}

/// The step after which the host's node stays. A kubelet without an authority that would sign for it keeps the kubeconfig that was issued.
pub(super) fn node_step(cluster: &Cluster) -> StepName<'static> {
    if is_kept_elsewhere(cluster, AuthorityKind::Kubernetes) { KUBELET } else { FINALIZED }
}

fn finalize(view: &HostView<'_>, draft: &mut Draft<'_>, configuration: &Configuration, kubelet: &StepId, ready: &StepId) {
    let credential = draft.add("kubelet-credential", Operation::CredentialReady(CredentialReady));
    draft.within(Duration::from_secs(240));
    draft.needs(&credential, kubelet, Reason::Because("the kubelet writes it"));
    draft.needs(&credential, ready, Reason::Because("the kubelet gets it through the API server beside it"));
    let finalized = draft.add(FINALIZED, Operation::KubeletFinalize(KubeletFinalize { configuration: configuration.path.clone() }));
    draft.needs(&finalized, &credential, Reason::Reads);
    certificates::kubelet_reads(view, draft, &credential);
    certificates::kubelet_reads(view, draft, &finalized);
    draft.needs(&finalized, ready, Reason::Because("the kubelet is restarted, and the API server has to be up by then"));
    draft.needs(&finalized, &view.id(KUBEADM), Reason::Runs);
    rolling::restarts_kubelet(view, draft, &finalized);
}
