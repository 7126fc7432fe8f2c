//! What a cluster needs of a bundle.

use std::collections::{BTreeMap, BTreeSet};

use kok_crds::model::Cluster;

use crate::network_plugins::{carries_pods, images, plugin};

/// What of a catalog is needed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// Names of files and images, as the bundle calls them.
    pub components: BTreeSet<String>,
    /// Versions that somebody asks for by name.
    pub versions: BTreeMap<String, String>,
}

/// What every host with a kubelet has, and every release names.
const ALWAYS: [&str; 12] = [
    "cni-plugins",
    "containerd",
    "coredns",
    // Its tag says which etcd the release goes with, also where etcd runs as a unit.
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubeadm",
    "kubectl",
    "kubelet",
    "pause",
    "runc",
];

impl Needs {
    /// What a cluster needs, as its file says. `etcd` is both the image and the archive of its programs.
    #[must_use]
    pub fn of_cluster(cluster: &Cluster) -> Self {
        let plugin = plugin(&cluster.network);
        let mut components: BTreeSet<String> = ALWAYS.iter().map(|name| (*name).to_owned()).collect();
        components.extend(images(cluster).map(|image| image.name().to_owned()));
        components.extend(plugin.programs.iter().map(|program| program.archive.to_owned()));
        let others = [
            ("kube-proxy", !cluster.settings.kube_proxy_remove),
            ("echo", carries_pods(&cluster.network)),
            ("haproxy", cluster.has_load_balancers()),
        ];
        components.extend(others.iter().filter(|(_, is_needed)| *is_needed).map(|(name, _)| (*name).to_owned()));
        let containerd = cluster.settings.containerd_version.as_ref();
        let versions = containerd.map(|version| ("containerd".to_owned(), version.to_string())).into_iter().collect();
        Self { components, versions }
    }
}
