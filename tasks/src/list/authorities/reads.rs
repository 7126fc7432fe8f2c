//! Who reads an authority at its start, and is started anew.

use std::time::Duration;

use kok_crds::model::Host;
use kok_pki::{AuthorityKind, Leaf, Material};

use super::{API_SERVER_READY, CONTROLLERS, MEMBER_READY, NAME, TRUSTED, is_past, trusted_file};
use crate::gate::{Disruption, Need};
use crate::list::certificates::absolute;
use crate::list::{etcd_unit, renew, rolling, still_ready};
use crate::observe::{API_SERVER, CONTROLLERS as PROGRAMS, ETCD};
use crate::operations::{ApiServerReady, ControllersRun, NodesReady, Operation, ReadAuthorities, SIGNING_CERTIFICATE, SigningCertificate};
use crate::plan::{AuthorityRotation, AuthorityStage, Draft, HostView, Reason, StepId, StepName};
use crate::resources::{Absent, Resource, Unit, UnitGoal};

/// Step after which an API server answers again whose member of etcd was started anew.
const STILL_READY: StepName<'static> = StepName::new(NAME, "api-server-still");

/// Step after which the node of a control plane is Ready again.
const NODE_READY: StepName<'static> = StepName::new(NAME, "node");

/// As long as kubeadm gives a control plane, and what a kubelet waits before it starts anew what has ended again and again.
pub(super) const STARTED_WITHIN: Duration = Duration::from_secs(240 + rolling::LONGEST_BACK_OFF.as_secs());
/// What does not end by itself is killed after half a minute.
const ENDED_WITHIN: Duration = Duration::from_secs(120);

const IN_TURN: Reason = Reason::InTurn("what works is started anew only while everything before it works");

/// Where nothing else is trusted any more, API servers come before members of etcd: they show etcd and others what the new authority has signed.
pub(super) fn plan(view: &HostView<'_>, draft: &mut Draft<'_>, rotation: &AuthorityRotation<'_>, files: &[StepId]) {
    let (kind, roles) = (rotation.kind, view.host.roles);
    if !matches!(rotation.stage, AuthorityStage::Known | AuthorityStage::Alone) {
        return;
    }
    if kind == AuthorityKind::Etcd && roles.etcd {
        member(view, draft, rotation, files);
    }
    if roles.control_plane {
        if let Some(mut paths) = read_by_api_server(rotation) {
            paths.retain(|_| !is_past(view, rotation));
            api_server(view, draft, rotation, (paths, files));
        }
        if kind == AuthorityKind::Kubernetes {
            controllers(view, draft, rotation, files);
        }
    }
}

/// What an API server has read at its start: of those who ask it, and of those who come in the place of another, it reads the authority anew by itself
/// (`--client-ca-file`, `--requestheader-client-ca-file`), and what it shows within a minute. At the end that has to have happened.
fn read_by_api_server(rotation: &AuthorityRotation<'_>) -> Option<Vec<String>> {
    let (trusted, leaf) = (trusted_file(rotation.kind), |leaf| absolute(Material::LeafCertificate(leaf)));
    match (rotation.kind, rotation.stage) {
        (AuthorityKind::FrontProxy, AuthorityStage::Known) => None,
        (_, AuthorityStage::Known) => Some(vec![trusted]),
        (AuthorityKind::FrontProxy, _) => Some(vec![leaf(Leaf::FrontProxyClient)]),
        (AuthorityKind::Etcd, _) => Some(vec![trusted, leaf(Leaf::ApiServerEtcdClient)]),
        (AuthorityKind::Kubernetes, _) => Some(vec![trusted, leaf(Leaf::ApiServer)]),
    }
}

/// What the controller manager alone reads is nothing to others.
fn is_read(file: &StepId) -> bool {
    file.name() == TRUSTED.name()
}

fn api_server(view: &HostView<'_>, draft: &mut Draft<'_>, rotation: &AuthorityRotation<'_>, (paths, files): (Vec<String>, &[StepId])) {
    let host = &view.host.name;
    let read = draft.add("api-server-reads", Operation::ReadAuthorities(ReadAuthorities { program: API_SERVER, paths }));
    draft.within(ENDED_WITHIN);
    draft.gated(&read, Disruption::RestartApiServer { host: host.clone() }, Need::Wanted);
    files.iter().filter(|file| is_read(file)).for_each(|file| draft.follows(&read, file, Reason::Reads));
    let ready = draft.add(API_SERVER_READY, Operation::ApiServerReady(ApiServerReady { version: None }));
    draft.within(STARTED_WITHIN);
    draft.follows(&ready, &read, Reason::Because("the kubelet starts it again"));
    node(view, draft, &ready);
    let planes: Vec<&Host> = view.cluster().control_planes().collect();
    if let Some(before) = planes.iter().take_while(|other| other.name != *host).last() {
        draft.needs(&read, &API_SERVER_READY.on(&before.name), IN_TURN);
        if still_ready::was_ready(view, before) {
            draft.needs(&read, &NODE_READY.on(&before.name), IN_TURN);
        }
    }
    if rotation.kind == AuthorityKind::Etcd && rotation.stage == AuthorityStage::Known && view.host.roles.etcd {
        draft.needs(&read, &MEMBER_READY.on(host), IN_TURN);
    }
}

/// The kubelet beside it asks no other API server, and its node may be taken for lost until it is heard again.
fn node(view: &HostView<'_>, draft: &mut Draft<'_>, ready: &StepId) {
    let node = view.kubernetes().and_then(|state| state.node(&view.host.name)).filter(|_| still_ready::was_ready(view, view.host));
    let (Some(node), Ok(speaker)) = (node, view.speaker()) else { return };
    let versions = [(view.host.name.clone(), node.kubelet_version.trim_start_matches('v').to_owned())].into();
    let step = draft.add_on(&speaker.name, NODE_READY, Operation::NodesReady(NodesReady { versions }));
    draft.within(STARTED_WITHIN);
    draft.follows(&step, ready, Reason::Because("its kubelet asks the API server beside it"));
}

/// A member of etcd, as a pod or as a unit, which has copies of its files.
fn member(view: &HostView<'_>, draft: &mut Draft<'_>, rotation: &AuthorityRotation<'_>, files: &[StepId]) {
    let host = &view.host.name;
    let read = if view.cluster().has_etcd_units() {
        let reads = etcd_unit::credentials().map(|path| format!("/etc/kubernetes/{path}")).collect();
        draft.add("member-reads", Resource::Unit(Unit { name: "etcd.service".to_owned(), goal: UnitGoal::Running, reads }))
    } else {
        let paths = Some(trusted_file(AuthorityKind::Etcd)).filter(|_| !is_past(view, rotation));
        let reads = ReadAuthorities { program: ETCD, paths: paths.into_iter().collect() };
        draft.add("member-reads", Operation::ReadAuthorities(reads))
    };
    draft.within(ENDED_WITHIN);
    rolling::restarts_member(view, draft, &read);
    files.iter().filter(|file| is_read(file)).for_each(|file| draft.follows(&read, file, Reason::Reads));
    // One that a run has ended that was killed is to be what the others are.
    let others = view.cluster().etcd_hosts().filter_map(|host| renew::ready_member(view, host));
    if let Some(ready) = renew::ready_member(view, view.host).into_iter().chain(others).next() {
        let ready = draft.add(MEMBER_READY, Operation::EtcdMemberReady(ready));
        draft.within(STARTED_WITHIN);
        draft.follows(&ready, &read, Reason::TalksTo);
    }
    if view.host.roles.control_plane && !view.cluster().has_etcd_units() && rotation.stage == AuthorityStage::Alone {
        let still = draft.add(STILL_READY, Operation::ApiServerReady(ApiServerReady { version: None }));
        draft.within(STARTED_WITHIN);
        draft.follows(&still, &view.id(MEMBER_READY), Reason::Because("it asks the member beside it"));
    }
    let members: Vec<&str> = view.cluster().etcd_hosts().map(|host| host.name.as_str()).collect();
    if let Some(before) = members.iter().take_while(|name| *name != host).last() {
        draft.needs(&read, &MEMBER_READY.on(before), IN_TURN);
        let is_plane = view.cluster().host(before).is_some_and(|host| host.roles.control_plane);
        if is_plane && rotation.stage == AuthorityStage::Known {
            draft.needs(&read, &API_SERVER_READY.on(before), IN_TURN);
        } else if is_plane && !view.cluster().has_etcd_units() {
            draft.needs(&read, &STILL_READY.on(before), IN_TURN);
        }
    }
    if rotation.stage == AuthorityStage::Alone {
        for plane in view.cluster().control_planes() {
            draft.needs(&read, &API_SERVER_READY.on(&plane.name), Reason::Because("nobody else is let in from then on"));
        }
    }
}

/// What the controller manager signs by, and what it tells pods, which it reads at its start.
fn controllers(view: &HostView<'_>, draft: &mut Draft<'_>, rotation: &AuthorityRotation<'_>, files: &[StepId]) {
    let apart = rotation.stage != AuthorityStage::Alone;
    let signs = draft.add("signs-by", Operation::SigningCertificate(SigningCertificate { apart }));
    draft.within(ENDED_WITHIN);
    files.iter().for_each(|file| draft.needs(&signs, file, Reason::Reads));
    let paths = Some(trusted_file(AuthorityKind::Kubernetes)).filter(|_| !is_past(view, rotation));
    let reads = ReadAuthorities { program: PROGRAMS[0], paths: paths.into_iter().collect() };
    let read = draft.add("controllers-read", Operation::ReadAuthorities(reads));
    draft.within(ENDED_WITHIN);
    draft.needs(&read, &signs, Reason::Because("that starts it anew"));
    let run = draft.add(CONTROLLERS, Operation::ControllersRun(ControllersRun));
    draft.within(STARTED_WITHIN);
    for step in [&signs, &read] {
        draft.needs(step, &view.id(API_SERVER_READY), Reason::Because("it gives back its lease through the API server beside it"));
        draft.follows(&run, step, Reason::Because("the kubelet starts it again"));
    }
    let earlier = view.cluster().control_planes().take_while(|host| host.name != view.host.name);
    if let Some(before) = earlier.last() {
        draft.needs(&signs, &CONTROLLERS.on(&before.name), Reason::InTurn("of several controller managers one has to go on"));
    }
    if !apart {
        let absent = Absent { pattern: SIGNING_CERTIFICATE.to_owned(), except: Vec::new(), with_folder: false };
        let gone = draft.add(StepName::new(NAME, "no-signing-certificate"), Resource::Absent(absent));
        draft.needs(&gone, &run, Reason::Because("nobody reads it any more"));
    }
}
