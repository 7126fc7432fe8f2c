//! The host's own name, and the names of all hosts.

use crate::observe::{Look, PathState};
use crate::plan::{Draft, HostView, Refusal};
use crate::resources::{Block, File, Hostname, Resource};

pub(super) const NAME: &str = "names";

/// Where cloud-init looks for its settings; without this one it gives a host its old name back at the next start.
const CLOUD_INIT: &str = "/etc/cloud/cloud.cfg.d";

/// What decides which steps there are.
pub(crate) fn looks() -> Vec<Look> {
    vec![Look::Path(CLOUD_INIT.to_owned())]
}

pub(super) fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let settings = &view.cluster().settings.host;
    if settings.override_system_hostname {
        draft.add("host-name", Resource::Hostname(Hostname { name: view.host.name.clone() }));
        if matches!(view.observations().paths.get(CLOUD_INIT), Some(PathState::Present(_))) {
            let text = "# Written by kokctl.\npreserve_hostname: true\n";
            draft.add("cloud-init", Resource::File(File::text(format!("{CLOUD_INIT}/99-kokctl.cfg"), text)));
        }
    }
    if settings.populate_inventory_to_hosts_file {
        let domain = &view.cluster().network.cluster_domain;
        let line = |host: &kok_crds::model::Host| format!("{} {name}.{domain} {name}\n", host.address, name = host.name);
        let text = view.cluster().hosts.iter().map(line).collect();
        draft.add("hosts-file", Resource::Block(Block { path: "/etc/hosts".to_owned(), text }));
    }
    Ok(())
}
