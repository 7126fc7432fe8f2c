//! What every host of a cluster needs first: folders, kernel modules and parameters, and the record of whose host it is.

use std::collections::BTreeMap;

use kok_crds::model::{Cluster, Host, KubeProxyMode};
use serde::Serialize;

use super::Task;
use crate::facts::Interface;
use crate::network_plugins::plugin;
use crate::observe::ipv6::accept_ra;
use crate::operations::{Claim, Operation};
use crate::plan::{Draft, HostView, Inputs, Reason, Refusal, Seen, StepId, StepName};
use crate::resources::{File, KernelModule, Resource, Sysctl};
use crate::templates::render;

const NAME: &str = "host";

pub(super) const TASK: Task =
    Task { name: NAME, about: "folders, kernel modules and parameters, and the record of whose host it is", plan };

const CLAIM: StepName<'static> = StepName::new(NAME, "claim");

/// The step that comes before every other change of a host.
pub(crate) fn claim(host: &str) -> StepId {
    CLAIM.on(host)
}

/// What containerd's snapshots, bridges of the pod network and kube-proxy are made of.
const MODULES: &[&str] = &["overlay", "br_netfilter"];

/// Forwarding between pods and the network. kubeadm's preflight asks for it too.
const SYSCTLS: &[(&str, &str)] = &[("net.ipv4.ip_forward", "1")];

/// The same of IPv6, with dual stack.
const FORWARDING_IPV6: &str = "net.ipv6.conf.all.forwarding";
const SYSCTLS_IPV6: &[(&str, &str)] = &[(FORWARDING_IPV6, "1")];

/// What the kubelet would set itself, and refuses to where it protects the kernel's parameters (`kubelet_protect_kernel_defaults`).
const KUBELET_SYSCTLS: &[(&str, &str)] = &[
    ("kernel.keys.root_maxbytes", "25000000"),
    ("kernel.keys.root_maxkeys", "1000000"),
    ("kernel.panic", "10"),
    ("kernel.panic_on_oops", "1"),
    ("vm.overcommit_memory", "1"),
    ("vm.panic_on_oom", "0"),
];

/// The name makes it the last one that is read at the start of a host, so that no other file undoes it (sysctl.d(5); Debian has its
/// owner's settings in `99-sysctl.conf`).
const SYSCTLS_FILE: &str = "/etc/sysctl.d/99-zz-kokctl.conf";

#[derive(Serialize)]
struct Modules<'a> {
    modules: Vec<&'a str>,
}

#[derive(Serialize)]
struct Sysctls<'a> {
    sysctls: BTreeMap<&'a str, &'a str>,
}

/// What kube-proxy's mode ipvs needs (Kubernetes, "IPVS proxy mode"): the kernel's IPVS, and its usual ways to choose among the pods of a Service.
pub(crate) const IPVS: [&str; 5] = ["ip_vs", "ip_vs_rr", "ip_vs_sh", "ip_vs_wrr", "nf_conntrack"];

/// Whether kube-proxy programs IPVS.
pub(crate) fn has_ipvs(cluster: &Cluster) -> bool {
    cluster.settings.kube_proxy_mode == KubeProxyMode::Ipvs && !cluster.settings.kube_proxy_remove
}

/// Modules that Kubernetes and the pod network need on a node.
fn needed(cluster: &Cluster, host: &Host) -> Vec<&'static str> {
    if !host.roles.is_node() {
        return Vec::new();
    }
    let network = (plugin(&cluster.network).modules)(cluster);
    let ipvs: &[&'static str] = if has_ipvs(cluster) { &IPVS } else { &[] };
    MODULES.iter().chain(ipvs).copied().chain(network.iter().map(|module| module.name)).collect()
}

/// These, and those of the user.
pub(crate) fn modules<'a>(cluster: &'a Cluster, host: &Host) -> Vec<&'a str> {
    let needed = needed(cluster, host);
    let users = cluster.settings_of(host).host.additional_kernel_modules.iter().map(String::as_str);
    let users: Vec<&str> = users.filter(|name| !needed.contains(name)).collect();
    [needed, users].concat()
}

/// Parameters that Kubernetes needs, and those of the user.
fn sysctls<'a>(cluster: &'a Cluster, host: &Host) -> BTreeMap<&'a str, &'a str> {
    let of_ipv6 = if cluster.network.is_dual_stack() { SYSCTLS_IPV6 } else { &[] };
    let needed = [SYSCTLS, of_ipv6].concat();
    let needed = needed.into_iter().filter(|_| host.roles.is_node());
    let users = cluster.settings_of(host).host.additional_sysctl.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let kubelets = cluster.settings.components.kubelet_of(host).fields.get("protectKernelDefaults").is_some_and(|value| *value == true);
    let protected = KUBELET_SYSCTLS.iter().copied().filter(|_| kubelets && host.roles.is_node());
    users.chain(protected).chain(needed).collect()
}

/// A host that forwards ignores advertisements of routers, and with the first packet that it forwards loses the default route that it has by
/// them, if it is not told to heed them all the same: 2 (kernel, ip-sysctl). Where the kernel ignores them anyway, as of an interface that
/// systemd-networkd or NetworkManager keeps, nothing is to be said.
fn heeds_routers(view: &HostView<'_>) -> Option<String> {
    let is_asked = view.cluster().network.is_dual_stack() && view.host.roles.is_node();
    let state = view.observations().ipv6.as_ref().filter(|_| is_asked)?;
    let has_address = |(_, interface): &(&String, &Interface)| interface.addresses.contains(&view.host.address);
    let (interface, _) = view.facts.interfaces.iter().find(has_address)?;
    let name = accept_ra(interface);
    let is_users = view.settings().host.additional_sysctl.contains_key(&name);
    let heeds = state.accept_ra.get(&name).is_some_and(|value| value != "0");
    (heeds && !is_users).then_some(name)
}

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    draft.add(CLAIM, Operation::Claim(Claim { cluster: view.cluster().name.clone(), id: view.cluster_id.map(str::to_owned) }));
    let text = render("kernel/modules.conf.j2", &Modules { modules: modules(view.cluster(), view.host) })?;
    draft.add("modules-file", Resource::File(File::text("/etc/modules-load.d/kokctl.conf", text)));
    let heeds_routers = heeds_routers(view);
    let mut sysctls = sysctls(view.cluster(), view.host);
    sysctls.extend(heeds_routers.iter().map(|name| (name.as_str(), "2")));
    let text = render("kernel/sysctl.conf.j2", &Sysctls { sysctls: sysctls.clone() })?;
    draft.add("sysctls-file", Resource::File(File::text(SYSCTLS_FILE, text)));
    let mut loaded = Vec::new();
    for module in modules(view.cluster(), view.host) {
        loaded.push(draft.add(&format!("module-{module}"), Resource::KernelModule(KernelModule { name: module.to_owned() })));
    }
    for (name, value) in sysctls {
        let sysctl = Sysctl { name: name.to_owned(), value: value.to_owned() };
        let set = draft.add(&format!("sysctl-{name}"), Resource::Sysctl(sysctl));
        for module in &loaded {
            draft.needs(&set, module, Reason::Because("some parameters come with a module"));
        }
        if let Some(heeds_routers) = heeds_routers.as_ref().filter(|_| name == FORWARDING_IPV6) {
            let earlier = view.id(StepName::new(NAME, &format!("sysctl-{heeds_routers}")));
            draft.needs(&set, &earlier, Reason::Because("a host that forwards would lose the routes that routers tell it"));
        }
    }
    Ok(())
}

/// The id of [`HostView::cluster_id`].
pub(crate) fn cluster_id(inputs: &Inputs<'_>, seen: &Seen) -> Option<String> {
    let cluster = inputs.cluster;
    let facts: Vec<_> = cluster.hosts.iter().filter_map(|host| seen.facts(&host.name)).collect();
    let ours = facts.iter().filter(|facts| facts.cluster.as_ref() == Some(&cluster.name));
    let found = ours.filter_map(|facts| facts.cluster_id.clone()).next();
    found.or_else(|| (facts.len() == cluster.hosts.len()).then(|| inputs.new_cluster_id.to_owned()))
}

/// Says that a step needs every kernel setting of the host.
pub(super) fn needs_kernel(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    for module in needed(view.cluster(), view.host) {
        draft.needs(step, &view.id(StepName::new(NAME, &format!("module-{module}"))), Reason::NeedsKernel);
    }
    let of_ipv6 = if view.cluster().network.is_dual_stack() { SYSCTLS_IPV6 } else { &[] };
    for (name, _) in SYSCTLS.iter().chain(of_ipv6) {
        draft.needs(step, &view.id(StepName::new(NAME, &format!("sysctl-{name}"))), Reason::NeedsKernel);
    }
}
