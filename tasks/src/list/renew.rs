//! Certificates made anew, and nothing else: files of all hosts at once, for they harm nobody; then what has read the old ones at its start is started
//! anew, one host after the other. API servers, and members of etcd that are pods, read theirs anew by themselves.

use std::time::Duration;

use kok_crds::model::{Cluster, Host};
use kok_pki::Material;

use super::{certificates, control_plane, etcd, etcd_unit, kubelet_serving, rolling};
use crate::observe::{EtcdState, Look, Looks};
use crate::operations::{ApiServerReady, ControllersRun, EtcdMemberReady, Operation, ReadKubeconfigs};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId};
use crate::renewal::Renewal;
use crate::resources::{Resource, Unit, UnitGoal};

/// As long as kubeadm gives a control plane, and what a kubelet waits before it starts anew what has failed again and again.
const READY: Duration = Duration::from_secs(240 + rolling::LONGEST_BACK_OFF.as_secs());

/// What is looked at on a host before anything is decided.
pub(crate) fn looks(cluster: &Cluster, host: &Host) -> Looks {
    let mut looks: Looks = certificates::looks(cluster, host).into_iter().collect();
    looks.extend(crate::in_use::looks(cluster, host).iter());
    looks.extend(kubelet_serving::looks());
    // Whether its API has a name that it got when there were several.
    looks.add(Look::Block("/etc/hosts".to_owned()));
    if host.roles.control_plane {
        looks.extend([Look::ApiServer, Look::Kubernetes]);
    }
    if host.roles.etcd {
        looks.add(Look::Etcd);
    }
    looks
}

/// The steps of a host: those that write its files, and those that have programs read them.
pub(crate) fn drafts<'a>(view: &HostView<'a>, renewal: &Renewal<'_>) -> Result<Vec<Draft<'a>>, Refusal> {
    if !certificates::are_there(view) {
        return Ok(Vec::new());
    }
    let (files, made) = certificates::renewed(view, renewal)?;
    let mut drafts: Vec<Draft<'a>> = [files].into_iter().chain(kubelet_serving::renewed(view, renewal)).collect();
    if view.host.roles.etcd && view.cluster().has_etcd_units() {
        drafts.push(member(view, renewal, &made));
    }
    if view.host.roles.control_plane {
        drafts.push(plane(view, renewal, &made));
    }
    Ok(drafts)
}

/// A member that is a unit has copies of its certificates, which systemd makes when it starts.
fn member<'a>(view: &HostView<'a>, renewal: &Renewal<'_>, made: &[(Material, StepId)]) -> Draft<'a> {
    let mut draft = Draft::new(&view.host.name, etcd::MEMBER.task());
    let reads: Vec<String> = etcd_unit::credentials().map(|path| format!("/etc/kubernetes/{path}")).collect();
    let unit = Unit { name: "etcd.service".to_owned(), goal: UnitGoal::Running, reads };
    let service = draft.add(etcd::SERVICE, Resource::Unit(unit));
    for (material, step) in made {
        if etcd_unit::credentials().any(|path| path == material.path()) {
            draft.follows(&service, step, Reason::Reads);
        } else {
            draft.needs(&service, step, Reason::Because("all files of the host are there first"));
        }
    }
    rolling::restarts_member(view, &mut draft, &service);
    let is_waited_for = |host: &&Host| renewal.has_host(&host.name) && ready_member(view, host).is_some();
    for before in etcd_unit::restarted_before(view).into_iter().filter(is_waited_for) {
        let earlier = etcd::MEMBER.on(&before.name);
        draft.needs(&service, &earlier, Reason::Because("a member that works is restarted only while all before it work"));
    }
    if let Some(operation) = ready_member(view, view.host) {
        let ready = draft.add(etcd::MEMBER, Operation::EtcdMemberReady(operation));
        draft.within(READY);
        draft.follows(&ready, &service, Reason::TalksTo);
    }
    draft
}

/// A member that works has to work as before.
pub(super) fn ready_member(view: &HostView<'_>, host: &Host) -> Option<EtcdMemberReady> {
    let Some(EtcdState::Ready(member)) = &view.seen.observations(&host.name).etcd else { return None };
    let members = member.members.iter().map(|peer| peer.name.clone()).collect();
    Some(EtcdMemberReady { version: member.version.clone(), members, joining: Vec::new() })
}

fn plane<'a>(view: &HostView<'a>, renewal: &Renewal<'_>, made: &[(Material, StepId)]) -> Draft<'a> {
    let mut draft = Draft::new(&view.host.name, control_plane::READY.task());
    let ready = draft.add(control_plane::READY, Operation::ApiServerReady(ApiServerReady { version: None }));
    draft.within(READY);
    for (material, step) in made {
        if matches!(material, Material::LeafCertificate(_)) {
            draft.follows(&ready, step, Reason::Because("it has to answer with the new one"));
        } else {
            draft.needs(&ready, step, Reason::Because("it is asked with what is inside"));
        }
    }
    let read = draft.add(control_plane::KUBECONFIGS, Operation::ReadKubeconfigs(ReadKubeconfigs));
    draft.needs(&read, &ready, Reason::Because("they give back their leases through the API server beside them"));
    for (_, step) in made.iter().filter(|(material, _)| matches!(material, Material::Kubeconfig(_))) {
        draft.follows(&read, step, Reason::Reads);
    }
    let earlier = view.cluster().control_planes().take_while(|host| host.name != view.host.name);
    let is_in_turn = |host: &&Host| renewal.has_host(&host.name) && certificates::has_some(view, host);
    if let Some(before) = earlier.filter(is_in_turn).last() {
        draft.needs(&read, &control_plane::CONTROLLERS.on(&before.name), Reason::While(control_plane::ONE_GOES_ON));
    }
    let run = draft.add(control_plane::CONTROLLERS, Operation::ControllersRun(ControllersRun));
    draft.within(READY);
    draft.follows(&run, &read, Reason::Because("the kubelet starts them again"));
    draft
}
