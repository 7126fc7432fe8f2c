//! Pods leave a node before its kubelet gets another minor version, and come again when it is Ready.
//!
//! Kubernetes asks for it: a kubelet of another minor version may make the containers of its pods anew ("Version Skew Policy"). Which nodes are meant
//! is said by the stage of an upgrade.

use std::time::Duration;

use kok_crds::listed;
use kok_crds::model::Host;

use super::{control_plane, kubelet_join, still_ready};
use crate::drain::{Cordoner, DrainSettings};
use crate::gate::{Disruption, Need};
use crate::observe::{ApiServerState, KUBELET};
use crate::operations::{CordonNode, DrainNode, Operation, UncordonNodes};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};

/// The steps, of the task that starts the kubelet.
const CORDONED: &str = "cordoned";
const DRAINED: &str = "drained";
const TAKES_PODS: &str = "takes-pods";

/// What a drain may take from others that go before it in the same wave, as where hosts leave.
const IN_BETWEEN: Duration = Duration::from_secs(300);

/// As Kubespray drains for an upgrade: pods go that nothing makes again, and what they have in `emptyDir` with them.
fn settings(view: &HostView<'_>) -> DrainSettings {
    DrainSettings { delete_empty_dir: true, delete_unmanaged: true, ..DrainSettings::from_drains(&view.cluster().settings.drains) }
}

/// Whether pods leave this host's node in this plan: of one that is not Ready nobody can say that they have.
pub(super) fn is_planned(view: &HostView<'_>, host: &Host) -> bool {
    view.cluster().is_drained(host) && still_ready::was_ready(view, host)
}

/// Whether the kubelet of a host is still to get its version; one of which nobody knows what it is may be.
pub(super) fn gets_another(view: &HostView<'_>, host: &Host) -> bool {
    let versions = view.seen.observations(&host.name).versions.as_ref().and_then(|versions| versions.get(KUBELET));
    versions.is_none_or(|is| is.all().any(|version| version != view.cluster().kubelet_version(host)))
}

/// Where an API server is away nobody can say that a node is Ready, or drain it; and no kubelet may be newer than one that comes back.
fn all_answer(view: &HostView<'_>) -> Result<(), Refusal> {
    // Before the first look nobody has asked.
    let is_away =
        |host: &&Host| view.seen.observations(&host.name).api_server.as_ref().is_some_and(|state| *state != ApiServerState::Ready);
    let away: Vec<&str> = view.cluster().control_planes().filter(is_away).map(|host| host.name.as_str()).collect();
    if away.is_empty() {
        return Ok(());
    }
    Err(Refusal::new(format!("the node {} can't be drained now", view.host.name))
        .at(format!("host {}", view.host.name))
        .because(format!("the API server of {} is not ready, and its kubelet gets another minor version", listed(away)))
        .hint("`kokctl status` shows what keeps it; the same command goes on when all API servers are ready"))
}

/// Says that a step starts a kubelet when no pod is left that has to leave. The first step, which waits for the turn of the host, if there is one.
pub(super) fn before(view: &HostView<'_>, draft: &mut Draft<'_>, starts: &StepId) -> Result<Option<StepId>, Refusal> {
    if view.cluster().is_drained(view.host) && gets_another(view, view.host) {
        all_answer(view)?;
    }
    if !is_planned(view, view.host) {
        return Ok(None);
    }
    let (speaker, node, settings) = (view.speaker()?.name.clone(), view.host.name.clone(), settings(view));
    let nodes = u32::try_from(view.cluster().nodes().count()).unwrap_or(u32::MAX);
    let cordoned = draft.add_on(&speaker, CORDONED, Operation::CordonNode(CordonNode { node: node.clone(), by: Cordoner::Run }));
    // It is asked about whatever else is changed: who said that the node was Ready had its rights before the run.
    // From then on the node counts as one that is away, until it takes pods again. Each of those before it may take as long as it may.
    draft.within(settings.timeout.saturating_mul(nodes) + IN_BETWEEN);
    draft.gated(&cordoned, Disruption::DrainWorker { host: node.clone() }, Need::Wanted);
    let timeout = settings.timeout;
    let drained = draft.add_on(&speaker, DRAINED, Operation::DrainNode(DrainNode { node, settings }));
    draft.within(timeout);
    draft.needs(&drained, &cordoned, Reason::Because("new pods would come in their place"));
    draft.needs(starts, &drained, Reason::Because("its kubelet gets another minor version, and pods have to be elsewhere by then"));
    Ok(Some(cordoned))
}

/// Lets pods come again when the node is Ready with its new kubelet.
pub(super) fn after(view: &HostView<'_>, draft: &mut Draft<'_>, ready: &StepId) -> Result<(), Refusal> {
    if !is_planned(view, view.host) {
        return Ok(());
    }
    let speaker = view.speaker()?.name.clone();
    let lifted = UncordonNodes { nodes: vec![view.host.name.clone()], by: Cordoner::Run };
    let step = draft.add_on(&speaker, TAKES_PODS, Operation::UncordonNodes(lifted));
    draft.follows(&step, ready, Reason::Because("pods have to be able to start there"));
    Ok(())
}

/// The step after which a host's node takes pods again.
pub(super) fn takes_pods(view: &HostView<'_>, host: &Host) -> Option<StepId> {
    let task = if host.roles.control_plane { control_plane::STILL_READY } else { kubelet_join::STILL_READY };
    is_planned(view, host).then(|| StepName::new(task.task(), TAKES_PODS).on(&host.name))
}
