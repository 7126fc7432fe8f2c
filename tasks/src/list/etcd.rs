//! The etcd member of a host: beside an API server, its data directory and its static pod.

use std::time::Duration;

use super::{Task, certificates, etcd_unit, images, joining_member, kubeadm_configuration, kubelet_of_plane, rolling};
use crate::membership::peer_url;
use crate::observe::EtcdState;
use crate::operations::{Component, EtcdMemberReady, Operation, StaticPods};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};
use crate::resources::{Directory, Resource};

const NAME: &str = "etcd";

/// What images and archives of it are called in a bundle.
pub(crate) const IMAGE: &str = "etcd";

pub(super) const TASK: Task = Task { name: NAME, about: "the etcd member of a host", plan };

/// Step that starts the host's member where it is a unit.
pub(super) const SERVICE: StepName<'static> = StepName::new(NAME, "service");

/// Steps after which a host has what a member that is a unit is started with.
pub(super) const PROGRAMS: StepName<'static> = StepName::new(NAME, "programs");
pub(super) const CONFIGURATION: StepName<'static> = StepName::new(NAME, "configuration");
pub(super) const UNIT: StepName<'static> = StepName::new(NAME, "unit");

/// Step that writes the manifest.
pub(super) const MANIFEST: StepName<'static> = StepName::new(NAME, "manifest");

/// Step after which the host's member is part of a cluster that works.
pub(super) const MEMBER: StepName<'static> = StepName::new(NAME, "member");

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if !view.host.roles.etcd {
        return Ok(());
    }
    if view.cluster().has_etcd_units() {
        return etcd_unit::plan(view, draft);
    }
    // etcd refuses a directory that others may enter.
    let data = draft.add("data", Resource::Directory(Directory::new("/var/lib/etcd", 0o700)));
    let configuration = kubeadm_configuration::bootstrap(view)?;
    let of_member = kubeadm_configuration::cluster(view)?;
    let manifest = StaticPods {
        component: Component::Etcd,
        configuration: configuration.path.clone(),
        of_member: Some(of_member.path.clone()),
        source: configuration.of_etcd.source.clone(),
        source_alone: configuration.of_etcd.alone.clone(),
    };
    let manifest = draft.add(MANIFEST, Operation::StaticPods(manifest));
    if view.joins_etcd() {
        joining_member::announced(view, draft, &manifest)?;
    }
    draft.needs(&manifest, &data, Reason::Because("etcd's data lies in that folder"));
    for step in [configuration.step, of_member.step] {
        draft.needs(&manifest, &view.id(step), Reason::Reads);
    }
    draft.needs(&manifest, &view.id(kubeadm_configuration::KUBEADM), Reason::Runs);
    certificates::needed_by(view, draft, &manifest);
    kubeadm_configuration::patched_by(view, draft, &manifest);
    draft.needs(&manifest, &view.id(super::control_plane::PREFLIGHT), Reason::Because("kubeadm checks a host before it changes it"));
    rolling::needed_by(view, draft, &manifest);
    joining_member::needed_by(view, draft, &manifest);
    rolling::restarts_member(view, draft, &manifest);
    if rolling::is_fully_healthy(view) {
        images::needed_by(view, draft, &manifest, &images::CONTROL_PLANE);
    }
    kubelet_of_plane::rests_before(view, draft, &manifest)?;
    member(view, draft, &manifest)
}

/// Whether a member of etcd runs beside the API server in another version than an upgrade is to give it.
pub(super) fn runs_another(view: &HostView<'_>) -> Result<bool, Refusal> {
    if view.cluster().underway.is_none() || view.cluster().has_etcd_units() {
        return Ok(false);
    }
    let Some(EtcdState::Ready(member)) = &view.observations().etcd else { return Ok(false) };
    Ok(member.version != version(&view.release_image(IMAGE)?.reference))
}

/// All members that found etcd are started at once, and none waits for another; each is ready when all have found each other. One that joins is ready
/// when it has its vote.
fn member(view: &HostView<'_>, draft: &mut Draft<'_>, manifest: &StepId) -> Result<(), Refusal> {
    let image = view.release_image("etcd")?;
    let membership = view.membership();
    let (members, later) = membership.until(view.host);
    let members = members.iter().map(|host| host.name.clone()).collect();
    let joining = later.iter().map(|host| peer_url(host)).collect();
    let version = version(&image.reference).to_owned();
    let ready = draft.add(MEMBER, Operation::EtcdMemberReady(EtcdMemberReady { version, members, joining }));
    // As long as kubeadm gives a control plane.
    draft.within(Duration::from_secs(240));
    draft.follows(&ready, manifest, Reason::Because("a changed manifest makes it start again"));
    if membership.joins(view.host) {
        joining_member::promoted(view, draft, &ready)?;
    }
    // Those that work are there, and may be waiting for this one.
    let starts = !rolling::is_fully_healthy(view) || kubelet_of_plane::is_turn(view)?;
    let is_awaited = |host: &&kok_crds::model::Host| (host.name == view.host.name && starts) || !rolling::has_member(view.seen, host);
    for host in membership.voters.iter().copied().filter(is_awaited) {
        let kubelet = super::control_plane::KUBELET.on(&host.name);
        draft.needs(&ready, &kubelet, Reason::Because("every member has to be started by its kubelet"));
    }
    draft.needs(&ready, &view.id(kubeadm_configuration::KUBECTL), Reason::Runs);
    Ok(())
}

/// etcd's version out of the name of its image: `…/etcd:3.6.8-0` has a number of the packing behind it.
pub(crate) fn version(reference: &str) -> &str {
    let tag = reference.rsplit_once(':').map_or(reference, |(_, tag)| tag);
    let tag = tag.strip_prefix('v').unwrap_or(tag);
    tag.split_once('-').map_or(tag, |(version, _)| version)
}
