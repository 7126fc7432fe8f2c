//! The kubelet's program and unit. What it runs with is written by kubeadm, when the host becomes a node.

use kok_pki::{AuthorityKind, KubeconfigUser, Material};

use super::{Task, certificates, proxy, selinux, swap};
use crate::issued::is_kept_elsewhere;
use crate::operations::BINARIES;
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};
use crate::resources::{Binary, Directory, File, Resource, Unit, UnitGoal};
use crate::templates::render;

pub(crate) const NAME: &str = "kubelet";

pub(super) const TASK: Task = Task { name: NAME, about: "the kubelet's program and unit", plan };

/// Step that installs the program.
pub(super) const PROGRAM: StepName<'static> = StepName::new(NAME, "kubelet");

/// Step after which systemd knows its unit.
pub(super) const UNIT_STEP: StepName<'static> = StepName::new(NAME, "unit");

const UNIT: &str = "/etc/systemd/system/kubelet.service";
const DROP_IN_FOLDER: &str = "/etc/systemd/system/kubelet.service.d";
/// The step that makes the folder of its settings.
pub(super) const FOLDER: StepName<'static> = StepName::new(NAME, "drop-in-folder");
const DROP_IN: &str = "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf";

const KUBECONFIG: &str = "/etc/kubernetes/kubelet.conf";

/// What the kubelet reads when it starts, besides what kubeadm writes.
pub(super) fn reads(view: &HostView<'_>) -> Vec<String> {
    let files = vec![format!("{BINARIES}/kubelet"), UNIT.to_owned(), DROP_IN.to_owned()];
    // Where kubelets renew their certificates, kubelet.conf names a file that they read again by themselves.
    let kubeconfig = is_kept_elsewhere(view.cluster(), AuthorityKind::Kubernetes).then(|| KUBECONFIG.to_owned());
    files.into_iter().chain(proxy::drop_in(view, "kubelet")).chain(kubeconfig).collect()
}

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if !view.host.roles.is_node() {
        return Ok(());
    }
    let version = view.cluster().kubelet_version(view.host).to_string();
    let artifact = view.artifact("kubelet", Some(&version))?;
    let binary = draft.add(PROGRAM, Resource::Binary(Binary::executable(format!("{BINARIES}/kubelet"), artifact)));
    let unit_file = draft.add("unit-file", Resource::File(File::text(UNIT, render("kubelet/kubelet.service.j2", &())?)));
    let folder = draft.add(FOLDER, Resource::Directory(Directory::new(DROP_IN_FOLDER, 0o755)));
    let drop_in = draft.add("drop-in", Resource::File(File::text(DROP_IN, render("kubelet/10-kubeadm.conf.j2", &())?)));
    draft.needs(&drop_in, &folder, Reason::Inside);
    // Static pods are looked for from the kubelet's first moment; on a worker the folder stays empty.
    let unit = Unit { name: "kubelet.service".to_owned(), goal: UnitGoal::Enabled, reads: Vec::new() };
    let unit = draft.add(UNIT_STEP, Resource::Unit(unit));
    for (step, reason) in [(&binary, Reason::Runs), (&unit_file, Reason::Reads), (&drop_in, Reason::Reads)] {
        draft.follows(&unit, step, reason);
    }
    proxy::read_by(view, draft, "kubelet", &unit);
    Ok(())
}

/// Says that a step starts the kubelet.
pub(super) fn needed_by(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    draft.follows(step, &view.id(PROGRAM), Reason::Runs);
    draft.follows(step, &view.id(UNIT_STEP), Reason::Because("it starts the kubelet"));
    if is_kept_elsewhere(view.cluster(), AuthorityKind::Kubernetes) {
        draft.follows(step, &view.id(certificates::step_name(Material::Kubeconfig(KubeconfigUser::Kubelet))), Reason::Reads);
    }
    swap::needed_by(view, draft, step);
    selinux::needed_by(view, draft, step);
}
