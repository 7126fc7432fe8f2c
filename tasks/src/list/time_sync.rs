//! Time synchronisation by chrony, where the cluster says how. Without `spec.time` a host keeps what it has.

use std::time::Duration;

use serde::Serialize;

use super::Task;
use crate::operations::{Operation, TimeSynchronised};
use crate::plan::{Draft, HostView, Reason, Refusal, StepName};
use crate::preconditions::{OTHER_CLOCKS, unknown_distribution};
use crate::resources::{File, Resource, Unit, UnitGoal};
use crate::templates::render;

const NAME: &str = "time-sync";

pub(super) const TASK: Task = Task { name: NAME, about: "the clock follows its source", plan };

/// Step that starts chrony.
const SERVICE: StepName<'static> = StepName::new(NAME, "service");

#[derive(Serialize)]
struct Chrony {
    servers: Vec<String>,
    /// Whether these are hosts of the cluster.
    near: bool,
    serves: bool,
    clients: Vec<String>,
}

/// Other programs that set the clock, as far as the host has them. Which these are was looked at by the preconditions.
fn others(view: &HostView<'_>) -> Vec<&'static str> {
    let there = |unit: &&&str| view.observations().units.get(**unit).is_some_and(|state| state.load == "loaded");
    OTHER_CLOCKS.iter().filter(there).copied().collect()
}

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let time = &view.cluster().time;
    if !time.is_managed() {
        return Ok(());
    }
    let serves = time.sources.contains(&view.host.name);
    // Sources follow each other too: otherwise each would go its own way, and hosts that ask several would find no majority.
    let near = time.sources.iter().filter(|source| **source != view.host.name);
    let near: Vec<String> = near.filter_map(|name| view.cluster().host(name)).map(|host| host.address.to_string()).collect();
    let (near, servers) = (!near.is_empty(), if time.sources.is_empty() { time.servers.clone() } else { near });
    let peers = view.cluster().hosts.iter().filter(|host| host.name != view.host.name);
    let clients = peers.map(|host| host.address.to_string()).collect();
    let text = render("chrony/chrony.conf.j2", &Chrony { servers, near, serves, clients })?;
    let (configuration, service) = view.facts.distribution().ok_or_else(|| unknown_distribution(view.facts))?.chrony;
    let file = draft.add("configuration", Resource::File(File::text(configuration, text)));
    let unit = Unit { name: service.to_owned(), goal: UnitGoal::Running, reads: vec![configuration.to_owned()] };
    let unit = draft.add(SERVICE, Resource::Unit(unit));
    draft.follows(&unit, &file, Reason::Reads);
    for other in others(view) {
        let stopped = Unit { name: other.to_owned(), goal: UnitGoal::Stopped, reads: Vec::new() };
        let stopped = draft.add(other, Resource::Unit(stopped));
        draft.needs(&unit, &stopped, Reason::Because("two programs that set one clock undo what the other does"));
    }
    let synchronised = draft.add("synchronised", Operation::TimeSynchronised(TimeSynchronised { serves }));
    // chronyd's first four measurements of a source take some 8 s; a source that has just started has to be waited for as well.
    draft.within(Duration::from_secs(120));
    draft.follows(&synchronised, &unit, Reason::TalksTo);
    for source in time.sources.iter().filter(|source| **source != view.host.name) {
        draft.needs(&synchronised, &SERVICE.on(source), Reason::TalksTo);
    }
    Ok(())
}
