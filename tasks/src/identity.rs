//! What stands in the certificates of a control plane, and where the API is reached.

use std::net::{IpAddr, SocketAddr};

use kok_crds::model::{self, Cluster, Host};
use kok_pki::{ControlPlane, Endpoint, KeyAlgorithm, LOOPBACK_SANS, Policy, Profile, San};
use time::Duration;

/// Where the cluster's API is reached: the load balancer that the user runs, by the name that he gave it; without one the address of the only
/// control plane, or a name that each host knows for itself where there are several, so that none of them has to be there.
#[must_use]
pub fn endpoint(cluster: &Cluster) -> Option<Endpoint> {
    if let Some(external) = cluster.external_endpoint() {
        let host = cluster.settings.api_endpoint.name.as_ref().unwrap_or(&external.address);
        return Some(Endpoint { host: host.clone(), port: external.port.unwrap_or(cluster.api_server_port()) });
    }
    let first = || cluster.control_planes().next().map(|host| host.address.to_string());
    let host = cluster.api_endpoint_name().map(str::to_owned).or_else(first)?;
    Some(Endpoint { host, port: cluster.api_server_port() })
}

/// That endpoint as kubeadm writes it: `host:port`, an IPv6 address in brackets.
#[must_use]
pub fn endpoint_text(cluster: &Cluster) -> String {
    endpoint(cluster)
        .map(|it| if it.host.contains(':') { format!("[{}]:{}", it.host, it.port) } else { format!("{}:{}", it.host, it.port) })
        .unwrap_or_default()
}

/// The address of a host's API server as kubeadm writes it.
#[must_use]
pub fn address(cluster: &Cluster, host: &Host) -> String {
    SocketAddr::new(host.address, cluster.api_server_port()).to_string()
}

/// That endpoint as kubeconfigs name it.
#[must_use]
pub fn endpoint_url(cluster: &Cluster) -> String {
    format!("https://{}", endpoint_text(cluster))
}

/// Where clients outside reach the API by an address that moves, if there is one.
#[must_use]
pub fn virtual_url(cluster: &Cluster) -> Option<String> {
    Some(format!("https://{}", SocketAddr::new(cluster.virtual_address()?.into(), cluster.api_server_port())))
}

/// Names and addresses in the certificates of all API servers, besides those that kubeadm gives them.
#[must_use]
pub fn certificate_names(cluster: &Cluster) -> Vec<String> {
    let given = &cluster.settings.api_endpoint;
    let mut names: Vec<String> = LOOPBACK_SANS.map(str::to_owned).to_vec();
    let external = cluster.external_endpoint().map(|external| &external.address);
    let moving = cluster.virtual_address().map(|address| address.to_string());
    for name in given.name.iter().chain(external).chain(&moving).chain(&given.certificate_names) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
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
        kubernetes_minor: cluster.plane_version(host).minor,
        node_name: host.name.clone(),
        advertise_address: host.address,
        bind_port: cluster.api_server_port(),
        endpoint: endpoint(cluster),
        service_ip: IpAddr::V4(cluster.network.kubernetes_service_ip()),
        cluster_domain: cluster.network.cluster_domain.clone(),
        extra_sans: certificate_names(cluster)
            .iter()
            .map(|name| San::parse(name))
            .chain(host.address_ipv6.map(|address| San::Ip(IpAddr::V6(address))))
            .collect(),
        etcd_extra_sans: cluster.settings.certificates.etcd_names.iter().map(|name| San::parse(name)).collect(),
    }
}

/// What the certificate says that a host's kubelet shows.
#[must_use]
pub fn kubelet_server(host: &Host) -> Profile {
    Profile::kubelet_server(&host.name, [host.address].into_iter().chain(host.address_ipv6.map(IpAddr::V6)))
}
