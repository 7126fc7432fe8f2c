//! Address ranges, and the plugin that carries the pods' traffic.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

/// Address ranges of a cluster and the plugin that carries its pods' traffic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// The network plugin.
    pub plugin: NetworkPlugin,
    /// How flannel carries packets from host to host.
    pub backend: FlannelBackend,
    /// Bytes of the largest packet of a pod; `None` is what the host's interface and the backend leave.
    pub mtu: Option<u16>,
    /// Range of the pods' addresses; each node gets a subnet of `node_prefix` bits of it.
    pub pod_cidr: Ipv4Net,
    /// Range of the services' addresses.
    pub service_cidr: Ipv4Net,
    /// Prefix length of a node's share of `pod_cidr`.
    pub node_prefix: u8,
    /// DNS domain of the cluster's services, without a trailing dot.
    pub cluster_domain: String,
}

/// Who carries the pods' traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkPlugin {
    /// flannel.
    Flannel,
    /// A bridge on each host and routes to the others, with nothing in between.
    Bridge,
    /// Whatever the user's manifest installs: the addon [`super::NETWORK_ADDON`].
    Manifest,
    /// None: whoever runs the cluster installs one.
    None,
}

impl NetworkPlugin {
    /// Whether kokctl brings it.
    #[must_use]
    pub fn is_ours(self) -> bool {
        matches!(self, Self::Flannel | Self::Bridge)
    }

    /// All of them, the default first.
    pub const ALL: [Self; 4] = [Self::Flannel, Self::Bridge, Self::Manifest, Self::None];

    /// The word that stands for the plugin in a user's file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Flannel => "flannel",
            Self::Bridge => "bridge",
            Self::Manifest => "manifest",
            Self::None => "none",
        }
    }
}

/// How flannel carries packets from host to host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlannelBackend {
    /// In UDP, by the kernel's VXLAN.
    Vxlan,
    /// As they are, by a route to each host; the hosts have to be in one subnet.
    HostGw,
    /// Encrypted, by the kernel's WireGuard.
    Wireguard,
}

impl FlannelBackend {
    /// All of them, the default first.
    pub const ALL: [Self; 3] = [Self::Vxlan, Self::HostGw, Self::Wireguard];

    /// The word that stands for it in a user's file and in flannel's configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Vxlan => "vxlan",
            Self::HostGw => "host-gw",
            Self::Wireguard => "wireguard",
        }
    }

    /// Bytes of a host's packet that it takes for itself: flannel's own numbers, of IP, UDP and what the kernel puts between.
    #[must_use]
    pub fn overhead(self) -> u16 {
        match self {
            Self::Vxlan => 50,
            Self::HostGw => 0,
            Self::Wireguard => 80,
        }
    }
}

impl Network {
    /// Address of the service `kubernetes`: the first of the services' range, as the API server chooses it.
    #[must_use]
    pub fn kubernetes_service_ip(&self) -> Ipv4Addr {
        self.service_address(1)
    }

    /// Address of the cluster's DNS service: the tenth of the services' range, as kubeadm chooses it.
    #[must_use]
    pub fn cluster_dns(&self) -> Ipv4Addr {
        self.service_address(10)
    }

    /// Whether pods' packets go from host to host as they are, by routes, so that the hosts have to be neighbours.
    #[must_use]
    pub fn needs_neighbours(&self) -> bool {
        self.plugin == NetworkPlugin::Bridge || (self.plugin == NetworkPlugin::Flannel && self.backend == FlannelBackend::HostGw)
    }

    /// Bytes of a host's packet that the network takes for itself.
    #[must_use]
    pub fn overhead(&self) -> u16 {
        if self.plugin == NetworkPlugin::Flannel { self.backend.overhead() } else { 0 }
    }

    /// How many nodes can get a subnet of the pods' range.
    #[must_use]
    pub fn max_nodes(&self) -> u64 {
        let bits = self.node_prefix.saturating_sub(self.pod_cidr.prefix_len());
        1_u64.checked_shl(u32::from(bits)).unwrap_or(u64::MAX)
    }

    fn service_address(&self, offset: u32) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.service_cidr.network()).saturating_add(offset))
    }
}
