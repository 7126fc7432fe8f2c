//! A worker becomes a node. Everything but the join itself is done while the control plane starts.

use std::time::Duration;

use kok_crds::model::{Cluster, Host};
use kok_pki::AuthorityKind;

use super::kubeadm_configuration::{FOLDER, KUBEADM};
use super::{
    Task, certificates, container_runtime, control_plane, host, images, kubeadm_configuration, kubelet, kubelet_serving, load_balancer,
    names, network, node_dns, rolling, still_ready, vacated,
};
use crate::change::Verdict;
use crate::digest::sha256;
use crate::documents;
use crate::given::Given;
use crate::identity;
use crate::issued::is_kept_elsewhere;
use crate::operations::{Join, KubeletEndpoint, LetIn, MarkNode, Operation, kept_out};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};

pub(crate) const NAME: &str = "kubelet-join";

pub(super) const TASK: Task = Task { name: NAME, about: "a worker becomes a node", plan };

/// [`still_ready`]'s steps of this task.
pub(super) const STILL_READY: StepName<'static> = StepName::new(NAME, still_ready::STILL_READY);
pub(super) const GOES_ON: StepName<'static> = StepName::new(NAME, still_ready::GOES_ON);

/// Step after which its kubelet asks the API by its name.
const ENDPOINT: StepName<'static> = StepName::new(NAME, "endpoint");

/// Step after which the host is a node.
pub(crate) const JOINED: StepName<'static> = StepName::new(NAME, "joined");

/// The step after which a host, worker or not, is a node that stays.
pub(crate) fn node_step(cluster: &Cluster, host: &Host) -> StepId {
    let name = if host.roles.control_plane { control_plane::node_step(cluster) } else { JOINED };
    name.on(&host.name)
}

fn operation(view: &HostView<'_>, host: &Host) -> Result<Join, Refusal> {
    // The token is no part of the sum: another token is no reason to join again.
    let join = documents::join_configuration(view.cluster(), host, "")?;
    let kubelet = documents::kubelet_configuration(view.cluster(), host)?;
    let sum = |join: &str| sha256(format!("{join}---\n{kubelet}").as_bytes());
    let source = sum(&join);
    let alone = view.cluster().api_endpoint_name().map(|_| documents::join_beside(view.cluster(), host, "", false)).transpose()?;
    let source_alone = alone.map(|join| sum(&join));
    let by_issued = is_kept_elsewhere(view.cluster(), AuthorityKind::Kubernetes);
    Ok(Join { host: host.name.clone(), source, source_alone, kubelet, reads: kubelet::reads(view), by_issued })
}

/// Names of the workers that are no nodes yet, as far as it is known. Once hosts have been asked, one that was not is no part of this run and
/// does not join in it.
pub(super) fn joining(view: &HostView<'_>) -> Result<Vec<String>, Refusal> {
    let mut joining = Vec::new();
    let asked = |host: &Host| view.seen.facts(&host.name).is_some();
    let any_asked = view.cluster().hosts.iter().any(asked);
    for host in view.cluster().balanced_hosts() {
        match operation(view, host)?.diff(view.seen.observations(&host.name)) {
            Verdict::Same => {}
            Verdict::Unseen if any_asked && !asked(host) => {}
            Verdict::Differs(change) if !Join::needs_token(&change) => {}
            Verdict::Differs(_) | Verdict::Unseen => joining.push(host.name.clone()),
        }
    }
    Ok(joining)
}

/// Whether this host becomes a node with a token, as far as it is known; its kubelet is then started twice.
pub(super) fn is_joining(view: &HostView<'_>) -> Result<bool, Refusal> {
    if is_kept_elsewhere(view.cluster(), AuthorityKind::Kubernetes) {
        return Ok(false);
    }
    Ok(match operation(view, view.host)?.diff(view.observations()) {
        Verdict::Same => false,
        Verdict::Differs(change) => Join::needs_token(&change),
        Verdict::Unseen => true,
    })
}

/// A kubelet that joined while there was one control plane asks at the address of that one, which may leave now. Whether there is such a step.
fn endpoint(view: &HostView<'_>, draft: &mut Draft<'_>, join: &StepId) -> bool {
    if view.cluster().api_endpoint_name().is_none() {
        return false;
    }
    let step = draft.add(ENDPOINT, Operation::KubeletEndpoint(KubeletEndpoint { server: identity::endpoint_url(view.cluster()) }));
    draft.needs(&step, join, Reason::Because("the join writes the kubeconfig"));
    names::needed_by(view, draft, &step);
    if view.cluster().has_load_balancers() {
        draft.needs(&step, &load_balancer::MANIFEST.on(&view.host.name), Reason::InTurn("the name leads to the load balancer first"));
    }
    for host in view.founded_planes() {
        let ready = control_plane::READY.on(&host.name);
        draft.needs(&step, &ready, Reason::InTurn("the certificates of API servers have to have the name"));
    }
    rolling::kubelet_needed_by(view, draft, &step);
    rolling::restarts_kubelet(view, draft, &step);
    true
}

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if view.host.roles.control_plane || !view.host.roles.is_node() {
        return Ok(());
    }
    let speaker = view.speaker()?.name.clone();
    let join = draft.add(JOINED, Operation::Join(operation(view, view.host)?));
    // kubeadm waits 5 minutes for the kubelet's certificate (`tlsBootstrap`).
    draft.within(Duration::from_secs(360));
    if view.kubernetes().is_some_and(|state| kept_out(state).contains(&view.host.name.as_str())) {
        let let_in = draft.add_on(&speaker, "let-in", Operation::LetIn(LetIn { node: view.host.name.clone() }));
        draft.needs(&join, &let_in, Reason::Because("the API refuses what was removed as dead"));
    }
    let is_issued = is_kept_elsewhere(view.cluster(), AuthorityKind::Kubernetes);
    if !is_issued {
        // A node that only gets other files needs no token that lasts, and nobody would remove one that is made for it after the last join.
        let why = if is_joining(view)? { Reason::UsesFresh } else { Reason::Because };
        draft.needs(&join, &control_plane::TOKEN.on(&speaker), why("it needs the token"));
        draft.needs(&join, &control_plane::UPLOADED.on(&speaker), Reason::Because("it takes the kubelet's configuration from the cluster"));
    }
    draft.needs(&join, &view.id(KUBEADM), Reason::Runs);
    draft.needs(&join, &view.id(FOLDER), Reason::Inside);
    draft.needs(&join, &view.id(container_runtime::SERVICE), Reason::TalksTo);
    kubelet::needed_by(view, draft, &join);
    kubelet_serving::needed_by(view, draft, &join);
    rolling::kubelet_needed_by(view, draft, &join);
    rolling::restarts_kubelet(view, draft, &join);
    if let Some(begins) = vacated::before(view, draft, &join)? {
        rolling::kubelet_needed_by(view, draft, &begins);
    }
    kubeadm_configuration::patched_by(view, draft, &join);
    names::needed_by(view, draft, &join);
    images::needed_by(view, draft, &join, &[images::PAUSE]);
    if view.host.roles.etcd || is_issued {
        // Which are put in place as a whole, where nothing is yet.
        certificates::needed_by(view, draft, &join);
    }
    host::needs_kernel(view, draft, &join);
    node_dns::needed_by(view, draft, &join);
    let moved = !is_issued && endpoint(view, draft, &join);
    still_ready::plan(view, draft, if moved { &[JOINED, ENDPOINT] } else { &[JOINED] })?;
    let taints: Vec<String> = documents::taints(view.host).iter().map(ToString::to_string).collect();
    // The kubelet has a certificate when the join ends, and makes its node when it comes to the API with it. What runs on all nodes waits for that.
    let is_waited_for = !is_issued && (network::is_there(view) || network::has_proxy(view));
    let (labels, annotations) = (view.host.labels.clone(), view.host.annotations.clone());
    let (given, back) = (Given::by(view.host), view.given().taken_back(view.host));
    let mut mark_step = None;
    if !labels.is_empty() || !annotations.is_empty() || !taints.is_empty() || !back.is_empty() || !is_waited_for {
        let mark = MarkNode { node: view.host.name.clone(), labels, annotations, taints, given, back };
        let marked = draft.add_on(&speaker, "marked", Operation::MarkNode(mark));
        draft.needs(&marked, &join, Reason::Because("there is no node to mark before"));
        draft.needs(&marked, &control_plane::ADMINISTRATORS.on(&speaker), Reason::Because("only administrators may"));
        mark_step = Some(marked);
    }
    if !is_joining(view)? {
        still_ready::registers(view, draft, mark_step.as_ref());
    }
    Ok(())
}
