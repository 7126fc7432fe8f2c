//! What every host of a cluster needs first: folders, kernel modules and parameters, and the record of whose host it is.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::operations::{Claim, Operation};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId};
use crate::resources::{File, KernelModule, Resource, Sysctl};
use crate::templates::render;

pub(super) const NAME: &str = "host";

const CLAIM: &str = "claim";

/// The step that comes before every other change of a host.
pub(crate) fn claim(host: &str) -> StepId {
    StepId::new(host, NAME, CLAIM)
}

/// What containerd's snapshots, bridges of the pod network and kube-proxy are made of.
const MODULES: &[&str] = &["overlay", "br_netfilter"];

/// Forwarding between pods and the network. kubeadm's preflight asks for it too.
const SYSCTLS: &[(&str, &str)] = &[("net.ipv4.ip_forward", "1")];

#[derive(Serialize)]
struct Modules {
    modules: &'static [&'static str],
}

#[derive(Serialize)]
struct Sysctls {
    sysctls: BTreeMap<&'static str, &'static str>,
}

pub(super) fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    draft.add(CLAIM, Operation::Claim(Claim { cluster: view.cluster().name.clone(), id: cluster_id(view) }));
    let text = render("kernel/modules.conf.j2", &Modules { modules: MODULES })?;
    draft.add("modules-file", Resource::File(File::text("/etc/modules-load.d/kokctl.conf", text)));
    let text = render("kernel/sysctl.conf.j2", &Sysctls { sysctls: SYSCTLS.iter().copied().collect() })?;
    draft.add("sysctls-file", Resource::File(File::text("/etc/sysctl.d/90-kokctl.conf", text)));
    for module in MODULES {
        draft.add(&format!("module-{module}"), Resource::KernelModule(KernelModule { name: (*module).to_owned() }));
    }
    for (name, value) in SYSCTLS {
        let sysctl = Sysctl { name: (*name).to_owned(), value: (*value).to_owned() };
        draft.add(&format!("sysctl-{name}"), Resource::Sysctl(sysctl));
    }
    Ok(())
}

/// The cluster's id: what stands on a host that belongs to it, or a new one. Nothing while some of its hosts were not asked, for one of them
/// may have it.
fn cluster_id(view: &HostView<'_>) -> Option<String> {
    let cluster = view.cluster();
    let facts: Vec<_> = cluster.hosts.iter().filter_map(|host| view.seen.facts(&host.name)).collect();
    let ours = facts.iter().filter(|facts| facts.cluster.as_ref() == Some(&cluster.name));
    let found = ours.filter_map(|facts| facts.cluster_id.clone()).next();
    found.or_else(|| (facts.len() == cluster.hosts.len()).then(|| view.inputs.new_cluster_id.to_owned()))
}

/// Says that a step needs every kernel setting of the host.
pub(super) fn needs_kernel(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    for module in MODULES {
        draft.needs(step, &view.id(NAME, &format!("module-{module}")), Reason::NeedsKernel);
    }
    for (name, _) in SYSCTLS {
        draft.needs(step, &view.id(NAME, &format!("sysctl-{name}")), Reason::NeedsKernel);
    }
}
