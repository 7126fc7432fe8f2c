//! Network plugins: who carries the pods' traffic, a module each. Everything that differs between them stands there; other rooms ask
//! [`plugin`], and never what it is called.
//!
//! A new one is a file beside this one, its `mod` line, and a line in [`plugin_of_kind`].

mod bridge;
mod calico;
mod flannel;
mod manifest;
mod none;
#[cfg(test)]
mod tests;

use std::time::Duration;

use kok_crds::model::{Cluster, Network, NetworkPlugin};

use crate::list::container_runtime;
use crate::observe::{KubernetesState, Look};
use crate::operations::Operation;
use crate::plan::{Draft, HostView, Refusal, StepId, StepName};
use crate::ports::Port;

/// What a plugin needs, makes and leaves. What one does not say is as in [`Plugin::USERS_OWN`].
pub(crate) struct Plugin {
    /// Which one it is.
    pub kind: NetworkPlugin,
    /// As messages call it where a cluster has it.
    pub called: &'static str,
    /// Whether pods get their addresses by it. Without that nodes are not Ready.
    pub carries_pods: bool,

    /// Adds the steps of each node.
    pub host_steps: fn(&HostView<'_>, &mut Draft<'_>) -> Result<(), Refusal>,
    /// Adds the steps that are done once, on the speaker. It returns the one that puts the network into the cluster; nothing if none does.
    pub cluster_steps: fn(&HostView<'_>, &mut Draft<'_>) -> Result<Option<StepId>, Refusal>,
    /// The step of each node without which that is not Ready.
    pub node_needs: StepName<'static>,
    /// What a node waits for after a start of its host: before it, it is Ready, and no pod gets an address there.
    pub after_boot: Option<Operation>,
    /// How long nodes may take to be Ready.
    pub nodes_ready_within: Duration,
    /// What has to run in the end, as far as its images are used.
    pub workloads: &'static [PluginWorkload],
    /// Steps of the images that every node needs for it; each is called as its image in the bundle.
    pub images: &'static [StepName<'static>],
    /// Whether a cluster uses one of them.
    pub is_used: fn(&Cluster, StepName<'_>) -> bool,
    /// Programs that containerd starts for it, besides those of `cni-plugins`.
    pub programs: &'static [PluginProgram],
    /// What tells it from others and from itself with other settings, for those who check the network.
    pub sum: fn(&HostView<'_>) -> Result<String, Refusal>,

    /// Ports that every node listens on for it.
    pub ports: fn(&Cluster) -> Vec<Port>,
    /// Modules of the kernel that every node needs for it.
    pub modules: fn(&Cluster) -> Vec<Module>,
    /// Bytes of a host's packet that it takes for itself.
    pub overhead: fn(&Cluster) -> u16,
    /// What takes them, for messages.
    pub taken_by: fn(&Cluster) -> String,
    /// Said if the packets of pods go from host to host as they are, by routes, so that the hosts have to be neighbours.
    pub neighbours: fn(&Network) -> Option<Neighbours>,
    /// Why a node's addresses of both families have to be on one interface, if they have to.
    pub one_interface: Option<&'static str>,
    /// Whether kokctl gives nodes their shares of the pods' range, and the controller manager none.
    pub gives_shares: bool,
    /// Whether nodes need a share, from whomever; else the controller manager gives none either.
    pub takes_shares: bool,

    /// What is looked at on every node before anything is planned.
    pub looks: fn() -> Vec<Look>,
    /// What the cluster is asked for besides, whatever plugin is wanted: it may have another one.
    pub objects: &'static [Object],
    /// Whether the cluster says that it has it, from kokctl.
    pub is_installed: fn(&KubernetesState) -> bool,
    /// What of it can't be changed in a cluster that has it.
    pub refused_change: fn(&Cluster, &KubernetesState) -> Option<Refusal>,
    /// How names of its interfaces begin. Routes by these are no strangers'.
    pub interfaces: &'static [&'static str],
    /// What `reset` has to remove, whatever plugin is wanted.
    pub leftovers: Leftovers,
}

/// A workload of a plugin.
pub(crate) struct PluginWorkload {
    /// The step that waits for it, of the task `network`.
    pub step: StepName<'static>,
    /// `DaemonSet`, which runs on every node, or `Deployment`.
    pub kind: &'static str,
    pub namespace: &'static str,
    pub name: &'static str,
    /// The step of its image.
    pub image: StepName<'static>,
}

/// A program out of an archive of the bundle.
pub(crate) struct PluginProgram {
    /// The step that unpacks it, of the task `container-runtime`.
    pub step: StepName<'static>,
    /// The archive, as the bundle calls it.
    pub archive: &'static str,
    /// What containerd looks for. In the archive the architecture may follow, behind a `-`.
    pub name: &'static str,
}

/// A module of the kernel.
#[derive(Clone, Copy)]
pub(crate) struct Module {
    pub name: &'static str,
    /// What to do where a kernel has none, as the end of a hint; it begins with `; or`.
    pub instead: &'static str,
}

/// Why hosts have to be neighbours.
pub(crate) struct Neighbours {
    /// Who needs it.
    pub who: &'static str,
    /// What needs no neighbours, and the field for it.
    pub instead: &'static str,
}

/// An object of a namespace.
pub(crate) struct Object {
    pub api_version: &'static str,
    pub kind: &'static str,
    pub namespace: &'static str,
    pub name: &'static str,
}

/// What a plugin leaves on a host.
pub(crate) struct Leftovers {
    /// A script in POSIX sh, while links, tables and files are there still; it goes on after errors, and ends with a newline.
    pub script: &'static str,
    /// Links.
    pub links: &'static [&'static str],
    /// Tables of nftables, each with its family.
    pub tables: &'static [&'static str],
    /// What all its rules of iptables have in them.
    pub rules: &'static [&'static str],
    /// Files and folders.
    pub paths: &'static [&'static str],
}

impl Leftovers {
    const NONE: Self = Self { script: "", links: &[], tables: &[], rules: &[], paths: &[] };
}

impl Plugin {
    /// One of which kokctl knows nothing: it has no steps, asks nothing of hosts and leaves nothing that could be named.
    const USERS_OWN: Self = Self {
        kind: NetworkPlugin::None,
        called: "none",
        carries_pods: true,
        host_steps: |_, _| Ok(()),
        cluster_steps: |_, _| Ok(None),
        node_needs: container_runtime::CNI_PLUGINS,
        after_boot: None,
        nodes_ready_within: PULLING,
        workloads: &[],
        images: &[],
        is_used: |_, _| true,
        programs: &[],
        sum: |_| Ok(String::new()),
        ports: |_| Vec::new(),
        modules: |_| Vec::new(),
        overhead: |_| 0,
        taken_by: |_| String::new(),
        neighbours: |_| None,
        one_interface: None,
        gives_shares: false,
        takes_shares: true,
        looks: Vec::new,
        objects: &[],
        is_installed: |_| false,
        refused_change: |_, _| None,
        interfaces: &[],
        leftovers: Leftovers::NONE,
    };
}

/// A user's network is in images that nodes have to fetch.
const PULLING: Duration = Duration::from_secs(600);

/// Containers of images that are there start within seconds; a busy host takes its time.
pub(crate) const STARTING: Duration = Duration::from_secs(300);

/// The bridge of a host that its pods are plugged into, with flannel as with the plain bridge.
pub(crate) const POD_BRIDGE: &str = "cni0";

/// The table of all plugins.
const fn plugin_of_kind(kind: NetworkPlugin) -> &'static Plugin {
    match kind {
        NetworkPlugin::Flannel => &flannel::PLUGIN,
        NetworkPlugin::Calico => &calico::PLUGIN,
        NetworkPlugin::Bridge => &bridge::PLUGIN,
        NetworkPlugin::Manifest => &manifest::PLUGIN,
        NetworkPlugin::None => &none::PLUGIN,
    }
}

/// The plugin of a network.
pub(crate) const fn plugin(network: &Network) -> &'static Plugin {
    plugin_of_kind(network.plugin)
}

/// All plugins, the default first.
pub(crate) fn all() -> impl DoubleEndedIterator<Item = &'static Plugin> {
    NetworkPlugin::ALL.into_iter().map(plugin_of_kind)
}

/// The plugin that a cluster says it has from kokctl. That of the user's manifest comes last in the list, and counts first: its record says what
/// apply has installed.
pub(crate) fn installed(state: &KubernetesState) -> Option<&'static Plugin> {
    all().rev().find(|plugin| (plugin.is_installed)(state))
}

/// Whether a plugin has made an interface of this name.
pub(crate) fn makes_interface(name: &str) -> bool {
    name == POD_BRIDGE || all().flat_map(|plugin| plugin.interfaces).any(|start| name.starts_with(start))
}

/// What the user's MTU of pods takes of a host's packet.
pub(crate) fn mtu_of_hosts(cluster: &Cluster) -> Option<u32> {
    mtu_of_pods(cluster).map(|mtu| u32::from(mtu) + u32::from((plugin(&cluster.network).overhead)(cluster)))
}

/// Bytes of the largest packet of a pod, if the user says it: for Calico there is a variable besides, as with Kubespray.
pub(crate) fn mtu_of_pods(cluster: &Cluster) -> Option<u16> {
    cluster.network.mtu.or(cluster.settings.calico.mtu)
}

/// The images that the nodes of a cluster need for its network.
pub(crate) fn images(cluster: &Cluster) -> impl Iterator<Item = StepName<'static>> + use<'_> {
    let plugin = plugin(&cluster.network);
    plugin.images.iter().copied().filter(|image| (plugin.is_used)(cluster, *image))
}

/// What has to run for it in the end.
pub(crate) fn workloads(cluster: &Cluster) -> impl Iterator<Item = &'static PluginWorkload> + use<'_> {
    let plugin = plugin(&cluster.network);
    plugin.workloads.iter().filter(|workload| (plugin.is_used)(cluster, workload.image))
}

/// Whether the cluster will have a network. Without one nodes are not Ready, and pods with addresses of their own wait.
#[must_use]
pub fn carries_pods(network: &Network) -> bool {
    plugin(network).carries_pods
}
