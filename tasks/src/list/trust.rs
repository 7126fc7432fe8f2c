//! Certificate authorities that programs of the host trust besides those of the distribution.

use super::Task;
use crate::operations::{Operation, TrustStore};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};
use crate::resources::{Absent, File, Resource};

const NAME: &str = "trust";

pub(super) const TASK: Task = Task { name: NAME, about: "certificate authorities that programs trust besides", plan };

pub(crate) const STORE: StepName<'static> = StepName::new(NAME, "store");

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let certificates = &view.settings().host.trusted_certificates;
    // What is of no family has been refused, if there is something to trust.
    let Some(distribution) = view.facts.distribution() else { return Ok(()) };
    let store = TrustStore::for_distribution(distribution);
    let mut steps = Vec::new();
    let mut except = Vec::new();
    for (name, pem) in certificates {
        let path = format!("{}/kokctl-{name}.crt", store.folder);
        steps.push(draft.add(name, Resource::File(File::text(path.clone(), pem.clone()))));
        except.push(path);
    }
    let pattern = format!("{}/kokctl-*.crt", store.folder);
    steps.push(draft.add("no-others", Resource::Absent(Absent { pattern, except: except.clone(), with_folder: false })));
    let updated = draft.add(STORE, Operation::TrustStore(store.with(except)));
    for step in &steps {
        draft.follows(&updated, step, Reason::Reads);
    }
    Ok(())
}

/// Says that a step starts a program that reads the store once, when it starts.
pub(super) fn read_by(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    if view.facts.distribution().is_some() {
        draft.follows(step, &view.id(STORE), Reason::Reads);
    }
}
