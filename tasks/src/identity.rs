//! What stands in the certificates of a control plane, and where the API is reached.

use std::net::IpAddr;

use kok_crds::model::{self, Cluster, Host};
use kok_pki::{ControlPlane, Endpoint, KeyAlgorithm, LOOPBACK_SANS, Policy, San};
use time::Duration;

use crate::API_SERVER_PORT;

/// Where the cluster's API is reached: the address of the only control plane, or a name that each host knows for itself where there are
/// several, so that none of them has to be there.
#[must_use]
pub fn endpoint(cluster: &Cluster) -> Option<Endpoint> {
    let first = || cluster.control_planes().next().map(|host| host.address.to_string());
    let host = cluster.api_endpoint_name().map(str::to_owned).or_else(first)?;
    Some(Endpoint { host, port: API_SERVER_PORT })
}

/// That endpoint as kubeadm writes it: `host:port`, an IPv6 address in brackets.
#[must_use]
pub fn endpoint_text(cluster: &Cluster) -> String {
    endpoint(cluster)
        .map(|it| if it.host.contains(':') { format!("[{}]:{}", it.host, it.port) } else { format!("{}:{}", it.host, it.port) })
        .unwrap_or_default()
}

/// How the cluster's certificates are made. kubeadm's configuration says the same of them.
#[must_use]
pub fn policy(cluster: &Cluster) -> Policy {
    let certificates = &cluster.settings.certificates;
    let algorithm = match certificates.key_algorithm {
        model::KeyAlgorithm::EcdsaP256 => KeyAlgorithm::EcdsaP256,
        model::KeyAlgorithm::EcdsaP384 => KeyAlgorithm::EcdsaP384,
        model::KeyAlgorithm::Rsa2048 => KeyAlgorithm::Rsa2048,
        model::KeyAlgorithm::Rsa3072 => KeyAlgorithm::Rsa3072,
        model::KeyAlgorithm::Rsa4096 => KeyAlgorithm::Rsa4096,
    };
    // A hundred years at the most, which fit.
    let period = |period: std::time::Duration| Duration::try_from(period).unwrap_or(Duration::MAX);
    Policy {
        algorithm,
        leaf_validity: period(certificates.validity),
        authority_validity: period(certificates.authority_validity),
        ..Policy::default()
    }
}

/// Names and addresses of a control plane, as its certificates and kubeconfigs have them.
#[must_use]
pub fn control_plane(cluster: &Cluster, host: &Host) -> ControlPlane {
    ControlPlane {
        cluster_name: cluster.name.clone(),
        kubernetes_minor: cluster.kubernetes_version.minor,
        node_name: host.name.clone(),
        advertise_address: host.address,
        bind_port: API_SERVER_PORT,
        endpoint: endpoint(cluster),
        service_ip: IpAddr::V4(cluster.network.kubernetes_service_ip()),
        cluster_domain: cluster.network.cluster_domain.clone(),
        extra_sans: LOOPBACK_SANS.iter().map(|name| San::parse(name)).collect(),
    }
}
