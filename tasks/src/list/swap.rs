//! Swap, which the kubelet does not start with unless it is told to.

use super::Task;
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};
use crate::resources::{NoSwap, Resource};

const NAME: &str = "swap";

pub(super) const TASK: Task = Task { name: NAME, about: "no swap, now and after the next start", plan };

const OFF: StepName<'static> = StepName::new(NAME, "off");

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if !view.host.roles.is_node() {
        return Ok(());
    }
    if view.cluster().settings.host.kubelet_fail_swap_on {
        draft.add(OFF, Resource::NoSwap(NoSwap));
    }
    Ok(())
}

/// Says that a step writes /etc/fstab too.
pub(super) fn before_mounts(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    if view.host.roles.is_node() && view.cluster().settings.host.kubelet_fail_swap_on {
        draft.needs(step, &view.id(OFF), Reason::Because("one after the other writes /etc/fstab"));
    }
}

/// Says that a step starts the kubelet, or checks whether it could.
pub(super) fn needed_by(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    if view.cluster().settings.host.kubelet_fail_swap_on {
        draft.needs(step, &view.id(OFF), Reason::Because("the kubelet does not start with swap"));
    }
}
