//! What the cluster says of itself, asked with kubectl on a control plane.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv6Addr};

use ipnet::IpNet;
use serde::Deserialize;
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::parse::{ParseError, Section, text_of};
use super::token::BootstrapTokenState;
use crate::network_plugins::{self, Object};

/// The nodes. After [`super::api_server::READY`], as all that follows.
pub(super) const NODES: &str = r#"if [ -n "$api_server" ]; then
  mark kube-nodes
  kube get nodes -o jsonpath='{range .items[*]}{.metadata.name}{"\t"}{.metadata.uid}{"\t"}{.status.nodeInfo.machineID}{"\t"}{.status.nodeInfo.kubeletVersion}{"\t"}{.status.nodeInfo.containerRuntimeVersion}{"\t"}{.status.conditions[?(@.type=="Ready")]}{"\t"}{.metadata.labels}{"\t"}{.spec.taints}{"\t"}{.spec.podCIDRs[*]}{"\t"}{.status.addresses[?(@.type=="InternalIP")].address}{"\n"}{end}' 2>&1
fi
"#;

/// Objects that tasks look at. Asked for in one command, by `kubectl get -f`; what does not exist is left out of the answer, which is in `$objects`
/// afterwards.
const OBJECTS: &str = r#"if [ -n "$api_server" ]; then
  mark kube-objects
  objects=$(kube get --ignore-not-found -o json -f - 2>&1 <<'KUBERNETES_OBJECTS'
{"apiVersion":"v1","kind":"List","items":[
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kubeadm-config","namespace":"kube-system"}},
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kubelet-config","namespace":"kube-system"}},
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kokctl","namespace":"kube-system"}},
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kokctl-addons","namespace":"kube-system"}},
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"cluster-info","namespace":"kube-public"}},
@NETWORK_PLUGINS@
{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"kube-proxy","namespace":"kube-system"}},
{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"coredns","namespace":"kube-system"}},
{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"nodelocaldns","namespace":"kube-system"}},
{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"network-check","namespace":"kokctl-network-check"}},
{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kokctl-network-check"}},
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"kubeadm:cluster-admins"}},
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"kubeadm:node-autoapprove-bootstrap"}},
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"kubeadm:bootstrap-signer-clusterinfo","namespace":"kube-public"}}
]}
KUBERNETES_OBJECTS
  )
  printf '%s\n' "$objects"
fi
"#;

/// Asks for these, and for those by which network plugins are known.
pub(super) fn objects() -> String {
    let mut of_plugins = String::new();
    for Object { api_version, kind, namespace, name } in network_plugins::all().flat_map(|plugin| plugin.objects) {
        // Writing to a String can't fail.
        let _ = writeln!(
            of_plugins,
            r#"{{"apiVersion":"{api_version}","kind":"{kind}","metadata":{{"name":"{name}","namespace":"{namespace}"}}}},"#
        );
    }
    OBJECTS.replace("@NETWORK_PLUGINS@\n", &of_plugins)
}

/// The bootstrap tokens, of which nothing secret is asked.
pub(super) const TOKENS: &str = r#"if [ -n "$api_server" ]; then
  mark kube-tokens
  kube -n kube-system get secrets --field-selector type=bootstrap.kubernetes.io/token -o jsonpath='{range .items[*]}secret/{.metadata.name}{"\t"}{.data.expiration}{"\n"}{end}' 2>&1
fi
"#;

/// Whether the load balancers of hosts have found an API server, by node; one on its way out has not. After [`super::api_server::READY`].
pub(super) const LOAD_BALANCERS: &str = r#"mark kube-load-balancers
if [ -n "$api_server" ]; then
  kube -n kube-system get pods -l app.kubernetes.io/name=kokctl-load-balancer \
    -o jsonpath='{range .items[*]}{.spec.nodeName} {.status.conditions[?(@.type=="Ready")].status}{.metadata.deletionTimestamp}{"\n"}{end}' 2>/dev/null
fi
"#;

/// The last two warnings of the cluster. After [`super::api_server::READY`].
pub(super) const WARNINGS: &str = r#"mark kube-warnings
if [ -n "$api_server" ]; then
  kube get events -A --field-selector type=Warning --sort-by=.lastTimestamp \
    -o jsonpath='{range .items[-2:]}{.involvedObject.kind} {.involvedObject.name}: {.message}{"\n"}{end}' 2>/dev/null
fi
"#;

/// The cluster as one API server shows it.
#[derive(Debug, Clone, PartialEq)]
pub enum KubernetesState {
    /// No administrator's kubeconfig or no kubectl on the host: nothing was set up yet.
    Absent,
    /// The API server doesn't answer or isn't ready; what it or kubectl said.
    NotReady(String),
    /// The API server is ready, but doesn't answer the administrator's questions: the group has no rights yet. What was said instead.
    Unanswered(String),
    /// The API server is ready and answers.
    Ready {
        /// Nodes by name.
        nodes: BTreeMap<String, NodeState>,
        /// The objects that exist of those that tasks look at, by `kind/namespace/name`.
        objects: BTreeMap<String, KubernetesObject>,
        /// The bootstrap tokens, of which nobody asks for more than is public.
        bootstrap_tokens: Vec<BootstrapTokenState>,
    },
}

/// A node object.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeState {
    /// Changes when the node is deleted and registered again.
    pub uid: String,
    /// The machine-id that its kubelet reports.
    pub machine_id: String,
    /// Version of its kubelet, with a leading `v`.
    pub kubelet_version: String,
    /// What runs its containers, such as `containerd://2.3.7`.
    pub container_runtime: String,
    /// Whether its Ready condition is true.
    pub ready: bool,
    /// What the Ready condition says.
    pub message: String,
    /// When its kubelet said so last, in whole seconds since 1970 by the clock of its host.
    pub said_at_seconds: Option<i64>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its taints as `key=value:effect`.
    pub taints: Vec<String>,
    /// Its shares of the ranges of the pods, if it has any.
    pub pod_cidrs: Vec<IpNet>,
    /// Its addresses, as its kubelet was told them.
    pub addresses: Vec<IpAddr>,
}

impl NodeState {
    /// Its second address, with dual stack.
    #[must_use]
    pub fn address_ipv6(&self) -> Option<Ipv6Addr> {
        self.addresses.iter().find_map(|address| match address {
            IpAddr::V6(address) => Some(*address),
            IpAddr::V4(_) => None,
        })
    }
}

/// An object of the API.
#[derive(Debug, Clone, PartialEq)]
pub struct KubernetesObject(pub Value);

impl KubernetesObject {
    /// The text at a JSON pointer.
    #[must_use]
    pub fn text(&self, pointer: &str) -> Option<&str> {
        self.0.pointer(pointer).and_then(Value::as_str)
    }

    /// The number at a JSON pointer; 0 where there is none, as the API leaves zeros out.
    #[must_use]
    pub fn number(&self, pointer: &str) -> u64 {
        self.0.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
    }
}

impl KubernetesState {
    /// An object by kind, namespace (empty for cluster-wide kinds) and name.
    #[must_use]
    pub fn object(&self, kind: &str, namespace: &str, name: &str) -> Option<&KubernetesObject> {
        match self {
            Self::Ready { objects, .. } => objects.get(&format!("{kind}/{namespace}/{name}")),
            _ => None,
        }
    }

    /// A node by name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&NodeState> {
        match self {
            Self::Ready { nodes, .. } => nodes.get(name),
            _ => None,
        }
    }
}

/// A node's condition `Ready`. It comes as JSON, for what it says may have any character in it.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Condition {
    status: String,
    message: String,
    last_heartbeat_time: String,
}

#[derive(Deserialize)]
struct Taint {
    key: String,
    #[serde(default)]
    value: String,
    effect: String,
}

fn parse_nodes(body: &str) -> Result<BTreeMap<String, NodeState>, ParseError> {
    let mut nodes = BTreeMap::new();
    for line in body.lines().filter(|line| !line.is_empty()) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, uid, machine_id, version, runtime, ready, labels, taints, pod_cidrs, addresses] = fields.as_slice() else {
            return Err(ParseError::new("kube-nodes", line));
        };
        let condition: Condition = parse_json_or_default(ready).ok_or_else(|| ParseError::new("kube-nodes", ready))?;
        let labels = parse_json_or_default(labels).ok_or_else(|| ParseError::new("kube-nodes", labels))?;
        let taints: Vec<Taint> = parse_json_or_default(taints).ok_or_else(|| ParseError::new("kube-nodes", taints))?;
        let node = NodeState {
            uid: (*uid).to_owned(),
            machine_id: (*machine_id).to_owned(),
            kubelet_version: (*version).to_owned(),
            container_runtime: (*runtime).to_owned(),
            ready: condition.status == "True",
            message: condition.message,
            said_at_seconds: OffsetDateTime::parse(&condition.last_heartbeat_time, &Rfc3339).ok().map(OffsetDateTime::unix_timestamp),
            labels,
            pod_cidrs: pod_cidrs.split(' ').filter_map(|share| share.parse().ok()).collect(),
            addresses: addresses.split(' ').filter_map(|address| address.parse().ok()).collect(),
            taints: taints.into_iter().map(|t| format!("{}={}:{}", t.key, t.value, t.effect)).collect(),
        };
        nodes.insert((*name).to_owned(), node);
    }
    Ok(nodes)
}

fn parse_json_or_default<T: Default + for<'a> Deserialize<'a>>(text: &str) -> Option<T> {
    if text.is_empty() { Some(T::default()) } else { serde_json::from_str(text).ok() }
}

/// What is nested in all objects together.
const MOST_BRACKETS: usize = 30_000;

fn parse_objects(body: &str) -> Result<BTreeMap<String, KubernetesObject>, ParseError> {
    if body.trim().is_empty() {
        return Ok(BTreeMap::new());
    }
    // In memory each object takes some hundred times what `{"":0}` takes in an answer; those that we ask for have some hundred together.
    if body.bytes().filter(|byte| matches!(byte, b'{' | b'[')).count() > MOST_BRACKETS {
        return Err(ParseError::new("kube-objects", "too many values"));
    }
    let mut value: Value = serde_json::from_str(body).map_err(|_| ParseError::new("kube-objects", body))?;
    let items = match value.pointer_mut("/items").and_then(Value::as_array_mut) {
        Some(items) => std::mem::take(items),
        None => vec![value],
    };
    let mut objects = BTreeMap::new();
    for item in items {
        let object = KubernetesObject(item);
        let kind = object.text("/kind").unwrap_or_default();
        let namespace = object.text("/metadata/namespace").unwrap_or_default();
        let name = object.text("/metadata/name").unwrap_or_default();
        objects.insert(format!("{kind}/{namespace}/{name}"), object);
    }
    Ok(objects)
}

/// Everything that the answer says of the cluster.
pub(super) fn read(sections: &[Section<'_>]) -> Result<KubernetesState, ParseError> {
    let ready = text_of(sections, "kube-ready")?.trim();
    if ready == "absent" {
        return Ok(KubernetesState::Absent);
    }
    if !sections.iter().any(|section| section.name == "kube-nodes") {
        return Ok(KubernetesState::NotReady(ready.chars().take(4000).collect()));
    }
    let (nodes, objects) = (text_of(sections, "kube-nodes")?, text_of(sections, "kube-objects")?);
    // Without rights, or when the API server goes away between two questions, kubectl prints an error where a table is expected.
    let (nodes, objects) = match (parse_nodes(nodes), parse_objects(objects)) {
        (Ok(nodes), Ok(objects)) => (nodes, objects),
        (Err(_), _) => return Ok(KubernetesState::Unanswered(excerpt(nodes))),
        (_, Err(_)) => return Ok(KubernetesState::Unanswered(excerpt(objects))),
    };
    let tokens = text_of(sections, "kube-tokens")?.lines().filter_map(|line| line.strip_prefix("secret/")).map(BootstrapTokenState::read);
    Ok(KubernetesState::Ready { nodes, objects, bootstrap_tokens: tokens.collect() })
}

fn excerpt(text: &str) -> String {
    text.trim().chars().take(200).collect()
}
