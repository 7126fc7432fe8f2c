//! kubeadm and its configuration on a control plane.

use serde::Serialize;

use crate::digest::sha256;
use crate::documents::ControlPlaneDocument;
use crate::operations::BINARIES;
use crate::plan::{Draft, HostView, Reason, Refusal};
use crate::resources::{Binary, Directory, File, Resource};
use crate::templates::render;

pub(super) const NAME: &str = "kubeadm-configuration";

/// Step that installs kubeadm.
pub(super) const KUBEADM: &str = "kubeadm";

/// Step that makes `/etc/kubernetes`.
pub(super) const FOLDER: &str = "folder";

/// Folder of what kubeadm is given.
const CONFIGURATION_FOLDER: &str = "/etc/kubernetes/kokctl";

/// One of the two configurations of a control plane: its path, its sum and the name of the step that writes it.
pub(super) struct Configuration {
    pub(super) step: &'static str,
    pub(super) path: String,
    pub(super) text: String,
}

impl Configuration {
    pub(super) fn source(&self) -> String {
        sha256(self.text.as_bytes())
    }
}

/// The configuration by which this host's manifests are made: etcd founds a new cluster. It never leaves the host.
pub(super) fn bootstrap(view: &HostView<'_>) -> Result<Configuration, Refusal> {
    configuration(view, "bootstrap", "new")
}

/// The configuration that is uploaded and that later joins and upgrades read: an etcd member that has lost its data must not found a
/// second cluster.
pub(super) fn cluster(view: &HostView<'_>) -> Result<Configuration, Refusal> {
    configuration(view, "cluster", "existing")
}

fn configuration(view: &HostView<'_>, step: &'static str, initial_cluster_state: &'static str) -> Result<Configuration, Refusal> {
    #[derive(Serialize)]
    struct Context<'a> {
        #[serde(flatten)]
        document: ControlPlaneDocument<'a>,
        initial_cluster_state: &'static str,
    }
    let document = ControlPlaneDocument::new(view.cluster(), view.host, &view.endpoint()?);
    let text = render("kubeadm/cluster.yaml.j2", &Context { document, initial_cluster_state })?;
    Ok(Configuration { step, path: format!("{CONFIGURATION_FOLDER}/{step}.yaml"), text })
}

pub(super) fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let version = view.cluster().kubernetes_version.to_string();
    let binary = |name: &str| -> Result<Resource, Refusal> {
        Ok(Resource::Binary(Binary { path: format!("{BINARIES}/{name}"), artifact: view.artifact(name, Some(&version))? }))
    };
    draft.add(KUBEADM, binary("kubeadm")?);
    let folder = draft.add(FOLDER, Resource::Directory(Directory { path: "/etc/kubernetes".to_owned(), mode: 0o755 }));
    if !view.host.roles.control_plane {
        return Ok(());
    }
    draft.add("kubectl", binary("kubectl")?);
    let own = draft.add("own-folder", Resource::Directory(Directory { path: CONFIGURATION_FOLDER.to_owned(), mode: 0o700 }));
    draft.needs(&own, &folder, Reason::Inside);
    for configuration in [bootstrap(view)?, cluster(view)?] {
        let step = draft.add(configuration.step, Resource::File(File::text(configuration.path, configuration.text).mode(0o600)));
        draft.needs(&step, &own, Reason::Inside);
    }
    Ok(())
}
