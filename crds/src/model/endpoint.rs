//! Where the API is reached.

use std::net::IpAddr;

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

    /// Whether each node without an API server has a load balancer of its own before those of the control planes.
    #[must_use]
    pub fn has_load_balancers(&self) -> bool {
        let wanted = self.settings.api_endpoint.local_load_balancers.unwrap_or(true) && self.external_endpoint().is_none();
        self.is_highly_available() && wanted && self.balanced_hosts().next().is_some()
    }
}

/// Where API servers listen that nobody gives another port.
pub const API_SERVER_PORT: u16 = 6443;
