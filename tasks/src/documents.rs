//! kubeadm's documents, as far as more than one task needs them or a secret stands in them.

mod encryption;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use ipnet::IpNet;
use kok_crds::model::{Cluster, Host};
use semver::Version;
use serde::Serialize;

use crate::components::ComponentsDocument;
use crate::identity::{address, certificate_names, endpoint_text};
use crate::issued::kubeconfig_sums;
use crate::network_plugins::plugin;
use crate::operations::TOKEN_VALIDITY;
use crate::templates::{TemplateError, render};

pub use encryption::{encryption_configuration, encryption_keys, kms_plugins};

/// kubeadm wants no manifests where a host joins; ours is that of the load balancer.
const MANIFESTS_ARE_THERE: &str = "DirAvailable--etc-kubernetes-manifests";

/// What kubeadm's configuration of a control plane says.
#[derive(Debug, Serialize)]
pub(crate) struct ControlPlaneDocument<'a> {
    name: &'a str,
    address: String,
    port: u16,
    node_ip: String,
    taints: Vec<TaintDocument>,
    ignore_preflight_errors: &'a [String],
    cluster_name: &'a str,
    kubernetes_version: String,
    endpoint: String,
    pod_cidr: String,
    service_cidr: String,
    cluster_domain: &'a str,
    certificate_names: Vec<String>,
    etcd_certificate_names: &'a [String],
    key_algorithm: &'static str,
    certificate_validity: String,
    authority_validity: String,
    node_prefix: String,
    /// With dual stack.
    node_prefix_ipv6: Option<String>,
    /// What the controller manager is told of the nodes' shares of the pods' range, if anything.
    shares: Option<&'static str>,
    fail_cgroup_v1: bool,
    fail_swap_on: bool,
    kube_proxy_mode: &'static str,
    kube_proxy_remove: bool,
    conntrack_max_per_core: Option<u32>,
    eviction_hard: Option<&'a BTreeMap<String, String>>,
    #[serde(flatten)]
    components: ComponentsDocument,
}

impl<'a> ControlPlaneDocument<'a> {
    /// # Errors
    /// [`TemplateError`] for a defect of a template.
    pub(crate) fn new(cluster: &'a Cluster, host: &'a Host) -> Result<Self, TemplateError> {
        let (network, settings) = (&cluster.network, &cluster.settings);
        Ok(Self {
            name: &host.name,
            address: host.address.to_string(),
            port: cluster.api_server_port(),
            node_ip: node_ip(host),
            taints: taints(host),
            ignore_preflight_errors: &settings.kubeadm_ignore_preflight_errors,
            cluster_name: &cluster.name,
            kubernetes_version: format!("v{}", cluster.plane_version(host)),
            endpoint: endpoint_text(cluster),
            pod_cidr: joined(&network.pod_cidrs()),
            service_cidr: joined(&network.service_cidrs()),
            cluster_domain: &network.cluster_domain,
            certificate_names: certificate_names(cluster),
            etcd_certificate_names: &settings.certificates.etcd_names,
            key_algorithm: settings.certificates.key_algorithm.as_str(),
            certificate_validity: period(settings.certificates.validity),
            authority_validity: period(settings.certificates.authority_validity),
            node_prefix: network.node_prefix.to_string(),
            node_prefix_ipv6: network.ipv6.map(|ipv6| ipv6.node_prefix.to_string()),
            shares: shares(cluster),
            fail_cgroup_v1: settings.kubelet_fail_cgroup_v1,
            fail_swap_on: settings.host.kubelet_fail_swap_on,
            kube_proxy_mode: settings.kube_proxy_mode.as_str(),
            kube_proxy_remove: settings.kube_proxy_remove,
            conntrack_max_per_core: settings.kube_proxy_conntrack_max_per_core,
            eviction_hard: settings.components.kubelet.evictions(),
            components: ComponentsDocument::new(cluster, host)?,
        })
    }
}

/// What stands in the configuration where it is kokctl that gives nodes their shares, for the bridge.
pub(crate) const SHARES_OF_BRIDGE: &str = "false";
/// What stands there where the owner wants none. It is spelled otherwise, so that the uploaded configuration tells both networks apart.
pub(crate) const NO_SHARES: &str = "False";

/// The controller manager's `allocate-node-cidrs`, where it is not what kubeadm says.
pub(crate) fn shares(cluster: &Cluster) -> Option<&'static str> {
    match () {
        () if plugin(&cluster.network).gives_shares => Some(SHARES_OF_BRIDGE),
        () if !cluster.settings.node_shares || !plugin(&cluster.network).takes_shares => Some(NO_SHARES),
        () => None,
    }
}

impl ControlPlaneDocument<'_> {
    /// The same for the programs of this host, which read their kubeconfigs when they start.
    pub(crate) fn of_programs(mut self, cluster: &Cluster, host: &Host) -> Self {
        if let Some([controller_manager, scheduler]) = kubeconfig_sums(cluster, host) {
            self.components.read_kubeconfigs(controller_manager, scheduler);
        }
        self
    }

    /// The same of a control plane that works as an older minor version than its own.
    pub(crate) fn emulating(mut self, minor: Option<&str>) -> Self {
        minor.into_iter().for_each(|minor| self.components.emulate(minor));
        self
    }

    /// The same of another version of Kubernetes.
    pub(crate) fn of_version(self, version: &Version) -> Self {
        Self { kubernetes_version: format!("v{version}"), ..self }
    }

    /// The same for the only control plane, whose address is the endpoint.
    pub(crate) fn alone(self, cluster: &Cluster, host: &Host) -> Self {
        Self { endpoint: address(cluster, host), ..self }
    }
}

/// The addresses of a node, of which that of IPv4 is the first.
fn node_ip(host: &Host) -> String {
    host.address_ipv6.map_or_else(|| host.address.to_string(), |ipv6| format!("{},{ipv6}", host.address))
}

/// One range, or one of each family, as kubeadm takes them.
#[must_use]
pub fn joined(ranges: &[IpNet]) -> String {
    ranges.iter().map(IpNet::to_string).collect::<Vec<_>>().join(",")
}

/// A time as kubeadm itself writes it.
fn period(period: Duration) -> String {
    let (minutes, seconds) = (period.as_secs() / 60, period.as_secs() % 60);
    format!("{}h{}m{seconds}s", minutes / 60, minutes % 60)
}

/// A taint in a kubeadm document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct TaintDocument {
    key: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    value: String,
    effect: &'static str,
}

impl fmt::Display for TaintDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}:{}", self.key, self.value, self.effect)
    }
}

/// What a host's node is registered with: its owner's taints, and on a control plane that is no worker the one that keeps workload away.
pub(crate) fn taints(host: &Host) -> Vec<TaintDocument> {
    let own = host.roles.control_plane && !host.roles.worker;
    let own =
        own.then(|| TaintDocument { key: "node-role.kubernetes.io/control-plane".to_owned(), value: String::new(), effect: "NoSchedule" });
    let users =
        host.taints.iter().map(|taint| TaintDocument { key: taint.key.clone(), value: taint.value.clone(), effect: taint.effect.as_str() });
    own.into_iter().chain(users).collect()
}

/// kubeadm's JoinConfiguration of a host. With a token it is a secret.
///
/// # Errors
/// [`TemplateError`] for a defect of the template.
pub fn join_configuration(cluster: &Cluster, host: &Host, token: &str) -> Result<String, TemplateError> {
    join_beside(cluster, host, token, cluster.is_highly_available() || cluster.api_endpoint_name().is_some())
}

/// The same where a load balancer may have its manifest there already, or not.
pub(crate) fn join_beside(cluster: &Cluster, host: &Host, token: &str, balanced: bool) -> Result<String, TemplateError> {
    #[derive(Serialize)]
    struct Join<'a> {
        token: &'a str,
        name: &'a str,
        node_ip: String,
        taints: Vec<TaintDocument>,
        ignore_preflight_errors: Vec<&'a str>,
        #[serde(flatten)]
        components: ComponentsDocument,
    }
    let users = cluster.settings.kubeadm_ignore_preflight_errors.iter().map(String::as_str);
    let own = Some(MANIFESTS_ARE_THERE).filter(|_| balanced && !cluster.settings.ignores_all_preflight_errors());
    let context = Join {
        token,
        name: &host.name,
        node_ip: node_ip(host),
        taints: taints(host),
        ignore_preflight_errors: users.chain(own).collect(),
        components: ComponentsDocument::new(cluster, host)?,
    };
    render("kubeadm/join.yaml.j2", &context)
}

/// What kubeadm writes the kubelet's files of a node from, where the node is there already: no secret, and no way to make a cluster.
///
/// # Errors
/// [`TemplateError`] for a defect of the template.
pub(crate) fn kubelet_configuration(cluster: &Cluster, host: &Host) -> Result<String, TemplateError> {
    render("kubeadm/kubelet.yaml.j2", &ControlPlaneDocument::new(cluster, host)?.of_version(cluster.kubelet_version(host)))
}

/// kubeadm's InitConfiguration with the run's bootstrap token: a secret.
///
/// # Errors
/// [`TemplateError`] for a defect of the template.
pub fn bootstrap_token_configuration(cluster: &Cluster, control_plane: &Host, token: &str) -> Result<String, TemplateError> {
    #[derive(Serialize)]
    struct Token<'a> {
        token: &'a str,
        ttl: String,
        name: &'a str,
        address: String,
        port: u16,
        kubernetes_version: String,
        endpoint: String,
    }
    let context = Token {
        token,
        ttl: format!("{}s", TOKEN_VALIDITY.as_secs()),
        name: &control_plane.name,
        address: control_plane.address.to_string(),
        port: cluster.api_server_port(),
        kubernetes_version: format!("v{}", cluster.plane_version(control_plane)),
        endpoint: endpoint_text(cluster),
    };
    render("kubeadm/bootstrap-token.yaml.j2", &context)
}
