//! The kubelet of a control plane is started when all manifests are there.
//!
//! So it is where nothing works yet, and in an upgrade, in which each control plane has its turn: its kubelet stops, API server, controller manager and scheduler end in
//! their own time, manifests and programs are changed, and a kubelet starts all of it at once. One that runs would take ten seconds more for each pod whose
//! manifest changes, for it looks after the old one before it thinks of the new one; and one of another minor version makes all of them anew anyway, each new one
//! beside the old one, which has its port. Elsewhere a kubelet that works makes anew whose manifest changes.

use super::kubeadm_configuration::{Configuration, KUBEADM};
use super::{
    api_server, certificates, container_runtime, control_plane, etcd, images, joining_member, kubeadm_configuration, kubelet,
    kubelet_serving, names, node_dns, rolling, still_ready, vacated,
};
use crate::membership::peer_url;
use crate::observe::{API_SERVER, CONTROLLERS, Installed};
use crate::operations::{KubeletStart, Operation, PlaneRests};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId};

/// The step that starts it.
pub(super) fn start(
    view: &HostView<'_>,
    draft: &mut Draft<'_>,
    configuration: &Configuration,
    manifests: &StepId,
) -> Result<StepId, Refusal> {
    let turn = is_turn(view)?;
    let has_units = view.cluster().has_etcd_units();
    let operation = KubeletStart {
        configuration: configuration.path.clone(),
        source: configuration.of_kubelet.source.clone(),
        source_alone: configuration.of_kubelet.alone.clone(),
        reads: kubelet::reads(view),
        // After a turn that was cut off, too: it goes on while no kubelet runs.
        ends_member: rolling::has_member(view.seen, view.host)
            && !has_units
            && (still_ready::settles(view, view.host) || etcd::runs_another(view)?),
    };
    let ends_member = operation.ends_member;
    let step = draft.add(control_plane::KUBELET, Operation::KubeletStart(operation));
    if has_units || !view.joins_etcd() {
        draft.needs(&step, manifests, Reason::Because("with all manifests there, the kubelet starts all of them at once"));
    }
    if !has_units {
        let beside = view.id(etcd::MANIFEST);
        draft.needs(&step, &beside, Reason::Because("with all manifests there, the kubelet starts all of them at once"));
    }
    draft.needs(&step, &view.id(container_runtime::SERVICE), Reason::TalksTo);
    needed_by(view, draft, &step);
    kubeadm_configuration::patched_by(view, draft, &step);
    certificates::kubelet_reads(view, draft, &step);
    match turn {
        _ if ends_member => rolling::restarts_member(view, draft, &step),
        // Nobody says any more which nodes are Ready, where it was the only one.
        true => rolling::restarts_api_server(view, draft, &step),
        false => rolling::restarts_kubelet(view, draft, &step),
    }
    if turn {
        rests(view, draft, (configuration, &step), ends_member)?;
    } else if let Some(begins) = vacated::before(view, draft, &step)? {
        rolling::needed_by(view, draft, &begins);
        draft.needs(&begins, manifests, Reason::Because("its kubelet may not be newer than the API server beside it"));
    }
    if has_units {
        joining_member::let_in(view, draft, &step)?;
    }
    Ok(step)
}

/// What has to be there before its start, and before anything rests for it.
fn needed_by(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    kubelet::needed_by(view, draft, step);
    kubelet_serving::needed_by(view, draft, step);
    names::needed_by(view, draft, step);
    certificates::needed_by(view, draft, step);
    images::needed_by(view, draft, step, &images::CONTROL_PLANE);
    images::needed_by(view, draft, step, &[images::PAUSE]);
    node_dns::needed_by(view, draft, step);
}

/// Whether the host has its turn in an upgrade: something of its static pods gets another version, or the kubelet that makes them.
pub(super) fn is_turn(view: &HostView<'_>) -> Result<bool, Refusal> {
    let is_upgraded = view.cluster().underway.is_some() && rolling::is_fully_healthy(view);
    Ok(is_upgraded && (still_ready::settles(view, view.host) || has_others(view) || etcd::runs_another(view)?))
}

/// Whether API server, controller manager or scheduler run in another version, or work as another one, than they are to.
fn has_others(view: &HostView<'_>) -> bool {
    let (cluster, host) = (view.cluster(), view.host);
    let Some(versions) = &view.observations().versions else { return false };
    let emulates = |installed: &Installed| installed.emulates.map(|(major, minor)| format!("{major}.{minor}"));
    let is_other = |installed: &Installed| {
        installed.all().any(|is| is != cluster.plane_version(host)) || emulates(installed).as_deref() != cluster.emulated_version(host)
    };
    [API_SERVER].into_iter().chain(CONTROLLERS).filter_map(|program| versions.get(program)).any(is_other)
}

/// Its turn begins, with pods that leave its node where they have to.
fn rests(
    view: &HostView<'_>,
    draft: &mut Draft<'_>,
    (configuration, kubelet): (&Configuration, &StepId),
    ends_member: bool,
) -> Result<(), Refusal> {
    let leaders = if ends_member { leaders(view) } else { Vec::new() };
    let rests = draft.add(control_plane::RESTS, Operation::PlaneRests(PlaneRests { leaders }));
    rolling::restarts_api_server(view, draft, &rests);
    needed_by(view, draft, &rests);
    api_server::needed_by(view, draft, &rests)?;
    for needed in [KUBEADM, configuration.step, control_plane::PREFLIGHT, kubeadm_configuration::KUBECTL] {
        draft.needs(&rests, &view.id(needed), Reason::Because("whatever the next start needs is there before it rests"));
    }
    draft.follows(kubelet, &rests, Reason::Because("nothing of the control plane works until it is started"));
    let begins = vacated::before(view, draft, &rests)?.unwrap_or(rests);
    rolling::needed_by(view, draft, &begins);
    // A disk that is full or an image that does not come is found before anything is disturbed, and whoever answers meanwhile has nothing else to do.
    let planes = view.founded_planes();
    for other in planes.iter().filter(|other| other.name != view.host.name) {
        images::needed_on(view, draft, &begins, other)?;
    }
    let before = planes.into_iter().take_while(|host| host.name != view.host.name).last();
    if let Some(before) = before {
        draft.needs(&begins, &control_plane::CONTROLLERS.on(&before.name), Reason::Because(control_plane::ONE_GOES_ON));
    }
    Ok(())
}

/// Members that may lead etcd instead of the host's: the ones before it have had their turn.
fn leaders(view: &HostView<'_>) -> Vec<String> {
    if view.cluster().has_etcd_units() {
        return Vec::new();
    }
    let planes = view.founded_planes();
    let (before, after) = planes.split_at(planes.iter().position(|host| host.name == view.host.name).unwrap_or(planes.len()));
    before.iter().rev().chain(after.iter().skip(1)).map(|host| peer_url(host)).collect()
}

/// Says that a step which writes manifests does so while nothing starts what they say.
pub(super) fn rests_before(view: &HostView<'_>, draft: &mut Draft<'_>, manifests: &StepId) -> Result<(), Refusal> {
    if is_turn(view)? {
        draft.needs(manifests, &view.id(control_plane::RESTS), Reason::Because("a kubelet that runs would start each for itself"));
    }
    Ok(())
}

/// Which of the two comes first, the kubelet or an API server that answers.
pub(super) fn and_api_server(view: &HostView<'_>, draft: &mut Draft<'_>, kubelet: &StepId, ready: &StepId) -> Result<(), Refusal> {
    if is_turn(view)? {
        // Whatever is asked of it later waits for that, whether its own manifest changes or not.
        draft.follows(ready, kubelet, Reason::Because("the kubelet starts the API server anew"));
    } else if rolling::is_fully_healthy(view) {
        draft.needs(kubelet, ready, Reason::Because("it asks the API server beside it when it starts"));
    } else {
        draft.needs(ready, kubelet, Reason::Because("the kubelet starts the API server"));
    }
    Ok(())
}
