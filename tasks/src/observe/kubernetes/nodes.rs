//! Lists of nodes and pods as the API server answers them, of which little is kept.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::Deserialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::NodeState;
use crate::drain::Cordon;
use crate::given::Given;
use crate::observe::list;

#[derive(Deserialize)]
struct Node {
    metadata: Metadata,
    #[serde(default)]
    spec: NodeSpec,
    #[serde(default)]
    status: NodeStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    deletion_timestamp: Option<String>,
    #[serde(default)]
    annotations: Annotations,
}

/// Of all that plugins keep there, what is ours.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Annotations {
    #[serde(rename = "kokctl.io/cordoned-by")]
    cordoned_by: Option<String>,
    #[serde(rename = "kokctl.io/given")]
    given: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NodeSpec {
    unschedulable: bool,
    taints: Vec<Taint>,
    #[serde(rename = "podCIDRs")]
    pod_cidrs: Vec<String>,
}

#[derive(Deserialize)]
struct Taint {
    key: String,
    #[serde(default)]
    value: String,
    effect: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NodeStatus {
    conditions: Vec<Condition>,
    addresses: Vec<Address>,
    node_info: NodeInfo,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Condition {
    r#type: String,
    status: String,
    message: String,
    last_heartbeat_time: Option<String>,
}

#[derive(Deserialize)]
struct Address {
    r#type: String,
    address: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NodeInfo {
    #[serde(rename = "machineID")]
    machine_id: String,
    kubelet_version: String,
    container_runtime_version: String,
}

#[derive(Deserialize)]
struct Pod {
    metadata: Metadata,
    #[serde(default)]
    spec: PodSpec,
    #[serde(default)]
    status: PodStatus,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PodSpec {
    node_name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodStatus {
    conditions: Vec<Condition>,
}

fn ready(conditions: Vec<Condition>) -> Condition {
    conditions.into_iter().find(|condition| condition.r#type == "Ready").unwrap_or_default()
}

/// The nodes by name; nothing if this is no list of nodes.
pub(super) fn parse(body: &str) -> Option<BTreeMap<String, NodeState>> {
    Some(list::<Node>(body, "NodeList")?.into_iter().map(|node| (node.metadata.name.clone(), state(node))).collect())
}

fn state(node: Node) -> NodeState {
    let Node { metadata, spec, status } = node;
    let ready = ready(status.conditions);
    let said_at = ready.last_heartbeat_time.and_then(|at| OffsetDateTime::parse(&at, &Rfc3339).ok());
    let own = |address: &&Address| address.r#type == "InternalIP";
    let addresses = status.addresses.iter().filter(own).filter_map(|own| own.address.parse::<IpAddr>().ok());
    NodeState {
        uid: metadata.uid,
        machine_id: status.node_info.machine_id,
        kubelet_version: status.node_info.kubelet_version,
        container_runtime: status.node_info.container_runtime_version,
        ready: ready.status == "True",
        silent: ready.status == "Unknown",
        cordon: Cordon::read(spec.unschedulable, metadata.annotations.cordoned_by.as_deref()),
        given: Given::read(metadata.annotations.given.as_deref()),
        message: ready.message,
        said_at_seconds: said_at.map(OffsetDateTime::unix_timestamp),
        labels: metadata.labels,
        taints: spec.taints.into_iter().map(|taint| format!("{}={}:{}", taint.key, taint.value, taint.effect)).collect(),
        pod_cidrs: spec.pod_cidrs.iter().filter_map(|share| share.parse::<IpNet>().ok()).collect(),
        addresses: addresses.collect(),
    }
}

/// Whether pods are ready, by their nodes; one on its way out is not. Nothing if this is no list of pods.
pub(super) fn parse_pods(body: &str) -> Option<BTreeMap<String, bool>> {
    let pods = list::<Pod>(body, "PodList")?.into_iter().filter(|pod| !pod.spec.node_name.is_empty());
    let is_ready =
        |pod: Pod| (pod.spec.node_name, ready(pod.status.conditions).status == "True" && pod.metadata.deletion_timestamp.is_none());
    Some(pods.map(is_ready).collect())
}
