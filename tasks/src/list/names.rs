//! The host's own name, and the names of all hosts.

use std::net::{IpAddr, Ipv4Addr};

use kok_crds::model::{Cluster, Host};

use super::{Task, control_plane, still_ready};
use crate::completed::knows_name;
use crate::observe::{Look, PathState};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};
use crate::resources::{Block, File, Hostname, Resource};

const NAME: &str = "names";

pub(super) const TASK: Task = Task { name: NAME, about: "the host's own name, and the names of all hosts", plan };

/// Step that names the hosts, and the API where it has a name.
pub(super) const HOSTS_FILE: StepName<'static> = StepName::new(NAME, "hosts-file");

/// Where cloud-init looks for its settings; without this one it gives a host its old name back at the next start.
const CLOUD_INIT: &str = "/etc/cloud/cloud.cfg.d";

/// What decides which steps there are.
pub(crate) fn looks() -> Vec<Look> {
    vec![Look::Path(CLOUD_INIT.to_owned())]
}

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let settings = &view.cluster().settings.host;
    if settings.override_system_hostname {
        draft.add("host-name", Resource::Hostname(Hostname { name: view.host.name.clone() }));
        if matches!(view.observations().paths.get(CLOUD_INIT), Some(PathState::Present(_))) {
            let text = "# Written by kokctl.\npreserve_hostname: true\n";
            draft.add("cloud-init", Resource::File(File::text(format!("{CLOUD_INIT}/99-kokctl.cfg"), text)));
        }
    }
    let text = hosts_file(view);
    if !text.is_empty() {
        let file = draft.add(HOSTS_FILE, Resource::Block(Block::new("/etc/hosts", text)));
        after_certificates(view, draft, &file);
    }
    Ok(())
}

/// Where the API gets its name while it runs, a host knows it only when the API servers that are there show certificates with it.
fn after_certificates(view: &HostView<'_>, draft: &mut Draft<'_>, file: &StepId) {
    let joins = view.host.roles.is_node() && !view.host.roles.control_plane && !still_ready::was_node(view, view.host) && is_new(view);
    if joins || lacks_name(view, view.host) {
        for host in view.founded_planes() {
            draft.needs(file, &control_plane::NAMED.on(&host.name), Reason::InTurn("API servers have to answer by the name first"));
        }
    }
}

/// Whether a node without an API server is to know the name of one that answers, and does not yet.
fn lacks_name(view: &HostView<'_>, host: &Host) -> bool {
    let is_worker = host.roles.is_node() && !host.roles.control_plane && still_ready::was_node(view, host);
    let Some(name) = view.cluster().api_endpoint_name().filter(|_| is_worker) else { return false };
    knows_name(view.seen, host, name) == Some(false)
}

/// Whether some host does.
pub(super) fn is_new(view: &HostView<'_>) -> bool {
    view.cluster().balanced_hosts().any(|host| lacks_name(view, host))
}

/// All hosts by their names, and where this host reaches the API if that has a name.
fn hosts_file(view: &HostView<'_>) -> String {
    let cluster = view.cluster();
    let mut text = String::new();
    if cluster.settings.host.populate_inventory_to_hosts_file {
        let domain = &cluster.network.cluster_domain;
        let line = |host: &Host| format!("{} {name}.{domain} {name}\n", host.address, name = host.name);
        text.extend(cluster.hosts.iter().map(line));
    }
    if let Some((address, name)) = named_external(cluster).filter(|_| view.host.roles.is_node()) {
        text.push_str(&format!("{address} {name}\n"));
    }
    // Who runs etcd alone has nothing to ask of the API.
    if let Some(name) = cluster.api_endpoint_name().filter(|_| view.host.roles.is_node()) {
        text.extend(api_servers(cluster, view.host).iter().map(|address| format!("{address} {name}\n")));
    }
    text
}

/// Where a host reaches the API: a control plane at its own API server; another at its load balancer and, while that is not there, at the
/// control planes. Clients take the addresses of a name in turn, and keep the connection that they get: so each host begins with another one.
fn api_servers(cluster: &Cluster, host: &Host) -> Vec<IpAddr> {
    if host.roles.control_plane {
        return vec![host.address];
    }
    let mut planes: Vec<IpAddr> = cluster.control_planes().map(|host| host.address).collect();
    let number = cluster.balanced_hosts().position(|other| other.name == host.name).unwrap_or_default();
    let first = number.checked_rem(planes.len()).unwrap_or_default();
    planes.rotate_left(first);
    let local = cluster.has_load_balancers().then_some(IpAddr::V4(Ipv4Addr::LOCALHOST));
    local.into_iter().chain(planes).collect()
}

/// Address and name of the load balancer that the user runs, if hosts are to know them by their own file.
fn named_external(cluster: &Cluster) -> Option<(&str, &str)> {
    let given = &cluster.settings.api_endpoint;
    let external = cluster.external_endpoint().filter(|_| given.name_in_hosts_file)?;
    Some((&external.address, given.name.as_deref()?))
}

/// Says that a step reaches the API by its name.
pub(super) fn needed_by(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    let cluster = view.cluster();
    if cluster.api_endpoint_name().is_some() || named_external(cluster).is_some() {
        draft.needs(step, &view.id(HOSTS_FILE), Reason::Because("it finds the API server by a name of that file"));
    }
}
