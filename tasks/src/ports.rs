//! The ports that hosts of a cluster listen on (Kubernetes, "Ports and Protocols"; those of the network are the plugin's).

use kok_crds::model::{Cluster, Host};

use crate::network_plugins::plugin;

/// A port or range of ports that others of the cluster, or its users, reach a host at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Port {
    /// The first one.
    pub first: u16,
    /// The last one; equal to the first for a single port.
    pub last: u16,
    /// `tcp` or `udp`.
    pub protocol: &'static str,
    /// What listens there.
    pub what: &'static str,
    /// Whether the cluster can't work while it is closed.
    pub needed: bool,
}

/// TCP ports that the cluster can't work without.
pub(crate) const fn tcp(first: u16, last: u16, what: &'static str) -> Port {
    Port { first, last, protocol: "tcp", what, needed: true }
}

/// UDP ports that the cluster can't work without.
pub(crate) const fn udp(first: u16, last: u16, what: &'static str) -> Port {
    Port { protocol: "udp", ..tcp(first, last, what) }
}

const ETCD: &[Port] = &[tcp(2379, 2380, "etcd")];

/// Of every node. The range is the API server's default for services of the type NodePort.
const NODE: &[Port] = &[
    tcp(10250, 10250, "the kubelet"),
    Port { needed: false, ..tcp(30000, 32767, "services of the type NodePort") },
    Port { needed: false, protocol: "udp", ..tcp(30000, 32767, "services of the type NodePort") },
];

/// The ports of a host with these roles.
pub fn of_host(cluster: &Cluster, host: &Host) -> impl Iterator<Item = Port> {
    let port = cluster.api_server_port();
    let control_plane = host.roles.control_plane.then(|| tcp(port, port, "the API server"));
    let (etcd, node) = (if host.roles.etcd { ETCD } else { &[] }, if host.roles.is_node() { NODE } else { &[] });
    let network = if host.roles.is_node() { (plugin(&cluster.network).ports)(cluster) } else { Vec::new() };
    etcd.iter().copied().chain(control_plane).chain(node.iter().copied()).chain(network)
}

impl Port {
    /// As firewalld spells it: `6443/tcp`, `2379-2380/tcp`.
    #[must_use]
    pub fn dashed(&self) -> String {
        self.spelled('-')
    }

    /// As ufw spells it in rules: `6443`, `2379:2380`.
    #[must_use]
    pub fn colon(&self) -> String {
        self.spelled(':').split('/').next().unwrap_or_default().to_owned()
    }

    fn spelled(&self, between: char) -> String {
        let Self { first, last, protocol, .. } = self;
        if first == last { format!("{first}/{protocol}") } else { format!("{first}{between}{last}/{protocol}") }
    }

    /// Whether a port or range in firewalld's spelling lets all of this in.
    #[must_use]
    pub fn is_within(&self, dashed: &str) -> bool {
        let Some((range, protocol)) = dashed.split_once('/') else { return false };
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (Ok(first), Ok(last)) = (first.parse::<u16>(), last.parse::<u16>()) else { return false };
        protocol == self.protocol && first <= self.first && self.last <= last
    }
}
