//! containerd with runc and the network plugins, out of the bundle.

use std::collections::BTreeMap;

use kok_crds::model::TomlScalar;
use serde::Serialize;
use serde_json::Value;

use super::{Task, host, proxy, rolling, selinux, trust};
use crate::artifact::Placed;
use crate::bundle::BundleFile;
use crate::network_plugins::plugin;
use crate::operations::BINARIES;
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};
use crate::resources::{Archive, Binary, Directory, File, Resource, Unit, UnitGoal, Unpacked};
use crate::templates::render;

const NAME: &str = "container-runtime";

pub(super) const TASK: Task = Task { name: NAME, about: "containerd with runc and the network plugins", plan };

/// The step after which containers can be started.
pub(super) const SERVICE: StepName<'static> = StepName::new(NAME, "service");

/// The step that unpacks its programs.
pub(super) const ARCHIVE: StepName<'static> = StepName::new(NAME, "containerd");

/// The step after which a control plane has gone through a change of it.
pub(super) const STILL_WORKS: StepName<'static> = StepName::new(NAME, "api-server");

/// The step whose programs every pod's network needs.
pub(crate) const CNI_PLUGINS: StepName<'static> = StepName::new(NAME, "cni-plugins");

/// The step of a program that a network plugin needs besides.
pub(crate) const fn step(name: &'static str) -> StepName<'static> {
    StepName::new(NAME, name)
}

const CONFIGURATION: &str = "/etc/containerd/config.toml";
const UNIT: &str = "/etc/systemd/system/containerd.service";
/// Where containerd looks for mirrors of registries.
pub(super) const MIRRORS: &str = "/etc/containerd/certs.d";

/// The step that makes that folder.
pub(super) const MIRRORS_FOLDER: StepName<'static> = StepName::new(NAME, "mirrors");

const PLUGIN_FOLDER: &str = "/opt/cni/bin";

#[derive(Serialize)]
struct Containerd {
    pause_image: String,
    extra_runtime_args: BTreeMap<String, Value>,
}

#[derive(Serialize)]
struct Limits {
    open_files: u64,
}

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if !view.host.roles.is_node() {
        return Ok(());
    }
    let version = view.cluster().settings.containerd_version.as_ref().map(ToString::to_string);
    let archive = view.file("containerd", version.as_deref())?;
    let containerd = unpack(view, draft, (ARCHIVE, archive, BINARIES), ("bin/", None));
    let runc = draft.add("runc", Resource::Binary(Binary::executable("/usr/local/sbin/runc", view.artifact("runc", None)?)));
    let settings = folders(draft);
    let text = render("containerd/config.toml.j2", &configuration(view)?)?;
    let configuration = draft.add("configuration", Resource::File(File::text(CONFIGURATION, text)));
    draft.needs(&configuration, &settings, Reason::Inside);
    let limits = Limits { open_files: view.settings().containerd_limit_open_file_num };
    let unit_file = draft.add("unit", Resource::File(File::text(UNIT, render("containerd/containerd.service.j2", &limits)?)));

    let mut reads = [CONFIGURATION, UNIT, "/usr/local/bin/containerd"].map(str::to_owned).to_vec();
    reads.extend(proxy::drop_in(view, "containerd"));
    let unit = Unit { name: "containerd.service".to_owned(), goal: UnitGoal::Running, reads };
    let service = draft.add(SERVICE, Resource::Unit(unit));
    draft.follows(&service, &containerd, Reason::Runs);
    draft.needs(&service, &runc, Reason::Runs);
    draft.follows(&service, &configuration, Reason::Reads);
    draft.follows(&service, &unit_file, Reason::Reads);
    proxy::read_by(view, draft, "containerd", &service);
    trust::read_by(view, draft, &service);
    selinux::needed_by(view, draft, &service);
    host::needs_kernel(view, draft, &service);
    rolling::container_runtime_needed_by(view, draft, &service, &[&containerd, &runc, &configuration, &unit_file]);
    plugins(view, draft)
}

fn folders(draft: &mut Draft<'_>) -> StepId {
    let settings = draft.add("settings", Resource::Directory(Directory::new("/etc/containerd", 0o755)));
    let mirrors = draft.add(MIRRORS_FOLDER, Resource::Directory(Directory::new(MIRRORS, 0o755)));
    draft.needs(&mirrors, &settings, Reason::Inside);
    settings
}

fn configuration(view: &HostView<'_>) -> Result<Containerd, Refusal> {
    let extra = &view.settings().containerd_extra_runtime_args;
    let scalar = |value: &TomlScalar| match value {
        TomlScalar::Bool(value) => Value::from(*value),
        TomlScalar::Integer(value) => Value::from(*value),
        TomlScalar::String(value) => Value::from(value.as_str()),
    };
    Ok(Containerd {
        pause_image: view.release_image("pause")?.reference.clone(),
        extra_runtime_args: extra.iter().map(|(key, value)| (key.clone(), scalar(value))).collect(),
    })
}

fn plugins(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let parent = draft.add("cni-folder", Resource::Directory(Directory::new("/opt/cni", 0o755)));
    let folder = draft.add("plugin-folder", Resource::Directory(Directory::new(PLUGIN_FOLDER, 0o755)));
    draft.needs(&folder, &parent, Reason::Inside);
    let of_network = plugin(&view.cluster().network).programs.iter().map(|program| (program.step, program.archive, Some(program.name)));
    for (step, archive, program) in [(CNI_PLUGINS, "cni-plugins", None)].into_iter().chain(of_network) {
        let step = unpack(view, draft, (step, view.file(archive, None)?, PLUGIN_FOLDER), ("", program));
        draft.needs(&step, &folder, Reason::Inside);
    }
    Ok(())
}

/// Puts the files of an archive that lie below `prefix` into `folder`. Where the archive has the architecture in the name of `program`, that is
/// left out.
fn unpack(
    view: &HostView<'_>,
    draft: &mut Draft<'_>,
    (step, file, folder): (StepName<'_>, &BundleFile, &str),
    (prefix, program): (&str, Option<&'static str>),
) -> StepId {
    let placed = file.contents.iter().filter_map(|entry| {
        let name = entry.path.strip_prefix(prefix)?;
        // Licences and the like lie beside the programs of some archives.
        let is_program = !name.contains('/') && !name.contains('.') && name != "LICENSE" && name != "README";
        let has_architecture = program.is_some_and(|program| name.split_once('-').is_some_and(|(start, _)| start == program));
        let installed = program.filter(|_| has_architecture).unwrap_or(name);
        is_program.then(|| Placed { entry: entry.clone(), path: format!("{folder}/{installed}") })
    });
    let archive = Archive { artifact: view.file_artifact(file), folder: folder.to_owned(), unpacked: Unpacked::Files(placed.collect()) };
    draft.add(step, Resource::Archive(archive))
}
