//! kubeadm and its configuration on a control plane.

use std::cell::OnceCell;
use std::net::SocketAddr;

use kok_crds::model::{Cluster, Host};
use semver::Version;
use serde::Serialize;

use super::Task;
use super::founding::{FOUNDING, Founding, JOINING, founding};
use crate::ETCD_CLIENT_PORT;
use crate::digest::sha256;
use crate::documents::ControlPlaneDocument;
use crate::membership::peer_url;
use crate::operations::BINARIES;
use crate::patches;
use crate::plan::{Draft, HostView, Inputs, Reason, Refusal, StepId, StepName};
use crate::resources::{Binary, Directory, File, Resource};
use crate::templates::render;

const NAME: &str = "kubeadm-configuration";

pub(super) const TASK: Task = Task { name: NAME, about: "kubeadm and its configuration", plan };

/// Step that installs kubectl.
pub(super) const KUBECTL: StepName<'static> = StepName::new(NAME, "kubectl");

/// Step that makes the folder of what kubeadm is given.
const OWN_FOLDER: StepName<'static> = StepName::new(NAME, "own-folder");

/// Steps that write the configurations.
const BOOTSTRAP: StepName<'static> = StepName::new(NAME, "bootstrap");
const CLUSTER: StepName<'static> = StepName::new(NAME, "cluster");

/// Step that installs kubeadm.
pub(super) const KUBEADM: StepName<'static> = StepName::new(NAME, "kubeadm");

/// Step that makes `/etc/kubernetes`.
pub(super) const FOLDER: StepName<'static> = StepName::new(NAME, "folder");

/// Folder of what kubeadm is given.
pub(crate) const CONFIGURATION_FOLDER: &str = "/etc/kubernetes/kokctl";

/// How kubeadm calls what it patches of CoreDNS.
const DNS: &str = "corednsdeployment";

/// Both configurations of a host, once somebody has asked for them: several tasks do, and each of them is many documents.
#[derive(Debug, Default)]
pub struct Configurations {
    bootstrap: OnceCell<Configuration>,
    cluster: OnceCell<Configuration>,
}

/// What is there, or what is made now.
fn once(cell: &OnceCell<Configuration>, make: impl FnOnce() -> Result<Configuration, Refusal>) -> Result<&Configuration, Refusal> {
    match cell.get() {
        Some(configuration) => Ok(configuration),
        None => make().map(|configuration| cell.get_or_init(|| configuration)),
    }
}

/// One of the two configurations of a control plane.
#[derive(Debug)]
pub(super) struct Configuration {
    /// The step that writes it.
    pub(super) step: StepName<'static>,
    /// Where it is on the host.
    pub(super) path: String,
    text: String,
    /// The sum of what counts of it: what is made from it is made anew when this changes.
    pub(super) source: String,
    /// The same of what kube-proxy and CoreDNS are made from.
    of_addons: String,
    /// What the sum was as long as the host was the only control plane, and its address the endpoint. What is made from it was the same.
    pub(super) source_alone: Option<String>,
    /// Both of what etcd's manifest is made from, of which an upgrade may have another version.
    pub(super) of_etcd: Sums,
    /// Both of what the kubelet's files are made from, which an upgrade changes later than the manifests.
    pub(super) of_kubelet: Sums,
}

/// The sum of what counts of a configuration, and what it was as long as the host was the only control plane.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    pub(super) source: String,
    pub(super) alone: Option<String>,
}

/// What is made from a configuration, as far as it may have a version of its own while an upgrade is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Makes {
    /// All manifests: what kubeadm is given.
    Manifests,
    /// etcd's manifest.
    Etcd,
    /// The manifests of API server, controller manager and scheduler.
    Pods,
    /// The kubelet's files.
    Kubelet,
    /// What the cluster says of itself, with kube-proxy and CoreDNS.
    Shared,
}

impl Makes {
    fn version<'a>(self, view: &HostView<'a>) -> &'a Version {
        let cluster = view.cluster();
        match self {
            // Where pods work as the version of before, etcd's manifest stays as that has made it.
            Self::Etcd if cluster.emulated_version(view.host).is_some() => cluster.shared_version(),
            Self::Manifests | Self::Etcd | Self::Pods => cluster.plane_version(view.host),
            Self::Kubelet => cluster.kubelet_version(view.host),
            Self::Shared => cluster.shared_version(),
        }
    }

    /// Whether it says what that of the pods says: nothing but an upgrade gives them other versions.
    fn is_as_pods(self, view: &HostView<'_>) -> bool {
        view.cluster().underway.is_none() && self.version(view) == Self::Pods.version(view)
    }

    /// The tag of etcd's image, where it is another one than kubeadm takes by itself.
    fn etcd_tag(self, view: &HostView<'_>) -> Result<Option<String>, Refusal> {
        if !matches!(self, Self::Manifests | Self::Etcd) || view.cluster().underway.is_none() || view.cluster().has_etcd_units() {
            return Ok(None);
        }
        Ok(view.other_etcd(self.version(view))?.and_then(|reference| reference.rsplit_once(':')).map(|(_, tag)| tag.to_owned()))
    }

    /// The minor version as which the pods are to work; neither etcd nor what the cluster says of itself knows of it.
    fn emulates<'a>(self, view: &HostView<'a>) -> Option<&'a str> {
        view.cluster().emulated_version(view.host).filter(|_| matches!(self, Self::Manifests | Self::Pods))
    }
}

/// The configuration by which this host's manifests are made: etcd founds a new cluster, with all members at once, or joins the one that runs. It
/// never leaves the host, and what counts for a member's first start only is no reason to make a manifest anew.
pub(super) fn bootstrap<'a>(view: &HostView<'a>) -> Result<&'a Configuration, Refusal> {
    once(&view.configurations.bootstrap, || make_bootstrap(view))
}

fn make_bootstrap(view: &HostView<'_>) -> Result<Configuration, Refusal> {
    let step = BOOTSTRAP;
    let founding = (!view.cluster().has_etcd_units()).then(|| founding(view));
    let text = whole(view, (DocumentKind::Host, Makes::Manifests), founding)?;
    let of_pods = sums(view, Makes::Pods)?;
    // Each of them is several documents, and a plan is made often.
    let as_pods = |makes: Makes| if makes.is_as_pods(view) { Ok(of_pods.clone()) } else { sums(view, makes) };
    let (of_etcd, of_kubelet) = (as_pods(Makes::Etcd)?, as_pods(Makes::Kubelet)?);
    let Sums { source, alone: source_alone } = of_pods;
    let path = format!("{CONFIGURATION_FOLDER}/{}.yaml", step.name());
    Ok(Configuration { step, path, text, of_addons: source.clone(), source, source_alone, of_etcd, of_kubelet })
}

fn sums(view: &HostView<'_>, makes: Makes) -> Result<Sums, Refusal> {
    unmoved(view, |view| {
        let source = sha256(whole(view, (DocumentKind::Host, makes), None)?.as_bytes());
        let alone = view.cluster().api_endpoint_name().map(|_| whole(view, (DocumentKind::Alone, makes), None)).transpose()?;
        Ok(Sums { source, alone: alone.map(|text| sha256(text.as_bytes())) })
    })
}

/// The configuration that is uploaded and that later joins and upgrades read: an etcd member that has lost its data must not found a
/// second cluster. What it says of the host from which it is uploaded does not count.
pub(super) fn cluster<'a>(view: &HostView<'a>) -> Result<&'a Configuration, Refusal> {
    once(&view.configurations.cluster, || make_cluster(view))
}

fn make_cluster(view: &HostView<'_>) -> Result<Configuration, Refusal> {
    let step = CLUSTER;
    let text = whole(view, (DocumentKind::Cluster, Makes::Etcd), None)?;
    // With one control plane there is no other to upload it, and clusters that are there have the sum of the whole.
    let sum = |view: &HostView<'_>| {
        let shared = (DocumentKind::Cluster, Makes::Shared);
        let counts = if view.cluster().is_highly_available() { common(view, shared, None)? } else { whole(view, shared, None)? };
        Ok(sha256(counts.as_bytes()))
    };
    let source = sum(view)?;
    let of_addons = if view.cluster().virtual_address().is_none() { source.clone() } else { unmoved(view, sum)? };
    let path = format!("{CONFIGURATION_FOLDER}/{}.yaml", step.name());
    let same = Sums { source: source.clone(), alone: None };
    Ok(Configuration { step, path, text, of_addons, source, source_alone: None, of_etcd: same.clone(), of_kubelet: same })
}

/// What comes of a cluster without an address that moves. That one is in certificates alone: no manifest is another one for it, and none is made
/// anew when it comes, changes or goes.
fn unmoved<T>(view: &HostView<'_>, make: impl FnOnce(&HostView<'_>) -> Result<T, Refusal>) -> Result<T, Refusal> {
    if view.cluster().virtual_address().is_none() {
        return make(view);
    }
    let mut cluster = view.cluster().clone();
    cluster.settings.api_endpoint.virtual_address = None;
    let inputs = Inputs { cluster: &cluster, ..*view.inputs };
    // What is made of it is another one.
    make(&HostView { inputs: &inputs, configurations: &Configurations::default(), ..*view })
}

/// The sum of what kube-proxy and CoreDNS are made from: of the configuration, and of how CoreDNS is patched. Where one control plane speaks
/// for several, the part of the configuration that counts names no folder of patches.
pub(super) fn addons_source(view: &HostView<'_>, configuration: &Configuration) -> String {
    let patches = patches::patches(view.cluster(), view.host);
    let of_dns: String = patches.iter().filter(|(name, _)| name.starts_with(DNS)).map(|(name, text)| format!("{name}\n{text}")).collect();
    if of_dns.is_empty() { configuration.of_addons.clone() } else { sha256(format!("{}\n{of_dns}", configuration.of_addons).as_bytes()) }
}

/// Members of etcd with their addresses (etcd's `--initial-cluster`).
pub(crate) fn initial_cluster<'a>(hosts: impl Iterator<Item = &'a Host>) -> String {
    hosts.map(|host| format!("{}={}", host.name, peer_url(host))).collect::<Vec<_>>().join(",")
}

/// Where API servers reach the members of an etcd that runs as units.
pub(super) fn etcd_endpoints(cluster: &Cluster) -> Vec<String> {
    cluster.etcd_hosts().map(|host| format!("https://{}", SocketAddr::new(host.address, ETCD_CLIENT_PORT))).collect()
}

/// What a configuration says of this host, then what it says of the cluster.
fn whole(view: &HostView<'_>, kind: (DocumentKind, Makes), founding: Option<Founding>) -> Result<String, Refusal> {
    let of_host = render("kubeadm/init.yaml.j2", &ControlPlaneDocument::new(view.cluster(), view.host)?)?;
    Ok(format!("{of_host}---\n{}", common(view, kind, founding)?))
}

/// Whom a configuration is of: the host whose manifests are made by it, or the cluster into which it is uploaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DocumentKind {
    Host,
    /// The host as the only control plane.
    Alone,
    Cluster,
}

fn common(view: &HostView<'_>, (kind, makes): (DocumentKind, Makes), founding: Option<Founding>) -> Result<String, Refusal> {
    #[derive(Serialize)]
    struct Context<'a> {
        #[serde(flatten)]
        document: ControlPlaneDocument<'a>,
        initial_cluster_state: &'a str,
        /// Where there are several members.
        initial_cluster: Option<String>,
        initial_cluster_token: Option<String>,
        founders_link: Option<&'static str>,
        /// Where it is another one than kubeadm takes by itself.
        etcd_tag: Option<String>,
        /// Empty where kubeadm makes etcd itself.
        etcd_endpoints: Vec<String>,
    }
    let cluster = view.cluster();
    let etcd_endpoints = if cluster.has_etcd_units() { etcd_endpoints(cluster) } else { Vec::new() };
    let document = ControlPlaneDocument::new(cluster, view.host)?.of_version(makes.version(view)).emulating(makes.emulates(view));
    // What is uploaded is of no host.
    let (document, otherwise) = match kind {
        DocumentKind::Host => (document.of_programs(cluster, view.host), FOUNDING),
        DocumentKind::Alone => (document.of_programs(cluster, view.host).alone(cluster, view.host), FOUNDING),
        DocumentKind::Cluster => (document, JOINING),
    };
    let founding = founding.unwrap_or(Founding { members: String::new(), state: otherwise, token: None, link: None });
    let Founding { members, state: initial_cluster_state, token, link } = founding;
    let context = Context {
        document,
        initial_cluster_state,
        initial_cluster: Some(members).filter(|members| members.contains(',')),
        initial_cluster_token: token,
        founders_link: link,
        etcd_tag: makes.etcd_tag(view)?,
        etcd_endpoints,
    };
    Ok(render("kubeadm/cluster.yaml.j2", &context)?)
}

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    // kubeadm writes what the kubelet of a worker is started with, and manifests of control planes.
    let is_plane = view.host.roles.control_plane;
    let version = if is_plane { view.cluster().plane_version(view.host) } else { view.cluster().kubelet_version(view.host) }.to_string();
    let binary = |name: &str| -> Result<Resource, Refusal> {
        Ok(Resource::Binary(Binary::executable(format!("{BINARIES}/{name}"), view.artifact(name, Some(&version))?)))
    };
    if view.host.roles.is_node() {
        draft.add(KUBEADM, binary("kubeadm")?);
    }
    let folder = draft.add(FOLDER, Resource::Directory(Directory::new("/etc/kubernetes", 0o755)));
    let patches = patches::folder(view.cluster(), view.host).filter(|_| view.host.roles.is_node());
    if view.host.roles.control_plane || patches.is_some() {
        let own = draft.add(OWN_FOLDER, Resource::Directory(Directory::new(CONFIGURATION_FOLDER, 0o700)));
        draft.needs(&own, &folder, Reason::Inside);
    }
    if let Some(folder) = patches {
        patch_files(view, draft, &folder);
    }
    if !view.host.roles.control_plane {
        return Ok(());
    }
    draft.add(KUBECTL, binary("kubectl")?);
    let own = view.id(OWN_FOLDER);
    for configuration in [bootstrap(view)?, cluster(view)?] {
        let file = File::text(configuration.path.clone(), configuration.text.clone()).mode(0o600);
        let step = draft.add(configuration.step, Resource::File(file));
        draft.needs(&step, &own, Reason::Inside);
    }
    Ok(())
}

fn patch_files(view: &HostView<'_>, draft: &mut Draft<'_>, path: &str) {
    let folder = draft.add("patches", Resource::Directory(Directory::new(path, 0o700)));
    draft.needs(&folder, &view.id(OWN_FOLDER), Reason::Inside);
    for (name, text) in patches::patches(view.cluster(), view.host) {
        let step = draft.add(&name, Resource::File(File::text(format!("{path}/{name}"), text).mode(0o600)));
        draft.needs(&step, &folder, Reason::Inside);
    }
}

/// Says that kubeadm patches what a step writes.
pub(super) fn patched_by(view: &HostView<'_>, draft: &mut Draft<'_>, step: &StepId) {
    for (name, _) in patches::patches(view.cluster(), view.host) {
        draft.needs(step, &view.id(StepName::new(NAME, &name)), Reason::Reads);
    }
}
