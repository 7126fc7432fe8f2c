//! Calico's settings.

use std::collections::BTreeMap;

/// How Calico is set up; names and defaults are Kubespray's. It counts where the network plugin is Calico.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calico {
    /// Whether the network plugin is Calico.
    pub is_wanted: bool,
    /// Who tells hosts where the pods of others are.
    pub backend: CalicoBackend,
    /// When packets go in UDP, by the kernel's VXLAN.
    pub vxlan: Tunnel,
    /// When packets go in packets of IP.
    pub ipip: Tunnel,
    /// UDP port of VXLAN.
    pub vxlan_port: u16,
    /// Number of the network in packets of VXLAN.
    pub vxlan_vni: u32,
    /// Bytes of the largest packet of a pod; `None` is what the hosts' interfaces leave.
    pub mtu: Option<u16>,
    /// Prefix length of the blocks of addresses that a node takes of the pods' range.
    pub block_size: u8,
    /// The same of IPv6.
    pub block_size_ipv6: u8,
    /// Whether packets of pods leave the cluster with the node's address.
    pub nat_outgoing: bool,
    /// By which programs the iptables dataplane reaches the kernel: `Auto`, `Legacy`, `NFT`.
    pub iptables_backend: &'static str,
    /// Whether Calico programs nftables instead of iptables; `None` is as kube-proxy does.
    pub nftables: Option<bool>,
    /// Whether typhas stand between the nodes and the API servers.
    pub typha_enabled: bool,
    /// How many of them there are, if there are any; at least one.
    pub typha_replicas: u32,
    /// The network's name in what containerd reads.
    pub cni_name: String,
    /// How a node finds its address; `None` is the address that its node has.
    pub ip_method: Option<String>,
    /// How it finds that of IPv6.
    pub ip6_method: Option<String>,
    /// Further settings of its daemon on each node, by the names of environment variables.
    pub environment: BTreeMap<String, String>,
}

/// Who tells hosts where the pods of others are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalicoBackend {
    /// Calico's own daemon, by the kernel's VXLAN.
    Vxlan,
    /// BGP between the hosts, by bird.
    Bird,
}

/// When packets to other hosts go in a tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tunnel {
    /// All of them.
    Always,
    /// Those to hosts of other subnets.
    CrossSubnet,
    /// None.
    Never,
}

impl CalicoBackend {
    /// The word that stands for it in a user's file and in Calico's configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Vxlan => "vxlan",
            Self::Bird => "bird",
        }
    }
}

impl Tunnel {
    /// All of them, as words say them.
    pub const ALL: [Self; 3] = [Self::Always, Self::CrossSubnet, Self::Never];

    /// The word that stands for it in a user's file and in Calico's configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Always => "Always",
            Self::CrossSubnet => "CrossSubnet",
            Self::Never => "Never",
        }
    }
}

impl Calico {
    /// Bytes of a host's packet that the tunnel takes for itself (Calico, "Configure MTU"): VXLAN 50, and 70 in a packet of IPv6; IP in IP 20.
    #[must_use]
    pub fn overhead(&self, ipv6: bool) -> u16 {
        match (self.vxlan, self.ipip) {
            (Tunnel::Never, Tunnel::Never) => 0,
            (Tunnel::Never, _) => 20,
            _ if ipv6 => 70,
            _ => 50,
        }
    }
}

impl Default for Calico {
    fn default() -> Self {
        Self {
            is_wanted: false,
            backend: CalicoBackend::Vxlan,
            vxlan: Tunnel::Always,
            ipip: Tunnel::Never,
            vxlan_port: 4789,
            vxlan_vni: 4096,
            mtu: None,
            block_size: 26,
            block_size_ipv6: 122,
            nat_outgoing: true,
            iptables_backend: "Auto",
            nftables: None,
            typha_enabled: false,
            typha_replicas: 1,
            cni_name: "k8s-pod-network".to_owned(),
            ip_method: None,
            ip6_method: None,
            environment: BTreeMap::new(),
        }
    }
}
