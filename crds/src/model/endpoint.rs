//! Where the API is reached.

use std::net::{IpAddr, Ipv4Addr};

use super::Cluster;

/// The name of the API that hosts know where nobody gives it another (Kubespray's default for `apiserver_loadbalancer_domain_name`).
pub const API_ENDPOINT_NAME: &str = "lb-apiserver.kubernetes.local";

/// The way to the API, as its owner wants it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ApiEndpoint {
    /// Where API servers listen, and the load balancers of nodes before them; without a word at [`API_SERVER_PORT`].
    pub server_port: Option<u16>,
    /// A load balancer or a moving address before all API servers that its owner runs.
    pub external: Option<ExternalEndpoint>,
    /// An address that moves between the control planes, for clients outside of the cluster.
    pub virtual_address: Option<Ipv4Addr>,
    /// The number by which the programs that move it know each other; without a word [`Cluster::virtual_router`] has one.
    pub virtual_router: Option<u8>,
    /// The same as Kubespray says it, until all of that is read.
    pub kube_vip: KubeVip,
    /// Whether each node without an API server has a load balancer of its own before those of several control planes. Without a word it has,
    /// unless there is an external one.
    pub local_load_balancers: Option<bool>,
    /// The name of the API.
    pub name: Option<String>,
    /// Whether hosts know by their `/etc/hosts` where the external load balancer with that name is.
    pub name_in_hosts_file: bool,
    /// Further names and addresses in the API servers' certificates.
    pub certificate_names: Vec<String>,
    /// Whether the cluster has had several control planes, and its API keeps the name that it got by that. No file says it, but the cluster.
    pub is_named: bool,
}

/// What Kubespray's variables say of an address that moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KubeVip {
    /// Whether there is one.
    pub enabled: bool,
    /// Whether it leads to the API servers.
    pub control_plane: bool,
    /// Which.
    pub address: Option<Ipv4Addr>,
}

/// A way to the API servers that kokctl does not make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalEndpoint {
    /// Its IP address or DNS name.
    pub address: String,
    /// Its port; without a word that of the API servers.
    pub port: Option<u16>,
}

impl Cluster {
    /// Where every API server listens.
    #[must_use]
    pub fn api_server_port(&self) -> u16 {
        self.settings.api_endpoint.server_port.unwrap_or(API_SERVER_PORT)
    }

    /// The way to the API servers that the owner runs himself. The address of the only control plane is none: that is where its API is anyway.
    #[must_use]
    pub fn external_endpoint(&self) -> Option<&ExternalEndpoint> {
        let is_own = |given: &ExternalEndpoint| {
            let mut planes = self.control_planes();
            let address = given.address.parse::<IpAddr>().ok();
            let is_port = given.port.is_none_or(|port| port == self.api_server_port());
            is_port && planes.next().map(|host| host.address) == address && planes.next().is_none()
        };
        self.settings.api_endpoint.external.as_ref().filter(|given| !is_own(given))
    }

    /// The name by which hosts reach the API servers where there are several and no way to them that the owner made: each host knows by its
    /// `/etc/hosts` where that is. With one control plane its address is the endpoint, unless there were more.
    #[must_use]
    pub fn api_endpoint_name(&self) -> Option<&str> {
        let own = (self.is_highly_available() || self.settings.api_endpoint.is_named) && self.external_endpoint().is_none();
        own.then(|| self.settings.api_endpoint.name.as_deref().unwrap_or(API_ENDPOINT_NAME))
    }

    /// The address that moves between the control planes.
    #[must_use]
    pub fn virtual_address(&self) -> Option<Ipv4Addr> {
        self.settings.api_endpoint.virtual_address
    }

    /// The number of the virtual router (RFC 5798: 1 to 255) that has that address. Two that have one number in one network must not be. By itself
    /// it is the last number of the address, which nobody else of a /24 has.
    #[must_use]
    pub fn virtual_router(&self) -> Option<u8> {
        let [.., last] = self.virtual_address()?.octets();
        Some(self.settings.api_endpoint.virtual_router.unwrap_or(if last == 0 { u8::MAX } else { last }))
    }

    /// Whether each node without an API server has a load balancer of its own before those of the control planes.
    #[must_use]
    pub fn has_load_balancers(&self) -> bool {
        let wanted = self.settings.api_endpoint.local_load_balancers.unwrap_or(true) && self.external_endpoint().is_none();
        self.is_highly_available() && wanted && self.balanced_hosts().next().is_some()
    }
}

/// Where API servers listen that nobody gives another port.
pub const API_SERVER_PORT: u16 = 6443;
