//! SELinux, where the user says what it shall be.

use super::Task;
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};
use crate::resources::{Resource, Selinux};

const NAME: &str = "selinux";

pub(super) const TASK: Task = Task { name: NAME, about: "SELinux, where it is set", plan };

const STATE: StepName<'static> = StepName::new(NAME, "state");

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if let Some(state) = view.settings().host.preinstall_selinux_state {
        draft.add(STATE, Resource::Selinux(Selinux { state }));
    }
    Ok(())
}

/// Says that a step starts a program that SELinux would not let do its work.
pub(super) fn needed_by(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    if view.settings().host.preinstall_selinux_state.is_some() {
        draft.needs(step, &view.id(STATE), Reason::Because("SELinux would forbid what it does"));
    }
}
