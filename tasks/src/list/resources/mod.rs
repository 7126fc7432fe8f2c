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
use crate::observe::{Look, Looks, PathState};
use crate::plan::{Draft, HostView, Refusal, StepId};
use crate::resources::{MANAGED, Managed, Resource};

pub(crate) use conflict::{with_archives, with_ours};
pub(crate) use render::Templates;

const NAME: &str = "resources";

pub(super) const TASK: Task = Task { name: NAME, about: "what you declare for the hosts: files, packages, users, units and others", plan };

/// One host, with what decides what is declared for it.
pub(crate) struct HostPlace<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) host: &'a Host,
    /// What is known of it; what is expected of a host that nobody has asked yet.
    pub(crate) facts: &'a HostFacts,
    /// Whether somebody has.
    pub(crate) is_known: bool,
    /// Variables of the proxy for the package manager.
    pub(crate) environment: Vec<(String, String)>,
    /// Templates that are parsed already; any other is parsed where it is filled.
    pub(crate) templates: &'a Templates<'a>,
}

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let environment = proxy::environment(view).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let is_known = view.seen.facts(&view.host.name).is_some();
    managed(view, draft);
    let place = HostPlace { cluster: view.cluster(), host: view.host, facts: view.facts, is_known, environment, templates: view.templates };
    let mounts = declare(&place, draft)?;
    for step in &mounts {
        swap::before_mounts(view, draft, step);
    }
    Ok(())
}

/// Where nothing is declared, a host has a list only if something was.
fn managed(view: &HostView<'_>, draft: &mut Draft<'_>) {
    let had_some = matches!(view.observations().paths.get(MANAGED), Some(PathState::Present(_)));
    if had_some || view.cluster().resources.of_host(&view.host.name).next().is_some() {
        list(view.cluster(), &view.host.name, draft);
    }
}

/// What a first look at a host asks whether or not anything is declared for it.
pub(crate) fn looks() -> Looks {
    [Look::Path(MANAGED.to_owned())].into_iter().collect()
}

fn list(cluster: &Cluster, host: &str, draft: &mut Draft<'_>) {
    let lines = cluster.resources.of_host(host).map(|entry| format!("{} {}", entry.wish.kind(), entry.wish.subject()));
    draft.add("managed list", Resource::Managed(Managed { lines: lines.collect() }));
}

/// A draft of what is declared for a host.
pub(crate) fn draft<'a>(place: &HostPlace<'a>) -> Result<Draft<'a>, Refusal> {
    let mut draft = Draft::new(&place.host.name, NAME);
    list(place.cluster, &place.host.name, &mut draft);
    declare(place, &mut draft)?;
    Ok(draft)
}

/// Emits the steps of one host, each after those that it needs. Returns those that write /etc/fstab.
fn declare(place: &HostPlace<'_>, draft: &mut Draft<'_>) -> Result<Vec<StepId>, Refusal> {
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
