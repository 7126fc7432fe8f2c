//! The load balancer of a host without an API server: haproxy as a static pod, before the API servers of all control planes.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Serialize;

use super::{Task, control_plane, images, kubeadm_configuration, kubelet_join, still_ready};
use crate::LOAD_BALANCER_HEALTH_PORT;
use crate::digest::sha256;
use crate::operations::{LoadBalancersReady, Operation};
use crate::plan::{Draft, HostView, Reason, Refusal, StepName};
use crate::resources::{Absent, Directory, File, Resource};
use crate::templates::render;

const NAME: &str = "load-balancer";

pub(super) const TASK: Task =
    Task { name: NAME, about: "a load balancer before the API servers of several control planes, on hosts without one", plan };

/// Step that writes the static pod's manifest.
pub(super) const MANIFEST: StepName<'static> = StepName::new(NAME, "manifest");

/// Step of the speaker after which all of them have found an API server.
const READY: StepName<'static> = StepName::new(NAME, "ready");

const FOLDER: &str = "/etc/kubernetes/haproxy";
const MANIFESTS: &str = "/etc/kubernetes/manifests";

#[derive(Serialize)]
struct Server<'a> {
    name: &'a str,
    address: String,
}

#[derive(Serialize)]
struct Configuration<'a> {
    port: u16,
    health_port: u16,
    servers: Vec<Server<'a>>,
}

#[derive(Serialize)]
struct Pod<'a> {
    image: &'a str,
    health_port: u16,
    configuration_sum: String,
}

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if !view.host.roles.is_node() {
        return Ok(());
    }
    let cluster = view.cluster();
    if cluster.has_load_balancers() && view.is_speaker() {
        ready(view, draft);
    }
    let several = cluster.is_highly_available() || cluster.api_endpoint_name().is_some();
    if view.host.roles.control_plane || !several {
        return Ok(());
    }
    if !cluster.has_load_balancers() {
        let pattern = format!("{MANIFESTS}/kokctl-haproxy*.yaml");
        draft.add("no-manifest", Resource::Absent(Absent { pattern, except: Vec::new(), with_folder: false }));
        return Ok(());
    }
    let parent = view.id(kubeadm_configuration::FOLDER);
    let mut folder = |step: &str, path: &str, mode: u32| {
        let step = draft.add(step, Resource::Directory(Directory::new(path.to_owned(), mode)));
        draft.needs(&step, &parent, Reason::Inside);
        step
    };
    let (own, manifests) = (folder("folder", FOLDER, 0o755), folder("manifest-folder", MANIFESTS, 0o700));
    let text = configuration(view)?;
    let pod = Pod {
        image: &view.image("haproxy")?.reference,
        health_port: LOAD_BALANCER_HEALTH_PORT,
        configuration_sum: sha256(text.as_bytes()),
    };
    let pod = render("haproxy/haproxy.yaml.j2", &pod)?;
    let file = draft.add("configuration", Resource::File(File::text(format!("{FOLDER}/haproxy.cfg"), text)));
    draft.needs(&file, &own, Reason::Inside);
    let manifest = draft.add(MANIFEST, Resource::File(File::text(format!("{MANIFESTS}/kokctl-haproxy.yaml"), pod).mode(0o600)));
    draft.needs(&manifest, &manifests, Reason::Inside);
    draft.needs(&manifest, &file, Reason::Reads);
    draft.needs(&manifest, &view.id(images::HAPROXY), Reason::StartsImage);
    if kubelet_join::is_joining(view)? {
        // What is made of a pod by then is cut off, and may be left frozen.
        let joined = view.id(kubelet_join::JOINED);
        draft.needs(&manifest, &joined, Reason::Because("the kubelet is started anew once it is known, and should begin no pod before"));
        draft.needs(&joined, &manifests, Reason::Because("a kubelet that starts without it looks for it again seconds later"));
    }
    Ok(())
}

fn configuration(view: &HostView<'_>) -> Result<String, Refusal> {
    // The one that the servers have, too: an address on the host leads to both alike.
    let port = view.cluster().api_server_port();
    let servers = view.cluster().control_planes();
    let servers = servers.map(|host| Server { name: &host.name, address: SocketAddr::new(host.address, port).to_string() }).collect();
    let context = Configuration { port, health_port: LOAD_BALANCER_HEALTH_PORT, servers };
    Ok(render("haproxy/haproxy.cfg.j2", &context)?)
}

/// The cluster says of every host's load balancer whether it has found an API server.
fn ready(view: &HostView<'_>, draft: &mut Draft<'_>) {
    let awaited = view.cluster().balanced_hosts().filter(|host| !view.cluster().is_away(host));
    let hosts: Vec<String> = awaited.map(|host| host.name.clone()).collect();
    let operation = Operation::LoadBalancersReady(LoadBalancersReady { nodes: hosts.clone() });
    let step = draft.add(READY, operation.clone());
    draft.within(Duration::from_secs(240));
    draft.needs(&step, &view.id(control_plane::ADMINISTRATORS), Reason::Because("only administrators may ask"));
    still_ready::while_all_go_on(view, draft, &step, view.cluster().balanced_hosts());
    for host in hosts {
        draft.follows(&step, &MANIFEST.on(&host), Reason::Because("the kubelet starts it by that manifest"));
        let joined = kubelet_join::JOINED.on(&host);
        draft.needs(&step, &joined, Reason::Because("that host has to join first"));
    }
    still_ready::recheck_after_restarts(view, draft, &step, operation);
}
