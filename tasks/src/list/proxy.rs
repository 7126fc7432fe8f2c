//! The proxy, for containerd, the kubelet and the package manager.

use kok_crds::model::Cluster;
use serde::Serialize;

use super::Task;
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};
use crate::resources::{Absent, Directory, File, Resource};
use crate::templates::render;

const NAME: &str = "proxy";

pub(super) const TASK: Task = Task { name: NAME, about: "the proxy of containerd and the kubelet", plan };

/// Step after which no other settings of ours are there.
const NO_OTHERS: StepName<'static> = StepName::new(NAME, "no-others");

/// Services that fetch something, and the folders of their settings.
const SERVICES: [&str; 2] = ["containerd", "kubelet"];

/// Both drop-ins, and no other: the name is ours.
const PATTERN: &str = "/etc/systemd/system/*.service.d/50-kokctl-proxy.conf";

#[derive(Serialize)]
struct Environment {
    variables: Vec<(&'static str, String)>,
}

fn folder(service: &str) -> String {
    format!("/etc/systemd/system/{service}.service.d")
}

/// The file of a service's proxy, if there is one.
pub(super) fn drop_in(view: &HostView<'_>, service: &str) -> Option<String> {
    view.settings().host.has_proxy().then(|| format!("{}/50-kokctl-proxy.conf", folder(service)))
}

/// The variables of the proxy; none without one.
pub(super) fn variables(view: &HostView<'_>) -> Vec<(&'static str, String)> {
    let settings = &view.settings().host;
    if !settings.has_proxy() {
        return Vec::new();
    }
    let without = settings.no_proxy.clone().unwrap_or_else(|| without_proxy(view.cluster()));
    let without: Vec<String> = without.into_iter().chain(settings.additional_no_proxy.iter().cloned()).collect();
    let proxies = [("HTTP_PROXY", &settings.http_proxy), ("HTTPS_PROXY", &settings.https_proxy)];
    let proxies = proxies.into_iter().filter_map(|(name, url)| Some((name, url.clone()?)));
    proxies.chain([("NO_PROXY", without.join(","))]).collect()
}

/// The same for programs that read them in small letters.
pub(crate) fn environment(view: &HostView<'_>) -> Vec<(&'static str, String)> {
    let small = |name| match name {
        "HTTP_PROXY" => "http_proxy",
        "HTTPS_PROXY" => "https_proxy",
        _ => "no_proxy",
    };
    variables(view).into_iter().map(|(name, value)| (small(name), value)).collect()
}

/// Everything of the cluster: what goes there through a proxy does not come back.
fn without_proxy(cluster: &Cluster) -> Vec<String> {
    let network = &cluster.network;
    let local = ["localhost", "127.0.0.0/8", "::1"].map(str::to_owned);
    let ranges = [network.service_cidrs(), network.pod_cidrs()].concat().into_iter().map(|range| range.to_string());
    let names = [".svc".to_owned(), format!(".{}", network.cluster_domain)];
    let hosts = cluster.hosts.iter().flat_map(|host| {
        let ipv6 = host.address_ipv6.map(|address| address.to_string());
        [host.address.to_string()].into_iter().chain(ipv6).chain([host.name.clone()])
    });
    local.into_iter().chain(ranges).chain(names).chain(hosts).collect()
}

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if !view.host.roles.is_node() {
        return Ok(());
    }
    let variables = variables(view);
    let mut except = Vec::new();
    if !variables.is_empty() {
        let text = render("proxy/proxy.conf.j2", &Environment { variables })?;
        for service in SERVICES {
            let Some(path) = drop_in(view, service) else { continue };
            let file = draft.add(service, Resource::File(File::text(path.clone(), text.clone())));
            // The folder of the kubelet's other settings is made by its own task.
            let inside = match service {
                "kubelet" => view.id(super::kubelet::FOLDER),
                _ => draft.add("folder", Resource::Directory(Directory::new(folder(service), 0o755))),
            };
            draft.needs(&file, &inside, Reason::Inside);
            except.push(path);
        }
    }
    draft.add(NO_OTHERS, Resource::Absent(Absent { pattern: PATTERN.to_owned(), except, with_folder: false }));
    Ok(())
}

/// Says that a step starts a service that reads these settings.
pub(super) fn read_by(view: &HostView<'_>, draft: &mut Draft<'_>, service: &str, step: &StepId) {
    draft.follows(step, &view.id(NO_OTHERS), Reason::Reads);
    if view.settings().host.has_proxy() {
        draft.follows(step, &view.id(StepName::new(NAME, service)), Reason::Reads);
    }
}
