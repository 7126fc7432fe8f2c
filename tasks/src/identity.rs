//! What stands in the certificates of a control plane.

use std::net::IpAddr;

use kok_crds::model::{Cluster, Host};
use kok_pki::{ControlPlane, Endpoint, LOOPBACK_SANS, San};

use crate::API_SERVER_PORT;

/// Names and addresses of a control plane, as its certificates and kubeconfigs have them.
#[must_use]
pub fn control_plane(cluster: &Cluster, host: &Host) -> ControlPlane {
    let endpoint = cluster.control_planes().next().map(|first| Endpoint { host: first.address.to_string(), port: API_SERVER_PORT });
    ControlPlane {
        cluster_name: cluster.name.clone(),
        kubernetes_minor: cluster.kubernetes_version.minor,
        node_name: host.name.clone(),
        advertise_address: host.address,
        bind_port: API_SERVER_PORT,
        endpoint,
        service_ip: IpAddr::V4(cluster.network.kubernetes_service_ip()),
        cluster_domain: cluster.network.cluster_domain.clone(),
        extra_sans: LOOPBACK_SANS.iter().map(|name| San::parse(name)).collect(),
    }
}
