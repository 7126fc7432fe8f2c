//! One control plane after the other: what works is changed only while everything before it works, too.
//!
//! etcd goes on without one of three members and not without two, and clients without one API server and not without all. So what is broken
//! is mended first, and a change that breaks the first host goes no further (`reliability.md`: rolling changes).
//!
//! The order here is a proposal by what was seen before the run. Whether a step may disturb something is decided when its turn comes, by the gate
//! (`crate::gate`); what asks it is said here, too.

use std::time::Duration;

use kok_crds::model::{Cluster, Host};

use super::{container_runtime, control_plane, etcd, still_ready};
use crate::gate::{Disruption, Need};
use crate::observe::{ApiServerState, EtcdState, Observations};
use crate::operations::{ApiServerReady, Operation};
use crate::plan::{Draft, HostView, Reason, Seen, StepId};

/// How long a kubelet waits at the most before it starts anew what has failed again and again (`MaxContainerBackOff`).
pub(super) const LONGEST_BACK_OFF: Duration = Duration::from_secs(300);

/// How much of a control plane works; those of which less works are changed earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    /// Its member of etcd does not answer, or was never there. All of them together: a new etcd needs more than half of them at once.
    Nothing,
    /// Its member answers, and its API server does not.
    Member,
    /// Everything answers.
    Everything,
}

/// Whether the host's member of etcd answers, and has a vote.
pub(super) fn has_member(seen: &Seen, host: &Host) -> bool {
    matches!(&seen.observations(&host.name).etcd, Some(EtcdState::Ready(member)) if !member.is_learner)
}

fn standing(cluster: &Cluster, seen: &Seen, host: &Host) -> Standing {
    let answers = matches!(seen.observations(&host.name).api_server, Some(ApiServerState::Ready));
    match (cluster.has_etcd_units() || has_member(seen, host), answers) {
        (false, _) => Standing::Nothing,
        (true, false) => Standing::Member,
        (true, true) => Standing::Everything,
    }
}

/// Whether everything of the host answers and its kubelet runs, which then makes pods anew whose manifests change, and is started anew when the
/// API server is back: one that starts while etcd is away waits for minutes for answers of an API server that has none. Elsewhere it is started
/// when all manifests are there, so that it starts all pods at once.
pub(super) fn is_fully_healthy(view: &HostView<'_>) -> bool {
    runs(view.observations(), "kubelet.service") && standing(view.cluster(), view.seen, view.host) == Standing::Everything
}

/// Says that a step which changes pods of a control plane, or what they read, waits for the others of which less works, and for the one before it of those of
/// which as much does.
pub(super) fn needed_by(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    let (cluster, seen) = (view.cluster(), view.seen);
    let own = standing(cluster, seen, view.host);
    if own == Standing::Nothing || view.is_new_plane() {
        return;
    }
    let standing_of = |host: &&Host| standing(cluster, seen, host);
    // What joins begins when what is there works.
    let planes = view.founded_planes();
    let there = || planes.iter().copied();
    let same = there().take_while(|host| host.name != view.host.name).filter(|host| standing_of(host) == own).last();
    for before in there().filter(|host| standing_of(host) < own).chain(same) {
        let reason = || Reason::Because("what works is changed only while everything before it works");
        // Where no API server is lost by it, only etcd has to be waited for.
        if own == Standing::Everything {
            draft.needs(step, &control_plane::READY.on(&before.name), reason());
            // Of one that works, the kubelet is started last; elsewhere the API server waits for it.
            if standing_of(&before) == Standing::Everything {
                draft.needs(step, &control_plane::KUBELET.on(&before.name), reason());
                still_ready::readiness_steps(view, before).for_each(|ready| draft.needs(step, &ready, reason()));
            }
        }
        if !cluster.has_etcd_units() {
            draft.needs(step, &etcd::MEMBER.on(&before.name), reason());
        }
    }
}

/// Says that a step starts the host's member of etcd anew, where there is one; the gate lets it when the others can do without.
pub(super) fn restarts_member(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    let need = match &view.observations().etcd {
        // Without a vote it is missed by nobody.
        _ if view.joins_etcd() => return,
        Some(EtcdState::Ready(_)) => Need::Wanted,
        Some(EtcdState::NotReady(_)) => Need::Repair,
        Some(EtcdState::Absent) | None => return,
    };
    draft.gated(step, Disruption::RestartMember { host: view.host.name.clone() }, need);
}

/// The same of its API server, where there is one.
pub(super) fn restarts_api_server(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    let need = match &view.observations().api_server {
        Some(ApiServerState::Ready) => Need::Wanted,
        Some(ApiServerState::NotReady(_)) => Need::Repair,
        Some(ApiServerState::Absent) | None => return,
    };
    draft.gated(step, Disruption::RestartApiServer { host: view.host.name.clone() }, need);
}

/// The same of its kubelet, where that runs and its node is Ready: one that is not has nothing to lose.
pub(super) fn restarts_kubelet(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    let is_ready = view.kubernetes().and_then(|state| state.node(&view.host.name)).is_some_and(|node| node.ready);
    if is_ready && runs(view.observations(), "kubelet.service") {
        draft.gated(step, Disruption::RestartKubelet { host: view.host.name.clone() }, Need::Wanted);
    }
}

fn runs(seen: &Observations, unit: &str) -> bool {
    seen.units.get(unit).is_some_and(|unit| unit.active == "active")
}

/// Says that a step starts the kubelet of a worker anew, which waits for the first control plane to go through it, in an upgrade for all of them, and for
/// a worker before it: what a kubelet does not start with is found there, and goes no further. One that is no node or not Ready is mended at once.
pub(super) fn kubelet_needed_by(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    if !still_ready::was_ready(view, view.host) {
        return;
    }
    let (cluster, seen) = (view.cluster(), view.seen);
    let whole = cluster.control_planes().filter(|host| standing(cluster, seen, host) == Standing::Everything);
    // A kubelet of another version makes the load balancer anew, which takes every API server for ready at first: those of control planes have to be.
    let most = if cluster.underway.is_some() { usize::MAX } else { 1 };
    let before = whole.filter(|host| still_ready::was_node(view, host)).take(most);
    for ends in workers_that_end(view) {
        draft.needs(step, &ends, Reason::While("what keeps a worker's kubelet from running may keep the others from it, too"));
    }
    for ready in before.chain(worker_before(view)).flat_map(|host| still_ready::readiness_steps(view, host)) {
        draft.needs(
            step,
            &ready,
            Reason::InTurn("kubelets are started anew on one control plane after the other, and then on some workers at a time"),
        );
    }
}

/// The steps after which kubelets of workers go on that did not before the run. What an earlier run gave them may be the cause, and would break
/// the next ones, too.
fn workers_that_end(view: &HostView<'_>) -> impl Iterator<Item = StepId> {
    let ends = |host: &&Host| {
        let kubelet = view.seen.observations(&host.name).units.get("kubelet.service");
        kubelet.is_some_and(|unit| unit.active != "active" || unit.restarts > 0)
    };
    let is_broken = move |host: &&Host| !host.roles.control_plane && ends(host) && !still_ready::was_ready(view, host);
    view.cluster().nodes().filter(is_broken).filter_map(|host| still_ready::goes_on(view, host))
}

/// The worker whose turn is before that of this one, among those that were asked and whose nodes were Ready.
fn worker_before<'a>(view: &HostView<'a>) -> Option<&'a Host> {
    let is_of_wave = |host: &Host| view.cluster().wave().is_none_or(|wave| wave.hosts.contains(&host.name));
    let is_in_turn = |host: &&Host| {
        let is_worker = !host.roles.control_plane && is_of_wave(host);
        is_worker && view.seen.facts(&host.name).is_some() && still_ready::was_ready(view, host)
    };
    let workers: Vec<&Host> = view.cluster().nodes().filter(is_in_turn).collect();
    let own = workers.iter().position(|host| host.name == view.host.name)?;
    own.checked_sub(view.cluster().settings.serial.count_of(workers.len())).and_then(|before| workers.get(before).copied())
}

/// Says that containerd of a host of a working cluster, and what it reads, is changed only when control planes have gone through it: their API
/// servers answer, which they do with etcd. A control plane waits for the one before it, and for those whose containerd does not run; workers
/// wait for the first. Others are not waited for, nor are their steps: pods go on without containerd, and one that is dead must be started
/// whatever else is broken.
pub(super) fn container_runtime_needed_by(view: &HostView<'_>, draft: &mut Draft<'_>, service: &StepId, changed: &[&StepId]) {
    let (cluster, seen) = (view.cluster(), view.seen);
    let is_whole = |host: &&Host| standing(cluster, seen, host) == Standing::Everything;
    if view.host.roles.control_plane && is_whole(&view.host) {
        let answers = draft.add(container_runtime::STILL_WORKS, Operation::ApiServerReady(ApiServerReady::default()));
        // As long as kubeadm gives a control plane.
        draft.within(Duration::from_secs(240));
        draft.follows(&answers, service, Reason::Because("a change of containerd may not take it away"));
    }
    let runs = |host: &Host| runs(seen.observations(&host.name), "containerd.service");
    if !runs(view.host) {
        return;
    }
    if view.host.roles.control_plane {
        // Its pods go on without containerd, if all goes well; the change of a setting is what may keep it from that.
        restarts_api_server(view, draft, service);
    }
    let (running, dead): (Vec<&Host>, Vec<&Host>) = cluster.control_planes().filter(is_whole).partition(|host| runs(host));
    let before = match running.iter().position(|host| host.name == view.host.name) {
        Some(place) => dead.into_iter().chain(place.checked_sub(1).and_then(|before| running.get(before).copied())).collect(),
        None if view.host.roles.control_plane => Vec::new(),
        None => running.into_iter().take(1).collect::<Vec<_>>(),
    };
    for before in before {
        let before = container_runtime::STILL_WORKS.on(&before.name);
        for step in changed.iter().copied().chain([service]) {
            draft.needs(step, &before, Reason::Because("containerd is changed on one control plane after the other, and then on workers"));
        }
    }
}
