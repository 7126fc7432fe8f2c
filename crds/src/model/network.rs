//! Address ranges, and the plugin that carries the pods' traffic.

use std::net::Ipv4Addr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Every host takes packets of this size (RFC 791).
pub(crate) const LEAST_MTU: u16 = 576;
/// The largest packet of IPv4, less what WireGuard, the most demanding of the backends, takes of it.
pub(crate) const MOST_MTU: u16 = 65_455;

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
    /// The ranges of IPv6 beside those of IPv4, with dual stack.
    pub ipv6: Option<Ipv6Network>,
}

/// What a cluster with dual stack has beside IPv4, which stays its first family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv6Network {
    /// Range of the pods' second addresses.
    pub pod_cidr: Ipv6Net,
    /// Range of the services' IPv6 addresses.
    pub service_cidr: Ipv6Net,
    /// Prefix length of a node's share of `pod_cidr`.
    pub node_prefix: u8,
    /// Whether packets of pods leave the cluster with the node's IPv6 address.
    pub masquerade: bool,
}

/// Who carries the pods' traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkPlugin {
    /// flannel.
    Flannel,
    /// Calico.
    Calico,
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
        matches!(self, Self::Flannel | Self::Calico | Self::Bridge)
    }

    /// Whether nodes get shares of the pods' range from it, or from the controller manager; else it has ranges of its own.
    #[must_use]
    pub fn goes_by_shares(self) -> bool {
        matches!(self, Self::Flannel | Self::Bridge)
    }

    /// All of them, the default first.
    pub const ALL: [Self; 5] = [Self::Flannel, Self::Calico, Self::Bridge, Self::Manifest, Self::None];

    /// The word that stands for the plugin in a user's file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Flannel => "flannel",
            Self::Calico => "calico",
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

    /// Bytes of a host's packet that it takes for itself: flannel's own numbers, of IP, UDP and what the kernel puts between. In an IPv6 packet
    /// VXLAN takes the 20 more that its header is longer, for which flannel has no number; that of WireGuard has them in any case.
    #[must_use]
    pub fn overhead(self, ipv6: bool) -> u16 {
        match self {
            Self::Vxlan if ipv6 => 70,
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

    /// Whether the cluster has IPv6 beside IPv4.
    #[must_use]
    pub fn is_dual_stack(&self) -> bool {
        self.ipv6.is_some()
    }

    /// The ranges of the pods, that of IPv4 first.
    #[must_use]
    pub fn pod_cidrs(&self) -> Vec<IpNet> {
        [IpNet::V4(self.pod_cidr)].into_iter().chain(self.ipv6.map(|ipv6| IpNet::V6(ipv6.pod_cidr))).collect()
    }

    /// The ranges of the services, that of IPv4 first.
    #[must_use]
    pub fn service_cidrs(&self) -> Vec<IpNet> {
        [IpNet::V4(self.service_cidr)].into_iter().chain(self.ipv6.map(|ipv6| IpNet::V6(ipv6.service_cidr))).collect()
    }

    /// How many nodes can get a subnet of the pods' range.
    #[must_use]
    pub fn max_nodes(&self) -> u64 {
        shares(self.pod_cidr.prefix_len(), self.node_prefix)
    }

    fn service_address(&self, offset: u32) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.service_cidr.network()).saturating_add(offset))
    }
}

impl Ipv6Network {
    /// How many nodes can get a subnet of the pods' range.
    #[must_use]
    pub fn max_nodes(&self) -> u64 {
        shares(self.pod_cidr.prefix_len(), self.node_prefix)
    }
}

fn shares(range: u8, share: u8) -> u64 {
    1_u64.checked_shl(share.saturating_sub(range).into()).unwrap_or(u64::MAX)
}
