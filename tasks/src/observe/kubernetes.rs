//! What the cluster says of itself, asked on a control plane.

mod nodes;
mod questions;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use ipnet::IpNet;
use serde_json::Value;

use super::parse::{ParseError, Section, text_of};
use super::token::BootstrapTokenState;
use crate::drain::Cordon;
use crate::given::Given;
pub(super) use questions::{WARNINGS, lists, nodes_and_load_balancers, objects, paths, tokens};

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
    /// Whether its kubelet is silent for so long that the controller manager has given it up (`nodeMonitorGracePeriod`, 50 s).
    pub silent: bool,
    /// Whether new pods are kept away from it, and by whom.
    pub cordon: Cordon,
    /// What kokctl has given it by the file's word.
    pub given: Given,
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

/// What is nested in all objects together.
const MOST_BRACKETS: usize = 30_000;

/// Objects, one after the other or in a list. What the API server has no object for it answers with a `Status`.
fn parse_objects(body: &str) -> Result<BTreeMap<String, KubernetesObject>, ParseError> {
    // In memory each object takes some hundred times what `{"":0}` takes in an answer; those that we ask for have some hundred together.
    if body.bytes().filter(|byte| matches!(byte, b'{' | b'[')).count() > MOST_BRACKETS {
        return Err(ParseError::new("kube-objects", "too many values"));
    }
    let mut objects = BTreeMap::new();
    for value in serde_json::Deserializer::from_str(body).into_iter::<Value>() {
        let mut value = value.map_err(|_| ParseError::new("kube-objects", body))?;
        let items = match value.pointer_mut("/items").and_then(Value::as_array_mut) {
            Some(items) => std::mem::take(items),
            None => vec![value],
        };
        for object in items.into_iter().map(KubernetesObject) {
            let kind = object.text("/kind").unwrap_or_default();
            if kind == "Status" {
                if object.text("/reason") == Some("NotFound") {
                    continue;
                }
                return Err(ParseError::new("kube-objects", object.text("/message").unwrap_or_default()));
            }
            let (namespace, name) =
                (object.text("/metadata/namespace").unwrap_or_default(), object.text("/metadata/name").unwrap_or_default());
            objects.insert(format!("{kind}/{namespace}/{name}"), object);
        }
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
    // Without rights, or when the API server goes away between two questions, something else is said than what was asked for.
    let (nodes, objects) = match (nodes::parse(nodes), parse_objects(objects)) {
        (Some(nodes), Ok(objects)) => (nodes, objects),
        (None, _) => return Ok(KubernetesState::Unanswered(excerpt(nodes))),
        (_, Err(error)) => return Ok(KubernetesState::Unanswered(excerpt(&error.excerpt))),
    };
    let bootstrap_tokens = BootstrapTokenState::read_all(text_of(sections, "kube-tokens")?);
    Ok(KubernetesState::Ready { nodes, objects, bootstrap_tokens })
}

/// Whether the load balancers of hosts have found an API server, by node; one on its way out has not. Nothing of those of which nothing is known.
pub(super) fn read_load_balancers(sections: &[Section<'_>]) -> Result<BTreeMap<String, bool>, ParseError> {
    Ok(nodes::parse_pods(text_of(sections, "kube-load-balancers")?).unwrap_or_default())
}

fn excerpt(text: &str) -> String {
    text.trim().chars().take(200).collect()
}
