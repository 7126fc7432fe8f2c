//! Where containerd fetches images instead of their own registries. It reads these files at each pull, so nothing is restarted.

use kok_crds::model::RegistryMirrors;
use serde::Serialize;

use super::{Task, container_runtime};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};
use crate::resources::{Absent, Directory, File, Resource};
use crate::templates::render;

const NAME: &str = "mirrors";

pub(super) const TASK: Task = Task { name: NAME, about: "where images are fetched instead of their own registries", plan };

/// Step after which mirrors that the file does not name any more are gone.
const NO_OTHERS: StepName<'static> = StepName::new(NAME, "no-others");

/// Lies in each folder that we have made, and in none of the host's owner.
const MARK: &str = "kokctl";

#[derive(Serialize)]
struct Hosts<'a> {
    server: Option<String>,
    mirrors: Vec<MirrorEntry<'a>>,
}

#[derive(Serialize)]
struct MirrorEntry<'a> {
    host: &'a str,
    capabilities: &'a [String],
    skip_verify: bool,
    override_path: bool,
    ca: Option<String>,
}

/// Where the registry itself is, for what no mirror has.
fn server(prefix: &str) -> Option<String> {
    match prefix {
        "_default" => None,
        "docker.io" => Some("https://registry-1.docker.io".to_owned()),
        other => Some(format!("https://{other}")),
    }
}

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if !view.host.roles.is_node() {
        return Ok(());
    }
    let parent = container_runtime::MIRRORS;
    let mut except = Vec::new();
    for registry in &view.settings().containerd_registries_mirrors {
        let path = format!("{parent}/{}", registry.prefix);
        let folder = draft.add(&registry.prefix, Resource::Directory(Directory::new(path.clone(), 0o755)));
        draft.needs(&folder, &view.id(container_runtime::MIRRORS_FOLDER), Reason::Inside);
        let mark = format!("{path}/{MARK}");
        let text = "kokctl has made this folder, and removes it when its registry is no longer in the cluster's file.\n";
        let marked = draft.add(&format!("{}-mark", registry.prefix), Resource::File(File::text(mark.clone(), text)));
        draft.needs(&marked, &folder, Reason::Inside);
        except.push(mark);
        let authorities = authorities(&path, registry);
        for (index, (path, pem)) in authorities.iter().flatten().enumerate() {
            let file = draft.add(&format!("{}-ca-{index}", registry.prefix), Resource::File(File::text(path.clone(), (*pem).clone())));
            draft.needs(&file, &marked, Reason::Because("what lies in the folder is removed by its mark"));
        }
        let text = render("containerd/hosts.toml.j2", &hosts(registry, &authorities))?;
        let file = draft.add(hosts_step(&registry.prefix).as_str(), Resource::File(File::text(format!("{path}/hosts.toml"), text)));
        draft.needs(&file, &marked, Reason::Because("what lies in the folder is removed by its mark"));
    }
    draft.add(NO_OTHERS, Resource::Absent(Absent { pattern: format!("{parent}/*/{MARK}"), except, with_folder: true }));
    Ok(())
}

/// The step that says which mirrors a registry has.
fn hosts_step(prefix: &str) -> String {
    format!("{prefix}-hosts")
}

/// Says that a step fetches images where these files say.
pub(super) fn read_by(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    draft.needs(step, &view.id(NO_OTHERS), Reason::Reads);
    for registry in &view.settings().containerd_registries_mirrors {
        draft.needs(step, &view.id(StepName::new(NAME, &hosts_step(&registry.prefix))), Reason::Reads);
    }
}

/// Of each mirror the file of its own authority with its text.
fn authorities<'a>(folder: &str, registry: &'a RegistryMirrors) -> Vec<Option<(String, &'a String)>> {
    let numbered = registry.mirrors.iter().enumerate();
    numbered.map(|(index, mirror)| mirror.ca.as_ref().map(|pem| (format!("{folder}/mirror-{index}.crt"), pem))).collect()
}

fn hosts<'a>(registry: &'a RegistryMirrors, authorities: &[Option<(String, &String)>]) -> Hosts<'a> {
    let entry = |(mirror, authority): (&'a kok_crds::model::Mirror, &Option<(String, &String)>)| MirrorEntry {
        host: &mirror.host,
        capabilities: &mirror.capabilities,
        skip_verify: mirror.skip_verify,
        override_path: mirror.override_path,
        ca: authority.as_ref().map(|(path, _)| path.clone()),
    };
    Hosts { server: server(&registry.prefix), mirrors: registry.mirrors.iter().zip(authorities).map(entry).collect() }
}
