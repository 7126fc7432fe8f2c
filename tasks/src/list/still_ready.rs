//! After a kubelet was started anew: its node is Ready again, and what ran everywhere does so again.
//!
//! The first that a kubelet says is mostly that its node is not Ready, and the controller manager takes its pods for not ready until it says
//! more, 10 s later. A run that ended meanwhile would leave a cluster of which the next one says that it is not as it should be.

use std::time::Duration;

use kok_crds::model::Host;

use super::{control_plane, kubelet_join, vacated};
use crate::change::Verdict;
use crate::observe::{KubernetesState, PathState};
use crate::operations::{KUBELET_CONF, KubeletRegisters, KubeletStays, Lacks, NodesReady, Operation, StaticPodsSettled, kept_out};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};

/// The step, of the task that starts the kubelet, after which a node that was Ready is so again.
pub(super) const STILL_READY: &str = "still-ready";

/// The step after which the kubelet has got over its start.
pub(super) const GOES_ON: &str = "goes-on";

/// systemd starts one that ended again after 2 s (`RestartSec`); after some ten times, it won't get better.
const STAYS_WAIT: Duration = Duration::from_secs(25);

/// A kubelet says within seconds that its node is Ready, if the API server is there to hear it and if that is the first that it says; otherwise
/// when it says something for the second time.
const WAIT: Duration = Duration::from_secs(300);

/// Whether the cluster said of something before the run that it is as it should be.
fn was_satisfied(view: &HostView<'_>, operation: &Operation) -> bool {
    let seen = view.speaker().map(|speaker| view.seen.observations(&speaker.name));
    seen.is_ok_and(|seen| operation.diff(seen) == Verdict::Same)
}

fn node(host: &Host, version: String) -> Operation {
    Operation::NodesReady(NodesReady { versions: [(host.name.clone(), version)].into() })
}

/// Whether the host's node was as it should be before the run, whatever version its kubelet had.
pub(super) fn was_ready(view: &HostView<'_>, host: &Host) -> bool {
    let version =
        view.kubernetes().and_then(|state| state.node(&host.name)).map(|node| node.kubelet_version.trim_start_matches('v').to_owned());
    version.is_some_and(|version| was_satisfied(view, &node(host, version)))
}

/// Of a host that joined, and whose node is gone: after a restore of what was before it joined, or by somebody's hand. Who marks the node needs it. One that
/// was about to make it is not hurt by another start.
pub(super) fn registers(view: &HostView<'_>, draft: &mut Draft<'_>, mark: Option<&StepId>) {
    let (seen, name) = (view.observations(), &view.host.name);
    let is_gone = |state: &KubernetesState| {
        matches!(state, KubernetesState::Ready { .. }) && state.node(name).is_none() && !kept_out(state).contains(&name.as_str())
    };
    let unit = seen.units.get("kubelet.service").filter(|unit| unit.active == "active" && unit.started_microseconds > 0);
    let has_joined = matches!(seen.paths.get(KUBELET_CONF), Some(PathState::Present(_)));
    let Some(unit) = unit.filter(|_| has_joined && view.kubernetes().is_some_and(is_gone)) else { return };
    let was_started_microseconds = unit.started_microseconds;
    let step = draft.add("registers", Operation::KubeletRegisters(KubeletRegisters { was_started_microseconds, lacks: Lacks::Node }));
    mark.into_iter().for_each(|mark| draft.needs(mark, &step, Reason::Because("there is no node to mark before")));
}

/// The step by which a kubelet asks its API server again.
const ASKS_AGAIN: StepName<'static> = StepName::new(control_plane::STILL_READY.task(), "asks-again");

/// The kubelet of a control plane that has joined and whose own API server is away since it was started, as where etcd is made anew beside it.
fn found_nobody(view: &HostView<'_>, host: &Host) -> Option<KubeletRegisters> {
    let seen = view.seen.observations(&host.name);
    let has_joined = matches!(seen.paths.get(KUBELET_CONF), Some(PathState::Present(_)));
    KubeletRegisters::without_api_server(seen).filter(|_| host.roles.control_plane && has_joined)
}

/// Such a kubelet is started anew once its API server is ready: what says that all works again says it of its node, too.
pub(super) fn asks_again(view: &HostView<'_>, draft: &mut Draft<'_>, ready: &StepId) {
    let Some(operation) = found_nobody(view, view.host) else { return };
    let step = draft.add(ASKS_AGAIN.name(), Operation::KubeletRegisters(operation));
    draft.needs(&step, ready, Reason::Because("it would find nobody again"));
}

/// Says that a step waits for nodes, and so for kubelets that ask again.
pub(super) fn once_all_have_asked(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    for host in view.cluster().control_planes().filter(|host| found_nobody(view, host).is_some()) {
        draft.follows(step, &ASKS_AGAIN.on(&host.name), Reason::Because("a node is not Ready before its kubelet has found an API server"));
    }
}

/// The step after which static pods are what a kubelet of another version makes of them.
const SETTLED: StepName<'static> = StepName::new(control_plane::STILL_READY.task(), "settled");

/// Whether the kubelet of a control plane gets another version, and so may make its static pods anew.
pub(super) fn settles(view: &HostView<'_>, host: &Host) -> bool {
    host.roles.control_plane && view.cluster().underway.is_some() && was_node(view, host) && vacated::gets_another(view, host)
}

/// Its node may be Ready before it has begun to.
fn settled(view: &HostView<'_>, draft: &mut Draft<'_>, stays: &StepId, by: &[StepName<'_>]) -> Option<StepId> {
    if !settles(view, view.host) {
        return None;
    }
    let was_started_microseconds = view.observations().units.get("kubelet.service").map(|unit| unit.started_microseconds);
    let with_etcd = view.host.roles.etcd && !view.cluster().has_etcd_units();
    let step = draft.add(SETTLED.name(), Operation::StaticPodsSettled(StaticPodsSettled { was_started_microseconds, with_etcd }));
    draft.within(WAIT);
    draft.needs(&step, stays, Reason::Because("a kubelet that ends makes nothing"));
    started_anew(view, draft, &step, by);
    Some(step)
}

/// The step after which a worker of a pool has been Ready for as long as its pool says.
const SOAKED: StepName<'static> = StepName::new(kubelet_join::STILL_READY.task(), "soaked");

fn is_soaked(view: &HostView<'_>, host: &Host) -> bool {
    view.cluster().soak(host).is_some() && was_ready(view, host)
}

/// A kubelet that has run for that long, and a node that is Ready then.
fn soak(view: &HostView<'_>, draft: &mut Draft<'_>, ready: &StepId, by: &[StepName<'_>]) -> Result<(), Refusal> {
    let Some(soak) = view.cluster().soak(view.host).filter(|_| is_soaked(view, view.host)) else { return Ok(()) };
    let was_started_microseconds = view.observations().units.get("kubelet.service").map(|unit| unit.started_microseconds);
    let stays = draft.add("ran", Operation::KubeletStays(KubeletStays { was_started_microseconds, for_at_least: soak }));
    draft.within(soak + WAIT);
    draft.needs(&stays, ready, Reason::Because("it is looked at from then on"));
    started_anew(view, draft, &stays, by);
    let version = view.cluster().kubelet_version(view.host).to_string();
    let soaked = draft.add_on(&view.speaker()?.name, SOAKED.name(), node(view.host, version));
    draft.within(WAIT);
    draft.needs(&soaked, &stays, Reason::Because("what is Ready in the end has been well"));
    draft.follows(&soaked, &stays, Reason::Because("what is Ready in the end has been well"));
    Ok(())
}

/// Whether the host was a node before the run.
pub(super) fn was_node(view: &HostView<'_>, host: &Host) -> bool {
    view.kubernetes().is_some_and(|state| state.node(&host.name).is_some())
}

/// The steps after which a kubelet that was started anew is known to work: of a host that was a node before the run it goes on, and if its node was
/// Ready, it is again.
pub(super) fn readiness_steps(view: &HostView<'_>, host: &Host) -> impl Iterator<Item = StepId> {
    let ready = was_ready(view, host).then(|| still_ready_step(host));
    let takes_pods = vacated::takes_pods(view, host);
    let soaked = is_soaked(view, host).then(|| SOAKED.on(&host.name));
    let settled = settles(view, host).then(|| SETTLED.on(&host.name));
    goes_on(view, host).into_iter().chain(settled).chain(ready).chain(takes_pods).chain(soaked)
}

/// The step after which the kubelet of a host that was a node before the run is known to go on.
pub(super) fn goes_on(view: &HostView<'_>, host: &Host) -> Option<StepId> {
    was_node(view, host).then(|| goes_on_step(host))
}

/// Says that a step waits for what only kubelets that go on can bring about: one of a host that ends is waited for in vain.
pub(super) fn while_all_go_on<'a>(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId, hosts: impl Iterator<Item = &'a Host>) {
    for goes_on in hosts.filter_map(|host| goes_on(view, host)) {
        draft.needs(step, &goes_on, Reason::While("a kubelet that ends says nothing more, and starts nothing"));
    }
}

/// Both steps are of the task that starts the host's kubelet: whoever leaves that out needs no wait, and nobody has one without the other.
fn still_ready_step(host: &Host) -> StepId {
    let name = if host.roles.control_plane { control_plane::STILL_READY } else { kubelet_join::STILL_READY };
    name.on(&host.name)
}

fn goes_on_step(host: &Host) -> StepId {
    let name = if host.roles.control_plane { control_plane::GOES_ON } else { kubelet_join::GOES_ON };
    name.on(&host.name)
}

/// The kubelet of this host, which these steps of the same task may start anew.
pub(super) fn plan(view: &HostView<'_>, draft: &mut Draft<'_>, by: &[StepName<'_>]) -> Result<(), Refusal> {
    if !was_node(view, view.host) {
        return Ok(());
    }
    let was_started_microseconds = view.observations().units.get("kubelet.service").map(|unit| unit.started_microseconds);
    let stays = draft.add(GOES_ON, Operation::KubeletStays(KubeletStays { was_started_microseconds, for_at_least: Duration::ZERO }));
    draft.within(STAYS_WAIT);
    started_anew(view, draft, &stays, by);
    let settled = settled(view, draft, &stays, by);
    if was_ready(view, view.host) {
        // It can be asked about whatever else is changed: the administrators had their rights before the run.
        let ready =
            draft.add_on(&view.speaker()?.name, STILL_READY, node(view.host, view.cluster().kubelet_version(view.host).to_string()));
        draft.within(WAIT + view.cluster().settings.components.kubelet_of(view.host).status_update_frequency());
        draft.needs(&ready, &stays, Reason::Because("a kubelet that ends says nothing more"));
        started_anew(view, draft, &ready, by);
        if let Some(settled) = settled {
            draft.needs(&ready, &settled, Reason::Because("what is made anew after it is said would not be known"));
        }
        vacated::after(view, draft, &ready)?;
        soak(view, draft, &ready, by)?;
    }
    Ok(())
}

fn started_anew(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId, by: &[StepName<'_>]) {
    for name in by {
        draft.follows(step, &view.id(*name), Reason::Because("that starts its kubelet anew"));
    }
}

/// Something of all nodes that the cluster says of itself, such as that a daemon runs on each of them: if it was so before the run, it is again
/// after kubelets were started anew; and where pods leave nodes also if it was not, for a run that was cut off may have left it so. `first` is the step
/// after which it is so for the first time. It needs nothing of hosts that are not concerned, so that a run of a part of the hosts asks no others.
pub(super) fn recheck_after_restarts(view: &HostView<'_>, draft: &mut Draft<'_>, first: &StepId, operation: Operation) {
    let drains = || view.cluster().nodes().any(|host| vacated::is_planned(view, host));
    if !was_satisfied(view, &operation) && !drains() {
        return;
    }
    let step = draft.add(&format!("{}-again", first.name()), operation);
    draft.within(WAIT);
    draft.needs(&step, first, Reason::Because("it has to be so first"));
    for host in view.cluster().nodes().filter(|host| was_ready(view, host)) {
        let ready = still_ready_step(host);
        draft.follows(&step, &ready, Reason::Because("pods of a node that is not Ready are taken for not ready"));
    }
}
