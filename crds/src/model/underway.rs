//! Versions on the way from one version of Kubernetes to another.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use semver::Version;

use super::{Cluster, Host};

/// What has another version than the cluster's while an upgrade is under way. Nothing of a file says it: a stage of an upgrade does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Underway {
    /// Versions of control planes by host, as far as they are others.
    pub planes: BTreeMap<String, Version>,
    /// Versions of kubelets by host, as far as they are others.
    pub kubelets: BTreeMap<String, Version>,
    /// The version that the cluster says of itself, with kube-proxy and CoreDNS; nothing if it is the cluster's.
    pub shared: Option<Version>,
    /// Versions of members of etcd by host, as far as they may be others than the releases bring.
    pub etcd: BTreeMap<String, Version>,
    /// The minor version, as `1.36`, that the programs of a host's control plane are to work as, where that is not their own (KEP-4330, "Compatibility Versions").
    pub emulated: BTreeMap<String, String>,
    /// The workers whose kubelets are changed now, and no others.
    pub wave: Option<Wave>,
    /// Nodes that pods leave before their kubelets are changed.
    pub drained: Vec<String>,
    /// Workers that can't be reached, and keep what they have: nobody waits for them.
    pub away: BTreeSet<String>,
    /// Where on its way the upgrade is.
    pub way: Way,
}

/// Workers whose kubelets are changed in one stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wave {
    /// The pool; nothing for workers that are of none.
    pub pool: Option<String>,
    /// The workers.
    pub hosts: Vec<String>,
    /// How long each has to be Ready before another one is taken.
    pub soak: Duration,
}

/// Where on its way an upgrade is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// The version that it leads to in the end.
    pub to: Version,
    /// The number of its stage.
    pub stage: usize,
    /// Of each host the first stage in which something of it gets another version.
    pub begin: BTreeMap<String, usize>,
}

impl Way {
    /// Whether the upgrade of these hosts begins in this stage.
    #[must_use]
    pub fn begins(&self, hosts: &[String]) -> bool {
        hosts.iter().filter_map(|host| self.begin.get(host)).min() == Some(&self.stage)
    }
}

impl Default for Way {
    /// None that leads anywhere.
    fn default() -> Self {
        Self { to: Version::new(0, 0, 0), stage: 0, begin: BTreeMap::new() }
    }
}

impl Cluster {
    /// The version of Kubernetes that a host's API server, controller manager and scheduler are to have.
    #[must_use]
    pub fn plane_version(&self, host: &Host) -> &Version {
        self.underway.as_ref().and_then(|underway| underway.planes.get(&host.name)).unwrap_or(&self.kubernetes_version)
    }

    /// The version of Kubernetes that a host's kubelet is to have.
    #[must_use]
    pub fn kubelet_version(&self, host: &Host) -> &Version {
        self.underway.as_ref().and_then(|underway| underway.kubelets.get(&host.name)).unwrap_or(&self.kubernetes_version)
    }

    /// The version of Kubernetes that the cluster is to say of itself.
    #[must_use]
    pub fn shared_version(&self) -> &Version {
        self.underway.as_ref().and_then(|underway| underway.shared.as_ref()).unwrap_or(&self.kubernetes_version)
    }

    /// The version of a host's member of etcd, where it may be another one than the release brings.
    #[must_use]
    pub fn etcd_version(&self, host: &Host) -> Option<&Version> {
        self.underway.as_ref()?.etcd.get(&host.name)
    }

    /// The minor version that a host's control plane is to work as, where that is an older one than its own.
    #[must_use]
    pub fn emulated_version(&self, host: &Host) -> Option<&str> {
        self.underway.as_ref()?.emulated.get(&host.name).map(String::as_str)
    }

    /// The workers whose kubelets are changed now, where they are those of one stage.
    #[must_use]
    pub fn wave(&self) -> Option<&Wave> {
        self.underway.as_ref()?.wave.as_ref()
    }

    /// How long a host's node has to be Ready with its new kubelet before another one is taken.
    #[must_use]
    pub fn soak(&self, host: &Host) -> Option<Duration> {
        let wave = self.wave().filter(|wave| wave.hosts.contains(&host.name))?;
        Some(wave.soak).filter(|soak| !soak.is_zero())
    }

    /// The nodes that are waited for: all but those that an upgrade leaves out.
    pub fn awaited_nodes(&self) -> impl Iterator<Item = &Host> {
        self.nodes().filter(|host| !self.is_away(host))
    }

    /// Whether an upgrade leaves out a host that can't be reached.
    #[must_use]
    pub fn is_away(&self, host: &Host) -> bool {
        self.underway.as_ref().is_some_and(|underway| underway.away.contains(&host.name))
    }

    /// Whether it leaves out any.
    #[must_use]
    pub fn has_away(&self) -> bool {
        self.underway.as_ref().is_some_and(|underway| !underway.away.is_empty())
    }

    /// Whether pods leave a host's node before its kubelet is changed.
    #[must_use]
    pub fn is_drained(&self, host: &Host) -> bool {
        self.underway.as_ref().is_some_and(|underway| underway.drained.contains(&host.name))
    }
}
