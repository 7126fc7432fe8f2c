//! A kubelet: as what it asks the API, and by whom it knows that.

use std::time::Duration;

use kok_crds::model::Host;
use kok_pki::AuthorityKind;

use super::{NAME, TRUSTED, all_show_it};
use crate::in_use::KUBELET_CLIENT;
use crate::list::{rolling, still_ready};
use crate::observe::PathState;
use crate::operations::{CLIENT_CERTIFICATE, KUBELET_CONF, KubeletStays, KubeletTrust, NodesReady, Operation};
use crate::pem_set::PemSet;
use crate::plan::{AuthorityRotation, AuthorityStage, Draft, HostView, Reason, Refusal, StepId, StepName};
use crate::renewal::Successor;
use crate::resources::{File, FileContent, Replace, Resource, Symlink, Unit, UnitGoal};
use crate::secret_name::SecretName;

/// Step after which a kubelet that was started anew goes on.
const STAYS: StepName<'static> = StepName::new(NAME, "kubelet-stays");
/// Step after which a kubelet goes by what is there.
const READY: StepName<'static> = StepName::new(NAME, "kubelet");

/// systemd starts one that ended again after 2 s (`RestartSec`); after some ten times, it won't get better.
const STAYS_WITHIN: Duration = Duration::from_secs(25);
/// A kubelet that was started anew says within seconds that its node is Ready, or when it speaks for the second time.
const READY_WITHIN: Duration = Duration::from_secs(300);

/// It gets a certificate by this run, for its own asks for one when most of the time of what it has is over; and it is started anew once for all of it.
pub(super) fn draft<'a>(view: &HostView<'a>, rotation: &AuthorityRotation<'_>, wanted: &PemSet) -> Result<Option<Draft<'a>>, Refusal> {
    let is_in_stage = matches!(rotation.stage, AuthorityStage::Signs | AuthorityStage::Alone);
    if !view.host.roles.is_node() || !is_in_stage {
        return Ok(None);
    }
    let mut draft = Draft::new(&view.host.name, NAME);
    let mut made = client(view, &mut draft, rotation);
    let trust = draft.add("kubelet-trusts", Operation::KubeletTrust(KubeletTrust { authorities: wanted.text() }));
    made.push(trust);
    for step in &made {
        draft.needs(step, &view.id(TRUSTED), Reason::Because("who signs is there before what it has signed"));
        if rotation.stage == AuthorityStage::Alone {
            all_show_it(view, &mut draft, step);
        }
    }
    let reads = [KUBELET_CONF, CLIENT_CERTIFICATE].map(str::to_owned).into();
    let unit = Unit { name: "kubelet.service".to_owned(), goal: UnitGoal::Running, reads };
    let read = draft.add("kubelet-reads", Resource::Unit(unit));
    rolling::restarts_kubelet(view, &mut draft, &read);
    made.iter().for_each(|step| draft.follows(&read, step, Reason::Reads));
    let before = turn(view);
    before.iter().for_each(|host| {
        draft.needs(&read, &kubelet_works_step(view, host), Reason::InTurn("kubelets are started anew one after the other"))
    });
    goes_on(view, &mut draft, &read)?;
    Ok(Some(draft))
}

/// The link that kubelets follow, and keep when they make another one (`client-go`, `util/certificate/certificate_store.go`).
fn client(view: &HostView<'_>, draft: &mut Draft<'_>, rotation: &AuthorityRotation<'_>) -> Vec<StepId> {
    let seen = view.observations();
    let successor = Successor { kind: rotation.kind, certificate: rotation.certificate, trusted: "", is_shown: true };
    let certificate = seen.certificates.get(CLIENT_CERTIFICATE).and_then(Option::as_deref);
    let Some(because) = certificate.and_then(|it| successor.defect(it, AuthorityKind::Kubernetes)) else { return Vec::new() };
    let found = seen.paths.get(KUBELET_CLIENT).and_then(PathState::present);
    let replace = found.map(|found| Replace { because, changed_nanoseconds: found.changed_nanoseconds });
    let name = SecretName::KubeletFile { host: view.host.name.clone(), path: KUBELET_CLIENT.to_owned() };
    let file =
        draft.add("kubelet-client", Resource::File(File::new(KUBELET_CLIENT, 0o600, FileContent::Secret { name, replace, without: None })));
    let link = Symlink { path: CLIENT_CERTIFICATE.to_owned(), target: KUBELET_CLIENT.to_owned() };
    let link = draft.add("kubelet-client-link", Resource::Symlink(link));
    draft.needs(&link, &file, Reason::Because("it leads there"));
    vec![file, link]
}

/// Whose kubelet works before this one is started anew: control planes one after the other, then so many workers at a time as the file says.
fn turn<'a>(view: &HostView<'a>) -> Option<&'a Host> {
    let (planes, workers): (Vec<&Host>, Vec<&Host>) = view.cluster().nodes().partition(|host| host.roles.control_plane);
    let place = |hosts: &[&Host]| hosts.iter().position(|host| host.name == view.host.name);
    if let Some(place) = place(&planes) {
        return place.checked_sub(1).and_then(|before| planes.get(before).copied());
    }
    let serial = view.cluster().settings.serial.count_of(workers.len());
    let before = place(&workers).and_then(|place| place.checked_sub(serial)).and_then(|before| workers.get(before).copied());
    before.or_else(|| planes.last().copied())
}

/// The step after which the kubelet of a host is known to work: where its node was Ready, it is again.
fn kubelet_works_step(view: &HostView<'_>, host: &Host) -> StepId {
    if still_ready::was_ready(view, host) { READY.on(&host.name) } else { STAYS.on(&host.name) }
}

fn goes_on(view: &HostView<'_>, draft: &mut Draft<'_>, read: &StepId) -> Result<(), Refusal> {
    let was_started_microseconds = view.observations().units.get("kubelet.service").map(|unit| unit.started_microseconds);
    let stays = draft.add(STAYS, Operation::KubeletStays(KubeletStays { was_started_microseconds, for_at_least: Duration::ZERO }));
    draft.within(STAYS_WITHIN);
    draft.follows(&stays, read, Reason::Because("that starts it anew"));
    let node = view.kubernetes().and_then(|state| state.node(&view.host.name)).filter(|_| still_ready::was_ready(view, view.host));
    let Some(node) = node else { return Ok(()) };
    let versions = [(view.host.name.clone(), node.kubelet_version.trim_start_matches('v').to_owned())].into();
    let ready = NodesReady { versions };
    let ready = draft.add_on(&view.speaker()?.name, READY, Operation::NodesReady(ready));
    draft.within(READY_WITHIN);
    draft.follows(&ready, &stays, Reason::Because("that starts its kubelet anew"));
    Ok(())
}
