//! What the user declares for the hosts themselves.

mod brought;
mod conflict;
mod order;
mod render;
mod steps;
mod trust;

use kok_crds::model::{Cluster, Host, Wish};

use super::{Task, proxy, swap};
use crate::facts::HostFacts;
use crate::plan::{Draft, HostView, Refusal, StepId};

pub(crate) use conflict::{with_archives, with_ours};

const NAME: &str = "resources";

pub(super) const TASK: Task = Task { name: NAME, about: "what you declare for the hosts: files, packages, users, units and others", plan };

/// One host, with what decides what is declared for it.
pub(crate) struct Place<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) host: &'a Host,
    /// What is known of it; what is expected of a host that nobody has asked yet.
    pub(crate) facts: &'a HostFacts,
    /// Whether somebody has.
    pub(crate) is_known: bool,
    /// Variables of the proxy for the package manager.
    pub(crate) environment: Vec<(String, String)>,
}

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let environment = proxy::environment(view).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let is_known = view.seen.facts(&view.host.name).is_some();
    let mounts = declare(&Place { cluster: view.cluster(), host: view.host, facts: view.facts, is_known, environment }, draft)?;
    for step in &mounts {
        swap::before_mounts(view, draft, step);
    }
    Ok(())
}

/// A draft of what is declared for a host.
pub(crate) fn draft<'a>(place: &Place<'a>) -> Result<Draft<'a>, Refusal> {
    let mut draft = Draft::new(&place.host.name, NAME);
    declare(place, &mut draft)?;
    Ok(draft)
}

/// Emits the steps of one host, each after those that it needs. Returns those that write /etc/fstab.
fn declare(place: &Place<'_>, draft: &mut Draft<'_>) -> Result<Vec<StepId>, Refusal> {
    let entries: Vec<_> = place.cluster.resources.of_host(&place.host.name).collect();
    let mut all = Vec::with_capacity(entries.len());
    for entry in &entries {
        all.push(steps::emit(place, entry, draft)?);
    }
    for need in order::needs(&entries)? {
        let (Some(later), Some(earlier)) = (all.get(need.later), all.get(need.earlier)) else { continue };
        if need.restarts {
            draft.follows(&later.first, &earlier.last, need.reason);
        } else {
            draft.needs(&later.first, &earlier.last, need.reason);
        }
    }
    let mounts = entries.iter().zip(&all).filter(|(entry, _)| matches!(entry.wish, Wish::Mount(_)));
    Ok(mounts.map(|(_, steps)| steps.first.clone()).collect())
}
