//! What kubeadm's certificates say: the table of authorities, leaves and kubeconfig users.
//!
//! Source of every row: `cmd/kubeadm/app/phases/certs/certlist.go`, `phases/kubeconfig/kubeconfig.go` and `util/pkiutil` of Kubernetes
//! 1.37.1. The only difference: the API server's certificate also names `localhost` and `127.0.0.1` ([`LOOPBACK_SANS`]), so that it can be
//! reached through a tunnel. kubeadm accepts further names in a certificate that it finds.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::ControlPlane;

/// Names in the API server's certificate beyond those that kubeadm puts there by itself. kubeadm's configuration should list them under
/// `apiServer.certSANs`, so that a certificate made by kubeadm later has them too.
pub const LOOPBACK_SANS: [&str; 2] = ["localhost", "127.0.0.1"];

/// The first minor version in which the API server's kubelet client is a user with its own role binding (Kubernetes pull request 138957)
/// instead of a member of the group `kubeadm:cluster-admins`.
const FIRST_MINOR_WITH_BARE_KUBELET_CLIENT: u64 = 37;

/// A certificate authority of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AuthorityKind {
    /// Signs the API server, its clients and the kubelets.
    Kubernetes,
    /// Signs etcd and its clients.
    Etcd,
    /// Signs the client that the API server is towards aggregated API servers.
    FrontProxy,
}

impl AuthorityKind {
    /// All authorities.
    pub const ALL: [Self; 3] = [Self::Kubernetes, Self::Etcd, Self::FrontProxy];

    /// Common name of the authority's own certificate.
    #[must_use]
    pub fn common_name(self) -> &'static str {
        match self {
            Self::Kubernetes => "kubernetes",
            Self::Etcd => "etcd-ca",
            Self::FrontProxy => "front-proxy-ca",
        }
    }
}

/// A certificate with a key file of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Leaf {
    /// The API server towards its clients.
    ApiServer,
    /// The API server as a client of kubelets.
    ApiServerKubeletClient,
    /// The API server as a client of etcd.
    ApiServerEtcdClient,
    /// The API server as a client of aggregated API servers.
    FrontProxyClient,
    /// etcd towards its clients.
    EtcdServer,
    /// etcd towards its peers.
    EtcdPeer,
    /// The probe of etcd's liveness.
    EtcdHealthcheckClient,
}

impl Leaf {
    /// All leaves.
    pub const ALL: [Self; 7] = [
        Self::ApiServer,
        Self::ApiServerKubeletClient,
        Self::ApiServerEtcdClient,
        Self::FrontProxyClient,
        Self::EtcdServer,
        Self::EtcdPeer,
        Self::EtcdHealthcheckClient,
    ];

    /// Whether API servers of this minor version come to kubelets as a user that has a role binding of its own.
    #[must_use]
    pub fn has_bare_kubelet_client(kubernetes_minor: u64) -> bool {
        kubernetes_minor >= FIRST_MINOR_WITH_BARE_KUBELET_CLIENT
    }

    /// What the certificate says on this control plane.
    #[must_use]
    pub fn profile(self, host: &ControlPlane) -> Profile {
        match self {
            Self::ApiServer => {
                Profile { server_auth: true, sans: api_server_sans(host), ..Profile::new(AuthorityKind::Kubernetes, "kube-apiserver") }
            }
            Self::ApiServerKubeletClient => kubelet_client(host.kubernetes_minor),
            Self::ApiServerEtcdClient => client(AuthorityKind::Etcd, "kube-apiserver-etcd-client"),
            Self::FrontProxyClient => client(AuthorityKind::FrontProxy, "front-proxy-client"),
            Self::EtcdServer | Self::EtcdPeer => {
                Profile { server_auth: true, sans: etcd_sans(host), ..client(AuthorityKind::Etcd, &host.node_name) }
            }
            Self::EtcdHealthcheckClient => client(AuthorityKind::Etcd, "kube-etcd-healthcheck-client"),
        }
    }
}

/// Whom a kubeconfig logs in as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KubeconfigUser {
    /// The administrator, bound by RBAC to `cluster-admin`.
    Admin,
    /// A member of `system:masters`, which no RBAC can bind or revoke. Needed once, to bind the administrator.
    SuperAdmin,
    /// The controller manager.
    ControllerManager,
    /// The scheduler.
    Scheduler,
    /// The kubelet of the control plane's node.
    Kubelet,
}

impl KubeconfigUser {
    /// All users of kubeconfigs on the first control plane.
    pub const ALL: [Self; 5] = [Self::Admin, Self::SuperAdmin, Self::ControllerManager, Self::Scheduler, Self::Kubelet];

    /// What the embedded client certificate says on this control plane.
    #[must_use]
    pub fn profile(self, host: &ControlPlane) -> Profile {
        let (name, groups): (String, &[&str]) = match self {
            Self::Admin => ("kubernetes-admin".into(), &["kubeadm:cluster-admins"]),
            Self::SuperAdmin => ("kubernetes-super-admin".into(), &["system:masters"]),
            Self::ControllerManager => ("system:kube-controller-manager".into(), &[]),
            Self::Scheduler => ("system:kube-scheduler".into(), &[]),
            Self::Kubelet => (format!("system:node:{}", host.node_name), &["system:nodes"]),
        };
        Profile { organizations: groups.iter().map(|&group| group.to_owned()).collect(), ..client(AuthorityKind::Kubernetes, &name) }
    }

    /// URL of the API server that the kubeconfig points to: components of the control plane and its kubelet talk to the API server beside
    /// them (kubeadm does so since `ControlPlaneKubeletLocalMode`, KEP-4471), all others to the cluster's endpoint.
    #[must_use]
    pub fn server(self, host: &ControlPlane) -> String {
        match self {
            Self::ControllerManager | Self::Scheduler | Self::Kubelet => host.local_server(),
            Self::Admin | Self::SuperAdmin => host.cluster_server(),
        }
    }
}

/// What a leaf certificate says, and who signs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The authority that signs it.
    pub authority: AuthorityKind,
    /// Common name (CN) of the subject; to Kubernetes, the name of the user.
    pub common_name: String,
    /// Organizations (O) of the subject; to Kubernetes, the groups of the user.
    pub organizations: Vec<String>,
    /// Organizations that do as well in a certificate that is there: it was made by an earlier version.
    pub former_organizations: Option<Vec<String>>,
    /// Extended key usage: may identify a server.
    pub server_auth: bool,
    /// Extended key usage: may identify a client.
    pub client_auth: bool,
    /// Names of the server; names first and sorted, then addresses, without duplicates.
    pub sans: Vec<San>,
}

impl Profile {
    fn new(authority: AuthorityKind, common_name: &str) -> Self {
        Self {
            authority,
            common_name: common_name.to_owned(),
            organizations: Vec::new(),
            former_organizations: None,
            server_auth: false,
            client_auth: false,
            sans: Vec::new(),
        }
    }

    /// What a kubelet's certificate says towards those who ask it: who it is, as the signer `kubernetes.io/kubelet-serving` would have it, by the name and
    /// at the addresses of its node.
    #[must_use]
    pub fn kubelet_server(node_name: &str, addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        let sans = [San::Dns(node_name.to_owned())].into_iter().chain(addresses.into_iter().map(San::Ip));
        Self {
            organizations: vec!["system:nodes".to_owned()],
            server_auth: true,
            sans: in_order(sans.collect()),
            ..Self::new(AuthorityKind::Kubernetes, &format!("system:node:{node_name}"))
        }
    }
}

/// A subject alternative name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum San {
    /// A DNS name.
    Dns(String),
    /// An address.
    Ip(IpAddr),
}

impl San {
    /// An address if the text is one, else a DNS name.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Dns(text.to_owned()), Self::Ip)
    }
}

impl fmt::Display for San {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns(name) => formatter.write_str(name),
            Self::Ip(address) => address.fmt(formatter),
        }
    }
}

fn client(authority: AuthorityKind, common_name: &str) -> Profile {
    Profile { client_auth: true, ..Profile::new(authority, common_name) }
}

fn kubelet_client(kubernetes_minor: u64) -> Profile {
    let mut profile = client(AuthorityKind::Kubernetes, "kube-apiserver-kubelet-client");
    let group = vec!["kubeadm:cluster-admins".to_owned()];
    if !Leaf::has_bare_kubelet_client(kubernetes_minor) {
        profile.organizations = group;
    } else {
        // Its rights as a member of the group go on: an upgrade makes none anew, and so none of an API server that is older still.
        profile.former_organizations = Some(group);
    }
    profile
}

fn api_server_sans(host: &ControlPlane) -> Vec<San> {
    let mut sans = vec![
        San::Dns(host.node_name.clone()),
        San::Dns("kubernetes".into()),
        San::Dns("kubernetes.default".into()),
        San::Dns("kubernetes.default.svc".into()),
        San::Dns(format!("kubernetes.default.svc.{}", host.cluster_domain)),
        San::Ip(host.service_ip),
        San::Ip(host.advertise_address),
    ];
    sans.extend(host.endpoint.iter().map(|endpoint| San::parse(&endpoint.host)));
    sans.extend(LOOPBACK_SANS.into_iter().map(San::parse));
    sans.extend(host.extra_sans.iter().cloned());
    in_order(sans)
}

fn etcd_sans(host: &ControlPlane) -> Vec<San> {
    let mut sans = vec![
        San::Dns(host.node_name.clone()),
        San::Dns("localhost".into()),
        San::Ip(host.advertise_address),
        San::Ip(Ipv4Addr::LOCALHOST.into()),
        San::Ip(Ipv6Addr::LOCALHOST.into()),
    ];
    sans.extend(host.etcd_extra_sans.iter().cloned());
    in_order(sans)
}

/// Names sorted before addresses in their given order, each once: the order in which kubeadm writes them.
fn in_order(sans: Vec<San>) -> Vec<San> {
    let (mut names, addresses): (Vec<_>, Vec<_>) = sans.into_iter().partition(|san| matches!(san, San::Dns(_)));
    names.sort();
    names.dedup();
    for address in addresses {
        if !names.contains(&address) {
            names.push(address);
        }
    }
    names
}
