//! The schema of a ClusterOperation.

use serde_json::{Value, json};

use super::cluster::reference;
use super::property::{Property, described, fields, map, property, text, time, tolerated, word};
use super::{Kind, column, object, operator, rule, wide_column};
use crate::objects::{HOOK, OPERATION_SPEC};

pub(super) fn kind() -> Kind {
    let about = "What is to be done to a Cluster.";
    let begun = "has(oldSelf.status) && has(oldSelf.status.status) && oldSelf.status.status != ''";
    let rules =
        [rule(&format!("!({begun}) || self.spec == oldSelf.spec"), "an operation that has begun can't be changed: make another one")];
    Kind {
        name: "ClusterOperation",
        plural: "clusteroperations",
        short: "kokop",
        columns: vec![
            column("Cluster", "string", ".spec.cluster"),
            column("Action", "string", ".spec.action"),
            column("Status", "string", ".status.status"),
            column("Phase", "string", ".status.phase"),
            column("Progress", "string", ".status.progress.text"),
            column("Started", "date", ".status.startTime"),
            column("Age", "date", ".metadata.creationTimestamp"),
            wide_column("Run", ".status.run"),
            wide_column("Message", ".status.lastError.what"),
        ],
        schema: object(about, &spec(), &status(), &rules),
    }
}

fn spec() -> Value {
    let hooks = || json!({"type": "array", "items": map(&fields(&HOOK), &["actionType", "action"], action())});
    let mut properties = action();
    properties.extend([
        text("cluster", "Name of the Cluster.").with("minLength", 1),
        property("preHook", "What is done before, in this order; the first that fails ends the operation.", hooks()),
        property("postHook", "What is done afterwards, in this order.", hooks()),
        property(
            "activeDeadlineSeconds",
            "After how many seconds the operation is given up.",
            json!({"type": "integer", "format": "int64"}),
        ),
        reference("hostsConfRef", "Inventory that is taken instead of the Cluster's."),
        reference("varsConfRef", "Variables that are taken instead of the Cluster's."),
        reference("sshAuthRef", "Private key that is taken instead of the Cluster's."),
        text("image", "Accepted, and not used: there is no Job."),
        reference("entrypointSHRef", "Accepted, and not used: there is no Job."),
        property("resources", "Accepted, and not used: there is no Job.", json!({"type": "object"}))
            .with("x-kubernetes-preserve-unknown-fields", true),
        operator::of_operation(),
    ]);
    let spec = map(&tolerated(&OPERATION_SPEC), &["cluster", "actionType", "action"], properties);
    described(spec, "What is done, and to which cluster.")
}

/// What an operation and its hooks have in common.
fn action() -> Vec<Property> {
    vec![
        word("actionType", "How the action is given. Scripts (`shell`) are refused when the operation is read.", &["playbook", "shell"]),
        text("action", "The action, by the name of a playbook of Kubespray or kubean.").with("minLength", 1),
        word(
            "actionSource",
            "Where the action comes from. Those of others (`configmap`) are refused when the operation is read.",
            &["builtin", "configmap"],
        )
        .with("default", "builtin"),
        reference("actionSourceRef", "ConfigMap with the action of others."),
        text("extraArgs", "Arguments of the action, as ansible-playbook takes them and a shell reads them."),
    ]
}

fn status() -> Value {
    let names = ["action", "jobRef", "status", "startTime", "endTime", "digest", "hasModified"];
    let properties = vec![
        text("action", "The action."),
        reference("jobRef", "The Job, where an operator before kokctl made one."),
        text("status", "`Running`, `Succeeded`, `Failed` or `Blocked`; empty before the operation begins."),
        time("startTime", "When it began."),
        time("endTime", "When it ended."),
        text("digest", "Digest of the spec when it began."),
        property("hasModified", "Whether the spec was changed afterwards.", json!({"type": "boolean"})),
    ];
    let (more, of_operator) = operator::operation_status();
    let names: Vec<&str> = names.into_iter().chain(more).collect();
    described(map(&names, &[], properties.into_iter().chain(of_operator).collect()), "How far it is.")
}
