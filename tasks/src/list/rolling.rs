//! One control plane after the other: where they work already, the pods of one are changed only while those before it work.
//!
//! etcd goes on without one of three members and not without two, and clients without one API server and not without all.

use kok_crds::model::Host;

use super::{control_plane, etcd};
use crate::observe::{ApiServerState, EtcdState};
use crate::plan::{Draft, HostView, Reason, StepId};

/// Whether everything of a control plane answers. One that does not waits for none: a change can only make it better.
pub(super) fn works(view: &HostView<'_>, host: &Host) -> bool {
    let seen = view.seen.observations(&host.name);
    let is_member = view.cluster().has_etcd_units() || matches!(seen.etcd, Some(EtcdState::Ready(_)));
    is_member && matches!(seen.api_server, Some(ApiServerState::Ready))
}

/// The control plane before this one among those that work, if this one does too.
fn before<'a>(view: &HostView<'a>) -> Option<&'a Host> {
    let working: Vec<&Host> = view.cluster().control_planes().filter(|host| works(view, host)).collect();
    let own = working.iter().position(|host| host.name == view.host.name)?;
    working.get(own.checked_sub(1)?).copied()
}

/// Says that a step which changes pods of a control plane waits for the one before it.
pub(super) fn needed_by(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    let Some(before) = before(view) else { return };
    let reason = || Reason::Because("control planes that work are changed one after the other");
    draft.needs(step, &StepId::new(&before.name, control_plane::NAME, control_plane::READY), reason());
    if !view.cluster().has_etcd_units() {
        draft.needs(step, &StepId::new(&before.name, etcd::NAME, etcd::MEMBER), reason());
    }
}
