//! Time synchronisation by chrony, where the cluster says how. Without `spec.time` a host keeps what it has.

use std::time::Duration;

use serde::Serialize;

use crate::operations::{Operation, TimeSynchronised};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId};
use crate::resources::{File, Resource, Unit, UnitGoal};
use crate::templates::render;

pub(super) const NAME: &str = "time-sync";

const CONFIGURATION: &str = "/etc/chrony/chrony.conf";
const SERVICE: &str = "chrony.service";

#[derive(Serialize)]
struct Chrony {
    servers: Vec<String>,
    serves: bool,
    clients: Vec<String>,
}

pub(super) fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let time = &view.cluster().time;
    if time.servers.is_empty() && time.sources.is_empty() {
        return Ok(());
    }
    let serves = time.sources.contains(&view.host.name);
    let servers = if serves {
        Vec::new()
    } else if time.sources.is_empty() {
        time.servers.clone()
    } else {
        time.sources.iter().filter_map(|name| view.cluster().host(name)).map(|host| host.address.to_string()).collect()
    };
    let others = view.cluster().hosts.iter().filter(|host| host.name != view.host.name);
    let clients = others.map(|host| host.address.to_string()).collect();
    let text = render("chrony/chrony.conf.j2", &Chrony { servers, serves, clients })?;
    let file = draft.add("configuration", Resource::File(File::text(CONFIGURATION, text)));
    let unit = Unit { name: SERVICE.to_owned(), goal: UnitGoal::Running, reads: vec![CONFIGURATION.to_owned()] };
    let unit = draft.add("service", Resource::Unit(unit));
    draft.follows(&unit, &file, Reason::Reads);
    let synchronised = draft.add("synchronised", Operation::TimeSynchronised(TimeSynchronised { serves }));
    // chronyd's first four measurements of a source take some 8 s; a source that has just started has to be waited for as well.
    draft.within(Duration::from_secs(120));
    draft.follows(&synchronised, &unit, Reason::TalksTo);
    for source in time.sources.iter().filter(|source| **source != view.host.name) {
        draft.needs(&synchronised, &StepId::new(source, NAME, "service"), Reason::TalksTo);
    }
    Ok(())
}
