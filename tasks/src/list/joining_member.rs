//! A host that joins an etcd that runs: it learns first, and gets its vote when it has caught up; one host after the other, and only while all that is there
//! works. What is prepared on several hosts is prepared at once.

use std::time::Duration;

use kok_crds::model::Host;

use super::{certificates, container_runtime, control_plane, etcd, images, kubeadm_configuration, still_ready};
use crate::gate::{Disruption, Need};
use crate::membership::{answering, peer_url};
use crate::operations::{AnnounceMember, LetIn, Operation, PromoteMember, kept_out};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};

const ANNOUNCED: &str = "announced";

/// Until all members have heard of the change before; and what others disturb is waited for.
const ANNOUNCED_WITHIN: Duration = Duration::from_secs(180);

/// Its pod has to start, and all data have to come: 8 GiB at the most, at some 30 MB/s.
const PROMOTED_WITHIN: Duration = Duration::from_secs(420);

/// A member that is asked about the others.
fn asked<'a>(view: &HostView<'a>) -> Result<&'a Host, Refusal> {
    answering(view.cluster(), view.seen).map(|(host, _)| host).next().ok_or_else(|| {
        Refusal::new("no member of etcd answers that could let another one in")
            .hint("mend etcd first: `kokctl status` shows its members")
            .passing()
    })
}

/// What asks a member on its host.
fn client(view: &HostView<'_>) -> StepName<'static> {
    if view.cluster().has_etcd_units() { etcd::PROGRAMS } else { kubeadm_configuration::KUBECTL }
}

/// Says that what first starts the host's member waits until the others expect it.
pub(super) fn announced(view: &HostView<'_>, draft: &mut Draft<'_>, starts: &StepId) -> Result<(), Refusal> {
    let (asked, name) = (asked(view)?, &view.host.name);
    let operation = AnnounceMember { host: name.clone(), peer_url: peer_url(view.host) };
    let step = draft.add_on(&asked.name, ANNOUNCED, Operation::AnnounceMember(operation));
    draft.within(ANNOUNCED_WITHIN);
    draft.gated(&step, Disruption::AddLearner { host: name.clone() }, Need::Wanted);
    draft.needs(&step, &client(view).on(&asked.name), Reason::Runs);
    prepared(view, draft, &step);
    if let Some(before) = view.membership().before(view.host) {
        draft.needs(&step, &etcd::MEMBER.on(&before.name), Reason::Because("one member after the other joins"));
    }
    // Beside two of them nothing may be started anew, and a third one is what they need first.
    for host in view.membership().voters.into_iter().filter(|_| !in_need(view)) {
        for earlier in starts_of(view, host) {
            draft.needs(&step, &earlier, Reason::InTurn("what is there is changed before it grows"));
        }
    }
    draft.needs(starts, &step, Reason::Because("the others have to expect it"));
    // Of a host with a unit the task that starts its kubelet says so.
    if view.cluster().has_etcd_units() { Ok(()) } else { let_in(view, draft, &step) }
}

/// While a member is announced and not there, nothing else may be changed of etcd: so all that it needs is there before.
fn prepared(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    let units = view.cluster().has_etcd_units();
    let needed = if units {
        vec![etcd::PROGRAMS, etcd::CONFIGURATION, etcd::UNIT]
    } else {
        vec![control_plane::PREFLIGHT, container_runtime::SERVICE]
    };
    for name in needed {
        draft.needs(step, &view.id(name), Reason::Because("nothing is to be missing once the others wait for it"));
    }
    if units { certificates::needed_by(view, draft, step) } else { images::needed_by(view, draft, step, &images::CONTROL_PLANE) }
}

/// The steps after which what a voter's host has works as it is to. API servers learn of members that are units when these are there.
fn starts_of(view: &HostView<'_>, host: &Host) -> Vec<StepId> {
    let member = etcd::MEMBER.on(&host.name);
    if view.cluster().has_etcd_units() {
        return vec![member];
    }
    let steps = [control_plane::READY, control_plane::KUBELET].map(|name| name.on(&host.name));
    steps.into_iter().chain([member]).chain(still_ready::readiness_steps(view, host)).collect()
}

/// The steps that an API server waits for: the member beside it, or all that join, of which it is told.
pub(super) fn awaited_by_api_server(view: &HostView<'_>) -> Vec<StepId> {
    let joining = view.membership().joining.into_iter();
    let units = view.cluster().has_etcd_units();
    joining.filter(|host| units || host.name == view.host.name).map(|host| etcd::MEMBER.on(&host.name)).collect()
}

/// Whether what joins is needed before anything of what is there may be changed.
fn in_need(view: &HostView<'_>) -> bool {
    view.membership().voters.len() == 2
}

/// Says that a member of two is started anew when there is a third one.
pub(super) fn needed_by(view: &HostView<'_>, draft: &mut Draft<'_>, manifest: &StepId) {
    if let Some(first) = view.membership().joining.first().filter(|_| in_need(view) && !view.joins_etcd()) {
        draft.needs(manifest, &etcd::MEMBER.on(&first.name), Reason::InTurn("of two members none may be started anew"));
    }
}

/// One that was removed as dead may make its node again.
pub(super) fn let_in(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) -> Result<(), Refusal> {
    if view.kubernetes().is_some_and(|state| kept_out(state).contains(&view.host.name.as_str())) {
        let node = LetIn { node: view.host.name.clone() };
        let let_in = draft.add_on(&view.speaker()?.name.clone(), "let-in", Operation::LetIn(node));
        draft.needs(step, &let_in, Reason::Because("the API refuses what was removed as dead"));
    }
    Ok(())
}

/// Says that the member is ready once it has its vote.
pub(super) fn promoted(view: &HostView<'_>, draft: &mut Draft<'_>, ready: &StepId) -> Result<(), Refusal> {
    let asked = asked(view)?;
    let operation = PromoteMember { host: view.host.name.clone(), peer_url: peer_url(view.host) };
    let step = draft.add_on(&asked.name, "promoted", Operation::PromoteMember(operation));
    draft.within(PROMOTED_WITHIN);
    draft.gated(&step, Disruption::Promote { host: view.host.name.clone() }, Need::Wanted);
    if view.cluster().has_etcd_units() {
        draft.needs(&step, &view.id(etcd::SERVICE), Reason::Because("that starts it"));
    } else {
        draft.needs(&step, &view.id(control_plane::KUBELET), Reason::Because("its kubelet starts it"));
        draft.needs(&step, &view.id(etcd::MANIFEST), Reason::Because("its kubelet starts it by that manifest"));
    }
    draft.needs(&step, &client(view).on(&asked.name), Reason::Runs);
    draft.needs(ready, &step, Reason::Because("who only learns can't be asked"));
    Ok(())
}
