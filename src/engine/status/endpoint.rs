//! Where clients of the cluster are sent, and whether somebody answers there.

use std::net::IpAddr;

use kok_crds::model::{Cluster, Host};
use kok_tasks::identity::{endpoint_text, virtual_url};
use kok_tasks::observe::{ApiServerState, Look, Observations};
use kok_tasks::operations::said_briefly;
use kok_tasks::plan::Seen;
use serde::Serialize;

/// The API endpoint.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// Its address.
    pub url: String,
    /// As a control plane found it.
    pub state: String,
    /// Nodes with a load balancer of their own that has an API server to send its clients to, of all that should have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancers: Option<LoadBalancers>,
    /// The address that moves between the control planes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_address: Option<VirtualAddress>,
}

/// An address that moves between the control planes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VirtualAddress {
    /// Where clients outside reach the API by it.
    pub url: String,
    /// The hosts that have it: one, where all is well.
    pub holders: Vec<String>,
}

impl VirtualAddress {
    fn new(cluster: &Cluster, seen: &Seen) -> Option<Self> {
        let (url, address) = (virtual_url(cluster)?, IpAddr::V4(cluster.virtual_address()?));
        let has = |host: &&Host| seen.facts(&host.name).is_some_and(|facts| facts.addresses().any(|own| own == address));
        Some(Self { url, holders: cluster.hosts.iter().filter(has).map(|host| host.name.clone()).collect() })
    }
}

/// The load balancers of nodes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancers {
    /// How many are ready.
    pub ready: usize,
    /// Of how many.
    pub of: usize,
    /// The nodes of the others.
    pub not_ready: Vec<String>,
}

fn url(cluster: &Cluster) -> String {
    format!("https://{}", endpoint_text(cluster))
}

fn has_load_balancers(cluster: &Cluster) -> bool {
    cluster.is_highly_available() && cluster.external_endpoint().is_none()
}

/// What to look at on a control plane.
pub(super) fn looks(cluster: &Cluster) -> impl Iterator<Item = Look> {
    [Look::ApiEndpoint(url(cluster))].into_iter().chain(has_load_balancers(cluster).then_some(Look::LoadBalancers))
}

impl Endpoint {
    /// As the control plane saw it that speaks for the cluster, if there is one.
    pub(super) fn new(cluster: &Cluster, all: &Seen, seen: Option<&Observations>) -> Self {
        let url = url(cluster);
        let state = match seen.and_then(|seen| seen.api_endpoints.get(&url)) {
            None => "not asked".to_owned(),
            Some(ApiServerState::Ready) => "answers".to_owned(),
            Some(ApiServerState::NotReady(output)) => format!("does not answer: {}", said_briefly(output)),
            Some(ApiServerState::Absent) => "not installed".to_owned(),
        };
        let load_balancers = has_load_balancers(cluster).then(|| {
            let found = seen.and_then(|seen| seen.load_balancers.clone()).unwrap_or_default();
            let nodes: Vec<&str> = cluster
                .hosts
                .iter()
                .filter(|host| !host.roles.control_plane && host.roles.is_node())
                .map(|host| host.name.as_str())
                .collect();
            // A pod outlives its node for a moment.
            let is_node = |node: &str| seen.and_then(|seen| seen.kubernetes.as_ref()?.node(node)).is_some();
            let is_ready = |node: &str| is_node(node) && found.get(node) == Some(&true);
            let not_ready: Vec<String> = nodes.iter().filter(|node| !is_ready(node)).map(|node| (*node).to_owned()).collect();
            LoadBalancers { ready: nodes.len() - not_ready.len(), of: nodes.len(), not_ready }
        });
        Self { url, state, load_balancers, virtual_address: VirtualAddress::new(cluster, all) }
    }
}
