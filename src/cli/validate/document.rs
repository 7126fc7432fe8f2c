//! What `kokctl validate --json` prints.

use kok_crds::model::Cluster;
use kok_crds::operation::{Invocation, Operation};
use kok_crds::{Given, Input, Message, Outcome};
use serde::Serialize;

use super::{here, is_valid, releases, roles};
use crate::artifacts::BundleFolder;

/// The form of `--json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document<'a> {
    valid: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<ClusterDocument<'a>>,
    /// What the bundle has, if one is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    bundle: Option<BundleDocument<'a>>,
    operations: Vec<OperationDocument<'a>>,
    variables: Vec<VariableDocument<'a>>,
    notices: Vec<MessageDocument<'a>>,
    problems: Vec<MessageDocument<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClusterDocument<'a> {
    name: &'a str,
    /// A fleet has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    kubernetes_version: Option<String>,
    hosts: Vec<HostDocument<'a>>,
}

#[derive(Serialize)]
struct BundleDocument<'a> {
    kubernetes: Vec<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OperationDocument<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    at: String,
    ended: bool,
    steps: Vec<StepDocument<'a>>,
}

/// An action in its order.
#[derive(Serialize)]
struct StepDocument<'a> {
    action: &'a str,
    at: String,
    /// What it is here: a command, or who does it.
    here: String,
}

#[derive(Serialize)]
struct HostDocument<'a> {
    name: &'a str,
    address: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    roles: &'static str,
}

#[derive(Serialize)]
struct VariableDocument<'a> {
    name: &'a str,
    value: &'a str,
    at: String,
    effect: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    because: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hosts: Option<usize>,
}

#[derive(Serialize)]
struct MessageDocument<'a> {
    what: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

impl<'a> Document<'a> {
    pub(super) fn new(input: &'a Input, bundle: Option<&'a BundleFolder>) -> Self {
        Self {
            valid: is_valid(input),
            cluster: input.cluster.as_ref().map(ClusterDocument::new),
            bundle: bundle.map(|bundle| BundleDocument { kubernetes: releases(bundle) }),
            operations: input.operations.iter().map(OperationDocument::new).collect(),
            variables: input.variables.iter().map(variable).collect(),
            notices: input.notices.iter().map(message).collect(),
            problems: input.problems.iter().map(message).collect(),
        }
    }
}

impl<'a> OperationDocument<'a> {
    fn new(operation: &'a Operation) -> Self {
        let step = |step: &'a Invocation| StepDocument { action: step.action.name, at: step.position.to_string(), here: here(step) };
        Self {
            name: operation.name.as_deref(),
            at: operation.position.to_string(),
            ended: operation.ended,
            steps: operation.invocations().map(step).collect(),
        }
    }
}

impl<'a> ClusterDocument<'a> {
    fn new(cluster: &'a Cluster) -> Self {
        let host = |host: &'a kok_crds::model::Host| HostDocument {
            name: &host.name,
            address: host.address.to_string(),
            roles: roles(host.roles, cluster.has_etcd_units()),
        };
        Self {
            name: &cluster.name,
            kubernetes_version: cluster.fleet.is_none().then(|| cluster.kubernetes_version.to_string()),
            hosts: cluster.hosts.iter().map(host).collect(),
        }
    }
}

fn variable(given: &Given) -> VariableDocument<'_> {
    let Given { name, value, position, outcome, because, hosts } = given;
    VariableDocument { name, value, at: position.to_string(), effect: Outcome::as_str(*outcome), because, hosts: *hosts }
}

fn message<W>(message: &Message<W>) -> MessageDocument<'_> {
    let at = message.position.as_ref().map(ToString::to_string);
    MessageDocument { what: &message.message, at, because: message.because.as_deref(), hint: message.hint.as_deref() }
}
