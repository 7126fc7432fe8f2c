//! What every host of a cluster needs first: folders, kernel modules and parameters, and the record of whose host it is.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::observe::STATE_DIRECTORY;
use crate::plan::{Draft, HostView, Reason, Refusal};
use crate::resources::{Directory, File, KernelModule, Resource, Sysctl};
use crate::templates::render;

pub(super) const NAME: &str = "host";

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
    let state = draft.add("state", Resource::Directory(Directory { path: STATE_DIRECTORY.to_owned(), mode: 0o700 }));
    let record = File::text(format!("{STATE_DIRECTORY}/cluster"), format!("{}\n", view.cluster().name)).mode(0o600);
    let record = draft.add("record", Resource::File(record));
    draft.needs(&record, &state, Reason::Inside);

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

/// Says that a step needs every kernel setting of the host.
pub(super) fn needs_kernel(view: &HostView<'_>, draft: &mut Draft<'_>, step: &crate::plan::StepId) {
    for module in MODULES {
        draft.needs(step, &view.id(NAME, &format!("module-{module}")), Reason::NeedsKernel);
    }
    for (name, _) in SYSCTLS {
        draft.needs(step, &view.id(NAME, &format!("sysctl-{name}")), Reason::NeedsKernel);
    }
}
